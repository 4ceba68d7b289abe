package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opprof/engine/rundir"
	"opprof/engine/serverlog"
)

// TestLogOfAFinishedRun: the log is read whole, its last line without a newline too, and laid beside the steps.
func TestLogOfAFinishedRun(t *testing.T) {
	dir, _ := writeRounds(t, "h200-tp2-eager", 1)
	said := time.Unix(1_800_000_000, 0).UTC().Add(time.Minute)
	write(t, filepath.Join(dir, rundir.ServerLogName), said.Format("INFO 01-02 15:04:05 ")+"[x.py:1] hello")
	write(t, filepath.Join(dir, rundir.MetricsName), "vllm:num_preemptions_total 3\n")
	write(t, filepath.Join(dir, rundir.ConfigName), "[server]\n")
	s := open(t, dir, Options{})
	wait(t, s)
	<-s.ended
	v, err := s.Log(t.Context(), serverlog.Query{})
	if err != nil || len(v.Lines) != 1 || v.Lines[0].Message != "hello" || v.Lines[0].WallNS != said.UnixNano() {
		t.Errorf("log %+v, %v", v, err)
	}
	m, err := s.Metrics(t.Context())
	if err != nil || m == nil || len(m.Samples) != 1 {
		t.Errorf("metrics %+v, %v", m, err)
	}
	c, err := s.Contents(t.Context())
	if err != nil || c.Config != "[server]\n" || len(c.Files) != 4 || c.Manifest != nil {
		t.Errorf("contents %+v, %v", c, err)
	}
}

// TestLogAppearsLate: a live run's log is followed from when it appears.
func TestLogAppearsLate(t *testing.T) {
	dir, _ := writeRounds(t, "h200-tp2-eager", 1)
	s := open(t, dir, Options{Kind: KindLive, Poll: time.Millisecond})
	wait(t, s)
	if v, err := s.Log(t.Context(), serverlog.Query{}); err != nil || v.State.Found {
		t.Fatalf("log %+v, %v", v, err)
	}
	if m, err := s.Metrics(t.Context()); m != nil || err != nil {
		t.Errorf("metrics %+v, %v", m, err)
	}
	path := filepath.Join(dir, rundir.ServerLogName)
	write(t, path, strings.Repeat("print\n", 10))
	deadline := time.Now().Add(time.Minute)
	for s.log.State().Lines < 10 {
		if time.Now().After(deadline) {
			t.Fatal("the log was not read")
		}
		if _, err := s.Log(t.Context(), serverlog.Query{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
