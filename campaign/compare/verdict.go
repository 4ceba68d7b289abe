package compare

import (
	"fmt"
	"slices"
	"strings"

	"opprof/engine/unit"
)

// Words of a verdict.
const (
	Slower   = "slower"             // B takes longer for the same work
	Faster   = "faster"             // B takes less time for the same work
	Same     = "no difference"      // none was found: the interval holds 0
	Unlike   = "workloads differ"   // too much to compare
	TooShort = "too little to tell" // no interval can be given
)

// Verdict says what the comparison comes to.
type Verdict struct {
	Word    string   `json:"word"` // slower, faster, no difference, workloads differ, or too little to tell
	Text    string   `json:"text"`
	Remarks []string `json:"remarks"` // what to bear in mind, in sentences
}

func (c *Comparison) judge() Verdict {
	v := Verdict{Remarks: c.remarks()}
	s, e := &c.Support, c.Overall.Equal
	switch {
	case c.A.Steps == 0 || c.B.Steps == 0:
		v.Word, v.Text = TooShort, "no step is left to compare of "+strings.Join(c.emptySides(), " and ")
	case s.Distance > 1-OverlapLeast:
		v.Word = Unlike
		v.Text = fmt.Sprintf("the mixes of steps have %s in common, at least %s is needed", unit.Percent(1-s.Distance), unit.Percent(OverlapLeast))
	case min(s.TimeA, s.TimeB) < TimeLeast:
		v.Word = Unlike
		v.Text = fmt.Sprintf("%s of A's time and %s of B's lie in kinds of steps that both have, at least %s is needed",
			unit.Percent(s.TimeA), unit.Percent(s.TimeB), unit.Percent(TimeLeast))
	case min(s.JudgedA, s.JudgedB) < TimeLeast && s.Uneven > 1-TimeLeast:
		v.Word, v.Text = Unlike, "steps of the same kind hold different numbers of tokens in A and B"
	case min(s.JudgedA, s.JudgedB) < TimeLeast:
		v.Word = TooShort
		v.Text = fmt.Sprintf("%s of A's time and %s of B's lie in kinds of steps that both have enough of, at least %s is needed",
			unit.Percent(s.JudgedA), unit.Percent(s.JudgedB), unit.Percent(TimeLeast))
	case e.Low == nil:
		v.Word, v.Text = TooShort, "most kinds of steps lie in a single block of either run"
	case *e.Low > 0:
		v.Word, v.Text = Slower, "at equal composition the step period of B is "+e.String()
	case *e.High < 0:
		v.Word, v.Text = Faster, "at equal composition the step period of B is "+e.String()
	default:
		v.Word, v.Text = Same, "at equal composition none is found: the step period of B is "+e.String()
	}
	return v
}

func (c *Comparison) emptySides() []string {
	var out []string
	if c.A.Steps == 0 {
		out = append(out, "A")
	}
	if c.B.Steps == 0 {
		out = append(out, "B")
	}
	return out
}

// String is a change with its interval, as a predicate.
func (c *Change) String() string {
	if c.Low == nil {
		return percent(c.Pct) + " against A"
	}
	return fmt.Sprintf("%s against A (95 %%: %s)", percent(c.Pct), interval(c))
}

func (c *Comparison) remarks() []string {
	var out []string
	if len(c.Differences) > 0 {
		var names []string
		for _, d := range c.Differences {
			names = append(names, d.What)
		}
		out = append(out, "the servers differ in "+strings.Join(names, ", "))
		if slices.Contains(names, "tensor parallel") || slices.Contains(names, "pipeline parallel") {
			out = append(out, "with other numbers of ranks the launch of a step without a CUDA graph delays other neighbours: judge such steps and those beside them together")
		}
	}
	if c.A.Steps > 0 && c.B.Steps > 0 {
		out = append(out, "the interval is about these two recordings: how much two runs of the same server differ is for a campaign of pairs to tell")
	}
	if c.A.Excluded.stalled(c.A.TotalNS) || c.B.Excluded.stalled(c.B.TotalNS) {
		out = append(out, "stalls are left out: "+c.A.Excluded.stalls()+" of A, "+c.B.Excluded.stalls()+" of B")
	}
	if c.A.Excluded.paused(c.A.TotalNS) || c.B.Excluded.paused(c.B.TotalNS) {
		out = append(out, "pauses between steps are in neither: "+c.A.Excluded.pauses()+" of A, "+c.B.Excluded.pauses()+" of B")
	}
	for _, s := range []struct {
		name string
		side *Side
	}{{"A", &c.A}, {"B", &c.B}} {
		if !s.side.Independent {
			out = append(out, fmt.Sprintf("steps of %s still move together over blocks of %d: its intervals are too narrow", s.name, s.side.BlockSteps))
		}
	}
	if c.Support.Uneven > 0.05 {
		out = append(out, fmt.Sprintf("%s of the weight is in kinds whose steps hold over %d %% more tokens on one side", unit.Percent(c.Support.Uneven), UnevenPct))
	}
	return out
}

func (e *Excluded) stalls() string { return many(e.Stalls, e.StalledNS) }

func (e *Excluded) pauses() string { return many(e.Pauses, e.PausedNS) }

func many(n, ns int64) string {
	if n == 0 {
		return "none"
	}
	return unit.Count(n) + " with " + unit.Duration(ns)
}

// stalled reports whether stalls take more than a hundredth of the time.
func (e *Excluded) stalled(totalNS int64) bool { return e.StalledNS > totalNS/100 }

// paused reports the same of the pauses between steps.
func (e *Excluded) paused(totalNS int64) bool { return e.PausedNS > totalNS/100 }
