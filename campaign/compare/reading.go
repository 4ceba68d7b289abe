package compare

import (
	"context"
	"fmt"
	"strings"

	"opprof/campaign/calibrate"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/tail"
)

// Reading is what one pass over a run leaves: sums by cell and block.
type Reading struct {
	name     string
	run      *rundir.Run
	span     Span
	steps    *tally
	excluded Excluded
	headers  []*record.Header // of its engines, those that have one
	engines  int64
	originNS int64 // time of the run's first step, where the span is counted from it
	firstNS  int64 // completion of the first and the last step that is compared; 0 without one
	lastNS   int64
	problems []string
	samples  []calibrate.Sample // of its profiler windows
	windows  []string           // names of them
}

// Excluded counts what was read and not compared.
type Excluded struct {
	Outside   int64 `json:"outside_span_steps"`
	First     int64 `json:"first_steps"`          // of a server's life
	Empty     int64 `json:"steps_without_tokens"` // they run nothing
	Unknown   int64 `json:"unknown_period_steps"` // after a gap, a drop or a restart, or where the clocks contradict each other
	Perturbed int64 `json:"perturbed_steps"`      // a profiler window was open, or its traces were being written
	Stalls    int64 `json:"stalled_steps"`        // 0.5 s or more, and over 10 times the median of their kind
	StalledNS int64 `json:"stalled_ns"`           // time in them
	Pauses    int64 `json:"pauses"`               // of 0.5 s or more before compared steps, while requests that these go on with were there: in no period
	PausedNS  int64 `json:"paused_ns"`            // time in them
	Crowded   int64 `json:"crowded_steps"`        // of kinds beyond the number that is kept
	BadLines  int64 `json:"bad_lines"`
	Torn      int64 `json:"torn_tails"` // last lines that are cut off
}

// FirstSteps are left out after a server's start: they pay for what is only done once.
const FirstSteps = 10

// passBytes is how much of a stream is read before the next one has its turn.
const passBytes = 64 << 20

// Read reads what the streams of a run hold now. The name is what the run is called in the comparison.
func Read(ctx context.Context, run *rundir.Run, name string, span Span) (*Reading, error) {
	r := &Reading{name: name, run: run, span: span, steps: newTally(firstShift)}
	c := newCollector(r)
	if span.unit == spanSince {
		origin, err := firstStep(ctx, run)
		if err != nil {
			return nil, err
		}
		r.originNS = origin
	}
	t := tail.New(run.ListStreams, tail.Options{PassBytes: passBytes})
	defer t.Close()
	for {
		progress, err := t.Poll(ctx, c)
		if err != nil {
			return nil, err
		}
		if progress.Err != nil {
			return nil, fmt.Errorf("cannot list the streams of %s: %w", run.Path, progress.Err)
		}
		if !progress.More {
			break
		}
	}
	if err := t.Flush(ctx, c); err != nil {
		return nil, err
	}
	c.finish()
	for _, st := range t.Streams() {
		if st.Err != nil {
			r.problems = append(r.problems, st.Err.Error())
		}
	}
	r.engines = int64(len(c.places))
	return r, nil
}

// firstStep is the earliest completion among the first steps of the streams; 0 without one.
func firstStep(ctx context.Context, run *rundir.Run) (int64, error) {
	t := tail.New(run.ListStreams, tail.Options{PassBytes: 1 << 20})
	defer t.Close()
	s := &originSink{seen: map[int]bool{}}
	progress, err := t.Poll(ctx, s)
	if err == nil {
		err = progress.Err
	}
	if err != nil {
		return 0, fmt.Errorf("cannot find the first step of %s: %w", run.Path, err)
	}
	return s.firstNS, nil
}

type originSink struct {
	seen    map[int]bool // streams whose first step was read
	firstNS int64
}

// Line implements tail.Sink.
func (s *originSink) Line(stream int, l *record.Line) {
	if l.Kind != record.KindStep || s.seen[stream] {
		return
	}
	s.seen[stream] = true
	if at := l.Step.SubmitWallNS + l.Step.SubmitToCompleteNS(); s.firstNS == 0 || at < s.firstNS {
		s.firstNS = at
	}
}

// Restart implements tail.Sink.
func (s *originSink) Restart(int, string) {}

// AddWindows adds what profiler windows of the run tell about kernels. Steps outside of the span are left out.
func (r *Reading) AddWindows(windows []calibrate.Named) {
	for i := range windows {
		w := windows[i]
		w.Iterations = nil
		for _, it := range windows[i].Iterations {
			if s := it.Step; s != nil && r.span.holds(s.Index, s.SubmitNS+s.SubmitToCompleteNS, r.originNS) {
				w.Iterations = append(w.Iterations, it)
			}
		}
		if len(w.Iterations) == 0 {
			continue
		}
		sets, left := calibrate.Samples([]calibrate.Named{w})
		r.problems = append(r.problems, left.Windows...)
		for _, set := range sets {
			for _, s := range set.Samples {
				s.Window = len(r.windows)
				r.samples = append(r.samples, s)
			}
			r.windows = append(r.windows, set.Windows...)
		}
	}
}

// title is how the reading is called: its name and its span.
func (r *Reading) title() string {
	if r.span.text == "" {
		return r.name
	}
	return strings.TrimSpace(r.name + " " + r.span.text)
}
