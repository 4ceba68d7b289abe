package index

import (
	"errors"
	"fmt"
	"io"

	"opprof/engine/store"
)

// errDamaged is wrapped by every error about an index that is not to be believed.
var errDamaged = errors.New("the index is damaged")

// Index is what a Builder or a file knows of a stream.
type Index struct {
	sealed state // behind the last full block
	last   state // behind the last line
	full   int   // number of full blocks
	blocks []Block
	end    int64
	levels levels
	closer io.Closer
}

// Size is the number of bytes of the stream that are covered, up to a line's end.
func (x *Index) Size() int64 { return x.end }

// Lines is the number of lines that are covered.
func (x *Index) Lines() int64 { return x.last.Lines }

// Blocks are all blocks, in the order of the stream. Not to be changed.
func (x *Index) Blocks() []Block { return x.blocks }

// Engines are the engines of the stream, in the order of their first line. Not to be changed.
func (x *Index) Engines() []Engine { return x.last.Engines }

// Loss counts what lines before the first engine lost.
func (x *Index) Loss() store.Loss { return x.last.Loss }

// Fallback is the number of step lines that needed the tolerant scanner.
func (x *Index) Fallback() int64 { return x.last.Fallback }

// FirstBadLine is the number of the first line that could not be read, 1-based; 0 if all could.
func (x *Index) FirstBadLine() int64 { return x.last.FirstBad }

// Steps is the number of steps.
func (x *Index) Steps() int64 {
	var n int64
	for i := range x.blocks {
		n += x.blocks[i].Steps
	}
	return n
}

// Close closes the file of an index that was loaded. Rollups that were not read yet cannot be read any more.
func (x *Index) Close() error {
	if x.closer == nil {
		return nil
	}
	return x.closer.Close()
}

// Rollups gives the finest rollups of one engine that are at most limit and together cover what of the run lies in [fromNS, toNS), in the
// order of the stream. Their Counts are exact sums over whole blocks, so the first and last reach beyond the span.
func (x *Index) Rollups(engine string, fromNS, toNS int64, limit int) ([]*store.Rollup, error) {
	id := x.engine(engine)
	for k := range Levels {
		groups := x.within(k, id, fromNS, toNS)
		if len(groups) > limit && k < Levels-1 {
			continue
		}
		rollups := make([]*store.Rollup, 0, len(groups))
		for _, i := range groups {
			r, err := x.levels[k].rollup(i)
			if err != nil {
				return nil, fmt.Errorf("cannot read rollups: %w", err)
			}
			rollups = append(rollups, r)
		}
		return rollups, nil
	}
	return nil, nil
}

// within lists the groups of a level with steps of one engine in a span of time.
func (x *Index) within(level, engine int, fromNS, toNS int64) []int {
	var list []int
	for i, g := range x.levels[level].groups {
		if int(g.engine) != engine {
			continue
		}
		for b := g.first; b < g.first+g.n; b++ {
			if x.blocks[b].meets(fromNS, toNS) {
				list = append(list, i)
				break
			}
		}
	}
	return list
}

// meets reports whether a step of the block may complete in [fromNS, toNS).
func (b *Block) meets(fromNS, toNS int64) bool {
	return b.Steps > b.Unplaced && b.FirstNS < toNS && fromNS <= b.LastNS
}

// engine is the number of an engine, -1 if the stream does not have it.
func (x *Index) engine(id string) int {
	for i := range x.last.Engines {
		if x.last.Engines[i].ID == id {
			return i
		}
	}
	return -1
}
