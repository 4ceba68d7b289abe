package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"opprof/engine/record"
	"opprof/engine/store"
)

// ErrMixed says that the lines of several engines alternate in one stream, which blocks of one engine cannot index.
var ErrMixed = errors.New("the stream mixes the steps of several engines")

const (
	// pauseNS without a step ends a block of at least pausedSteps.
	pauseNS     = 30_000_000_000
	pausedSteps = 64
)

// profilesMax bounds the kept profile markers of an engine.
const profilesMax = 8192

// Engine is what a stream's lines say about one engine, outside the steps.
type Engine struct {
	ID       string
	Header   *record.Header // nil when the stream has none
	Footer   *record.Footer // nil when the stream has none
	Profiles []record.Profile
	Dummies  int64
	Loss     store.Loss
	Sequence store.Sequence // behind the engine's last step
}

// state is everything but the blocks: what is needed to go on behind the last one.
type state struct {
	Engines  []Engine
	Current  int        // of the last line that named an engine; -1 before one
	Loss     store.Loss // of lines before an engine was named
	Fallback int64      // step lines that needed the tolerant scanner
	FirstBad int64      // number of the first bad line; 0 if none
	Lines    int64
}

func (st *state) clone() state {
	c := *st
	c.Engines = slices.Clone(st.Engines)
	return c
}

// Builder reads a stream forward and indexes it. Not for concurrent use; the Index it gives is.
type Builder struct {
	sealed state // behind the last sealed block: where Extend begins
	blocks []Block
	levels levels

	pipeline pipeline
	state           // behind the last line
	open     *Block // nil between blocks
	rollup   *store.Rollup
	end      int64 // of the last line
	mixed    int64 // blocks that ended early because the engine changed
	err      error
}

// NewBuilder begins at the start of a stream.
func NewBuilder() *Builder {
	b := &Builder{}
	b.sealed.Current = -1
	b.state = b.sealed.clone()
	return b
}

// Resume begins behind what an index covers, without its open block.
func Resume(x *Index) (*Builder, error) {
	b := &Builder{sealed: x.sealed.clone(), blocks: x.blocks[:x.full:x.full]}
	b.state = b.sealed.clone()
	b.end = b.sealedEnd()
	var err error
	b.levels, err = x.levels.reopen(b.blocks)
	return b, err
}

func (b *Builder) sealedEnd() int64 {
	if len(b.blocks) == 0 {
		return 0
	}
	return b.blocks[len(b.blocks)-1].End
}

// Covered is the size of what the full blocks cover, in bytes.
func (b *Builder) Covered() int64 { return b.sealedEnd() }

// Extend indexes whole lines up to size, from the end of the last full block on. After an error or a cancelled context, what was indexed
// until then stays valid and Extend may be called again. progress, if not nil, is told from time to time how many bytes are done.
func (b *Builder) Extend(ctx context.Context, r io.ReaderAt, size int64, progress func(done, size int64)) error {
	b.state, b.open, b.rollup, b.end = b.sealed.clone(), nil, nil, b.sealedEnd()
	err := b.pipeline.run(ctx, r, b.end, size, func(s *segment) error {
		b.take(s)
		if progress != nil {
			progress(b.end, size)
		}
		return b.err
	})
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("cannot index: %w", err)
	}
	return err
}

// take counts a decoded segment.
func (b *Builder) take(s *segment) {
	lines := b.Lines
	k := 0
	for i := range s.steps {
		for ; k < len(s.others) && s.others[k].before <= i; k++ {
			b.other(&s.others[k], lines)
		}
		b.step(&s.steps[i], lines)
	}
	for ; k < len(s.others); k++ {
		b.other(&s.others[k], lines)
	}
}

func (b *Builder) step(s *stepLine, lines int64) {
	if b.Current < 0 || b.Engines[b.Current].ID != s.EngineID {
		b.turn(s.EngineID)
	}
	if b.open != nil && b.open.Steps >= pausedSteps && s.CompleteMonoNS-b.Engines[b.Current].Sequence.LastCompleteNS > pauseNS {
		b.seal() // a block that spans a pause would be a wide, blurred part of an overview
	}
	e := &b.Engines[b.Current]
	b.begin()
	b.end, b.Lines = s.end, lines+s.lines
	p := e.Sequence.Next(&s.Step)
	if s.fallback {
		b.Fallback++
	}
	e.Footer = nil // a footer closes what is before it
	e.count(&s.Step, p)
	b.open.add(&s.Step, p)
	if !p.OffAxis {
		b.rollup.Add(&s.Step, p)
	}
	if b.open.Steps == BlockSteps {
		b.seal()
	}
}

func (e *Engine) count(s *record.Step, p store.Place) {
	e.Loss.Dropped += s.DroppedBefore
	if p.Backward {
		e.Loss.Backward++
	} else if p.Missing {
		e.Loss.Gaps++
	}
	if p.OffAxis {
		e.Loss.Unplaced++
	}
}

// turn makes the engine of the next line the current one. Blocks hold one engine.
func (b *Builder) turn(id string) {
	next := slices.IndexFunc(b.Engines, func(e Engine) bool { return e.ID == id })
	if next < 0 {
		next = len(b.Engines)
		b.Engines = append(b.Engines, Engine{ID: id})
		if b.Current < 0 {
			b.Engines[next].Loss, b.Loss = b.Loss, store.Loss{}
		}
	}
	if next == b.Current {
		return
	}
	if b.open != nil && b.open.Steps > 0 {
		b.seal()
		b.mixed++
		if b.mixed > 64 && b.mixed > int64(len(b.blocks))/2 {
			b.err = ErrMixed
		}
	}
	b.Current = next
	if b.open != nil {
		b.open.Engine, b.open.Before = next, b.Engines[next].Sequence
	}
}

// begin opens a block at the end of the last line.
func (b *Builder) begin() {
	if b.open != nil {
		return
	}
	b.rollup = &store.Rollup{}
	engine, before := max(b.Current, 0), store.Sequence{}
	if b.Current >= 0 {
		before = b.Engines[b.Current].Sequence
	}
	b.open = newBlock(engine, b.end, b.Lines, before)
}

func (b *Builder) other(o *otherLine, lines int64) {
	switch {
	case o.header != nil:
		b.turn(o.header.EngineID)
	case o.profile != nil:
		b.turn(o.profile.EngineID)
	case o.dummy != nil:
		b.turn(o.dummy.EngineID)
	case o.footer != nil:
		b.turn(o.footer.EngineID)
	}
	b.begin()
	loss := &b.Loss
	if b.Current >= 0 {
		loss = &b.Engines[b.Current].Loss
	}
	switch o.kind {
	case record.KindBad:
		loss.BadLines += o.n
		if b.FirstBad == 0 {
			b.FirstBad = lines + o.lines - o.n + 1
		}
	case record.KindUnknown:
		loss.Unknown += o.n
	case record.KindHeader:
		b.Engines[b.Current].Header = o.header
	case record.KindFooter:
		b.Engines[b.Current].Footer = o.footer
	case record.KindDummyStep:
		b.Engines[b.Current].Dummies++
	case record.KindProfile:
		e := &b.Engines[b.Current]
		from := max(0, len(e.Profiles)+1-profilesMax)
		e.Profiles = append(slices.Clone(e.Profiles[from:]), *o.profile) // an Index shares the old list
	}
	b.end, b.Lines = o.end, lines+o.lines
	if b.end-b.open.Offset >= blockBytesMax {
		b.seal()
	}
}

// seal closes the open block.
func (b *Builder) seal() {
	b.open.End = b.end
	closeRollup(b.rollup, b.open)
	b.levels.add(b.open.Engine, int32(len(b.blocks)), b.rollup)
	b.blocks = append(b.blocks, *b.open)
	b.open, b.rollup = nil, nil
	b.sealed = b.state.clone()
}

// closeRollup gives a block's rollup its stretch of time.
func closeRollup(r *store.Rollup, b *Block) {
	if r.Counts.Steps > 0 {
		r.StartNS, r.EndNS = b.FirstNS, b.LastNS+1
	}
}

// Index gives what is indexed so far. Its last block may be open: not full, and not saved.
func (b *Builder) Index() *Index {
	x := &Index{sealed: b.sealed.clone(), last: b.state.clone(), full: len(b.blocks), blocks: b.blocks[:len(b.blocks):len(b.blocks)], end: b.end}
	x.levels = b.levels.view()
	if b.open != nil && b.end > b.open.Offset {
		open, r := *b.open, b.rollup
		open.End = b.end
		closeRollup(r, &open)
		x.blocks = append(x.blocks, open)
		x.levels.addOpen(open.Engine, int32(len(b.blocks)), r)
	}
	return x
}
