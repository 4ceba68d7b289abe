package session

import (
	"context"

	"opprof/engine/store"
)

// Frame computes what q selects. A live session is always now: its own clock stands in for Query.NowNS; a finished one has none.
func (s *Session) Frame(ctx context.Context, q store.Query) (*store.Frame, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	q.NowNS = 0
	if s.options.Kind != KindFinished {
		q.NowNS = s.options.Now().UnixNano()
	}
	return s.store.Snapshot().Frame(q), nil
}

// Find is the time of the next event after fromNS, or of the last one before it; ok is false when there is none.
func (s *Session) Find(ctx context.Context, ev store.Event, engine string, fromNS int64, forward bool) (atNS int64, ok bool, err error) {
	if err := s.usable(ctx); err != nil {
		return 0, false, err
	}
	atNS, ok = s.store.Snapshot().Find(ev, engine, fromNS, forward)
	return atNS, ok, nil
}

// AtStep is the completion time of a step; engine "" takes the first engine that has it. ok is false when none has.
func (s *Session) AtStep(ctx context.Context, engine string, step int64) (atNS int64, ok bool, err error) {
	if err := s.usable(ctx); err != nil {
		return 0, false, err
	}
	atNS, ok = s.store.Snapshot().AtStep(engine, step)
	return atNS, ok, nil
}

func (s *Session) usable(ctx context.Context) error {
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return ctx.Err()
}
