package store

import (
	"math"
	"testing"

	"opprof/engine/record"
)

// The facts of the recordings were counted by an independent script over the same files.
func TestRecordings(t *testing.T) {
	for _, c := range []struct {
		name                              string
		steps, zero                       int64
		full, piecewise, none             int64
		preemptions, gaps, unknownPeriods int64
		windows                           int
		kvMax                             float64 // to four digits
		medianMS                          float64 // to a tenth
	}{
		{"h200-tp1", 6018, 22, 5575, 158, 263, 18, 1, 2, 7, 1, 11.8},
		{"h200-tp2", 7083, 28, 6536, 236, 283, 19, 1, 2, 7, 1, 8.4},
		{"h200-tp2-eager", 548, 6, 0, 0, 542, 0, 0, 1, 2, 0.9979, 0},
		{"h200-tp1-experts", 673, 14, 0, 0, 659, 0, 0, 1, 2, 0.9979, 0},
	} {
		f := load(t, c.name).Snapshot().Frame(Query{Columns: 180})
		n := f.Run.Counts
		if n.Steps != c.steps || n.Graph[record.GraphUnknown] != c.zero || n.ZeroToken != c.zero {
			t.Errorf("%s: %d steps, %d without tokens, %d of unknown mode", c.name, n.Steps, n.ZeroToken, n.Graph[record.GraphUnknown])
		}
		if n.Graph[record.GraphFull] != c.full || n.Graph[record.GraphPiecewise] != c.piecewise || n.Graph[record.GraphNone] != c.none {
			t.Errorf("%s: graph modes %v", c.name, n.Graph)
		}
		if n.Preemptions != c.preemptions || n.Gaps != c.gaps || f.Run.Period.Unknown != c.unknownPeriods {
			t.Errorf("%s: %d preemptions, %d gaps, %d unknown periods", c.name, n.Preemptions, n.Gaps, f.Run.Period.Unknown)
		}
		if math.Abs(n.KVUsageMax-c.kvMax) > 0.00005 {
			t.Errorf("%s: largest KV usage %v", c.name, n.KVUsageMax)
		}
		if len(f.Windows) != c.windows {
			t.Errorf("%s: windows %+v", c.name, f.Windows)
		}
		if ms := float64(*f.Run.Period.P50NS) / 1e6; c.medianMS != 0 && math.Abs(ms-c.medianMS) > 0.05 {
			t.Errorf("%s: median period %v ms", c.name, ms)
		}
		if f.Engines[0].Loss.Gaps != c.gaps || !f.Run.Period.Exact || !f.Span.Period.Exact || f.State.Name != "finished" {
			t.Errorf("%s: %+v %+v", c.name, f.Engines[0].Loss, f.State)
		}
	}
}

// Where the recorder was never off, the sums meet the counters of the server's own metrics.
func TestTokensMeetTheMetrics(t *testing.T) {
	n := load(t, "h200-tp2-eager").Snapshot().Frame(Query{Columns: 20}).Span.Counts
	if n.PrefillTokens != 146_984 || n.DecodeTokens != 6_649 {
		t.Errorf("%d prefill and %d decode tokens", n.PrefillTokens, n.DecodeTokens)
	}
}

// The export after a window's steps stalls serving; the stall lies in the period of a step of the window.
func TestStallsOfWindows(t *testing.T) {
	for _, c := range []struct {
		name          string
		first         []int64 // first step of each window
		least, most   float64 // seconds
		perturbedPart float64 // columns that a window disturbs, at most
	}{
		{"h200-tp1", []int64{246, 918, 1236, 1311, 1418, 1845, 2265}, 0.9, 9, 0.25},
		{"h200-tp2", []int64{388, 1119, 1507, 1651, 1774, 2186, 2665}, 1.1, 7, 0.25},
		{"h200-tp2-eager", []int64{35, 299}, 9, 10, 0.5},
	} {
		sn := load(t, c.name).Snapshot()
		f := sn.Frame(Query{Columns: 180})
		at := int64(0)
		for i, w := range f.Windows {
			if s := float64(w.LongestNS) / 1e9; w.AfterStep+1 != c.first[i] || s < c.least || s > c.most {
				t.Errorf("%s: window %d: %+v", c.name, i+1, w)
			}
			next, ok := sn.Find(EventWindow, "", at, true)
			if first, _ := sn.AtStep("", c.first[i]); !ok || next != first {
				t.Errorf("%s: window %d found at %d, its first step is at %d", c.name, i+1, next, first)
			}
			at = next
		}
		perturbed := 0.0
		for i := range f.Columns {
			if f.Columns[i].Perturbed {
				perturbed++
			}
		}
		if part := perturbed / float64(len(f.Columns)); part == 0 || part > c.perturbedPart {
			t.Errorf("%s: %v of the columns are perturbed", c.name, part)
		}
	}
}
