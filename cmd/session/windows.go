package session

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"opprof/engine/store"
	"opprof/traces/capture"
	"opprof/traces/catalog"
	"opprof/traces/family"
	"opprof/traces/join"
)

// traceEvery is how often the folder of a live run is looked at for traces.
const traceEvery = time.Second

// newCatalog keeps the profiler windows of the session's run.
func (s *Session) newCatalog() *catalog.Catalog {
	return catalog.New(catalog.Options{
		Traces: s.run.ListTraces, Streams: s.run.ListStreams, Markers: s.markers, Ranks: s.ranks, Step: s.step, Rules: family.Default,
		Live: s.options.Kind != KindFinished, Now: s.options.Now, Note: s.options.traceNote, Pending: s.options.pending, Armed: s.numbers.look,
	})
}

// followTraces looks at the run's traces until ctx ends: those of a finished run once all its records were read.
func (s *Session) followTraces(ctx context.Context) error {
	if s.options.Kind == KindFinished {
		defer s.markLooked()
		if err := s.await(ctx, s.read); err != nil {
			return nil // ctx has ended
		}
		if err := s.windows.Look(ctx); ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
		s.markLooked()
		return s.windows.Run(ctx, nil)
	}
	every := traceEvery
	if s.options.Kind == KindDemo {
		every = s.pollEvery()
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	return s.windows.Run(ctx, ticker.C)
}

// markers are the profiler windows that the records tell of.
func (s *Session) markers() []store.Window {
	return s.store.Snapshot().Frame(store.Query{Columns: 1}).Windows
}

// ranks is how many workers an engine has; 0 when no header says.
func (s *Session) ranks() int {
	d := s.Run()
	return int(max(d.TensorParallel, 1) * max(d.PipeParallel, 1) * min(d.TensorParallel, 1))
}

// step is what the join needs to know of a step that the store holds.
func (s *Session) step(engine string, index int64) (join.Step, bool) {
	record, at, ok := s.store.Snapshot().Step(engine, index)
	if !ok {
		return join.Step{}, false
	}
	return capture.StepOf(&record, at), true
}

// traces are the trace files that the run has now, below its folder.
func (s *Session) traces() []string {
	var paths []string
	for _, w := range s.windows.List().Windows {
		for _, f := range w.Files {
			if below, err := filepath.Rel(s.run.Root, f.Path); err == nil {
				paths = append(paths, below)
			}
		}
	}
	slices.Sort(paths)
	return paths
}

// Windows are the profiler windows of the run as they are known now; open are the keys of those that are looked at.
func (s *Session) Windows(ctx context.Context, open []string) (*catalog.List, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	s.windows.Open(open)
	return s.windows.List(), nil
}

// WaitWindows returns when the traces of a finished run have been read; those of another run never have been.
func (s *Session) WaitWindows(ctx context.Context) error {
	select {
	case <-s.looked:
	case <-ctx.Done():
	}
	return s.usable(ctx)
}

// markLooked closes looked once. Only the goroutine that looks calls it.
func (s *Session) markLooked() {
	select {
	case <-s.looked:
	default:
		close(s.looked)
	}
}

// MayArm reports whether anybody arms windows of this run.
func (s *Session) MayArm() bool { return s.arm != nil }

// Arm asks for the next window and says what happens now.
func (s *Session) Arm(ctx context.Context) (said string, err error) {
	if err := s.usable(ctx); err != nil {
		return "", err
	}
	if s.arm == nil {
		return "", errNobody
	}
	return s.arm(ctx)
}

var errNobody = errors.New("this run is only watched")
