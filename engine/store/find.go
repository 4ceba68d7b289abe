package store

import "opprof/engine/record"

// Event is something a reader of a run jumps to.
type Event uint8

const (
	EventPreemption Event = iota
	EventGraphMiss        // a step in mode NONE
	EventStall            // a step period, or a pause before a step, of at least StallNS
	EventWindow           // a profiler window's first step
	EventGap              // lost steps or a restart
)

// mark is the mark that a step with the event carries.
func (ev Event) mark() marks {
	switch ev {
	case EventPreemption:
		return markPreemption
	case EventGraphMiss:
		return markMiss
	case EventStall:
		return markStall
	case EventGap:
		return markGap
	}
	return 0
}

// in counts the event in a bucket.
func (ev Event) in(c *Counts) int64 {
	switch ev {
	case EventPreemption:
		return c.Preemptions
	case EventGraphMiss:
		return c.Graph[record.GraphNone]
	case EventStall:
		return c.Stalls
	case EventGap:
		return c.Gaps
	}
	return 0
}

// search keeps the nearest time strictly after, or before, the one it starts from.
type search struct {
	fromNS, atNS int64
	forward      bool
	found        bool
}

func (s *search) offer(timeNS int64) {
	if s.forward {
		if timeNS > s.fromNS && (!s.found || timeNS < s.atNS) {
			s.atNS, s.found = timeNS, true
		}
		return
	}
	if timeNS < s.fromNS && (!s.found || timeNS > s.atNS) {
		s.atNS, s.found = timeNS, true
	}
}

// wants reports whether something in [firstNS, lastNS] could still be nearer.
func (s *search) wants(firstNS, lastNS int64) bool {
	if s.forward {
		return lastNS > s.fromNS && (!s.found || firstNS < s.atNS)
	}
	return firstNS < s.fromNS && (!s.found || lastNS > s.atNS)
}

// Find gives the time of the next or previous event, strictly after or before fromNS, of one engine or ("") of all. It is the step's
// completion while the step is kept whole; for older time the start of the finest bucket that holds one.
func (sn *Snapshot) Find(ev Event, engine string, fromNS int64, forward bool) (atNS int64, ok bool) {
	s := search{fromNS: fromNS, forward: forward}
	for _, i := range sn.selected(engine) {
		v := sn.engines[i]
		if ev == EventWindow {
			for k := range v.windows {
				s.offer(v.windows[k].atNS())
			}
			continue
		}
		v.findSteps(&s, ev.mark())
		v.findBuckets(&s, ev)
	}
	return s.atNS, s.found
}

func (v *engineView) findSteps(s *search, mark marks) {
	for _, b := range v.blocks {
		if b.union&mark == 0 || !s.wants(b.firstNS(), b.lastNS()) {
			continue
		}
		for i := range b.steps {
			if b.steps[i].marks&mark != 0 {
				s.offer(b.times[i])
			}
		}
	}
}

// findBuckets searches the time whose steps are gone, in the finest tier that still holds it.
func (v *engineView) findBuckets(s *search, ev Event) {
	if v.empty() || v.whole() {
		return
	}
	newer := int64(lastAxisNS) // what is at or after it was searched in a finer tier
	for i := range v.tiers {
		t := &v.tiers[i]
		for _, list := range [][]*Rollup{t.sealed, t.tail} {
			for _, r := range list {
				if r.StartNS < newer && !v.covers(r.StartNS, r.EndNS) && ev.in(&r.Counts) > 0 {
					s.offer(ev.time(&r.Counts, r.StartNS))
				}
			}
		}
		newer = min(newer, t.fromNS)
	}
}

// time is the best known time of an event in a bucket.
func (ev Event) time(c *Counts, startNS int64) int64 {
	if ev == EventPreemption {
		return c.LastPreemptionNS
	}
	return max(startNS, c.FirstNS)
}

// AtStep gives the completion of a step by its index, of one engine or ("") of the first that has it. If an engine counted more than
// once through the index, the newest is meant. A step that is not kept whole any more gives the start of its bucket.
func (sn *Snapshot) AtStep(engine string, step int64) (atNS int64, ok bool) {
	sel := sn.selected(engine)
	for _, i := range sel {
		if at, ok := sn.engines[i].stepTime(step); ok {
			return at, true
		}
	}
	for _, i := range sel {
		if at, ok := sn.engines[i].bucketOf(step); ok {
			return at, true
		}
	}
	return 0, false
}

// Step is a step of an engine as its record tells it; if the engine counted more than once through the index, the newest. ok is false for one that
// is not kept whole.
func (sn *Snapshot) Step(engine string, index int64) (s record.Step, at Place, ok bool) {
	for _, i := range sn.selected(engine) {
		for _, b := range sn.engines[i].blocks {
			if index < b.minStep || index > b.maxStep {
				continue
			}
			for k := range b.steps {
				if b.steps[k].stepIndex == index && (!ok || b.times[k] > at.TimeNS) {
					b.step(k, &s)
					at, ok = b.place(k), true
				}
			}
		}
	}
	return s, at, ok
}

func (v *engineView) stepTime(step int64) (atNS int64, ok bool) {
	for _, b := range v.blocks {
		if step < b.minStep || step > b.maxStep {
			continue
		}
		for i := range b.steps {
			if b.steps[i].stepIndex == step && (!ok || b.times[i] > atNS) {
				atNS, ok = b.times[i], true
			}
		}
	}
	return atNS, ok
}

func (v *engineView) bucketOf(step int64) (atNS int64, ok bool) {
	for i := range v.tiers {
		for _, list := range [][]*Rollup{v.tiers[i].sealed, v.tiers[i].tail} {
			for _, r := range list {
				if r.FirstStep <= step && step <= r.LastStep && !v.covers(r.StartNS, r.EndNS) {
					atNS, ok = max(r.StartNS, r.Counts.FirstNS), true
				}
			}
		}
		if ok {
			return atNS, ok
		}
	}
	return 0, false
}
