package store

import (
	"math/bits"

	"opprof/engine/record"
)

// cells are a block's steps grouped into time buckets of one width.
type cells struct {
	bucketNS int64
	list     []cell
}

// cell is the part of a block in one bucket: positions from <= i < to.
type cell struct {
	startNS  int64
	from, to int
	counts   Counts
	period   Sketch
}

const (
	// baseCells is about how many cells a block's finest kept grouping has.
	baseCells = 16
	// latestCells is the largest other grouping worth keeping: finer ones are of a view so narrow that it touches few blocks.
	latestCells = 64
)

// cells groups the block's steps. A wide grouping is merged from the base cells; the newest one is kept, since a live view asks for the
// same one four times a second.
func (b *block) cells(bucketNS int64) []cell {
	if c := b.latest.Load(); c != nil && c.bucketNS == bucketNS {
		return c.list
	}
	base := b.baseCells()
	if base.bucketNS == bucketNS {
		return base.list
	}
	var c *cells
	if bucketNS%base.bucketNS == 0 {
		c = base.merged(bucketNS)
	} else {
		c = b.group(bucketNS)
	}
	if len(c.list) <= latestCells {
		b.latest.Store(c)
	}
	return c.list
}

// baseCells is the grouping by the power of two of base rungs that cuts the block into 8 to 17 cells.
func (b *block) baseCells() *cells {
	if c := b.base.Load(); c != nil {
		return c
	}
	rungs := uint64(b.lastNS()-b.firstNS()) / (baseCells * baseRungNS)
	c := b.group(baseRungNS << bits.Len64(rungs))
	b.base.Store(c)
	return c
}

func (b *block) group(bucketNS int64) *cells {
	c := &cells{bucketNS: bucketNS}
	var s record.Step
	var periods dense
	var last *cell
	for i, t := range b.times {
		if last == nil || t >= last.startNS+bucketNS {
			if last != nil {
				last.period = periods.sketch()
				periods.reset()
			}
			c.list = append(c.list, cell{startNS: floorTo(t, bucketNS), from: i})
			last = &c.list[len(c.list)-1]
		}
		last.to = i + 1
		b.step(i, &s)
		last.counts.Add(&s, b.place(i))
		if b.periods[i] >= 0 {
			periods.add(b.periods[i])
		}
	}
	if last != nil {
		last.period = periods.sketch()
	}
	return c
}

// merged is a coarser grouping, of which every bucket is a whole number of these.
func (c *cells) merged(bucketNS int64) *cells {
	m := &cells{bucketNS: bucketNS}
	for i := range c.list {
		o := &c.list[i]
		start := floorTo(o.startNS, bucketNS)
		if n := len(m.list); n == 0 || m.list[n-1].startNS != start {
			m.list = append(m.list, cell{startNS: start, from: o.from})
		}
		last := &m.list[len(m.list)-1]
		last.to = o.to
		last.counts.Merge(&o.counts)
		last.period.Merge(&o.period)
	}
	return m
}
