package session

import (
	"slices"
	"testing"

	"opprof/engine/alert"
	"opprof/engine/store"
)

// TestWarnings: what the recording went through is warned of, with the counts that its frame holds, whether it is read line by line or from
// an index.
func TestWarnings(t *testing.T) {
	dir, _ := writeRounds(t, "h200-tp1", 3)
	for _, c := range []struct {
		name    string
		options Options
	}{
		{"read whole", Options{}},
		{"mostly indexed", Options{wholeBytes: 4 << 20, recentBytes: 1 << 20, IndexDir: t.TempDir()}},
	} {
		s := open(t, dir, c.options)
		if err := s.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		f, err := s.Frame(t.Context(), store.Query{Columns: 10})
		if err != nil {
			t.Fatal(err)
		}
		list := s.Warnings()
		of := func(r alert.Rule) alert.Warning {
			i := slices.IndexFunc(list, func(w alert.Warning) bool { return w.Rule == r })
			if i < 0 {
				return alert.Warning{}
			}
			return list[i]
		}
		if w := of(alert.Stall); w.Count != f.Run.Counts.Stalls || w.Count == 0 {
			t.Errorf("%s: %d stalls, the run has %d", c.name, w.Count, f.Run.Counts.Stalls)
		}
		if w := of(alert.KVFull); w.Count == 0 || w.Worst != f.Run.Counts.KVUsageMax {
			t.Errorf("%s: %+v, the run's highest usage is %v", c.name, w, f.Run.Counts.KVUsageMax)
		}
		for _, w := range list {
			if w.Active || w.FirstNS > w.LastNS || w.FirstNS < f.Run.Counts.FirstNS || w.LastNS > f.Run.Counts.LastNS {
				t.Errorf("%s: %+v in a finished run from %d to %d", c.name, w, f.Run.Counts.FirstNS, f.Run.Counts.LastNS)
			}
		}
	}
}

// TestWarningsOff: limits are the caller's.
func TestWarningsOff(t *testing.T) {
	dir, _ := writeRounds(t, "h200-tp1", 1)
	s := open(t, dir, Options{Limits: &alert.Thresholds{}})
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := s.Warnings(); len(list) != 0 {
		t.Errorf("warns: %+v", list)
	}
}
