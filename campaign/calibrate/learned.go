package calibrate

import (
	"cmp"
	"context"
	"math"
	"slices"

	"opprof/engine/record"
)

// Learned is what the windows of a run teach by now. It is immutable.
type Learned struct {
	Version uint64         // changes with the rest
	Sets    []*Calibration // one for each number of ranks, the one with the most steps first
	Reports []SetReport    // of Sets
	Left    LeftOut
	Windows int // windows whose traces were read
	Done    int // trace files read or given up
	Of      int // trace files seen
}

// Learn calibrates by windows. The error is that of ctx.
func Learn(ctx context.Context, windows []Named) (*Learned, error) {
	sets, left := Samples(windows)
	out := &Learned{Left: left, Windows: len(windows)}
	slices.SortStableFunc(sets, func(a, b Set) int { return cmp.Compare(len(b.Samples), len(a.Samples)) })
	for i := range sets {
		c, err := learn(ctx, &sets[i])
		if err != nil {
			return nil, err
		}
		out.Sets = append(out.Sets, c)
		out.Reports = append(out.Reports, c.Report())
	}
	return out, nil
}

// MeanContext is the mean context length of the requests of a histogram, in tokens: known to the width of its bins. ok is false without
// requests.
func MeanContext(hist [record.ContextBins]int64) (tokens float64, ok bool) {
	var n, sum float64
	for bin, c := range hist {
		n += float64(c)
		sum += float64(c) * middle(bin)
	}
	if n == 0 {
		return 0, false
	}
	return sum / n, true
}

// Newest is the question whose answer is the last step of the last window.
func (c *Calibration) Newest() Question {
	return questionOf(&c.Set.Samples[len(c.Set.Samples)-1].Composition)
}

// Typical is the question whose answer is the step of a row of the table that took the time nearest to the row's mean.
func (c *Calibration) Typical(row *Row) Question {
	best, least := 0, math.Inf(1)
	for i := range c.Set.Samples {
		if s := &c.Set.Samples[i]; cellOf(&s.Composition) == row.Cell && math.Abs(s.BusyNS-row.BusyNS) < least {
			best, least = i, math.Abs(s.BusyNS-row.BusyNS)
		}
	}
	return questionOf(&c.Set.Samples[best].Composition)
}

func questionOf(s *Composition) Question {
	q := Question{Decode: s.Decode, Prefill: s.Prefill, PrefillRequests: max(0, s.Requests-s.Decode), Context: s.MeanContext(), Graph: s.Graph}
	if s.Graph != record.GraphNone.String() {
		q.Bucket = s.Bucket
	}
	return q
}

// Modes are the graph modes that ran, sorted.
func (c *Calibration) Modes() []string { return c.modes() }

// Buckets are the sizes that ran in a graph mode, in tokens, smallest first; none where no graph ran.
func (c *Calibration) Buckets(mode string) []float64 {
	if mode == record.GraphNone.String() {
		return nil
	}
	var out []float64
	for i := range c.Set.Samples {
		if s := &c.Set.Samples[i].Composition; s.Graph == mode && !slices.Contains(out, s.Bucket) {
			out = append(out, s.Bucket)
		}
	}
	slices.Sort(out)
	return out
}
