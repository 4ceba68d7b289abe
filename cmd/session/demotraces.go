package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"

	"opprof/engine/rundir"
	"opprof/testdata"
)

// captured is a recorded trace: which window it is of, and when the server wrote it. Times are of the recording's wall clock.
type captured struct {
	name     string
	marker   int   // line of the replay that starts its window
	exportNS int64 // the file was made
	closedNS int64 // and was whole: the step that the export held up completed
}

// exportedStep is the step of a window, from 1, whose period holds the export: the last labelled one.
const exportedStep = 10

var traceStamp = regexp.MustCompile(`\.(\d{19})\.pt\.trace\.json$`)

// capturedTraces lays the traces of a recording beside its windows.
func capturedTraces(recording string, r *replay) []captured {
	var out []captured
	for _, name := range testdata.Traces(recording) {
		stamp := traceStamp.FindStringSubmatch(name)
		if stamp == nil {
			continue
		}
		c := captured{name: name, marker: -1}
		c.exportNS, _ = strconv.ParseInt(stamp[1], 10, 64)
		after := int64(0)
		for i, l := range r.lines {
			if at, ok := startOf(l.line); ok && at <= c.exportNS {
				c.marker = i
				after, _ = number(l.line, "after_step")
			}
		}
		for _, l := range r.lines {
			if step, ok := number(l.line, "step_index"); ok && step == after+exportedStep {
				c.closedNS = r.baseWallNS + l.dueNS
			}
		}
		if c.marker >= 0 && c.closedNS > c.exportNS {
			out = append(out, c)
		}
	}
	return out
}

// startOf is when a line says that the profiler was started, on the wall clock; ok is false for any other line.
func startOf(line []byte) (wallNS int64, ok bool) {
	if !bytes.Contains(line, []byte(`"action":"start"`)) {
		return 0, false
	}
	return number(line, "wall_ns")
}

// landing is a trace that is to be written into the demo's run.
type landing struct {
	captured
	movedNS int64 // from the recording's wall clock to the demo's
}

// landings writes traces when they are due. Its zero value has none; at another speed than the recorded one there are none, since the times
// in a trace cannot be stretched.
type landings struct {
	recording string
	dir       string
	now       func() time.Time
	captured  []captured
	due       chan landing
	written   []string // files, oldest first; of the landing goroutine
}

// landingsKept is how many traces the demo's run keeps: three rounds of the longest recording, some 50 MB.
const landingsKept = 21

// began takes note of a window whose marker is being written.
func (l *landings) began(line int, s shift) {
	for _, c := range l.captured {
		if c.marker != line {
			continue
		}
		select {
		case l.due <- landing{c, s.wall(c.exportNS) - c.exportNS}:
		default: // more than anybody can look at
		}
	}
}

// land writes traces until ctx ends: those of the past at once, newest first, then each when it is due.
func (l *landings) land(ctx context.Context) error {
	var past []landing
	for range len(l.due) {
		past = append(past, <-l.due)
	}
	slices.Reverse(past)
	for {
		var next landing
		if len(past) > 0 {
			next, past = past[0], past[1:]
		} else {
			select {
			case <-ctx.Done():
				return nil
			case next = <-l.due:
			}
		}
		if err := l.write(ctx, next); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// write makes the file at its export time and completes it when the recorded export was over.
func (l *landings) write(ctx context.Context, t landing) error {
	if err := l.sleep(ctx, t.exportNS+t.movedNS); err != nil {
		return err
	}
	text, err := testdata.Trace(l.recording, t.name)
	if err != nil {
		return err
	}
	defer text.Close()
	packed, err := packTrace(text, t.movedNS)
	if err != nil {
		return err
	}
	path := filepath.Join(l.dir, traceStamp.ReplaceAllString(t.name, "."+strconv.FormatInt(t.exportNS+t.movedNS, 10)+".pt.trace.json")+".gz")
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return fmt.Errorf("cannot write the demo's traces: %w", err)
	}
	half := len(packed) / 2
	if t.closedNS+t.movedNS <= l.now().UnixNano() {
		half = len(packed)
	}
	if err := os.WriteFile(path, packed[:half], 0o600); err != nil {
		return fmt.Errorf("cannot write the demo's traces: %w", err)
	}
	if half < len(packed) {
		if err := l.sleep(ctx, t.closedNS+t.movedNS); err != nil {
			return err
		}
		if err := os.WriteFile(path, packed, 0o600); err != nil {
			return fmt.Errorf("cannot write the demo's traces: %w", err)
		}
	}
	l.written = append(l.written, path)
	if len(l.written) > landingsKept {
		_ = os.Remove(l.written[0])
		l.written = l.written[1:]
	}
	return nil
}

// sleep waits for a moment of the wall clock.
func (l *landings) sleep(ctx context.Context, atNS int64) error {
	timer := time.NewTimer(time.Duration(atNS - l.now().UnixNano()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

var baseTime = regexp.MustCompile(`"baseTimeNanoseconds": ?(\d+)`)

// headBytes is where the time that a trace's other times count from must stand: before its events.
const headBytes = 64 << 10

// packTrace moves a trace in time and compresses it as a server does.
func packTrace(text io.Reader, movedNS int64) ([]byte, error) {
	in := bufio.NewReaderSize(text, headBytes)
	head, err := in.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot read the demo's trace: %w", err)
	}
	m := baseTime.FindSubmatchIndex(head)
	if m == nil {
		return nil, errors.New("cannot move the demo's trace in time: it has no baseTimeNanoseconds")
	}
	base, err := strconv.ParseInt(string(head[m[2]:m[3]]), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("cannot move the demo's trace in time: %w", err)
	}
	moved := append(strconv.AppendInt(bytes.Clone(head[:m[2]]), base+movedNS, 10), head[m[3]:]...)
	if _, err := in.Discard(len(head)); err != nil {
		return nil, fmt.Errorf("cannot read the demo's trace: %w", err)
	}
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(z, io.MultiReader(bytes.NewReader(moved), in)); err != nil {
		return nil, fmt.Errorf("cannot pack the demo's trace: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("cannot pack the demo's trace: %w", err)
	}
	return out.Bytes(), nil
}

// newLandings prepares the traces of a demo.
func newLandings(recording, run string, r *replay, speed float64, now func() time.Time) landings {
	l := landings{recording: recording, dir: filepath.Join(run, rundir.KinetoName), now: now, due: make(chan landing, 64)}
	if speed == 1 {
		l.captured = capturedTraces(recording, r)
	}
	return l
}

// note says why the demo's windows have no traces; "" when they have.
func (l *landings) note(speed float64) string {
	switch {
	case len(l.captured) > 0:
		return ""
	case speed != 1:
		return "the demo replays traces at the recorded speed only"
	}
	return "the demo has no traces of this recording: h200-tp1 has"
}
