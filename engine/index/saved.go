package index

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// savedLevel reads rollups of one level from a file, a frame at a time, and keeps what it has read.
type savedLevel struct {
	n      int // rollups
	file   io.ReaderAt
	frames []frame
	*frameCache
}

type frame struct {
	offset int64
	length uint32
	crc    uint32
}

type frameCache struct {
	mu   sync.Mutex
	kept map[int][][]byte // encoded rollups by frame
}

// first is the level with its first n rollups only.
func (s *savedLevel) first(n int) *savedLevel {
	c := *s
	c.n = n
	return &c
}

func (s *savedLevel) encoded(i int) ([]byte, error) {
	at := i / frameRollups
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.kept[at]
	if list == nil {
		var err error
		if list, err = s.read(at); err != nil {
			return nil, err
		}
		s.kept[at] = list
	}
	if i%frameRollups >= len(list) {
		return nil, fmt.Errorf("%w: frame %d has %d rollups", errDamaged, at, len(list))
	}
	return list[i%frameRollups], nil
}

func (s *savedLevel) read(at int) ([][]byte, error) {
	if at >= len(s.frames) {
		return nil, fmt.Errorf("%w: it has %d frames", errDamaged, len(s.frames))
	}
	f := s.frames[at]
	data := make([]byte, f.length)
	if _, err := s.file.ReadAt(data, f.offset); err != nil {
		return nil, fmt.Errorf("cannot read the index at byte %d: %w", f.offset, err)
	}
	if crc32.Checksum(data, castagnoli) != f.crc {
		return nil, fmt.Errorf("%w: the checksum of %d bytes at byte %d does not hold", errDamaged, f.length, f.offset)
	}
	var list [][]byte
	for len(data) > 0 {
		n, k := binary.Uvarint(data)
		if k <= 0 || n > uint64(len(data)-k) {
			return nil, fmt.Errorf("%w: frame %d ends in the middle of a rollup", errDamaged, at)
		}
		list = append(list, data[k:k+int(n):k+int(n)])
		data = data[k+int(n):]
	}
	return list, nil
}

// verifyRollups reads every rollup of a saved index once, a frame at a time, and compares it with the blocks that it sums up.
func (x *Index) verifyRollups() error {
	for k := range x.levels {
		v := &x.levels[k]
		for at := range v.saved.frames {
			list, err := v.saved.read(at)
			if err != nil {
				return err
			}
			groups := v.groups[at*frameRollups : min((at+1)*frameRollups, len(v.groups))]
			if len(list) != len(groups) {
				return fmt.Errorf("%w: frame %d of level %d has %d rollups of %d", errDamaged, at, k, len(list), len(groups))
			}
			for i, g := range groups {
				if err := x.verifyRollup(list[i], g); err != nil {
					return fmt.Errorf("%w: rollup %d of level %d: %w", errDamaged, at*frameRollups+i, k, err)
				}
			}
		}
	}
	return nil
}

func (x *Index) verifyRollup(data []byte, g group) error {
	r, err := decodeRollup(data)
	if err != nil {
		return err
	}
	var steps int64
	for i := g.first; i < g.first+g.n; i++ {
		steps += x.blocks[i].Steps - x.blocks[i].Unplaced
	}
	if r.Counts.Steps != steps {
		return fmt.Errorf("it has %d steps, its blocks have %d", r.Counts.Steps, steps)
	}
	return nil
}

// savedLevels cuts the list of frames into levels. The groups follow from the blocks.
func savedLevels(file io.ReaderAt, h *fileHeader, lists []byte, blocks []Block) (levels, error) {
	var out levels
	for k := range out {
		groups := grouped(blocks, levelBlocks(k))
		s := &savedLevel{n: len(groups), file: file, frameCache: &frameCache{kept: map[int][][]byte{}}}
		at := h.Level[k].Offset
		for range (len(groups) + frameRollups - 1) / frameRollups {
			if len(lists) < 8 {
				return out, fmt.Errorf("%w: the list of frames ends early", errDamaged)
			}
			f := frame{offset: int64(at), length: order.Uint32(lists), crc: order.Uint32(lists[4:])}
			lists = lists[8:]
			at += uint64(f.length)
			s.frames = append(s.frames, f)
		}
		if at != h.Level[k].Offset+h.Level[k].Length || at > h.Length {
			return out, fmt.Errorf("%w: the frames of level %d do not fill it", errDamaged, k)
		}
		out[k] = level{saved: s, groups: groups}
	}
	if len(lists) > 0 {
		return out, fmt.Errorf("%w: %d bytes behind the list of frames", errDamaged, len(lists))
	}
	return out, nil
}
