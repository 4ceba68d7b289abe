package index

import (
	"context"
	"io"

	"opprof/engine/record"
	"opprof/engine/store"
)

// BlockReader decodes single blocks of a stream. Not for concurrent use.
type BlockReader struct{ decoder *blockDecoder }

// NewBlockReader reads blocks of the stream behind r.
func NewBlockReader(r io.ReaderAt) *BlockReader { return &BlockReader{newBlockDecoder(r)} }

// Read gives the steps of a block with their places, in the order of the stream. The step may be reused as soon as take returns. A block
// that does not hold the steps that it should is an error.
func (d *BlockReader) Read(ctx context.Context, b *Block, take func(*record.Step, store.Place)) error {
	return d.decoder.decode(ctx, b, take)
}

// PeriodsKnown reports whether every step of a block, by its place in Blocks, has a place on the time axis and a known step period.
func (x *Index) PeriodsKnown(block int) (bool, error) {
	b := &x.blocks[block]
	if b.Unplaced > 0 || b.Gaps > 0 || b.Steps == 0 {
		return false, nil
	}
	r, err := x.levels[0].rollup(block)
	if err != nil {
		return false, err
	}
	return r.Counts.Steps == b.Steps && r.Period.N() == b.Steps, nil
}
