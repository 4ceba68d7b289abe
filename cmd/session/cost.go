package session

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"opprof/campaign/calibrate"
	"opprof/engine/armed"
	"opprof/engine/rundir"
	"opprof/traces/capture"
	"opprof/traces/catalog"
	"opprof/traces/family"
)

// cost learns from the session's windows what a step costs, once anybody asks.
type cost struct {
	learned atomic.Pointer[calibrate.Learned]
	asked   chan struct{} // holds one: somebody asked

	beside  []string          // other runs of the same campaign, whose windows count too
	others  []calibrate.Named // their windows, once they were read; with what follows of the learning goroutine
	keys    []string          // windows that learned rests on
	version uint64
}

func newCost(beside []string) *cost {
	c := &cost{asked: make(chan struct{}, 1), beside: beside}
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
		if err := s.cost.readBeside(ctx); err != nil {
			return err
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

// readBeside reads the windows of the other runs once. What cannot be read teaches nothing; an error means that there are no rules to read by.
func (c *cost) readBeside(ctx context.Context) error {
	if len(c.beside) == 0 {
		return nil
	}
	rules, err := family.Default()
	if err != nil {
		return err
	}
	for _, path := range c.beside {
		run, err := rundir.Open(path)
		if err != nil || len(run.Traces) == 0 {
			continue
		}
		found, err := capture.Load(ctx, capture.Input{Traces: run.Traces, Streams: run.Streams, Rules: rules, Parallel: 1,
			Runs: []capture.Run{{Traces: run.Traces, Armed: armed.Read(run.Root)}}})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			continue
		}
		for i, w := range found.Windows {
			c.others = append(c.others, calibrate.Named{Name: filepath.Base(path) + " window " + found.Names[i], Window: w})
		}
	}
	c.beside = nil
	return nil
}

// look learns from the windows of a list when they are others than the last time.
func (c *cost) look(ctx context.Context, l *catalog.List) error {
	var keys []string
	windows := slices.Clone(c.others)
	for i := range l.Windows {
		w := &l.Windows[i]
		if w.Detail == nil {
			continue
		}
		keys = append(keys, w.Key+" "+strconv.Itoa(len(w.Detail.Ranks))+" "+string(w.State))
		windows = append(windows, calibrate.Named{Name: "window " + w.Name(), Window: *w.Detail})
	}
	next := *c.learned.Load()
	if c.version > 0 && next.Done == l.Done && next.Of == l.Of && slices.Equal(keys, c.keys) {
		return nil
	}
	if c.version == 0 || !slices.Equal(keys, c.keys) {
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

// HasCost reports whether the run, or its campaign, has profiler windows by now, from which costs can be learned.
func (s *Session) HasCost() bool {
	return len(s.options.Beside) > 0 || len(s.windows.List().Windows) > 0
}

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
