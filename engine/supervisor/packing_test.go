package supervisor

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opprof/engine/control"
	"opprof/engine/rundir"
	"opprof/engine/supervisor/fakeserver"
	"opprof/engine/window"
)

func ofTraces(t *testing.T, c Config) (plain, compressed []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(c.Dir, rundir.KinetoName, "*trace.json*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if strings.HasSuffix(p, ".gz") {
			compressed = append(compressed, p)
		} else {
			plain = append(plain, p)
		}
	}
	return plain, compressed
}

// TestTracesAreCompressedBeforeTheEnd: a stop that comes right behind a window leaves no plain trace.
func TestTracesAreCompressedBeforeTheEnd(t *testing.T) {
	r := launch(t, newConfig(t, fakeserver.Options{}, 2))
	r.state(control.Ready)
	if w := r.arm(control.Trigger{Kind: control.TriggerNow}, 2); w.State != control.WindowVerified {
		t.Fatalf("%+v", w)
	}
	r.end()
	plain, compressed := ofTraces(t, r.config)
	if len(plain) != 0 || len(compressed) != 4 {
		t.Errorf("plain %v, compressed %v", plain, compressed)
	}
	if e := r.find(eventPacked, map[string]any{"n": 2, "files": 2, "plain": 0}); e == nil {
		t.Error("the journal does not tell of it")
	}
	checkSummaries(t, r.config.Dir, 2)
}

// TestAStopInAWindow: the server lives until its traces are there, and they are judged by what they hold.
func TestAStopInAWindow(t *testing.T) {
	r := launch(t, newConfig(t, fakeserver.Options{StepMS: 100}, 1))
	r.state(control.Ready)
	if _, err := r.client.Arm(t.Context(), control.Trigger{Kind: control.TriggerNow}, 1); err != nil {
		t.Fatal(err)
	}
	r.await(eventWindow, map[string]any{"n": 1, "to": control.WindowRecording})
	r.end()
	m, _ := rundir.ReadManifest(r.config.Dir)
	if w := m.Windows[0]; w.State != control.WindowIncomplete || !strings.HasPrefix(w.Reason, "the server stops; rank 0 has ") {
		t.Errorf("%s: %s", w.State, w.Reason)
	}
}

// TestCompressingIsGivenUp: a run ends in time, and what is not compressed by then stays whole.
func TestCompressingIsGivenUp(t *testing.T) {
	c := newConfig(t, fakeserver.Options{}, 1)
	c.Timing.Pack = time.Nanosecond
	c.Gzip = true // nothing is compressed before the test says so
	s := &Supervisor{config: c.orDefault(), clock: newSteady(c.orDefault().Clock)}
	s.windows.packs.queue = []pack{{n: 3, paths: []string{"a.json", "b.json"}}}
	stopped := false
	s.windows.packs.stop = func() { stopped = true }
	s.giveUpPacking()
	s.giveUpPacking()
	if s.windows.busy() || !stopped || len(s.ledger.waiting) != 1 {
		t.Errorf("busy %t, stopped %t, events %d", s.windows.busy(), stopped, len(s.ledger.waiting))
	}
	if e, ok := s.ledger.waiting[0].payload.(packedEvent); !ok || e.N != 3 || e.Plain != 2 || e.Reason == "" {
		t.Errorf("%+v", s.ledger.waiting[0].payload)
	}
	s.windows.controller = window.New(quickWindows())
	running := pack{n: 2, paths: []string{"c.json.gz", "d.json"}, then: func([]string) {}}
	s.compressed(running, running.paths, fmt.Errorf("cannot compress d.json: %w", context.Canceled))
	if e, ok := s.ledger.waiting[1].payload.(packedEvent); !ok || e.N != 2 || e.Plain != 1 || !strings.Contains(e.Reason, "opprof compact") {
		t.Errorf("of the window that was being compressed: %+v", s.ledger.waiting[1].payload)
	}
}

// TestTheNextSupervisorCompresses: what a killed one has left plain.
func TestTheNextSupervisorCompresses(t *testing.T) {
	o := fakeserver.Options{}
	c := newConfig(t, o, 1)
	killed(t, c, o, func(r *run) {
		untilReady(r)
		writer := control.NewClient(c.Socket, false)
		defer writer.Close()
		if _, err := writer.Arm(t.Context(), control.Trigger{Kind: control.TriggerNow}, 1); err != nil {
			t.Fatal(err)
		}
		r.windowEnds(1)
		r.until("compressed", func(control.Status) bool {
			s, err := readSummary(c.Dir, 1)
			return err == nil && strings.HasSuffix(s.Ranks[0].File, ".gz")
		})
	})
	text := expand(t, c)
	r := launch(t, c)
	r.await(eventPacked, map[string]any{"n": 1, "files": 1})
	r.end()
	plain, compressed := ofTraces(t, c)
	if len(plain) != 0 || len(compressed) != 1 {
		t.Fatalf("plain %v, compressed %v", plain, compressed)
	}
	assertInflates(t, compressed[0], text)
	s, err := readSummary(c.Dir, 1)
	if err != nil || !strings.HasSuffix(s.Ranks[0].File, ".gz") || s.Ranks[0].Labels == nil || *s.Ranks[0].Labels != 10 {
		t.Errorf("summary %+v, %v", s.Ranks, err)
	}
}

// expand makes the one trace of window 1 plain again, as a supervisor that was killed before it compressed would have left it.
func expand(t *testing.T, c Config) (text string) {
	t.Helper()
	s, err := readSummary(c.Dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.Dir, s.Ranks[0].File)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	s.Ranks[0].File = strings.TrimSuffix(s.Ranks[0].File, ".gz")
	for _, err := range []error{os.WriteFile(filepath.Join(c.Dir, s.Ranks[0].File), all, 0o600), os.Remove(path), writeSummary(c.Dir, s)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return string(all)
}

func TestSummariesThatAreNotTaken(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(windowDir(dir, 1), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Summary{
		"another schema": {Schema: 2, N: 1},
		"another window": {Schema: 1, N: 2},
		"outside":        {Schema: 1, N: 1, Ranks: []SummaryRank{{File: "../../etc/passwd.json"}}},
	} {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(windowDir(dir, 1), "summary.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readSummary(dir, 1); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
