package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"opprof/campaign/bench"
	"opprof/campaign/gate"
	"opprof/campaign/plan"
	"opprof/engine/unit"
)

// Pair is one pair of a cell. It counts as a whole or not at all.
type Pair struct {
	Number  int    `json:"pair"`
	Order   string `json:"order"`
	Look    int    `json:"look"`
	Void    string `json:"void"`       // why it does not count; "" when it does
	Same    *int   `json:"same_texts"` // generated texts that both arms have alike; null when not known
	Texts   int    `json:"texts"`
	Machine string `json:"machine"` // where both arms ran; "" when not known
	off, on *Run

	unpatched *Run // nil without that arm
}

// pairsOf are the pairs of a cell that have begun, by number.
func pairsOf(in *Input, cell plan.Cell) []Pair {
	var out []Pair
	for i := range in.Runs {
		r := &in.Runs[i]
		if r.Kind != plan.Measured || r.Cell.Index != cell.Index {
			continue
		}
		k := slices.IndexFunc(out, func(p Pair) bool { return p.Number == r.Pair })
		if k < 0 {
			out = append(out, Pair{Number: r.Pair, Order: r.Order, Look: r.Look})
			k = len(out) - 1
		}
		// Of an arm that ran twice, after a crash, the last run counts.
		switch r.Arm {
		case plan.Off:
			out[k].off = r
		case plan.On:
			out[k].on = r
		case plan.Unpatched:
			out[k].unpatched = r
		}
	}
	slices.SortFunc(out, func(a, b Pair) int { return cmp.Compare(a.Number, b.Number) })
	for i := range out {
		out[i].judge(in.Plan)
	}
	return out
}

// judge says whether a pair counts, and why not.
func (p *Pair) judge(c *plan.Plan) {
	var why []string
	for _, arm := range []struct {
		name string
		run  *Run
	}{{plan.Off, p.off}, {plan.On, p.on}} {
		for _, reason := range objections(arm.run, c) {
			why = append(why, arm.name+": "+reason)
		}
	}
	if len(why) == 0 {
		why = append(apart(p.off.Machine, p.on.Machine), bench.Differences(p.off.Result, p.on.Result)...)
		why = append(why, otherCaches(p.off.Cache, p.on.Cache)...)
		if same, of, ok := bench.SameTexts(p.off.Result, p.on.Result); ok {
			p.Same, p.Texts = &same, of
		}
	}
	if m := p.machine(); m != nil {
		p.Machine = m.Name
	}
	p.Void = strings.Join(why, "; ")
}

// apart objects to a pair whose arms ran on different machines.
func apart(a, b *Machine) []string {
	if a == nil || b == nil || a.same(b) {
		return nil
	}
	return []string{fmt.Sprintf("the arms ran on different machines: %s and %s", a, b)}
}

// maxHitDifference is by how much the hit rates of a pair's prefix caches may differ: requests that meet in the queue may share a little.
const maxHitDifference = 0.01

// otherCaches objects to a pair whose servers did not begin with the same cache.
func otherCaches(off, on *Cache) []string {
	if off == nil || on == nil || off.Queries <= 0 || on.Queries <= 0 {
		return nil
	}
	a, b := off.Hits/off.Queries, on.Hits/on.Queries
	if math.Abs(a-b) <= maxHitDifference {
		return nil
	}
	return []string{fmt.Sprintf("the prefix caches differed: off hit %.1f %% of %.0f tokens, on %.1f %% of %.0f", 100*a, off.Queries, 100*b, on.Queries)}
}

// machine is where the pair ran; nil when that is not known.
func (p *Pair) machine() *Machine {
	for _, r := range []*Run{p.off, p.on} {
		if r != nil && r.Machine != nil {
			return r.Machine
		}
	}
	return nil
}

func objections(r *Run, c *plan.Plan) []string {
	switch {
	case r == nil:
		return []string{"not run"}
	case r.Void != "":
		return []string{r.Void}
	case r.Result == nil:
		return []string{"no results"}
	}
	fields := make([]string, len(c.Metrics))
	for i, m := range c.Metrics {
		fields[i] = m.Field
	}
	out := r.Result.Problems(c.Campaign.MinRequests, fields)
	for _, check := range r.Checks {
		if !check.OK {
			out = append(out, fmt.Sprintf("check %s: %s", check.Name, check.Detail))
		}
	}
	if r.Layer1 != nil && r.Layer1.Dropped != nil && *r.Layer1.Dropped > 0 {
		out = append(out, "the recorder dropped "+unit.Counted(*r.Layer1.Dropped, "record"))
	}
	return out
}

// metricsOf are the primary metrics with the pairs that count.
func metricsOf(c *plan.Plan, pairs []Pair) []gate.Metric {
	out := make([]gate.Metric, len(c.Metrics))
	for i, m := range c.Metrics {
		out[i] = gate.Metric{Name: m.Name, Higher: m.Higher}
		for _, p := range pairs {
			if p.Void != "" {
				continue
			}
			off, _ := p.off.Result.Field(m.Field)
			on, _ := p.on.Result.Field(m.Field)
			out[i].Pairs = append(out[i].Pairs, gate.Pair{ID: fmt.Sprint(p.Number), Order: p.Order, Off: off, On: on})
		}
	}
	return out
}
