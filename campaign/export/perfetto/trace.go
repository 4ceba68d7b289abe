package perfetto

import (
	"context"
	"io"

	"opprof/campaign/export/feed"
	"opprof/campaign/export/windows"
	"opprof/engine/record"
)

// Input is what to write.
type Input struct {
	Run      string
	Steps    *feed.Feed
	From, To int64            // step indexes; 0 is open
	Windows  []windows.Window // whose kernels to write, with their timelines
	Progress func(done, total int64)
}

// Summary is what was written.
type Summary struct {
	Steps    int64
	Skipped  int64 // steps whose clocks make no sense
	Kernels  int64
	Count    feed.Count
	Problems []string
}

// trace is a trace while it is written.
type trace struct {
	in      Input
	out     *events
	dst     io.Writer
	engines map[string]*engine
	wanted  map[place]moment // steps that kernels belong to
	summary Summary
	pids    int64
}

type place struct {
	engine string
	step   int64
}

// Write writes the trace. What is damaged is left out and told in the summary.
func Write(ctx context.Context, dst io.Writer, in Input) (Summary, error) {
	t := &trace{in: in, dst: dst, engines: map[string]*engine{}, wanted: map[place]moment{}}
	t.want()
	count, err := in.Steps.Each(ctx, t.line, nil)
	if err != nil {
		return t.summary, err
	}
	t.summary.Count, t.summary.Problems = count, append(t.summary.Problems, count.Problems...)
	if t.out == nil {
		t.out = newEvents(dst, t.earliest(), in.Run)
	}
	for i := range in.Windows {
		if err := t.window(ctx, i+1, &in.Windows[i]); err != nil {
			return t.summary, err
		}
	}
	return t.summary, t.out.close()
}

// want lists the steps that kernels belong to, so that they are remembered when they pass.
func (t *trace) want() {
	for i := range t.in.Windows {
		w := &t.in.Windows[i]
		if w.Detail == nil {
			continue
		}
		for k := range w.Detail.Iterations {
			if s := w.Detail.Iterations[k].Step; s != nil {
				t.wanted[place{w.Engine, s.Index}] = moment{}
			}
		}
	}
}

// earliest is the base of a trace without steps: the start of its first window.
func (t *trace) earliest() int64 {
	var at int64
	for i := range t.in.Windows {
		if ns := t.in.Windows[i].TimeNS; at == 0 || ns < at {
			at = ns
		}
	}
	return at
}

func (t *trace) line(it *feed.Item) error {
	if t.in.Progress != nil && it.Line.Number%progressLines == 0 {
		t.in.Progress(t.in.Steps.Read(), t.in.Steps.Bytes())
	}
	switch l := it.Line; l.Kind {
	case record.KindStep:
		t.taken(it)
	case record.KindProfile:
		if e := t.engines[it.Engine]; e != nil {
			t.profile(e, &l.Profile)
		}
	}
	return t.failed()
}

// taken writes a step that lies in the span, and remembers one that kernels belong to.
func (t *trace) taken(it *feed.Item) {
	s := &it.Line.Step
	if it.Place.OffAxis || s.CompleteMonoNS < s.SubmitMonoNS {
		t.summary.Skipped++
		return
	}
	m := momentOf(s, it.Place)
	key := place{it.Engine, s.StepIndex}
	if _, ok := t.wanted[key]; ok {
		t.wanted[key] = m
	}
	if s.StepIndex < t.in.From || t.in.To > 0 && s.StepIndex > t.in.To {
		return
	}
	t.step(t.engineAt(it.Engine, m), s, it.Place)
	t.summary.Steps++
}

const progressLines = 4096

func (t *trace) failed() error {
	if t.out != nil {
		return t.out.err
	}
	return nil
}

// profile marks a call of the profiler.
func (t *trace) profile(e *engine, p *record.Profile) {
	if p.AfterStep < t.in.From || t.in.To > 0 && p.AfterStep > t.in.To || p.WallNS < e.profileNS {
		return
	}
	e.profileNS = p.WallNS
	t.out.instant(track{e.pid, tidProfiler}, "profiler "+p.Action, p.WallNS, func() { t.out.integer("after_step", p.AfterStep) })
}

// engineAt is the process of an engine. The first step sets the base of all times.
func (t *trace) engineAt(id string, m moment) *engine {
	if t.out == nil {
		t.out = newEvents(t.dst, m.submitNS, t.in.Run)
	}
	e := t.engines[id]
	if e != nil && m.submitNS >= e.atNS && m.completeNS >= e.endNS {
		return e
	}
	name := "engine " + id
	if e != nil {
		name += " (begun again)"
	}
	t.pids++
	e = &engine{pid: t.pids}
	t.engines[id] = e
	t.out.name(track{e.pid, 0}, "process", name, e.pid)
	for i, name := range []string{"step period", "preemptions", "stalls", "gaps", "profiler"} {
		tid := tidPeriod + int64(i)
		t.out.name(track{e.pid, tid}, "thread", name, tid)
	}
	return e
}
