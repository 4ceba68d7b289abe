package runner

import (
	"fmt"
	"time"

	"opprof/campaign/plan"
)

// attempt is the number of the next try at a run, and the name of its folder.
func (h *history) attempt(r plan.Run) (number int, dir string) {
	number = 1
	if a := h.last(r.ID()); a != nil {
		number = a.number + 1
	}
	if r.Kind == plan.Measured { // all runs of a pair carry the number of the pair's attempt
		number = 1
		for _, e := range h.again {
			if e.Cell == r.Cell.String() && e.Pair == r.Pair {
				number++
			}
		}
	}
	if number == 1 {
		return number, r.ID()
	}
	return number, fmt.Sprintf("%s-again-%d", r.ID(), number)
}

// newest is the run that ended last, "" when none has.
func (h *history) newest() (run string, endedNS int64) {
	for id := range h.attempts {
		if a := h.last(id); a.endedNS > endedNS {
			run, endedNS = id, a.endedNS
		}
	}
	return run, endedNS
}

// interruption says why a pair is begun again.
func (h *history) interruption(p *plan.Plan, key pairKey) string {
	for _, r := range h.runs(p) {
		if r.Cell.String() != key.cell || r.Pair != key.pair {
			continue
		}
		if a := h.last(r.ID()); a != nil && a.dropped != "" {
			return r.ID() + ": " + a.dropped
		}
	}
	return "its runner ended between its runs"
}

// estimate is how long runs will take: as long as the same did before, else as others of their cell, else as the plan says.
func (h *history) estimate(p *plan.Plan, runs []plan.Run) time.Duration {
	same, cell := map[string]mean{}, map[string]mean{}
	for _, r := range h.runs(p) {
		if a := h.last(r.ID()); a != nil && a.outcome != nil && len(a.outcome.Void) == 0 {
			took := time.Duration(a.outcome.TookNS)
			same[kindOf(r)] = same[kindOf(r)].add(took)
			cell[r.Cell.String()] = cell[r.Cell.String()].add(took)
		}
	}
	var sum time.Duration
	for _, r := range runs {
		switch {
		case same[kindOf(r)].n > 0:
			sum += same[kindOf(r)].value() + time.Duration(p.Campaign.Cooldown)
		case cell[r.Cell.String()].n > 0:
			sum += cell[r.Cell.String()].value() + time.Duration(p.Campaign.Cooldown)
		default:
			sum += p.Estimate(r)
		}
	}
	return sum
}

func kindOf(r plan.Run) string { return r.Cell.String() + " " + string(r.Kind) + " " + r.Arm }

type mean struct {
	sum time.Duration
	n   time.Duration
}

func (m mean) add(d time.Duration) mean { return mean{m.sum + d, m.n + 1} }
func (m mean) value() time.Duration     { return m.sum / m.n }

// left are the runs that have still to be made, those of pairs that will be begun again too.
func (h *history) left(p *plan.Plan) []plan.Run {
	runs := h.runs(p)
	var out []plan.Run
	for _, r := range runs {
		key := pairKey{r.Cell.String(), r.Pair}
		switch _, over := h.pairs[key]; {
		case r.Kind == plan.Measured && over, r.Kind == plan.WarmUp && (h.warm(r) || !h.unjudged(runs, r.Cell)):
		case r.Kind != plan.Measured && r.Kind != plan.WarmUp && h.ended(r):
		case r.Kind == plan.Measured && h.inHand(key, r):
		default:
			out = append(out, r)
		}
	}
	return out
}

// inHand reports whether a run of an unfinished pair has ended and will be used.
func (h *history) inHand(key pairKey, r plan.Run) bool {
	for _, a := range h.begun(key, []plan.Run{r}) {
		return a.outcome != nil && a.generation == h.generation
	}
	return false
}
