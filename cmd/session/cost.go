package session

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"opprof/campaign/calibrate"
	"opprof/traces/catalog"
)

// cost learns from the session's windows what a step costs, once anybody asks.
type cost struct {
	learned atomic.Pointer[calibrate.Learned]
	asked   chan struct{} // holds one: somebody asked

	keys    []string // windows that learned rests on; of the learning goroutine
	version uint64
}

func newCost() *cost {
	c := &cost{asked: make(chan struct{}, 1)}
	c.learned.Store(&calibrate.Learned{})
	return c
}

// costEvery is the least time between two looks at the windows.
const costEvery = time.Second

// followCost learns again, while anybody asks, whenever other windows were read.
func (s *Session) followCost(ctx context.Context) error {
	ticker := time.NewTicker(costEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.cost.asked:
		}
		if err := s.cost.look(ctx, s.windows.List()); err != nil {
			return nil // ctx has ended
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// look learns from the windows of a list when they are others than the last time.
func (c *cost) look(ctx context.Context, l *catalog.List) error {
	var keys []string
	var windows []calibrate.Named
	for i := range l.Windows {
		w := &l.Windows[i]
		if w.Detail == nil {
			continue
		}
		keys = append(keys, w.Key+" "+strconv.Itoa(len(w.Detail.Ranks))+" "+string(w.State))
		windows = append(windows, calibrate.Named{Name: "window " + strconv.Itoa(w.Number), Window: *w.Detail})
	}
	next := *c.learned.Load()
	if c.version > 0 && next.Done == l.Done && next.Of == l.Of && slices.Equal(keys, c.keys) {
		return nil
	}
	if !slices.Equal(keys, c.keys) {
		learned, err := calibrate.Learn(ctx, windows)
		if err != nil {
			return err
		}
		c.keys, next = keys, *learned
	}
	c.version++
	next.Version, next.Done, next.Of = c.version, l.Done, l.Of
	c.learned.Store(&next)
	return nil
}

// HasCost reports whether the run has profiler windows by now, from which costs can be learned.
func (s *Session) HasCost() bool { return len(s.windows.List().Windows) > 0 }

// Cost is what the windows that were read teach. What is asked for the first time is learned in the background.
func (s *Session) Cost(ctx context.Context) (*calibrate.Learned, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	select {
	case s.cost.asked <- struct{}{}:
	default:
	}
	return s.cost.learned.Load(), nil
}
