package session

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"opprof/testdata"
	"opprof/traces/catalog"
)

// Windows that the demo has shown already have their traces; one that is armed comes about as a server's does.
func TestDemoWindowsHaveTraces(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := OpenDemo(t.Context(), DemoOptions{Speed: 1}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	wait(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	l := until(ctx, t, s, func(l *catalog.List) bool { return len(l.Windows) >= 6 && verified(l) >= 6 })
	for _, w := range l.Windows[:6] {
		for _, it := range w.Detail.Iterations {
			if it.Step == nil || it.Ranks[0].LabelNS.Start < it.Step.SubmitNS {
				t.Errorf("window %d: a label before its step was submitted", w.Number)
			}
		}
	}
	if !s.MayArm() {
		t.Error("the demo takes no orders")
	}
}

// until waits for a list that is as wanted.
func until(ctx context.Context, t *testing.T, s *Session, is func(*catalog.List) bool) *catalog.List {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		l, err := s.Windows(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if is(l) {
			return l
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the windows are %+v", l)
		case <-ticker.C:
		}
	}
}

func verified(l *catalog.List) (n int) {
	for _, w := range l.Windows {
		if w.State == catalog.Verified {
			n++
		}
	}
	return n
}

// An armed demo goes on with its next window: it is armed, then recording, its trace is half written, and then whole; steps go on by one.
func TestArmedDemo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		d, err := newDemo(DemoOptions{Speed: 1, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer d.close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { ended <- d.play(ctx) }()
		go func() { ended <- d.traces.land(ctx) }()
		time.Sleep(10 * time.Second) // behind the window that follows the demo's beginning
		before := files(t, d)
		if said, err := d.order(ctx); err != nil || !strings.Contains(said, "recording") {
			t.Fatal(said, err)
		}
		if _, err := d.order(ctx); !errors.Is(err, errArmed) {
			t.Errorf("armed twice: %v", err)
		}
		if !strings.Contains(d.pending(), " in 2.") {
			t.Errorf("armed: %q", d.pending())
		}
		time.Sleep(3 * time.Second)
		if d.pending() != "" {
			t.Errorf("still armed: %q", d.pending())
		}
		if _, err := d.order(ctx); !errors.Is(err, errRecording) {
			t.Errorf("armed while recording: %v", err)
		}
		time.Sleep(4 * time.Second)
		if after := files(t, d); len(after) != len(before)+1 {
			t.Errorf("%d traces, %d before", len(after), len(before))
		}
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if _, err := d.order(t.Context()); !errors.Is(err, errEnded) {
			t.Errorf("an order after the end: %v", err)
		}
		lines := decodeLines(t, stream(t, d))
		checkStream(t, "demo", lines[1:], lines[1].SubWall-lines[1].SubMono)
	})
}

func TestDemosWithoutTracesSayWhy(t *testing.T) {
	for _, recording := range testdata.Recordings() {
		raw, err := testdata.Recording(recording)
		if err != nil {
			t.Fatal(err)
		}
		r, err := newReplay(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, speed := range []float64{1, 10} {
			l := newLandings(recording, "", r, speed, time.Now)
			if has := len(l.captured) > 0; has != (l.note(speed) == "") || has && (speed != 1 || len(l.captured) != len(testdata.Traces(recording))) {
				t.Errorf("%s at %g: %d traces, note %q", recording, speed, len(l.captured), l.note(speed))
			}
		}
	}
}

// stream is what the demo has written.
func stream(t *testing.T, d *demo) []byte {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(d.run, "layer1", "*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func files(t *testing.T, d *demo) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(d.run, "kineto", "*.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A trace is moved by its base alone: everything else is as it was.
func TestTraceIsMovedInTime(t *testing.T) {
	text := `{"deviceProperties": [], "baseTimeNanoseconds": 1790857026000000000, "traceEvents": [` + strings.Repeat(`{"ts": 5.1}, `, 20_000) + `{}]}`
	packed, err := packTrace(strings.NewReader(text), 42)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(z)
	if err != nil || string(got) != strings.Replace(text, "000000000,", "000000042,", 1) {
		t.Errorf("%v: %.100s", err, got)
	}
	if _, err := packTrace(strings.NewReader("{}"), 1); err == nil {
		t.Error("a trace without a base was moved")
	}
}
