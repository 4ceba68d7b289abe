package store

// Past adds what an index tells of the time before everything that the store was given of an engine: the totals, roll-ups and windows of
// the part of a long stream that was not read line by line. A roll-up counts in the one bucket that an Overview would count it in; tiers
// of narrower buckets do not reach back to it. The steps of that time stay unknown. Part's Steps and Before are not used.
func (s *Store) Past(p Part) {
	if p.Overview == nil || p.Overview.run.Counts.Steps == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.engine(p.Engine, 0)
	if e == nil {
		return
	}
	s.version++
	e.version = s.version
	run := &p.Overview.run
	e.steps += run.Counts.Steps
	e.coverNS = max(e.coverNS, run.Counts.LastNS)
	e.dummies += p.Dummies
	e.loss.add(&p.Loss)
	if e.header == nil && p.Header != nil {
		e.header = cloneHeader(p.Header)
	}
	e.windows.past(&p, e.sequence.OffsetNS)
	e.tiers.past(p.Overview)
}

// Align says what the time axis of a new engine adds to its monotonic clock, where the store is given only the end of its stream: the
// difference of the two clocks at the stream's first step. It changes nothing once the engine has a step.
func (s *Store) Align(engine string, offsetNS int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.engine(engine, 0); e != nil && !e.sequence.Started {
		e.sequence = Sequence{Aligned: true, OffsetNS: offsetNS}
	}
}

func (t *tiers) past(o *Overview) {
	finest := &o.levels[0]
	if t.levels[0].open == nil { // no step yet: the open buckets begin behind the past
		for i := range t.levels {
			t.levels[i].reopen(o.run.EndNS)
		}
	}
	for i := range t.levels {
		if l := &t.levels[i]; i == 0 || (l.widthNS < finest.typicalNS && !l.keeps) {
			l.fromNS = max(l.fromNS, o.run.EndNS)
		}
	}
	for _, r := range finest.sealed {
		t.addRollup(r)
	}
	t.run.Merge(&o.run)
}

// addRollup counts a roll-up that ends before the open second in every level that reaches back to it.
func (t *tiers) addRollup(r *Rollup) {
	for i := 1; i < len(t.levels); i++ {
		l := &t.levels[i]
		switch at := r.countsAt(l.widthNS); {
		case at < l.fromNS:
		case at >= l.open.StartNS:
			l.open.absorb(r) // counted in the levels above when it closes
			return
		default:
			l.at(at).absorb(r)
			l.bound()
		}
	}
}

// past puts the windows of an earlier part of the stream in front.
func (w *windows) past(p *Part, offsetNS int64) {
	var before windows
	for i := range p.Profiles {
		m := &p.Profiles[i]
		if offsetNS == 0 {
			offsetNS = m.WallNS - m.MonoNS
		}
		before.mark(m, m.MonoNS+offsetNS)
	}
	w.own()
	w.list = append(before.list, w.list...)
	if over := len(w.list) - windowsKept; over > 0 {
		w.list = w.list[over:]
	}
}

// Run is all roll-ups merged. It is not to be changed.
func (o *Overview) Run() *Rollup { return &o.run }
