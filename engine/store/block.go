package store

import (
	"slices"
	"sort"
	"sync/atomic"

	"opprof/engine/record"
)

const (
	// blockSteps is how many steps a sealed block holds.
	blockSteps = 1024
	// RingSteps is how many recent steps of an engine are kept whole.
	RingSteps = 65536

	firstBlockCap = 32 // most engines of a crash loop never fill a block
)

// block is a run of steps. The writer appends to an open block and never changes what is in it, so a snapshot shares the arrays up to
// its own length. Sealed blocks and blocks in snapshots are ordered by time.
type block struct {
	times, periods []int64 // on the axis; UnknownNS where a period is unknown
	steps          []packed
	wide           []wideStep // steps with markWide, by position
	ordered        bool       // times never go back
	union          marks
	minStep        int64
	maxStep        int64
	born           uint64                // snapshots of the engine before the block was begun
	base, latest   atomic.Pointer[cells] // groupings computed so far
}

type wideStep struct {
	at   int
	step record.Step
}

func newBlock(capacity int) *block {
	return &block{
		times: make([]int64, 0, capacity), periods: make([]int64, 0, capacity), steps: make([]packed, 0, capacity), ordered: true,
	}
}

// reuse empties a block that no snapshot holds.
func (b *block) reuse() *block {
	clear(b.wide)
	return &block{times: b.times[:0], periods: b.periods[:0], steps: b.steps[:0], wide: b.wide[:0], ordered: true}
}

func (b *block) len() int { return len(b.times) }

func (b *block) grow() {
	extra := min(2*cap(b.times), blockSteps) - len(b.times)
	b.times, b.periods, b.steps = slices.Grow(b.times, extra), slices.Grow(b.periods, extra), slices.Grow(b.steps, extra)
}

func (b *block) add(s *record.Step, at Place) {
	n := len(b.times)
	if n == cap(b.times) || n == cap(b.periods) || n == cap(b.steps) {
		b.grow()
	}
	if n == 0 {
		b.minStep, b.maxStep = s.StepIndex, s.StepIndex
	} else {
		b.ordered = b.ordered && at.TimeNS >= b.times[n-1]
		b.minStep, b.maxStep = min(b.minStep, s.StepIndex), max(b.maxStep, s.StepIndex)
	}
	b.times, b.periods, b.steps = append(b.times, at.TimeNS), append(b.periods, at.PeriodNS), b.steps[:n+1]
	p := &b.steps[n]
	if !p.pack(s, at) {
		w := wideStep{at: n, step: *s}
		w.step.EngineID = ""
		b.wide = append(b.wide, w)
	}
	b.union |= p.marks
}

// view is the block as a snapshot may keep it while the writer goes on.
func (b *block) view() *block {
	v := &block{
		times: b.times[:b.len():b.len()], periods: b.periods[:b.len():b.len()], steps: b.steps[:b.len():b.len()],
		wide: b.wide[:len(b.wide):len(b.wide)], ordered: true, union: b.union,
		minStep: b.minStep, maxStep: b.maxStep, born: b.born,
	}
	if !b.ordered {
		v.order()
	}
	return v
}

// order sorts a copy of the block by time; equal times keep their order.
func (b *block) order() {
	by := make([]int, b.len())
	for i := range by {
		by[i] = i
	}
	slices.SortStableFunc(by, func(i, j int) int { return compare(b.times[i], b.times[j]) })
	o := newBlock(b.len())
	for at, i := range by {
		o.times, o.periods, o.steps = append(o.times, b.times[i]), append(o.periods, b.periods[i]), append(o.steps, b.steps[i])
		if b.steps[i].marks&markWide != 0 {
			o.wide = append(o.wide, wideStep{at: at, step: *b.wideAt(i)})
		}
	}
	b.times, b.periods, b.steps, b.wide = o.times, o.periods, o.steps, o.wide
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (b *block) wideAt(i int) *record.Step {
	at := sort.Search(len(b.wide), func(k int) bool { return b.wide[k].at >= i })
	return &b.wide[at].step
}

// step restores the step at a position, without its engine.
func (b *block) step(i int, into *record.Step) {
	if p := &b.steps[i]; p.marks&markWide != 0 {
		*into = *b.wideAt(i)
	} else {
		p.unpack(into)
	}
}

func (b *block) place(i int) Place {
	return Place{TimeNS: b.times[i], PeriodNS: b.periods[i], PauseNS: b.steps[i].pauseNS, Gap: b.steps[i].marks&markGap != 0}
}

func (b *block) firstNS() int64 { return b.times[0] }
func (b *block) lastNS() int64  { return b.times[len(b.times)-1] }

// after is the position of the first step later than t.
func (b *block) after(t int64) int {
	return sort.Search(len(b.times), func(i int) bool { return b.times[i] > t })
}

// floorTo is the start of t's bucket.
func floorTo(t, bucketNS int64) int64 {
	start := t - t%bucketNS
	if t < 0 && start != t {
		start -= bucketNS
	}
	return start
}
