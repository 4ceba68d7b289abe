package tui

import (
	tea "charm.land/bubbletea/v2"

	"opprof/engine/store"
	"opprof/engine/unit"
)

// neighbour goes to the step before or after the one at the cursor; where that is missing, on to the next one that is there.
func (b *board) neighbour(by int64) tea.Cmd {
	in := b.input()
	if in == nil || !in.Now.Known {
		return nil
	}
	j, v, step := jump{ctx: b.ctx, source: b.source, engine: b.engine}, b.view(), in.Now.StepIndex+by
	return func() tea.Msg {
		return j.step(step, v, func(s surrounding) foundMsg {
			to, which, end := s.after, "next", "last"
			if by < 0 {
				to, which, end = s.before, "one before", "first"
			}
			if to == nil {
				return foundMsg{text: "step " + unit.Count(step-by) + " is the " + end + " of the run"}
			}
			return foundMsg{atNS: to.TimeNS, ok: true, text: s.missing() + ": step " + unit.Count(to.StepIndex) + " is the " + which}
		})
	}
}

// toStep goes to a step, or to the nearest one that is there.
func (b *board) toStep(step int64) tea.Cmd {
	j, v := jump{ctx: b.ctx, source: b.source, engine: b.engine}, b.view()
	return func() tea.Msg {
		return j.step(step, v, func(s surrounding) foundMsg {
			none := "no step " + unit.Count(step) + ": "
			switch {
			case s.before == nil && s.after == nil:
				return foundMsg{text: none + "the steps of that time are not kept"}
			case s.after == nil:
				return foundMsg{text: none + "the last is " + unit.Count(s.before.StepIndex)}
			case s.before == nil:
				return foundMsg{text: none + "the first is " + unit.Count(s.after.StepIndex)}
			}
			to := s.before
			if s.after.StepIndex-step < step-s.before.StepIndex {
				to = s.after
			}
			return foundMsg{atNS: to.TimeNS, ok: true, text: none + s.missing() + "; step " + unit.Count(to.StepIndex) + " is the nearest"}
		})
	}
}

// step goes to a step; missing says where to go when there is none of that index.
func (j jump) step(step int64, v view, missing func(surrounding) foundMsg) foundMsg {
	at, ok, err := j.source.AtStep(j.ctx, j.engine, step)
	switch {
	case err != nil:
		return foundMsg{text: "step " + unit.Count(step) + ": " + err.Error()}
	case ok:
		return foundMsg{atNS: at, ok: true, text: "step " + unit.Count(step)}
	}
	return missing(j.around(step, v))
}

// surrounding are the steps on both sides of an index that no step has; nil is none.
type surrounding struct{ before, after *store.Instant }

// missing names the steps between them.
func (s surrounding) missing() string {
	if s.before == nil || s.after == nil {
		return "no step there"
	}
	first, last := s.before.StepIndex+1, s.after.StepIndex-1
	if first == last {
		return missingSteps(first, last) + " is missing"
	}
	return missingSteps(first, last) + " are missing"
}

// around halves the time of the run until it has the steps beside an index.
func (j jump) around(step int64, v view) (s surrounding) {
	f, newest := j.at(v.lastNS, "")
	if newest == nil {
		return s
	}
	if newest.StepIndex < step {
		s.before = newest
		return s
	}
	engine := engineAt(f, newest)
	s.after = newest
	for from, to := v.firstNS-1, newest.TimeNS; to-from > 1; {
		middle := from + (to-from)/2
		_, now := j.at(middle, engine)
		switch {
		case now == nil || now.StepIndex < step:
			from, s.before = middle, now
		default:
			to, s.after = now.TimeNS, now
		}
	}
	return s
}
