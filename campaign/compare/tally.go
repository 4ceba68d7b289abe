package compare

import (
	"cmp"
	"slices"

	"opprof/engine/store"
)

const (
	// blocksKept is how many blocks a tally keeps: when there are more, neighbours are merged and blocks are twice as long.
	blocksKept = 256
	// firstShift makes the first blocks 16 steps long.
	firstShift = 4
	// cellsKept bounds the cells of a run. A real one has some hundreds.
	cellsKept = 4096
	// stallNS and stallFactor say what a stall is: a value so large, and so many times the median of its cell.
	stallNS     = store.StallNS
	stallFactor = 10
	// stallsKept is how many such values of a cell wait until its median is known. A cell with more of them runs that way.
	stallsKept = 256
)

// tally holds, per cell and block, how many values there were and their sum: all that means and their spread between blocks need. Sums are
// whole numbers, so that the order of values within a block changes nothing.
type tally struct {
	cells map[Key]*cell
	shift uint // a block is 1<<shift consecutive places
	n     int64
	sum   int64
	last  *cell

	stalls   int64 // values that are stalls: they are in no cell
	stalledN int64 // their sum
}

type cell struct {
	key    Key
	n      int64
	sum    int64
	tokens int64 // of all its steps
	sketch store.Sketch
	blocks []block // by index
	late   []late  // large values that may be stalls, until settle
	slow   bool    // there were too many of them to be stalls
}

// late is a large value that waits.
type late struct{ place, value, tokens int64 }

type block struct {
	index int32
	n     int32
	sum   int64
}

// newTally returns a tally whose blocks begin 1<<shift places long.
func newTally(shift uint) *tally { return &tally{cells: map[Key]*cell{}, shift: shift} }

// add counts a value at a place of its sequence, from 0. It reports false when the tally has no room for another cell.
func (t *tally) add(k Key, place, value, tokens int64) bool {
	c := t.last
	if c == nil || c.key != k {
		if c = t.cells[k]; c == nil {
			if len(t.cells) == cellsKept {
				return false
			}
			c = &cell{key: k}
			t.cells[k] = c
		}
		t.last = c
	}
	for place>>t.shift >= blocksKept {
		t.widen()
	}
	c.sketch.Add(value)
	if value >= stallNS && !c.slow {
		c.late = append(c.late, late{place, value, tokens})
		if len(c.late) > stallsKept {
			c.slow = true
			t.release(c)
		}
		return true
	}
	t.count(c, place, value, tokens)
	return true
}

func (t *tally) count(c *cell, place, value, tokens int64) {
	t.n++
	t.sum += value
	c.n++
	c.sum += value
	c.tokens += tokens
	c.at(int32(place>>t.shift), value)
}

// release counts the large values of a cell that are none of its stalls.
func (t *tally) release(c *cell) {
	limit := stallFactor * c.median()
	for _, l := range c.late {
		if l.value > limit && !c.slow {
			t.stalls++
			t.stalledN += l.value
			continue
		}
		t.count(c, l.place, l.value, l.tokens)
	}
	c.late = nil
}

// settle parts stalls from values, when all are there: no order of them changes which are which. A cell of nothing but stalls goes.
func (t *tally) settle() {
	for k, c := range t.cells {
		t.release(c)
		if c.n == 0 {
			delete(t.cells, k)
		}
	}
	t.last = nil
}

func (c *cell) at(index int32, value int64) {
	i := len(c.blocks) - 1
	if i < 0 || c.blocks[i].index != index {
		var found bool
		i, found = slices.BinarySearchFunc(c.blocks, index, func(b block, index int32) int { return cmp.Compare(b.index, index) })
		if !found {
			c.blocks = slices.Insert(c.blocks, i, block{index: index})
		}
	}
	c.blocks[i].n++
	c.blocks[i].sum += value
}

// widen makes blocks twice as long.
func (t *tally) widen() {
	t.shift++
	for _, c := range t.cells {
		c.blocks = slices.AppendSeq(c.blocks[:0], c.merged(1))
	}
}

// merged are the blocks of a cell, 1<<level of them as one.
func (c *cell) merged(level uint) func(yield func(block) bool) {
	return func(yield func(block) bool) {
		var open block
		for _, b := range c.blocks {
			b.index >>= level
			if open.n > 0 && open.index == b.index {
				open.n, open.sum = open.n+b.n, open.sum+b.sum
				continue
			}
			if open.n > 0 && !yield(open) {
				return
			}
			open = b
		}
		if open.n > 0 {
			yield(open)
		}
	}
}

// mean is the mean of all values; 0 without any.
func (t *tally) mean() float64 { return ratio(t.sum, t.n) }

func (c *cell) mean() float64 { return ratio(c.sum, c.n) }

func ratio(sum, n int64) float64 {
	if n == 0 {
		return 0
	}
	return float64(sum) / float64(n)
}

// share is the part of the tally's values that are in a cell; 0 for a cell that is not there.
func (t *tally) share(c *cell) float64 {
	if c == nil || t.n == 0 {
		return 0
	}
	return float64(c.n) / float64(t.n)
}

// median is within store.SketchErrorPct.
func (c *cell) median() int64 {
	ns, _ := c.sketch.Quantile(50)
	return ns
}
