package supervisor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opprof/engine/control"
	"opprof/engine/rundir"
	"opprof/engine/supervisor/fakeserver"
)

// TestARunFromStartToStop: ready, busy, three windows on two ranks, all verified and compressed, stop, nothing left.
func TestARunFromStartToStop(t *testing.T) {
	r := launch(t, newConfig(t, fakeserver.Options{StallMS: 30}, 2))
	r.state(control.Ready)
	s := r.until("busy", func(s control.Status) bool { return s.State == control.Busy })
	if s.Server.PID == 0 || len(s.Engines) != 1 || s.Cost.Ranks != 2 || s.Cost.FreeBytes == nil || !s.JournalOK || s.Clients != 1 {
		t.Errorf("status %+v", s)
	}
	for n := 1; n <= 3; n++ {
		w := r.arm(control.Trigger{Kind: control.TriggerNow}, 1)
		if w.State != control.WindowVerified || w.First == nil || *w.Last != *w.First+9 || w.StallNS == nil {
			t.Errorf("window %d: %+v", n, w)
		}
	}
	r.until("compressed", func(control.Status) bool {
		found, err := filepath.Glob(filepath.Join(r.config.Dir, rundir.KinetoName, "*.gz"))
		return err == nil && len(found) == 6
	})
	has(t, r.end(), "stopped: ordered by a client")
	checkSummaries(t, r.config.Dir, 3)
	for _, e := range []string{eventCreated, eventStarted, eventSpawned, eventSignal, eventExited, eventMemory} {
		if r.find(e, nil) == nil {
			t.Errorf("no %s in the journal", e)
		}
	}
	m, _ := rundir.ReadManifest(r.config.Dir)
	if m.Parallel.TP != 2 || m.Backends.MoE != "TRITON" || len(m.Windows) != 3 || m.Exit.State != "stopped" ||
		m.BytesPerStep == nil || *m.BytesPerStep < 300 || *m.BytesPerStep > 3000 {
		t.Errorf("manifest %+v", m)
	}
}

func checkSummaries(t *testing.T, dir string, windows int) {
	t.Helper()
	for n := 1; n <= windows; n++ {
		text, err := os.ReadFile(filepath.Join(windowDir(dir, n), "summary.json"))
		if err != nil {
			t.Fatal(err)
		}
		var s Summary
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		if s.State != control.WindowVerified || len(s.Ranks) != 2 || len(s.Reached) != 10 || s.Perturbed == nil || s.Perturbed[0] != s.Reached[0].Step ||
			s.Perturbed[1] < s.Reached[9].Step || *s.StopReturnNS < *s.StartPostNS {
			t.Errorf("summary %d: %s", n, text)
		}
		for i, rank := range s.Ranks {
			if *rank.Rank != int64(i) || *rank.Labels != 10 || !rank.Complete || !strings.HasSuffix(rank.File, ".json.gz") {
				t.Errorf("window %d, rank %+v", n, rank)
			}
			if _, err := os.Stat(filepath.Join(dir, rank.File)); err != nil {
				t.Error(err)
			}
		}
		if table, err := os.ReadFile(filepath.Join(windowDir(dir, n), "profiler_out_1.txt")); err != nil || len(table) == 0 {
			t.Errorf("table of window %d: %v", n, err)
		}
	}
}
