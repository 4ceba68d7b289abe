package session

import (
	"context"
	"errors"

	"opprof/engine/index"
	"opprof/engine/store"
)

// Frame computes what q selects. A live session is always now: its own clock stands in for Query.NowNS; a finished one has none.
func (s *Session) Frame(ctx context.Context, q store.Query) (*store.Frame, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	return s.named(s.picture(ctx, q))
}

// picture is a Frame whose windows have no names yet.
func (s *Session) picture(ctx context.Context, q store.Query) (*store.Frame, error) {
	q.NowNS = 0
	if s.options.Kind != KindFinished {
		q.NowNS = s.options.Now().UnixNano()
	}
	recent := s.store.Snapshot()
	recentNS := s.notes.recentNS.Load()
	indexed := s.past.indexed()
	old := q.AtNS != 0 && q.AtNS < recentNS
	if recentNS == 0 || !old && indexed {
		return recent.Frame(q), nil
	}
	atNS := recentNS
	if old {
		atNS = q.AtNS
	}
	view, err := s.past.around(ctx, atNS-max(q.SpanNS, 2*store.RateSpanNS), atNS)
	switch {
	case err != nil:
		return nil, err
	case view == nil:
		f := recent.Frame(q)
		f.Sampled = true
		return f, nil
	case old:
		return pastFrame(recent, view, q, indexed), nil
	}
	return sampledFrame(recent, view, q), nil
}

// pastFrame is a picture of a moment before the steps that the store keeps: what was then comes from the view, the run's totals from the
// store, which knows them once the index is complete.
func pastFrame(recent, view *store.Snapshot, q store.Query, indexed bool) *store.Frame {
	q.NowNS = 0
	f := view.Frame(q)
	f.Version = versionOf(recent, view)
	if !indexed {
		return f
	}
	base := recent.Frame(store.Query{Engine: q.Engine, SpanNS: q.SpanNS, AtNS: q.AtNS, Columns: q.Columns})
	if q.SpanNS == 0 {
		f.FromNS, f.ToNS, f.BucketNS, f.Columns, f.Span = base.FromNS, base.ToNS, base.BucketNS, base.Columns, base.Span
	}
	f.Run, f.Loss, f.Windows = base.Run, base.Loss, base.Windows
	then := f.Engines
	f.Engines = base.Engines
	for i := range f.Engines {
		e := &f.Engines[i]
		e.Now, e.Rates, e.State = store.Instant{}, store.Rates{}, store.State{Name: "unknown"}
		for k := range then {
			if then[k].ID == e.ID {
				e.Now, e.Rates, e.State = then[k].Now, then[k].Rates, then[k].State
			}
		}
	}
	return f
}

// sampledFrame is a picture of the newest steps before the index is complete: the run's totals, and the columns of the whole run, come from
// samples of what lies before them.
func sampledFrame(recent, view *store.Snapshot, q store.Query) *store.Frame {
	f := recent.Frame(q)
	sample := view.Frame(store.Query{Engine: q.Engine, Columns: q.Columns, AtNS: q.AtNS})
	f.Version, f.Sampled, f.Run = versionOf(recent, view), true, sample.Run
	if q.SpanNS == 0 {
		f.FromNS, f.ToNS, f.BucketNS, f.Columns, f.Span = sample.FromNS, sample.ToNS, sample.BucketNS, sample.Columns, sample.Span
	}
	return f
}

// versionOf changes when either snapshot does.
func versionOf(recent, view *store.Snapshot) uint64 { return recent.Version()<<20 ^ view.Version() }

// errIndexing says that a search has to wait for the index.
var errIndexing = errors.New("the older part of the run is still being indexed: search it again when that is done")

// Find is the time of the next event after fromNS, or of the last one before it; ok is false when there is none.
func (s *Session) Find(ctx context.Context, ev store.Event, engine string, fromNS int64, forward bool) (atNS int64, ok bool, err error) {
	if err := s.usable(ctx); err != nil {
		return 0, false, err
	}
	recent := s.store.Snapshot()
	recentNS := s.notes.recentNS.Load()
	if recentNS == 0 {
		atNS, ok = recent.Find(ev, engine, fromNS, forward)
		return atNS, ok, nil
	}
	if forward {
		if fromNS < recentNS {
			if atNS, ok, err = s.past.find(ctx, ev, engine, fromNS, true); ok || err != nil {
				return atNS, ok, err
			}
		}
		atNS, ok = recent.Find(ev, engine, max(fromNS, recentNS-1), true)
		return atNS, ok, nil
	}
	if atNS, ok = recent.Find(ev, engine, fromNS, false); ok && atNS >= recentNS {
		return atNS, true, nil
	}
	return s.past.find(ctx, ev, engine, min(fromNS, recentNS), false)
}

// find is the nearest event in any archive.
func (p *past) find(ctx context.Context, ev store.Event, engine string, fromNS int64, forward bool) (atNS int64, ok bool, err error) {
	for _, a := range p.list() {
		steps, _, _, _ := a.view()
		x, complete := steps.(*index.Index)
		if !complete {
			return 0, false, errIndexing
		}
		at, found, err := x.Find(ctx, a.file, ev, engine, fromNS, forward)
		if err != nil {
			return 0, false, err
		}
		if found && (!ok || forward == (at < atNS)) {
			atNS, ok = at, true
		}
	}
	return atNS, ok, nil
}

// AtStep is the completion time of a step; engine "" takes the first engine that has it. ok is false when none has.
func (s *Session) AtStep(ctx context.Context, engine string, step int64) (atNS int64, ok bool, err error) {
	if err := s.usable(ctx); err != nil {
		return 0, false, err
	}
	recentNS := s.notes.recentNS.Load()
	if atNS, ok = s.store.Snapshot().AtStep(engine, step); ok && atNS >= recentNS {
		return atNS, true, nil
	}
	return s.past.atStep(ctx, engine, step)
}

func (p *past) atStep(ctx context.Context, engine string, step int64) (atNS int64, ok bool, err error) {
	for _, a := range p.list() {
		steps, parts, _, _ := a.view()
		for i := range parts {
			if engine != "" && parts[i].Engine != engine {
				continue
			}
			if atNS, ok, err = steps.AtStep(ctx, a.file, parts[i].Engine, step); ok || err != nil {
				return atNS, ok, err
			}
		}
	}
	return 0, false, nil
}

func (s *Session) usable(ctx context.Context) error {
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return ctx.Err()
}
