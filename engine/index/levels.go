package index

import (
	"fmt"
	"slices"

	"opprof/engine/store"
)

// Levels are the resolutions of rollups: single blocks, 16 and 256 of them. A group never spans two engines.
const Levels = 3

// levelBlocks is the number of blocks in a group of each level.
func levelBlocks(level int) int { return 1 << (4 * level) }

// levels hold encoded rollups: those of a saved index behind its file, newer ones in memory.
type levels [Levels]level

type level struct {
	saved  *savedLevel // nil when nothing comes from a file
	groups []group     // all of them, saved ones first
	memory [][]byte    // encoded, behind the saved ones
	open   *store.Rollup
	opened group
}

// group is a run of blocks whose rollups are merged.
type group struct {
	first  int32 // block
	n      int32 // blocks
	engine int32
}

// add counts a sealed block in every level.
func (l *levels) add(engine int, block int32, r *store.Rollup) {
	for k := range l {
		l[k].add(int32(engine), block, r, int32(levelBlocks(k)))
	}
}

func (v *level) add(engine, block int32, r *store.Rollup, limit int32) {
	if v.open != nil && v.opened.engine != engine {
		v.close()
	}
	if limit == 1 {
		v.groups = append(v.groups, group{block, 1, engine})
		v.memory = append(v.memory, r.AppendBinary(nil))
		return
	}
	if v.open == nil {
		v.open, v.opened = &store.Rollup{}, group{first: block, engine: engine}
	}
	v.open.Merge(r)
	if v.opened.n++; v.opened.n == limit {
		v.close()
	}
}

func (v *level) close() {
	v.groups = append(v.groups, v.opened)
	v.memory = append(v.memory, v.open.AppendBinary(nil))
	v.open = nil
}

// view is an immutable copy in which open groups are closed. The lists only grow, so that they may be shared up to their length.
func (l *levels) view() levels {
	var out levels
	for k := range l {
		v := &l[k]
		out[k] = level{saved: v.saved, groups: v.groups[:len(v.groups):len(v.groups)], memory: v.memory[:len(v.memory):len(v.memory)]}
		if v.open != nil {
			out[k].groups = append(out[k].groups, v.opened)
			out[k].memory = append(out[k].memory, v.open.AppendBinary(nil))
		}
	}
	return out
}

// addOpen adds the open block as a group of its own to a view.
func (l *levels) addOpen(engine int, block int32, r *store.Rollup) {
	for k := range l {
		l[k].groups = append(l[k].groups, group{block, 1, int32(engine)})
		l[k].memory = append(l[k].memory, r.AppendBinary(nil))
	}
}

// reopen gives levels that go on behind the full blocks of an index: a last group that is not full is opened again.
func (l *levels) reopen(blocks []Block) (levels, error) {
	var out levels
	for k := range l {
		groups := grouped(blocks, levelBlocks(k))
		n := len(groups)
		if n > len(l[k].groups) {
			return out, fmt.Errorf("%w: it has %d groups of %d blocks, %d were expected", errDamaged, len(l[k].groups), levelBlocks(k), n)
		}
		if k > 0 && n > 0 && int(groups[n-1].n) < levelBlocks(k) {
			// The group in the index may hold the open block too when it was merged; it never is, see addOpen.
			r, err := l[k].rollup(n - 1)
			if err != nil {
				return out, err
			}
			out[k].open, out[k].opened = r, groups[n-1]
			n--
		}
		out[k].groups = groups[:n:n]
		saved := 0
		if s := l[k].saved; s != nil {
			saved = min(s.n, n)
			out[k].saved = s.first(saved)
		}
		out[k].memory = slices.Clip(l[k].memory[:n-saved])
	}
	return out, nil
}

// grouped tells the groups that full blocks make.
func grouped(blocks []Block, limit int) []group {
	var groups []group
	for i := range blocks {
		last := len(groups) - 1
		if last < 0 || int(groups[last].n) == limit || int(groups[last].engine) != blocks[i].Engine {
			groups = append(groups, group{first: int32(i), engine: int32(blocks[i].Engine)})
			last++
		}
		groups[last].n++
	}
	return groups
}

// rollup decodes the rollup of a group.
func (v *level) rollup(i int) (*store.Rollup, error) {
	data, err := v.encoded(i)
	if err != nil {
		return nil, err
	}
	return decodeRollup(data)
}

func decodeRollup(data []byte) (*store.Rollup, error) {
	r, rest, err := store.DecodeRollup(data)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%w: %d bytes behind a rollup", errDamaged, len(rest))
	}
	return r, err
}

func (v *level) encoded(i int) ([]byte, error) {
	n := 0
	if v.saved != nil {
		if n = v.saved.n; i < n {
			return v.saved.encoded(i)
		}
	}
	return v.memory[i-n], nil
}
