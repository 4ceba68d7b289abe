package store

import (
	"slices"
	"sync"
)

// scratch is the working memory of one Frame call, reused by later ones.
type scratch struct {
	counts  [sketchBins]uint32
	picked  []int64
	columns []columnPeriods
	all     [][]int64
}

// columnPeriods gathers the periods of one column: whole steps, and sketches where steps are gone.
type columnPeriods struct {
	steps   [][]int64
	sketch  Sketch
	unknown int64 // steps of the sketches without a known period
	coarse  bool  // a sketch took part
}

func newScratchPool() *sync.Pool {
	return &sync.Pool{New: func() any { return &scratch{} }}
}

// begin makes room for n columns.
func (w *scratch) begin(n int) {
	w.columns = slices.Grow(w.columns[:0], n)[:n]
	for i := range w.columns {
		c := &w.columns[i]
		*c = columnPeriods{steps: c.steps[:0], sketch: Sketch{bins: c.sketch.bins[:0]}}
	}
	w.all = w.all[:0]
}

// end lets go of the blocks.
func (w *scratch) end() {
	for i := range w.columns {
		clear(w.columns[i].steps)
	}
	clear(w.all)
}

// percentiles are the three percentiles shown, and their place in Quantiles.
var percentiles = [...]int64{50, 95, 99}

// exact computes the nearest-rank percentiles of lists of periods. A histogram by sketch bin finds the bins that hold the ranks; only
// their values are sorted.
func (w *scratch) exact(lists [][]int64) (q Quantiles, found [4]int64) {
	q.Exact = true
	low, high := sketchBins, -1
	for _, list := range lists {
		for _, ns := range list {
			if ns < 0 {
				q.Unknown++
				continue
			}
			q.N++
			index := binIndex(ns)
			w.counts[index]++
			low, high = min(low, index), max(high, index)
			found[3] = max(found[3], ns)
		}
	}
	if q.N == 0 {
		return q, found
	}
	before, next := int64(0), 0
	for index := low; index <= high && next < len(percentiles); index++ {
		n := int64(w.counts[index])
		first := next
		for next < len(percentiles) && nearestRank(q.N, percentiles[next]) <= before+n {
			next++
		}
		if next > first {
			w.pick(lists, index)
			for k := first; k < next; k++ {
				found[k] = w.picked[nearestRank(q.N, percentiles[k])-before-1]
			}
		}
		before += n
	}
	clear(w.counts[low : high+1])
	return q, found
}

// pick gathers the values of one bin, sorted.
func (w *scratch) pick(lists [][]int64, index int) {
	w.picked = w.picked[:0]
	for _, list := range lists {
		for _, ns := range list {
			if ns >= 0 && binIndex(ns) == index {
				w.picked = append(w.picked, ns)
			}
		}
	}
	slices.Sort(w.picked)
}

// approximate reads the percentiles of a sketch.
func approximate(s *Sketch, unknown int64) (q Quantiles, found [4]int64) {
	q.N, q.Unknown, q.ErrorPct = s.N(), unknown, SketchErrorPct
	for k, pct := range percentiles {
		found[k], _ = s.Quantile(pct)
	}
	found[3] = s.MaxNS()
	return q, found
}

// set points q's values into a list of which it takes the first four.
func (q *Quantiles) set(found [4]int64, values *[]int64) {
	if q.N == 0 {
		return
	}
	v := (*values)[:4:4]
	*values = (*values)[4:]
	copy(v, found[:])
	q.P50NS, q.P95NS, q.P99NS, q.MaxNS = &v[0], &v[1], &v[2], &v[3]
}

// addAll counts every known period.
func (s *Sketch) addAll(lists [][]int64) (unknown int64) {
	for _, list := range lists {
		for _, ns := range list {
			if ns < 0 {
				unknown++
				continue
			}
			s.Add(ns)
		}
	}
	return unknown
}
