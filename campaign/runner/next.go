package runner

import (
	"opprof/campaign/plan"
)

// step is what a campaign has to do next. Exactly one of its parts is set.
type step struct {
	run   *plan.Run
	unit  []plan.Run // of run: the runs that must follow without a break, itself the first; empty within a pair
	judge *pairKey   // every run of the pair has ended, or one of them voids it
	again *pairKey   // the pair was interrupted: it is begun again as a whole
	end   bool       // every run of this look has ended
}

// next says what a history asks for. It is the whole of the order in which a campaign goes on, whoever ran it before.
func next(p *plan.Plan, h *history) step {
	runs := h.runs(p)
	for i := 0; i < len(runs); i++ {
		r := &runs[i]
		switch {
		case r.Kind == plan.Measured:
			pair := pairAt(runs, i)
			if s, ok := h.pairStep(pair); ok {
				return s
			}
			i += len(pair) - 1
		case r.Kind == plan.WarmUp && !h.warm(*r) && h.unjudged(runs, r.Cell):
			return step{run: r, unit: []plan.Run{*r}}
		case r.Kind != plan.WarmUp && !h.ended(*r):
			return step{run: r, unit: []plan.Run{*r}}
		}
	}
	return step{end: true}
}

// pairAt are the runs of the pair that begins at i.
func pairAt(runs []plan.Run, i int) []plan.Run {
	n := i
	for n < len(runs) && runs[n].Kind == plan.Measured && runs[n].Cell == runs[i].Cell && runs[n].Pair == runs[i].Pair {
		n++
	}
	return runs[i:n]
}

// pairStep is what a pair asks for; false when it was judged. Runs of an earlier runner are no part of it unless it was whole.
func (h *history) pairStep(pair []plan.Run) (step, bool) {
	key := pairKey{pair[0].Cell.String(), pair[0].Pair}
	if _, over := h.pairs[key]; over {
		return step{}, false
	}
	begun := h.begun(key, pair)
	if len(begun) == 0 {
		return step{run: &pair[0], unit: pair}, true
	}
	void := false
	for i, a := range begun {
		if a.outcome == nil || a.generation != begun[0].generation {
			return step{again: &key}, true
		}
		void = void || compared(pair[i]) && len(a.outcome.Void) > 0
	}
	switch {
	case void || len(begun) == len(pair):
		return step{judge: &key}, true
	case begun[0].generation != h.generation:
		return step{again: &key}, true
	}
	return step{run: &pair[len(begun)]}, true
}

// begun are the newest attempts of a pair's runs since it was last begun again, in the order of the runs.
func (h *history) begun(key pairKey, pair []plan.Run) []*attempt {
	restarts := 0
	for _, e := range h.again {
		if (pairKey{e.Cell, e.Pair}) == key {
			restarts++
		}
	}
	var out []*attempt
	for _, r := range pair {
		a := h.last(r.ID())
		if a == nil || a.number <= restarts {
			break
		}
		out = append(out, a)
	}
	return out
}

// compared reports whether a run is one of those that the gate compares.
func compared(r plan.Run) bool { return r.Arm == plan.Off || r.Arm == plan.On }

// warm reports whether a warm-up run has done its work for this machine.
func (h *history) warm(r plan.Run) bool {
	a := h.last(r.ID())
	return a != nil && a.outcome != nil && len(a.outcome.Void) == 0 && a.outcome.Machine.same(h.machine)
}

// ended reports whether a run that is no part of a pair is over, well or not.
func (h *history) ended(r plan.Run) bool {
	a := h.last(r.ID())
	return a != nil && a.outcome != nil
}

// unjudged reports whether a cell has pairs to come.
func (h *history) unjudged(runs []plan.Run, cell plan.Cell) bool {
	for _, r := range runs {
		if _, over := h.pairs[pairKey{r.Cell.String(), r.Pair}]; r.Kind == plan.Measured && r.Cell == cell && !over {
			return true
		}
	}
	return false
}
