package session

import (
	"context"
	"sync"
	"time"

	"opprof/engine/query"
	"opprof/engine/search"
)

// searching is the search that runs: one at a time.
type searching struct {
	mu           sync.Mutex
	expr, engine string
	now          *search.Search // nil when none runs
	stop         context.CancelFunc
	err          error // why the search cannot go on
	ended        bool  // the session is closed
}

// Search begins a search over the run's streams, or gives the one that runs already for the same expression and engine ("" all). It does not
// wait: the search says how far it is, and goes on while the run grows. Another expression ends the one before; "" ends it and gives nil.
func (s *Session) Search(ctx context.Context, expr, engine string) (*search.Search, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	r := &s.searching
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now != nil && r.expr == expr && r.engine == engine {
		return r.now, r.err
	}
	r.end()
	if expr == "" || r.ended {
		return nil, nil
	}
	q, err := query.Compile(expr)
	if err != nil {
		return nil, err
	}
	now := search.New(q, search.Options{Engine: engine, CacheDir: s.options.IndexDir, Final: s.options.Kind == KindFinished})
	running, stop := context.WithCancel(context.Background()) // until the next search, or the end of the session
	r.expr, r.engine, r.now, r.stop, r.err = expr, engine, now, stop, nil
	s.looking.Go(func() {
		defer now.Close()
		s.guard(func() error { return s.searchOn(running, now) })
	})
	return now, nil
}

// end calls the search off. The caller holds the lock.
func (r *searching) end() {
	if r.stop != nil {
		r.stop()
	}
	r.expr, r.engine, r.now, r.stop, r.err = "", "", nil, nil, nil
}

// close calls the search off and takes no other one.
func (r *searching) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.end()
}

// searchOn searches what there is, and what comes while the run grows, until it is called off.
func (s *Session) searchOn(ctx context.Context, now *search.Search) error {
	ticker := time.NewTicker(s.pollEvery())
	defer ticker.Stop()
	for {
		streams, err := s.run.ListStreams()
		if err == nil {
			err = now.Extend(ctx, streams)
		}
		if ctx.Err() != nil {
			return nil
		}
		s.searching.fail(now, err)
		if s.options.Kind == KindFinished {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// fail notes why a search is not complete; nil when it is.
func (r *searching) fail(now *search.Search, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == now {
		r.err = err
	}
}
