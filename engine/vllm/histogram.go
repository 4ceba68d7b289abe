package vllm

import (
	"math"
	"slices"
	"strconv"
)

// Histogram counts observations by size. The zero Histogram has no bucket.
type Histogram struct {
	Bounds []float64 // upper ends, ascending; the last is +Inf
	Counts []float64 // observations of each bucket
}

// Histogram is the histogram of a name, its label sets added up. ok is false where there is none, or where its buckets do not grow as those of
// a cumulative histogram must.
func (m Metrics) Histogram(name string) (h Histogram, ok bool) {
	upTo := map[float64]float64{}
	for _, s := range m.Samples {
		if s.Name != name+"_bucket" {
			continue
		}
		bound, err := strconv.ParseFloat(s.Labels["le"], 64)
		if err != nil || math.IsNaN(bound) || math.IsNaN(s.Value) {
			return Histogram{}, false
		}
		upTo[bound] += s.Value
	}
	for bound := range upTo {
		h.Bounds = append(h.Bounds, bound)
	}
	slices.Sort(h.Bounds)
	before := 0.0
	for _, bound := range h.Bounds {
		n := upTo[bound] - before
		if n < 0 {
			return Histogram{}, false
		}
		h.Counts = append(h.Counts, n)
		before = upTo[bound]
	}
	return h, len(h.Bounds) > 0 && math.IsInf(h.Bounds[len(h.Bounds)-1], 1) && !math.IsInf(before, 1)
}

// Since is what was observed between an earlier histogram and this one. ok is false when the earlier one is not of the same counter: other
// buckets, or more observations, as before a restart.
func (h Histogram) Since(before Histogram) (Histogram, bool) {
	if !slices.Equal(h.Bounds, before.Bounds) {
		return Histogram{}, false
	}
	out := Histogram{Bounds: h.Bounds, Counts: make([]float64, len(h.Counts))}
	for i, n := range h.Counts {
		if out.Counts[i] = n - before.Counts[i]; out.Counts[i] < 0 {
			return Histogram{}, false
		}
	}
	return out, true
}

// Count is the number of observations.
func (h Histogram) Count() (n float64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Bucket is the range (above, to] that holds the quantile q by nearest rank; a histogram knows no more. Above of the first bucket is 0. ok is
// false without an observation.
func (h Histogram) Bucket(q float64) (above, to float64, ok bool) {
	all := h.Count()
	if all <= 0 {
		return 0, 0, false
	}
	rank, seen := max(1, math.Ceil(q*all)), 0.0
	i := 0
	for ; i < len(h.Counts)-1; i++ {
		if seen += h.Counts[i]; seen >= rank {
			break
		}
	}
	if i > 0 {
		above = h.Bounds[i-1]
	}
	return above, h.Bounds[i], true
}
