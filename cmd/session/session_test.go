package session

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/testdata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// writeRounds writes a run whose stream is a recording played for so many rounds.
func writeRounds(t *testing.T, recording string, rounds int) (dir, stream string) {
	t.Helper()
	raw, err := testdata.Recording(recording)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newReplay(raw)
	if err != nil {
		t.Fatal(err)
	}
	p := r.playFrom(0, clock{zeroWallNS: 1_800_000_000_000_000_000, zeroMonoNS: demoUptimeNS, speed: 1})
	out := p.appendHeader(nil)
	for range rounds * len(r.lines) {
		out = p.appendNext(out)
	}
	dir = filepath.Join(t.TempDir(), "run")
	stream = filepath.Join(dir, "layer1", "opprof-v1-dp0-pid1-1.jsonl")
	if err := os.MkdirAll(filepath.Dir(stream), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stream, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, stream
}

func open(t *testing.T, dir string, o Options) *Session {
	t.Helper()
	run, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := Open(t.Context(), run, o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func wait(t *testing.T, s *Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Wait(ctx); err != nil {
		t.Fatal(err)
	}
}

func frame(t *testing.T, s *Session, q store.Query) *store.Frame {
	t.Helper()
	f, err := s.Frame(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A stream whose beginning is only indexed shows what a stream shows that was read line by line.
func TestLongStreamShowsWhatAWholeOneShows(t *testing.T) {
	dir, _ := writeRounds(t, "h200-tp1", 2)
	whole := open(t, dir, Options{})
	long := open(t, dir, Options{wholeBytes: 1 << 20, recentBytes: 1 << 20})
	wait(t, whole)
	wait(t, long)
	recentNS := long.notes.recentNS.Load()
	if recentNS == 0 {
		t.Fatal("the stream was read whole")
	}

	a, b := frame(t, whole, store.Query{Columns: 4}), frame(t, long, store.Query{Columns: 4})
	a.Run.Counts.PeriodSumNS, b.Run.Counts.PeriodSumNS = 0, 0 // the first step behind the index has no known period
	if a.Run.Counts != b.Run.Counts {
		t.Errorf("run:\n%+v\nwant\n%+v", b.Run.Counts, a.Run.Counts)
	}
	if x, y := a.Engines[0], b.Engines[0]; x.FirstStep != y.FirstStep || x.LastStep != y.LastStep || x.Steps != y.Steps || y.Header == nil {
		t.Errorf("engine: %d to %d, %d steps, header %v; want %d to %d, %d", y.FirstStep, y.LastStep, y.Steps, y.Header, x.FirstStep, x.LastStep, x.Steps)
	}
	for _, e := range []store.Engine{a.Engines[0], b.Engines[0]} {
		if filepath.Base(e.Stream) != "opprof-v1-dp0-pid1-1.jsonl" {
			t.Errorf("the engine came from %q", e.Stream)
		}
	}
	if len(a.Windows) != len(b.Windows) {
		t.Errorf("%d windows, want %d", len(b.Windows), len(a.Windows))
	}
	if x, y := whole.Run(), long.Run(); x.Model != y.Model || x.FirstNS != y.FirstNS || x.LastNS != y.LastNS || x.GraphMode != y.GraphMode {
		t.Errorf("described as %+v, want %+v", y, x)
	}

	steps := a.Engines[0].LastStep
	for step := int64(1); step <= steps; step += steps / 19 {
		at, ok, err := whole.AtStep(t.Context(), "", step)
		if err != nil || !ok {
			t.Fatal(step, ok, err)
		}
		if got, ok, err := long.AtStep(t.Context(), "", step); got != at || !ok || err != nil {
			t.Fatalf("step %d at %d, %t, %v; want %d", step, got, ok, err, at)
		}
		compareMoment(t, whole, long, at, recentNS)
	}
}

// compareMoment holds that both sessions show the same at a moment, in as much detail as there is.
func compareMoment(t *testing.T, whole, long *Session, atNS, recentNS int64) {
	t.Helper()
	const spanNS = 2_000_000_000
	if atNS >= recentNS && atNS-2*spanNS < recentNS {
		return // its left edge lies between the index and what was read
	}
	q := store.Query{AtNS: atNS, SpanNS: spanNS, Columns: 40}
	a, b := frame(t, whole, q), frame(t, long, q)
	if !reflect.DeepEqual(a.Now, b.Now) || a.Rates != b.Rates || a.State != b.State {
		t.Errorf("at %d: %+v %+v %+v\nwant %+v %+v %+v", atNS, b.Now, b.Rates, b.State, a.Now, a.Rates, a.State)
	}
	if a.BucketNS != b.BucketNS || !reflect.DeepEqual(a.Columns, b.Columns) {
		t.Errorf("at %d: %d columns of %d ns differ from %d of %d", atNS, len(b.Columns), b.BucketNS, len(a.Columns), a.BucketNS)
	}
	for ev := store.EventPreemption; ev <= store.EventGap; ev++ {
		for _, forward := range []bool{true, false} {
			wantNS, want, _ := whole.Find(t.Context(), ev, "", atNS, forward)
			gotNS, got, err := long.Find(t.Context(), ev, "", atNS, forward)
			if got != want || gotNS != wantNS || err != nil {
				t.Errorf("event %d from %d, forward %t: %d, %t, %v; want %d, %t", ev, atNS, forward, gotNS, got, err, wantNS, want)
			}
		}
	}
}

// Steps that are appended while a session follows are shown after the next look at the file, and a cut file loses no session.
func TestLiveSessionFollowsItsFile(t *testing.T) {
	dir, stream := writeRounds(t, "h200-tp2-eager", 1)
	text, err := os.ReadFile(stream)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if err := os.WriteFile(stream, []byte(strings.Join(lines[:11], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	ticks := make(chan time.Time)
	s := open(t, dir, Options{Kind: KindLive, Ticks: ticks})
	wait(t, s)
	shows := func(want int64) {
		t.Helper()
		// The second tick is taken only when the pass of the first is done.
		ticks <- time.Time{}
		ticks <- time.Time{}
		if got := frame(t, s, store.Query{Columns: 10}).Run.Counts.Steps; got != want {
			t.Errorf("%d steps, want %d", got, want)
		}
	}
	shows(10)
	more, err := os.OpenFile(stream, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := more.WriteString(strings.Join(lines[11:31], "")); err != nil {
		t.Fatal(err)
	}
	if err := more.Close(); err != nil {
		t.Fatal(err)
	}
	shows(30)
	if d := s.Run(); d.Kind != KindLive || d.Streams[0].Lines != 31 || d.TensorParallel != 2 {
		t.Errorf("described as %+v", d)
	}
	if err := os.Truncate(stream, int64(len(lines[0])+len(lines[1]))); err != nil {
		t.Fatal(err)
	}
	ticks <- time.Time{}
	ticks <- time.Time{}
	if _, err := s.Frame(t.Context(), store.Query{Columns: 10}); err != nil {
		t.Error(err)
	}
}

func TestSessionWaitsForItsFirstStream(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.MkdirAll(filepath.Join(dir, "layer1"), 0o700); err != nil {
		t.Fatal(err)
	}
	ticks := make(chan time.Time)
	s := open(t, dir, Options{Kind: KindLive, Ticks: ticks})
	wait(t, s)
	if d := s.Run(); len(d.Problems) != 1 || !strings.Contains(d.Problems[0], "waiting") {
		t.Errorf("problems: %q", d.Problems)
	}
	stream, err := testdata.Recording("h200-tp2-eager")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "layer1", "opprof-v1-dp0-pid1-1.jsonl"), stream, 0o600); err != nil {
		t.Fatal(err)
	}
	ticks <- time.Time{}
	ticks <- time.Time{}
	if got := frame(t, s, store.Query{Columns: 10}).Run.Counts.Steps; got != 548 {
		t.Errorf("%d steps", got)
	}
	if d := s.Run(); len(d.Problems) != 0 {
		t.Errorf("problems: %q", d.Problems)
	}
}

func TestDemoSessionIsLiveAndLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := OpenDemo(t.Context(), DemoOptions{Speed: 1}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, s)
	f := frame(t, s, store.Query{SpanNS: 60_000_000_000, Columns: 60})
	if filled := len(f.Columns); f.State.Name == "unknown" || f.State.Name == "finished" || f.Run.Counts.Steps < 1000 || filled < 40 {
		t.Errorf("the first picture is %s with %d steps in %d columns", f.State.Name, f.Run.Counts.Steps, filled)
	}
	if age := time.Now().UnixNano() - f.State.SinceNS; age < 0 || age > int64(5*time.Second) {
		t.Errorf("the newest step is %s old", time.Duration(age))
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What the demo writes holds every invariant, over its seams too.
func TestReplayedStreamHolds(t *testing.T) {
	for _, recording := range testdata.Recordings() {
		dir, _ := writeRounds(t, recording, 2)
		run, err := rundir.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		report := &CheckReport{}
		if err := report.AddRun(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		if report.Violated() || report.Unreadable() > 0 || report.Files[0].BadLines > 0 {
			t.Errorf("%s: %+v", recording, report.Files[0])
		}
	}
}

// An index that is damaged or belongs to another stream is built anew.
func TestForeignIndexIsNotBelieved(t *testing.T) {
	dir, stream := writeRounds(t, "h200-tp1-literal", 2)
	whole := open(t, dir, Options{})
	wait(t, whole)
	want := frame(t, whole, store.Query{Columns: 4}).Run.Counts.Steps
	for name, index := range map[string]string{"zeros": strings.Repeat("\x00", 100_000), "text": "hello", "empty": ""} {
		if err := os.WriteFile(stream+".opidx", []byte(index), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, Options{wholeBytes: 1 << 20, recentBytes: 1 << 20})
		wait(t, s)
		if got := frame(t, s, store.Query{Columns: 4}).Run.Counts.Steps; got != want {
			t.Errorf("%s: %d steps, want %d", name, got, want)
		}
	}
}

// A long file that is replaced by a short one is read from its start; what was indexed of the old one is asked no more.
func TestLongStreamIsReplaced(t *testing.T) {
	dir, stream := writeRounds(t, "h200-tp1-literal", 2)
	ticks := make(chan time.Time)
	s := open(t, dir, Options{Kind: KindLive, Ticks: ticks, wholeBytes: 1 << 20, recentBytes: 1 << 20})
	wait(t, s)
	first := frame(t, s, store.Query{Columns: 4}).Run.Counts.FirstNS
	if _, err := s.Frame(t.Context(), store.Query{AtNS: first + 5_000_000_000, SpanNS: 1_000_000_000, Columns: 10}); err != nil {
		t.Fatal(err)
	}
	other, err := testdata.Recording("h200-tp2-eager")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stream, other, 0o600); err != nil {
		t.Fatal(err)
	}
	ticks <- time.Time{}
	ticks <- time.Time{}
	f := frame(t, s, store.Query{Columns: 4})
	if n := len(f.Engines); n != 2 || f.Engines[1].Steps != 548 {
		t.Errorf("%d engines: %+v", n, f.Engines)
	}
	if at, ok, err := s.AtStep(t.Context(), "dp0-pid3120", 500); !ok || err != nil {
		t.Errorf("step 500 of the new file: %d, %t, %v", at, ok, err)
	}
	if d := s.Run(); !strings.Contains(strings.Join(d.Problems, "\n"), "opprof-v1") {
		t.Errorf("problems: %q", d.Problems)
	}
}
