package session

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"opprof/testdata"
)

type stepTimes struct {
	Type    string `json:"type"`
	Step    int64  `json:"step_index"`
	SubWall int64  `json:"submit_wall_ns"`
	SubMono int64  `json:"submit_mono_ns"`
	Done    int64  `json:"complete_mono_ns"`
	After   int64  `json:"after_step"`
}

func decodeLines(t *testing.T, stream []byte) []stepTimes {
	t.Helper()
	var out []stepTimes
	for line := range bytes.Lines(stream) {
		var s stepTimes
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatalf("%v in %.120s", err, line)
		}
		out = append(out, s)
	}
	return out
}

// Over seams, at any speed: contiguous steps, ordered times, submit before complete, markers between their steps.
func TestPlayerKeepsTheRulesOfAStream(t *testing.T) {
	for _, name := range testdata.Recordings() {
		for _, speed := range []float64{0.5, 1, 7, 100} {
			if speed != 1 && name != "h200-tp2-eager" {
				continue // every recording in its own time, one of them at any speed
			}
			stream, err := testdata.Recording(name)
			if err != nil {
				t.Fatal(err)
			}
			r, err := newReplay(stream)
			if err != nil {
				t.Fatal(name, err)
			}
			const zero = 1_800_000_000_000_000_000
			p := r.playFrom(-r.loopNS/2, clock{zeroWallNS: zero, zeroMonoNS: demoUptimeNS, speed: speed})
			var out []byte
			var dueNS int64
			for range 2 * len(r.lines) {
				if due := p.dueWallNS(); due < dueNS {
					t.Fatalf("%s: due times go back by %d ns", name, dueNS-due)
				} else {
					dueNS = due
				}
				out = p.appendNext(out)
			}
			checkStream(t, name, decodeLines(t, out), zero-demoUptimeNS)
		}
	}
}

func checkStream(t *testing.T, name string, lines []stepTimes, wallMinusMono int64) {
	t.Helper()
	var last stepTimes
	for i, l := range lines {
		if l.Type != "" {
			if d := l.After - last.Step; d < -3 || d > 3 {
				t.Fatalf("%s: line %d: a marker after step %d stands at step %d", name, i, l.After, last.Step)
			}
			continue
		}
		if l.Step != last.Step+1 {
			t.Fatalf("%s: line %d: step %d after %d", name, i, l.Step, last.Step)
		}
		if l.Done < l.SubMono || l.SubMono < last.SubMono || l.Done < last.Done {
			t.Fatalf("%s: line %d: times out of order: %+v after %+v", name, i, l, last)
		}
		// The recorded clocks agree within 20 us.
		if d := l.SubWall - l.SubMono - wallMinusMono; d < -100_000 || d > 100_000 {
			t.Fatalf("%s: line %d: wall and monotonic clock differ by %d ns more than at the start", name, i, d)
		}
		last = l
	}
}

// At speed 1 and without an offset a shifted line is the recorded line, byte for byte.
func TestShiftByNothingChangesNothing(t *testing.T) {
	stream, err := testdata.Recording("h200-tp2-eager")
	if err != nil {
		t.Fatal(err)
	}
	s := shift{baseWallNS: 5, wallNS: 5, baseMonoNS: 7, monoNS: 7, speed: 1}
	for line := range bytes.Lines(stream) {
		if got := s.appendLine(nil, line); !bytes.Equal(got, line) {
			t.Fatalf("got  %s\nwant %s", got, line)
		}
	}
}

func TestShiftMovesTimesAndStepsOnly(t *testing.T) {
	s := shift{baseWallNS: 100, wallNS: 1000, baseMonoNS: 10, monoNS: 500, speed: 2, steps: 7}
	line := `{"step_index":1,"submit_wall_ns":300,"submit_mono_ns":210,"complete_mono_ns":410,"x":{"a":9,"usage":0.5},"after_step":3,"e":null}`
	want := `{"step_index":8,"submit_wall_ns":1100,"submit_mono_ns":600,"complete_mono_ns":700,"x":{"a":9,"usage":0.5},"after_step":10,"e":null}`
	if got := string(s.appendLine(nil, []byte(line))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The file grows by what falls due, the newest line is never in the future, and nothing is left behind.
func TestDemoWritesAtTheRecordedPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := newDemo(DemoOptions{Speed: 1, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		read := func() []stepTimes {
			files, err := filepath.Glob(filepath.Join(d.run, "layer1", "*.jsonl"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			b, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			return decodeLines(t, b)
		}
		before := read()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.play(ctx) }()
		time.Sleep(10 * time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		after := read()
		due := func(until time.Duration) (n int) {
			for _, l := range d.player.lines {
				if since := l.dueNS - demoStartNS(d.player.replay); since > 0 && since <= int64(until) {
					n++
				}
			}
			return n
		}
		n, least, most := len(after)-len(before), due(10*time.Second-2*demoBeat), due(10*time.Second)
		if n < least || n > most || least == 0 {
			t.Errorf("%d lines in ten seconds, the recording has %d to %d", n, least, most)
		}
		newest := after[len(after)-1]
		if ahead := newest.SubWall - time.Now().UnixNano(); ahead > 0 || ahead < -int64(time.Second) {
			t.Errorf("the newest step was submitted %d ns from now", ahead)
		}
		d.close()
		if _, err := os.Stat(d.folder.path); !os.IsNotExist(err) {
			t.Errorf("the demo left %s behind (%v)", d.folder.path, err)
		}
	})
}
