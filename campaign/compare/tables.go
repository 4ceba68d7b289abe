package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"opprof/engine/store"
	"opprof/engine/unit"
)

// Table is a part of a comparison as text: a title, notes, and rows of cells under a heading. The command's text, Markdown and HTML and the
// screen all show these.
type Table struct {
	Title string
	Notes []string
	Head  []string
	Left  int // so many columns are set to the left
	Rows  [][]string
	// Weights say which columns go first where there is no room: those of the lowest weight; 0 never goes. nil keeps all.
	Weights []int
}

func (t *Table) row(cells ...string) { t.Rows = append(t.Rows, cells) }

func (t *Table) note(format string, args ...any) {
	t.Notes = append(t.Notes, fmt.Sprintf(format, args...))
}

// Tables are the comparison as text. At most so many cells are listed; 0 lists all.
func (c *Comparison) Tables(most int) []Table {
	out := []Table{c.verdictTable(), c.overallTable(), c.cellsTable(most)}
	if len(c.Families) > 0 {
		out = append(out, c.familiesTable())
	}
	if len(c.Differences) > 0 {
		t := Table{Title: "The servers differ in", Head: []string{"", "A", "B"}, Left: 3}
		for _, d := range c.Differences {
			t.row(d.What, d.A, d.B)
		}
		out = append(out, t)
	}
	return append(out, c.sidesTable())
}

func (c *Comparison) verdictTable() Table {
	t := Table{Title: fmt.Sprintf("%s: %s", c.Verdict.Word, c.Verdict.Text)}
	t.note("A is %s, B is %s", c.A.Name, c.B.Name)
	for _, r := range c.Verdict.Remarks {
		t.note("%s", r)
	}
	return t
}

func (c *Comparison) overallTable() Table {
	t := Table{Title: "Step period, ms", Head: []string{"", "A", "B", "B against A", "95 % interval"}, Left: 1}
	o := &c.Overall
	change := func(v *Change) (string, string) {
		if v == nil {
			return unit.Unknown, unit.Unknown
		}
		return percent(v.Pct), interval(v)
	}
	value, between := change(o.Equal)
	t.row("at equal composition", meanMS(o.EqualA), meanMS(o.EqualB), value, between)
	value, between = change(o.Raw)
	t.row("as they are", meanMS(c.A.MeanNS), meanMS(c.B.MeanNS), value, between)
	if o.Raw != nil {
		t.row("  of which speed", "", "", signedMS(o.SpeedNS)+" ms", "")
		t.row("  of which the mix of steps", "", "", signedMS(o.MixNS)+" ms", "")
		t.row("  of which kinds of one side", "", "", signedMS(o.UnmatchedNS)+" ms", "")
		t.row("  together", "", "", signedMS(o.RawNS)+" ms", "")
	}
	if o.ExplainedPct != nil {
		t.note("%s", explained(*o.ExplainedPct))
	}
	s := &c.Support
	t.note("both have %s kinds of steps: %s of A's time, %s of B's", unit.Count(int64(s.Cells)), unit.Percent(s.TimeA), unit.Percent(s.TimeB))
	t.note("%s of them have enough steps: %s of A's time, %s of B's", unit.Count(int64(s.Judged)), unit.Percent(s.JudgedA), unit.Percent(s.JudgedB))
	t.note("the mixes have %s in common (distance %.3f); weights: %s", unit.Percent(1-s.Distance), s.Distance, o.Weights)
	return t
}

// explained says what composition makes of the plain difference. A share tells nothing where speed and composition are each larger than what
// they leave of each other.
func explained(pct float64) string {
	if pct < -100 || pct > 200 {
		return "speed and composition pull apart, and each makes more than the plain difference"
	}
	return fmt.Sprintf("composition makes %.1f %% of the plain difference", pct)
}

func (c *Comparison) sidesTable() Table {
	t := Table{Title: "What was compared", Head: []string{"", "A", "B"}, Left: 1}
	both := func(name string, f func(*Side) string) { t.row(name, f(&c.A), f(&c.B)) }
	count := func(name string, f func(*Side) int64) {
		if f(&c.A) != 0 || f(&c.B) != 0 {
			both(name, func(s *Side) string { return unit.Count(f(s)) })
		}
	}
	both("steps", func(s *Side) string { return unit.Count(s.Steps) })
	both("time in them", func(s *Side) string { return unit.Duration(s.TotalNS) })
	both("blocks (the independent unit)", func(s *Side) string { return fmt.Sprintf("%d of %s steps", s.Blocks, unit.Count(s.BlockSteps)) })
	count("left out: outside of the span", func(s *Side) int64 { return s.Excluded.Outside })
	count("left out: a window was open", func(s *Side) int64 { return s.Excluded.Perturbed })
	count("left out: stalls", func(s *Side) int64 { return s.Excluded.Stalls })
	if c.A.Excluded.Stalls+c.B.Excluded.Stalls > 0 {
		both("  time in them", func(s *Side) string { return unit.Duration(s.Excluded.StalledNS) })
		t.note("a stall is a step of %s or more that took over %d times the median of its kind", unit.Duration(stallNS), stallFactor)
	}
	count("pauses before steps", func(s *Side) int64 { return s.Excluded.Pauses })
	if c.A.Excluded.Pauses+c.B.Excluded.Pauses > 0 {
		both("  time in them", func(s *Side) string { return unit.Duration(s.Excluded.PausedNS) })
		t.note("a pause of %s or more before a step that goes on with requests is in no step's time", unit.Duration(stallNS))
	}
	count("left out: after gaps and restarts", func(s *Side) int64 { return s.Excluded.Unknown })
	count("left out: first steps of a server", func(s *Side) int64 { return s.Excluded.First })
	count("left out: without tokens", func(s *Side) int64 { return s.Excluded.Empty })
	count("left out: too many kinds", func(s *Side) int64 { return s.Excluded.Crowded })
	count("bad lines", func(s *Side) int64 { return s.Excluded.BadLines })
	count("torn last lines", func(s *Side) int64 { return s.Excluded.Torn })
	for _, p := range c.A.Problems {
		t.note("A: %s", p)
	}
	for _, p := range c.B.Problems {
		t.note("B: %s", p)
	}
	return t
}

func (c *Comparison) cellsTable(most int) Table {
	t := Table{Title: "Steps of one kind, by what they add to the difference; ms", Left: 6,
		Head:    []string{"graph", "bucket", "decode", "prefill", "context", "beside", "steps A", "B", "mean A", "B", "median A", "B", "B against A", "", "95 % interval", "adds", ""},
		Weights: []int{0, 0, 0, 0, 55, 50, 52, 52, 40, 40, 20, 20, 0, 0, 45, 70, 15}}
	t.note("medians within %.2g %%; * stands out among all kinds that are judged, others may by chance", store.SketchErrorPct)
	t.note("context is the upper edge of the bin that the median request lies in; eager before, after: a launch without a CUDA graph beside it moves time between neighbours")
	for i := range c.Cells {
		if most > 0 && i == most {
			t.note("%s kinds more are not listed", unit.Count(int64(len(c.Cells)-most)))
			break
		}
		t.row(c.Cells[i].cells()...)
	}
	return t
}

func (r *CellRow) cells() []string {
	value, between, mark := unit.Unknown, unit.Unknown, ""
	if r.Change != nil {
		value = percent(r.Change.Pct)
	}
	if r.Judged {
		between = interval(r.Change)
	}
	if r.Moved {
		mark = "*"
	}
	bucket := unit.Known(r.Bucket, unit.Count)
	return []string{r.Graph, bucket, r.Decode, r.Prefill, r.Context, r.Beside, unit.Count(r.StepsA), unit.Count(r.StepsB), meanMS(r.MeanA), meanMS(r.MeanB),
		unit.Known(r.MedianA, preciseMS), unit.Known(r.MedianB, preciseMS), value, mark, between, unit.Known(r.PartNS, signedMS), r.Why}
}

func (c *Comparison) familiesTable() Table {
	t := Table{Title: "Kernel time of a step at equal composition, ms", Left: 1,
		Head:    []string{"family", "kinds", "steps A", "B", "windows A", "B", "mean A", "B", "B against A", "95 % interval", "adds"},
		Weights: []int{0, 10, 20, 20, 30, 30, 50, 50, 0, 40, 60}}
	t.note("on the rank with the most work, without its waiting in collectives, in the profiler windows; the independent unit is the window, an interval needs %d on each side", windowsLeast)
	for i := range c.Families {
		f := &c.Families[i]
		value, between := unit.Unknown, unit.Unknown
		if f.Change != nil {
			value, between = percent(f.Change.Pct), interval(f.Change)
		}
		t.row(f.Family, strconv.Itoa(f.Cells), unit.Count(f.StepsA), unit.Count(f.StepsB), strconv.Itoa(f.WindowsA), strconv.Itoa(f.WindowsB),
			floatMS(f.EqualA), floatMS(f.EqualB), value, between, signedMS(f.PartNS))
	}
	return t
}

func percent(v float64) string {
	if math.Abs(v) >= 1000 {
		return fmt.Sprintf("%+.0f %%", v)
	}
	return fmt.Sprintf("%+.2f %%", v)
}

func interval(c *Change) string {
	if c.Low == nil || c.High == nil {
		return unit.Unknown
	}
	return strings.ReplaceAll(percent(*c.Low), " %", "") + " to " + percent(*c.High)
}

func meanMS(ns *float64) string { return unit.Known(ns, floatMS) }

// floatMS prints milliseconds with four digits, three behind the point at most: differences of a percent must be seen.
func floatMS(ns float64) string {
	digits := 3
	for limit := 1e7; ns >= limit && digits > 0; limit *= 10 {
		digits--
	}
	return strconv.FormatFloat(ns/1e6, 'f', digits, 64)
}

func preciseMS(ns int64) string { return floatMS(float64(ns)) }

func signedMS(ns float64) string { return fmt.Sprintf("%+.4f", ns/1e6) }
