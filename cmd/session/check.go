package session

import (
	"context"
	"fmt"
	"slices"

	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/tail"
	"opprof/engine/unit"
)

// CheckReport is what `opprof check --json` prints.
type CheckReport struct {
	Schema int64       `json:"schema"`
	Files  []FileCheck `json:"files"`
	Failed []string    `json:"failed"` // why what was named could not be checked, a sentence each
}

// FileCheck is what was found in one stream.
type FileCheck struct {
	record.Check
	FirstBad      string  `json:"first_bad"`      // the first bad line, located; "" if none
	FallbackShare float64 `json:"fallback_share"` // share of steps that are not in the writer's layout byte for byte, in [0,1]
	Error         string  `json:"error"`          // why the stream could not be read to its end, or holds no step; "" when neither
}

// Violated reports whether some invariant does not hold.
func (r *CheckReport) Violated() bool {
	return slices.ContainsFunc(r.Files, func(f FileCheck) bool { return !f.OK() })
}

// Stepless reports whether not one step could be read: there is nothing that could hold.
func (f *FileCheck) Stepless() bool { return f.Steps == 0 }

// Stepless counts the streams of which no step could be read.
func (r *CheckReport) Stepless() int {
	n := 0
	for i := range r.Files {
		if r.Files[i].Stepless() {
			n++
		}
	}
	return n
}

// Unreadable counts the streams with steps that were not read to their end.
func (r *CheckReport) Unreadable() int {
	n := 0
	for i := range r.Files {
		if r.Files[i].Error != "" && !r.Files[i].Stepless() {
			n++
		}
	}
	return n
}

// AddRun reads every stream of a run as it is now and adds what was found. The error is that of ctx or of listing the run; a stream that
// cannot be read has its own.
func (r *CheckReport) AddRun(ctx context.Context, run *rundir.Run) error {
	sink := &checkSink{}
	tailer := tail.New(run.ListStreams, tail.Options{PassBytes: passBytes})
	defer tailer.Close()
	if err := readThrough(ctx, tailer, sink); err != nil {
		return err
	}
	for i, status := range tailer.Streams() {
		f := FileCheck{Check: sink.checker(i).Result(), FirstBad: status.FirstBad, FallbackShare: status.Decode.FallbackShare()}
		f.Path = status.Path
		if status.Err != nil {
			f.Error = status.Err.Error()
		}
		if f.Stepless() {
			f.Error = "no step could be read: " + nothingIn(&f, &status)
		}
		r.Files = append(r.Files, f)
	}
	return nil
}

// nothingIn says why a stream has no step.
func nothingIn(f *FileCheck, st *tail.Status) string {
	switch {
	case f.Error != "":
		return f.Error
	case st.Size == 0:
		return "the file is empty"
	case f.BadLines > 0:
		return fmt.Sprintf("bad: %d of %s", f.BadLines, unit.Counted(st.Lines, "line"))
	case f.TornTail || st.Torn:
		return "the file is cut off before its first whole line"
	case f.EngineID != "":
		return "it holds a header and no step"
	}
	return "it holds other lines only"
}

// readThrough reads what the streams hold now, torn last lines included.
func readThrough(ctx context.Context, tailer *tail.Tailer, sink tail.Sink) error {
	for {
		progress, err := tailer.Poll(ctx, sink)
		if err != nil {
			return err
		}
		if progress.Err != nil {
			return fmt.Errorf("cannot list the run's streams: %w", progress.Err)
		}
		if !progress.More {
			return tailer.Flush(ctx, sink)
		}
	}
}

// checkSink has one checker per stream, by the tailer's number.
type checkSink struct {
	checkers []*record.Checker
}

func (s *checkSink) checker(stream int) *record.Checker {
	for len(s.checkers) <= stream {
		s.checkers = append(s.checkers, record.NewChecker())
	}
	return s.checkers[stream]
}

// Line implements tail.Sink.
func (s *checkSink) Line(stream int, l *record.Line) { s.checker(stream).Add(l) }

// Restart implements tail.Sink: the stream is read again from its start.
func (s *checkSink) Restart(stream int, _ string) {
	s.checker(stream)
	s.checkers[stream] = record.NewChecker()
}
