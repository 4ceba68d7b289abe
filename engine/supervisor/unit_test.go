package supervisor

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opprof/engine/control"
	"opprof/engine/journal"
	"opprof/engine/vllm"

	"pgregory.net/rapid"
)

func TestStates(t *testing.T) {
	timing := Timing{}.orDefault()
	for _, c := range []struct {
		name  string
		facts facts
		state string
		words string
	}{
		{"it starts", facts{}, control.Starting, ""},
		{"it starts in silence", facts{silence: 3 * time.Minute}, control.Starting, "no line in the log for 3m"},
		{"it is ready", facts{ready: true}, control.Ready, ""},
		{"it works", facts{ready: true, stepped: true, work: true}, control.Busy, ""},
		{"its requests have just ended", facts{ready: true, stepped: true, stepAge: time.Second}, control.Busy, ""},
		{"it idles", facts{ready: true, stepped: true, stepAge: time.Hour}, control.Idle, ""},
		{"it hangs", facts{ready: true, stepped: true, work: true, stepAge: 9 * time.Second}, control.Stalled, "no step has completed for 9s"},
		{"it exports", facts{ready: true, stepped: true, work: true, stepAge: 9 * time.Second, exporting: 3}, control.Stalled, "traces of window 3"},
		{"one answer is lost", facts{ready: true, health: errors.New("x"), unwell: time.Second}, control.Ready, ""},
		{"it does not answer", facts{ready: true, health: vllm.ErrEngineDead, unwell: time.Minute}, control.Stalled, "engine is dead"},
		{"it is stopped while it hangs", facts{ready: true, work: true, stopping: "why", stepAge: time.Hour}, control.Stopping, "why"},
		{"it is dead", facts{ready: true, stopping: "x", dead: "gone"}, control.Dead, "gone"},
	} {
		if state, reason := timing.judge(c.facts); state != c.state || !strings.Contains(reason, c.words) || (c.words == "") != (reason == "") {
			t.Errorf("%s: %s, %q", c.name, state, reason)
		}
	}
}

func TestCauses(t *testing.T) {
	for _, c := range []struct{ name, log, want string }{
		{"nothing", "INFO 11-30 04:00:00 [a.py:1] well\n", ""},
		{"an engine's traceback, then echoes", `(EngineCore pid=2) ERROR 11-30 04:00:03 [core.py:1] Traceback (most recent call last):
(EngineCore pid=2) ERROR 11-30 04:00:03 [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
`, "EngineCore: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."},
		{"an echo alone", "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.\n", "APIServer: RuntimeError: Engine core initialization failed. See root cause above.; " + silentDeath},
		{"a worker that was killed", `(EngineCore pid=2) ERROR 11-30 04:00:03 [a.py:1] RuntimeError: cancelled
(EngineCore pid=2) ERROR 11-30 04:00:03 [a.py:1] Worker proc VllmWorker-1 died unexpectedly, shutting down executor.
(Worker_TP0 pid=3) ERROR 11-30 04:00:03 [a.py:1] RuntimeError: [gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:1
(APIServer pid=1) vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.
`, "EngineCore: Worker proc VllmWorker-1 died unexpectedly, shutting down executor.; " + silentDeath},
		{"a worker that was killed under load", `INFO 11-30 04:00:00 [a.py:1] Application startup complete.
(EngineCore pid=2) ERROR 11-30 04:00:03 [a.py:1] Worker proc VllmWorker-1 died unexpectedly, shutting down executor.
(EngineCore pid=2) INFO 11-30 04:00:03 [a.py:1] [shutdown] Executor: start
(EngineCore pid=2) ERROR 11-30 04:00:03 [a.py:1] RuntimeError: cancelled
`, "EngineCore: Worker proc VllmWorker-1 died unexpectedly, shutting down executor.; " + silentDeath},
		{"a worker that said why", `(Worker_TP1 pid=4) ERROR 11-30 04:00:03 [a.py:1] torch.OutOfMemoryError: CUDA out of memory.
(EngineCore pid=2) ERROR 11-30 04:00:03 [a.py:1] Worker proc VllmWorker-1 died unexpectedly, shutting down executor.
`, "Worker_TP1: torch.OutOfMemoryError: CUDA out of memory."},
		{"a worker, then its engine", `(Worker_TP1 pid=4) ERROR 11-30 04:00:03 [a.py:1] ValueError: bad shape
(EngineCore pid=2) ERROR 11-30 04:00:03 [a.py:1] Exception: WorkerProc initialization failed due to an exception in a background process.
`, "Worker_TP1: ValueError: bad shape"},
		{"an argument", "usage: vllm serve [-h]\nvllm: error: unrecognized arguments: --frobnicate\n", "vllm: error: unrecognized arguments: --frobnicate"},
		{"the system", "Segmentation fault (core dumped)\n", "Segmentation fault (core dumped)"},
		{"a warning is none", "WARNING 11-30 04:00:03 [a.py:1] ImportError: no flash\n", ""},
		{"a word in a sentence is none", "INFO 11-30 04:00:03 [a.py:1] Killed 3 stale requests\n", ""},
		{"a complaint that was overcome", "ImportError: optional thing\nINFO 11-30 04:00:03 [a.py:1] Application startup complete.\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStart(0)
			r := &logReader{}
			s.add(1, r.split(nil, []byte(c.log)))
			if got := s.causes.say(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestTheLogIsReadInAnyPieces: the same lines, however the text arrives, and each drawing of a progress bar.
func TestTheLogIsReadInAnyPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-z ]{0,9}[\n\r]){0,20}[a-z]{0,5}`).Draw(t, "text")
		var want []string
		for line := range strings.FieldsFuncSeq(text[:strings.LastIndexAny(text, "\n\r")+1], func(r rune) bool { return r == '\n' || r == '\r' }) {
			want = append(want, vllm.ParseLogLine(line).Message)
		}
		r := &logReader{}
		var got []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			for _, l := range r.split(nil, []byte(rest[:n])) {
				got = append(got, l.Message)
			}
			rest = rest[n:]
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

func TestALogWithoutLineEnds(t *testing.T) {
	r := &logReader{}
	lines := 0
	for range 10 {
		lines += len(r.split(nil, []byte(strings.Repeat("x", maxLogLine))))
	}
	if lines == 0 || len(r.rest) > maxLogLine {
		t.Errorf("%d lines, %d bytes kept", lines, len(r.rest))
	}
}

func TestWholeTraces(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var zipped strings.Builder
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, `{"traceEvents":[]}`)
	_ = z.Close()
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"a.json", `{"traceEvents":[]}` + "\n", true},
		{"b.json", `{"traceEvents":[{"a":1},`, false},
		{"c.json", "", false},
		{"d.json.gz", zipped.String(), true},
		{"e.json.gz", zipped.String()[:zipped.Len()-3], false},
		{"f.json.gz", "plain", false},
	} {
		if got := closed(write(c.name, []byte(c.text)), int64(len(c.text))); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
	if closed(filepath.Join(dir, "none"), 1) {
		t.Error("a file that is not there is whole")
	}
}

func TestCompressionLosesNothing(t *testing.T) {
	text := strings.Repeat(`{"name":"kernel","ts":1.5},`, 20_000)
	for name, c := range map[string]struct {
		spoil func(dir, path string) context.Context
		keeps bool
	}{
		"well": {func(string, string) context.Context { return t.Context() }, false},
		"ended at once": {func(string, string) context.Context {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx
		}, true},
		"a file of that name is there": {func(_, path string) context.Context {
			if err := os.WriteFile(path+".gz", []byte("another"), 0o600); err != nil {
				t.Fatal(err)
			}
			return t.Context()
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "rank0.1.pt.trace.json")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			type outcome struct {
				paths []string
				err   error
			}
			done := make(chan outcome)
			ctx := c.spoil(dir, path)
			go func() {
				paths, err := CompressTraces(ctx, []string{path})
				done <- outcome{paths, err}
			}()
			o := <-done
			kept, readErr := os.ReadFile(path)
			if c.keeps {
				if o.err == nil || o.paths[0] != path || readErr != nil || string(kept) != text {
					t.Errorf("%v, %v; the plain file: %v", o.paths, o.err, readErr)
				}
			} else {
				assertInflates(t, o.paths[0], text)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*.tmp")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func assertInflates(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := io.ReadAll(z); err != nil || string(back) != text {
		t.Errorf("%d bytes back of %d, %v", len(back), len(text), err)
	}
	if _, err := os.Stat(strings.TrimSuffix(path, ".gz")); err == nil {
		t.Error("the plain file is still there")
	}
}

func TestAJournalThatFails(t *testing.T) {
	j, found, err := journal.Open(filepath.Join(t.TempDir(), "j"), journal.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	l := newLedger(j, found)
	told := make(chan error, 3)
	l.onWritten(told)
	if err := <-told; err != nil {
		t.Errorf("nothing to write: %v", err)
	}
	l.add("a", nil, nil)
	l.onWritten(told)
	batch := l.take()
	l.onWritten(told) // joins the batch that is being written
	l.settle(batch, write(j, batch))
	if err := errors.Join(<-told, <-told); err != nil || l.lastSeq != 1 || len(l.after(0)) != 1 || len(l.after(1)) != 0 {
		t.Errorf("%v, %d lines", err, len(l.lines))
	}
	if err := j.Close(); err != nil { // the disk goes
		t.Fatal(err)
	}
	l.add("b", nil, nil)
	l.onWritten(told)
	batch = l.take()
	l.settle(batch, write(j, batch))
	if err := <-told; err == nil || l.failed == nil || l.lastSeq != 1 {
		t.Errorf("a lost event was acknowledged: %v", err)
	}
	l.onWritten(told)
	if err := <-told; err == nil {
		t.Error("an order after a lost event was acknowledged")
	}
}

func TestAStaleSocketIsRemovedAndALiveOneStays(t *testing.T) {
	dir := t.TempDir()
	stale, live, file := filepath.Join(dir, "stale"), filepath.Join(dir, "live"), filepath.Join(dir, "file")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	taken(t, live)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, stays := range map[string]bool{stale: false, live: true, file: true} {
		removeStale(path)
		if _, err := os.Lstat(path); (err == nil) != stays {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	removeStale("")
}

// FuzzPast: whatever a journal holds, reading what it says of a run neither fails hard nor invents windows.
func FuzzPast(f *testing.F) {
	f.Add(`{"seq":1,"event":"run_created","id":"x"}` + "\n" + `{"seq":2,"event":"window_state","n":-1,"to":"starting"}` + "\n")
	f.Add(`{"seq":1,"event":"window_armed","n":7,"trigger":{"kind":"expr","expr":"("}}` + "\n" + `{"seq":2,"event":"server_spawned","pid":"x"}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "journal.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := journal.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := readPast(found)
		if err == nil && len(p.windows) > len(found.Entries) {
			t.Errorf("%d windows of %d events", len(p.windows), len(found.Entries))
		}
		if s, err := Stand(filepath.Dir(path)); err == nil && s.Status.State == "" {
			t.Error("a run without a state")
		}
	})
}
