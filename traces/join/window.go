package join

import (
	"slices"

	"opprof/traces/family"
	"opprof/traces/rank"
)

// Window is one capture on all its ranks, tied to the steps it saw.
type Window struct {
	Group
	Join       Joined
	Iterations []Iteration
}

// Iteration is one labelled step on all ranks. Index i of Ranks is rank Group.Ranks[i]; nil where a rank lacks it.
type Iteration struct {
	Label  rank.Label
	Warmup bool
	Ranks  []*rank.Iteration

	Critical        int     // index of the rank with the largest union
	CriticalNS      int64   // that union: the critical path; -1 without device work in the window
	Slowest         int     // index of the rank with the most work without collectives, which the others wait for
	NonCollectiveNS int64   // the largest union without collectives; -1 likewise
	SpreadNS        int64   // largest minus smallest union without collectives
	WaitNS          int64   // largest of Waits; -1 when unknown
	Waits           []int64 // by rank: time in collectives that the rank waits for a later one; -1 when unknown
	WaitBy          string  // WaitByClocks, WaitByEnds or WaitByDifference; "" with one rank

	Step       *Step  // nil when not joined
	Export     bool   // the step's period holds the stall of the trace's export
	ResidualNS *int64 // step period minus critical path; nil when either is unknown
}

// OverlapNS is by how much the family unions of the critical rank exceed its union: work of two families at the same time. Family unions
// minus overlap plus residual are the step period, to the nanosecond.
func (it *Iteration) OverlapNS() int64 {
	r := it.Ranks[it.Critical]
	if r == nil || it.CriticalNS < 0 {
		return 0
	}
	var sum int64
	for f := range family.Count {
		sum += r.Families[f].UnionNS
	}
	return sum - r.Total.UnionNS
}

// SumNS is the work of all ranks that were read: the durations of their device intervals added up, which may pass the step period. -1 without
// device work in the window.
func (it *Iteration) SumNS() int64 {
	if it.CriticalNS < 0 {
		return -1
	}
	var sum int64
	for _, r := range it.Ranks {
		if r != nil {
			sum += r.Total.SumNS
		}
	}
	return sum
}

// NewWindow ties a group to the steps of its engine. Labels must agree between the ranks; where they do not, the join is refused.
func NewWindow(g Group, steps []Step, markers []Marker) Window {
	w := Window{Group: g}
	n := 0
	for _, b := range g.Ranks {
		n = max(n, len(b.Iterations))
	}
	for i := range n {
		w.Iterations = append(w.Iterations, g.iteration(i))
	}
	lead := g.Ranks[0]
	if b, i := g.disagreement(); b != nil {
		w.Join = Joined{Reason: "label " + b.Iterations[i].Label.Text + " of " + b.File + " differs from that of " + lead.File}
		return w
	}
	for _, b := range g.Ranks {
		if len(b.Iterations) > len(lead.Iterations) {
			lead = b
		}
	}
	w.Join = Steps(lead.Iterations, steps, markers)
	if n := len(w.Join.Steps); n > 0 {
		if at, found := indexOf(steps, w.Join.Steps[n-1].Index+1); found {
			w.Join.Behind = &steps[at]
		}
	}
	for i := range w.Join.Steps {
		it, s := &w.Iterations[i], &w.Join.Steps[i]
		it.Step = s
		if s.PeriodNS != nil && it.CriticalNS >= 0 {
			residual := *s.PeriodNS - it.CriticalNS
			it.ResidualNS = &residual
		}
	}
	w.markExport()
	return w
}

const (
	// exportFactor and exportNS are by how much the period of a window's last step must exceed the median of its steps to hold the export of the
	// trace: it takes some tenths of a second at least, while two steps are in flight.
	exportFactor = 3
	exportNS     = 50_000_000
)

// markExport finds the stall of the export in the last iteration's period. With several ranks it is often the step after the window.
func (w *Window) markExport() {
	var periods []int64
	for i := range w.Iterations {
		if s := w.Iterations[i].Step; s != nil && s.PeriodNS != nil {
			periods = append(periods, *s.PeriodNS)
		}
	}
	n := len(w.Iterations)
	if len(periods) < 3 || w.Iterations[n-1].Step == nil || w.Iterations[n-1].Step.PeriodNS == nil {
		return
	}
	slices.Sort(periods)
	median, last := periods[len(periods)/2], *w.Iterations[n-1].Step.PeriodNS
	w.Iterations[n-1].Export = last > exportFactor*median && last-median > exportNS
}

// Refused is the window of a group that cannot be tied to steps.
func Refused(g Group, reason string) Window {
	w := NewWindow(g, nil, nil)
	w.Join = Joined{Reason: reason}
	return w
}

// disagreement finds a rank whose k-th label is not that of the first rank.
func (g Group) disagreement() (*rank.Breakdown, int) {
	for _, b := range g.Ranks[1:] {
		for i := range min(len(b.Iterations), len(g.Ranks[0].Iterations)) {
			if b.Iterations[i].Label.Text != g.Ranks[0].Iterations[i].Label.Text {
				return b, i
			}
		}
	}
	return nil, 0
}

func (g Group) iteration(i int) Iteration {
	it := Iteration{Ranks: make([]*rank.Iteration, len(g.Ranks)), CriticalNS: -1, NonCollectiveNS: -1}
	least := int64(-1)
	for k, b := range g.Ranks {
		if i >= len(b.Iterations) {
			continue
		}
		r := &b.Iterations[i]
		it.Ranks[k] = r
		it.Label, it.Warmup = r.Label, r.Warmup
		if b.Mode == rank.ModeCPU {
			continue
		}
		if r.Total.UnionNS > it.CriticalNS {
			it.Critical, it.CriticalNS = k, r.Total.UnionNS
		}
		work := r.NonCollective.UnionNS
		if work > it.NonCollectiveNS {
			it.Slowest, it.NonCollectiveNS = k, work
		}
		if least < 0 || work < least {
			least = work
		}
	}
	it.SpreadNS = max(it.NonCollectiveNS, 0) - max(least, 0)
	it.waits(len(g.Missing) == 0 && it.CriticalNS >= 0)
	return it
}
