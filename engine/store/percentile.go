package store

import (
	"slices"
	"sync"
)

// percentiles are the ones shown.
var percentiles = [...]int64{50, 95, 99}

// periods are the step periods of a stretch of steps, as they are and as a sketch.
type periods struct {
	list   []int64 // UnknownNS among them
	sketch *Sketch
}

// columnPeriods gathers the periods of one column: whole steps, and roll-ups where steps are gone.
type columnPeriods struct {
	steps   []periods
	rollups []*Rollup
}

// scratch is the working memory of one Frame call, reused by later ones.
type scratch struct {
	histogram histogram
	picked    [len(percentiles)][]int64
	columns   []columnPeriods
	all       columnPeriods
}

func newScratchPool() *sync.Pool {
	return &sync.Pool{New: func() any { return &scratch{} }}
}

// begin makes room for n columns.
func (w *scratch) begin(n int) {
	w.columns = slices.Grow(w.columns[:0], n)[:n]
}

// end lets go of the blocks and roll-ups.
func (w *scratch) end() {
	for i := range w.columns {
		w.columns[i].clear()
	}
	w.all.clear()
}

func (c *columnPeriods) clear() {
	clear(c.steps)
	clear(c.rollups)
	c.steps, c.rollups = c.steps[:0], c.rollups[:0]
}

// add gathers the periods of another column.
func (c *columnPeriods) add(o *columnPeriods) {
	c.steps = append(c.steps, o.steps...)
	c.rollups = append(c.rollups, o.rollups...)
}

// histogram counts periods by the bins of a sketch; merging into it is one addition per bin.
type histogram struct {
	n, maxNS  int64
	low, high int // bins outside are empty
	counts    [sketchBins]int64
}

func (h *histogram) reset() {
	if h.n > 0 {
		clear(h.counts[h.low : h.high+1])
	}
	h.n, h.maxNS, h.low, h.high = 0, 0, sketchBins, -1
}

func (h *histogram) add(s *Sketch) {
	if len(s.bins) == 0 {
		return
	}
	h.n += s.n
	h.maxNS = max(h.maxNS, s.maxNS)
	h.low, h.high = min(h.low, s.bins[0].index()), max(h.high, s.bins[len(s.bins)-1].index())
	for _, b := range s.bins {
		h.counts[b.index()] += b.n()
	}
}

// rank finds the bin of each percentile, and its rank among the values of that bin.
func (h *histogram) rank() (index [len(percentiles)]int, rest [len(percentiles)]int64) {
	before, k := int64(0), 0
	for i := h.low; i <= h.high; i++ {
		for k < len(percentiles) && nearestRank(h.n, percentiles[k]) <= before+h.counts[i] {
			index[k], rest[k] = i, nearestRank(h.n, percentiles[k])-before
			k++
		}
		before += h.counts[i]
	}
	return index, rest
}

// quantiles computes the nearest-rank percentiles and the maximum, exact when there are only whole steps.
func (w *scratch) quantiles(c *columnPeriods) (q Quantiles, found [len(percentiles) + 1]int64) {
	h := &w.histogram
	h.reset()
	for i := range c.steps {
		h.add(c.steps[i].sketch)
		q.Unknown += int64(len(c.steps[i].list))
	}
	for _, r := range c.rollups {
		h.add(&r.Period)
		q.Unknown += r.Counts.Steps
	}
	q.N, q.Unknown, q.Exact = h.n, q.Unknown-h.n, len(c.rollups) == 0
	if q.N == 0 {
		return q, found
	}
	index, rest := h.rank()
	if q.Exact {
		w.pick(c.steps, index)
	} else {
		q.ErrorPct = SketchErrorPct
	}
	for k := range percentiles {
		if q.Exact {
			found[k] = w.picked[k][rest[k]-1]
		} else {
			found[k] = min(binMiddle(index[k]), h.maxNS)
		}
	}
	found[len(percentiles)] = h.maxNS
	return q, found
}

// pick gathers the values of the percentiles' bins, sorted. Only they can be the percentiles.
func (w *scratch) pick(steps []periods, index [len(percentiles)]int) {
	var low, width [len(percentiles)]uint64
	for k := range percentiles {
		l, n := binBounds(index[k])
		low[k], width[k] = uint64(l), uint64(n)
		w.picked[k] = w.picked[k][:0]
	}
	for i := range steps {
		for _, ns := range steps[i].list {
			v := uint64(ns)
			if v-low[0] < width[0] {
				w.picked[0] = append(w.picked[0], ns)
			}
			if v-low[1] < width[1] {
				w.picked[1] = append(w.picked[1], ns)
			}
			if v-low[2] < width[2] {
				w.picked[2] = append(w.picked[2], ns)
			}
		}
	}
	for k := range percentiles {
		slices.Sort(w.picked[k])
	}
}

// set points q's values into a list of which it takes the first four.
func (q *Quantiles) set(found [len(percentiles) + 1]int64, values *[]int64) {
	if q.N == 0 {
		return
	}
	v := (*values)[:4:4]
	*values = (*values)[4:]
	copy(v, found[:])
	q.P50NS, q.P95NS, q.P99NS, q.MaxNS = &v[0], &v[1], &v[2], &v[3]
}
