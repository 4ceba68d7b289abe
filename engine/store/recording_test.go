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
