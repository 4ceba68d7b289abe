package index

import (
	"context"
	"fmt"
	"io"
	"math"
	"sort"

	"opprof/engine/record"
	"opprof/engine/store"
)

// Around is whole steps of one engine, in the order of the stream, and the sequence in front of them, as store.Part takes them.
type Around struct {
	Steps  []record.Step
	Before store.Sequence
}

// StepsAround decodes the blocks around a moment: the one that holds it or comes next, and neighbours of the same engine until there are
// about n steps, as many on either side as there are. It reads nothing else of the stream.
func (x *Index) StepsAround(ctx context.Context, r io.ReaderAt, engine string, atNS int64, n int) (Around, error) {
	own := x.blocksOf(x.engine(engine))
	if len(own) == 0 {
		return Around{}, nil
	}
	at := 0
	for at < len(own)-1 && (x.blocks[own[at]].Steps == x.blocks[own[at]].Unplaced || x.blocks[own[at]].LastNS < atNS) {
		at++
	}
	from, to, steps := at, at+1, x.blocks[own[at]].Steps
	for steps < int64(n) && (from > 0 || to < len(own)) {
		if from > 0 {
			from--
			steps += x.blocks[own[from]].Steps
		}
		if to < len(own) && steps < int64(n) {
			steps += x.blocks[own[to]].Steps
			to++
		}
	}
	a := Around{Before: x.blocks[own[from]].Before, Steps: make([]record.Step, 0, steps)}
	d := newBlockDecoder(r)
	for _, i := range own[from:to] {
		if err := d.decode(ctx, &x.blocks[i], func(s *record.Step, _ store.Place) { a.Steps = append(a.Steps, *s) }); err != nil {
			return a, err
		}
	}
	return a, nil
}

// AtStep gives the completion of a step by its index. If the engine counted more than once through it, the newest is meant.
func (x *Index) AtStep(ctx context.Context, r io.ReaderAt, engine string, step int64) (atNS int64, ok bool, err error) {
	own := x.blocksOf(x.engine(engine))
	d := newBlockDecoder(r)
	for k := len(own) - 1; k >= 0 && !ok; k-- {
		b := &x.blocks[own[k]]
		if b.Steps == b.Unplaced || step < b.MinStep || step > b.MaxStep {
			continue
		}
		err = d.decode(ctx, b, func(s *record.Step, p store.Place) {
			if s.StepIndex == step && !p.OffAxis {
				atNS, ok = p.TimeNS, true
			}
		})
		if err != nil {
			return 0, false, err
		}
	}
	return atNS, ok, nil
}

// blocksOf lists the blocks of one engine.
func (x *Index) blocksOf(engine int) []int {
	var own []int
	for i := range x.blocks {
		if x.blocks[i].Engine == engine && x.blocks[i].Steps > 0 {
			own = append(own, i)
		}
	}
	return own
}

// blockDecoder decodes single blocks.
type blockDecoder struct {
	r    io.ReaderAt
	d    *record.Decoder
	buf  []byte
	line record.Line
}

func newBlockDecoder(r io.ReaderAt) *blockDecoder {
	return &blockDecoder{r: r, d: record.NewDecoder("")}
}

// decode gives the steps of a block with their places. A block that does not hold the steps that it should is an error.
func (d *blockDecoder) decode(ctx context.Context, b *Block, take func(*record.Step, store.Place)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.End-b.Offset > math.MaxInt32 {
		return fmt.Errorf("cannot read a block of %d bytes at byte %d of the stream: it holds a line that is too long", b.End-b.Offset, b.Offset)
	}
	size := int(b.End - b.Offset)
	if cap(d.buf) < size {
		d.buf = make([]byte, size)
	}
	data := d.buf[:size]
	if n, err := d.r.ReadAt(data, b.Offset); n < size {
		return fmt.Errorf("cannot read the stream at byte %d: %w", b.Offset+int64(n), err)
	}
	q, steps := b.Before, int64(0)
	for used := 0; used < len(data); {
		n := d.d.Next(data[used:], &d.line)
		if n == 0 {
			break
		}
		used += n
		if d.line.Kind != record.KindStep || n-1 > record.MaxLine {
			continue
		}
		steps++
		take(&d.line.Step, q.Next(&d.line.Step))
	}
	if steps != b.Steps {
		return fmt.Errorf("%w: the block at byte %d of the stream holds %d steps, %d were indexed; build it again", ErrStale, b.Offset, steps, b.Steps)
	}
	return nil
}

// Hit is a step that was searched for.
type Hit struct {
	Engine string
	Step   int64 // step_index
	AtNS   int64 // its completion, ns since 1970
}

// Search finds the nearest step strictly after, or before, a moment, of one engine or ("") of all: may tells from the zones whether a block
// can hold one, is tells for a step. Only blocks that may hold it are read.
func (x *Index) Search(ctx context.Context, r io.ReaderAt, engine string, fromNS int64, forward bool,
	may func(*Block) bool, is func(*record.Step, store.Place) bool) (hit Hit, ok bool, err error) {
	blocks := x.candidates(engine, fromNS, forward, may)
	d := newBlockDecoder(r)
	for _, i := range blocks {
		b := &x.blocks[i]
		if ok && (forward && b.FirstNS >= hit.AtNS || !forward && b.LastNS <= hit.AtNS) {
			break
		}
		err = d.decode(ctx, b, func(s *record.Step, p store.Place) {
			switch {
			case p.OffAxis || !is(s, p):
			case forward && p.TimeNS > fromNS && (!ok || p.TimeNS < hit.AtNS), !forward && p.TimeNS < fromNS && (!ok || p.TimeNS > hit.AtNS):
				hit, ok = Hit{x.last.Engines[b.Engine].ID, s.StepIndex, p.TimeNS}, true
			}
		})
		if err != nil {
			return Hit{}, false, err
		}
	}
	return hit, ok, nil
}

// candidates lists the blocks that may hold a step, nearest first.
func (x *Index) candidates(engine string, fromNS int64, forward bool, may func(*Block) bool) []int {
	id := x.engine(engine)
	var list []int
	for i := range x.blocks {
		b := &x.blocks[i]
		switch {
		case b.Steps == b.Unplaced || engine != "" && b.Engine != id:
		case forward && b.LastNS <= fromNS, !forward && b.FirstNS >= fromNS:
		case may(b):
			list = append(list, i)
		}
	}
	sort.SliceStable(list, func(i, j int) bool {
		if a, b := &x.blocks[list[i]], &x.blocks[list[j]]; forward {
			return a.FirstNS < b.FirstNS
		} else {
			return a.LastNS > b.LastNS
		}
	})
	return list
}

// Find gives the time of the next or previous event, strictly after or before fromNS, of one engine or ("") of all.
func (x *Index) Find(ctx context.Context, r io.ReaderAt, ev store.Event, engine string, fromNS int64, forward bool) (atNS int64, ok bool, err error) {
	if ev == store.EventWindow {
		return x.findWindow(ctx, r, engine, fromNS, forward)
	}
	may, is := eventTests(ev)
	hit, ok, err := x.Search(ctx, r, engine, fromNS, forward, may, is)
	return hit.AtNS, ok, err
}

func eventTests(ev store.Event) (may func(*Block) bool, is func(*record.Step, store.Place) bool) {
	switch ev {
	case store.EventPreemption:
		return func(b *Block) bool { return b.Zones[Preemptions].Meets(1, math.MaxInt64) },
			func(s *record.Step, _ store.Place) bool { return s.Preemptions > 0 }
	case store.EventGraphMiss:
		return func(b *Block) bool { return b.Graphs&(1<<record.GraphNone) != 0 },
			func(s *record.Step, _ store.Place) bool {
				return s.Has&record.HasGraph != 0 && s.Graph.Mode == record.GraphNone
			}
	case store.EventStall:
		return func(b *Block) bool { return b.Stalls > 0 }, func(_ *record.Step, p store.Place) bool { return p.Stalls() }
	case store.EventGap:
		return func(b *Block) bool { return b.Gaps > 0 }, func(_ *record.Step, p store.Place) bool { return p.Gap }
	}
	none := func(*Block) bool { return false }
	return none, func(*record.Step, store.Place) bool { return false }
}

// findWindow goes by the start markers: a window is at its first step, or at its marker while that step is not there.
func (x *Index) findWindow(ctx context.Context, r io.ReaderAt, engine string, fromNS int64, forward bool) (atNS int64, ok bool, err error) {
	for i := range x.last.Engines {
		e := &x.last.Engines[i]
		if engine != "" && e.ID != engine {
			continue
		}
		starts := e.starts()
		// The first step completes after its marker: forward, the newest marker before the moment may still lead behind it.
		k := sort.Search(len(starts), func(k int) bool { return starts[k].atNS >= fromNS })
		step := -1
		if k--; forward {
			k, step = max(k, 0), 1
		}
		for ; k >= 0 && k < len(starts); k += step {
			at, known, err := x.AtStep(ctx, r, e.ID, starts[k].afterStep+1)
			if err != nil {
				return 0, false, err
			}
			if !known {
				at = starts[k].atNS
			}
			if forward && at <= fromNS || !forward && at >= fromNS {
				continue
			}
			if !ok || forward && at < atNS || !forward && at > atNS {
				atNS, ok = at, true
			}
			break
		}
	}
	return atNS, ok, nil
}

type windowStart struct{ atNS, afterStep int64 }

// starts are the markers that opened a window, in order of time.
func (e *Engine) starts() []windowStart {
	var list []windowStart
	for i := range e.Profiles {
		p := &e.Profiles[i]
		if p.Action != record.ActionStart || p.OK != nil && !*p.OK {
			continue
		}
		offset := p.WallNS - p.MonoNS
		if e.Sequence.Aligned {
			offset = e.Sequence.OffsetNS
		}
		list = append(list, windowStart{p.MonoNS + offset, p.AfterStep})
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].atNS < list[j].atNS })
	return list
}
