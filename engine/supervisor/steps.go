package supervisor

import (
	"context"
	"slices"
	"strings"
	"time"

	"opprof/engine/control"
	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/engine/tail"
)

// seen is one line of Layer 1 that the loop acts on.
type seen struct {
	kind     record.Kind
	header   record.Header
	step     record.Step
	periodNS *int64
	profile  record.Profile
}

// stepSink gathers what one pass of the tailer reads. It belongs to the tailer's goroutine.
type stepSink struct {
	batch     []seen
	sequences map[int]*store.Sequence
}

// Line implements tail.Sink.
func (s *stepSink) Line(stream int, l *record.Line) {
	q := s.sequences[stream]
	if q == nil {
		q = &store.Sequence{}
		s.sequences[stream] = q
	}
	switch l.Kind {
	case record.KindHeader:
		q.Break()
		s.batch = append(s.batch, seen{kind: l.Kind, header: l.Header})
	case record.KindProfile:
		s.batch = append(s.batch, seen{kind: l.Kind, profile: l.Profile})
	case record.KindStep:
		one := seen{kind: l.Kind, step: l.Step}
		if p := q.Next(&l.Step); p.PeriodNS != store.UnknownNS {
			period := p.PeriodNS
			one.periodNS = &period
		}
		s.batch = append(s.batch, one)
	}
}

// Restart implements tail.Sink.
func (s *stepSink) Restart(stream int, _ string) {
	if q := s.sequences[stream]; q != nil {
		q.Break()
	}
}

// followSteps posts what the recorder writes until ctx ends. Each post is waited for, so that a backlog is not held twice.
func followSteps(ctx context.Context, find func() ([]string, error), begin func(string, int64) (int64, int64), every time.Duration,
	post func([]seen)) {
	t := tail.New(find, tail.Options{Start: begin, PassBytes: 8 << 20})
	defer t.Close()
	sink := &stepSink{sequences: map[int]*store.Sequence{}}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		progress, err := t.Poll(ctx, sink)
		if len(sink.batch) > 0 {
			post(sink.batch)
			sink.batch = nil
		}
		if err != nil {
			return
		}
		if progress.More {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// engines is how far each engine is.
type engines struct {
	list   []engine
	stepNS int64 // when the newest step of any was seen; 0 before one
	header record.Header
	ranks  int // trace files that a window gives: workers of all engines; 0 before a header was read
}

type engine struct {
	control.Engine
	work bool // its newest step left requests
}

func (e *engines) add(id string) *engine {
	i := slices.IndexFunc(e.list, func(o engine) bool { return o.ID == id })
	if i < 0 {
		e.list = append(e.list, engine{Engine: control.Engine{ID: id}})
		slices.SortFunc(e.list, func(a, b engine) int { return strings.Compare(a.ID, b.ID) })
		i = slices.IndexFunc(e.list, func(o engine) bool { return o.ID == id })
	}
	return &e.list[i]
}

func (e *engines) takeHeader(h record.Header) {
	e.add(h.EngineID)
	e.header = h
	e.ranks = int(max(h.TensorParallel, 1) * max(h.PipelineParallel, 1) * max(h.DataParallel, 1))
}

func (e *engines) takeStep(nowNS int64, s *record.Step) {
	one := e.add(s.EngineID)
	one.StepIndex = s.StepIndex
	one.work = s.Queues.Running+s.Queues.Waiting+s.Queues.Deferred > 0
	e.stepNS = nowNS
}

func (e *engines) work() bool {
	return slices.ContainsFunc(e.list, func(o engine) bool { return o.work })
}

// steps are those of all engines together; an engine's first is 1.
func (e *engines) steps() (sum int64) {
	for _, o := range e.list {
		sum += o.StepIndex
	}
	return sum
}

func (e *engines) status() []control.Engine {
	out := make([]control.Engine, len(e.list))
	for i, o := range e.list {
		out[i] = o.Engine
	}
	return out
}
