package index

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"

	"opprof/engine/store"
)

// The file: a header of fixed size, then the sections that it names. All numbers are little-endian.
//
//	state      JSON: engines, headers, footers, profile markers, sequences, losses
//	directory  a record of varints for each block, as differences to the one before
//	frames     for each level the length and checksum of its frames
//	level 0-2  frames of up to 256 encoded rollups, each behind its length
//
// Every section has a checksum, frames have their own, and the header holds the length of the whole file.
const (
	formatMagic   = "OPPROFIX"
	formatVersion = 2 // 1 counted no pauses between steps
	frameRollups  = 256
	fileMax       = 1 << 31 // bytes; a day at full speed takes some 20 MB
	blocksMax     = 1 << 24
	headerCRCAt   = 12 // where fileHeader.CRC lies
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	order      = binary.LittleEndian
)

type section struct {
	Offset, Length uint64
	CRC, _         uint32
}

type fileHeader struct {
	Magic     [8]byte
	Version   uint32
	CRC       uint32 // of the header with this field zero
	Length    uint64 // of the file
	Covered   uint64 // bytes of the stream
	Blocks    uint32
	_         uint32
	First     [32]byte // SHA-256 of the first block's bytes in the stream
	Last      [32]byte // and of the last block's
	State     section
	Directory section
	Frames    section
	Level     [Levels]section // without checksum
}

var headerSize = binary.Size(fileHeader{})

// checksum is that of an encoded header, padding too, as if its CRC were zero.
func checksum(header []byte) uint32 {
	c := bytes.Clone(header)
	order.PutUint32(c[headerCRCAt:], 0)
	return crc32.Checksum(c, castagnoli)
}

func (h *fileHeader) encode() []byte {
	b := make([]byte, headerSize)
	if _, err := binary.Encode(b, order, h); err != nil {
		panic(err) // the type has a fixed size
	}
	return b
}

// encode gives the file's sections for the full blocks, with First and Last left to the caller.
func (x *Index) encode() (h fileHeader, sections [][]byte, err error) {
	copy(h.Magic[:], formatMagic)
	h.Version, h.Blocks = formatVersion, uint32(x.full)
	state, err := json.Marshal(&x.sealed)
	if err != nil {
		return h, nil, err
	}
	directory := appendBlocks(nil, x.blocks[:x.full])
	lists, frames, err := x.frames()
	if err != nil {
		return h, nil, err
	}
	at := uint64(headerSize)
	place := func(data []byte) section {
		s := section{Offset: at, Length: uint64(len(data)), CRC: crc32.Checksum(data, castagnoli)}
		at += s.Length
		sections = append(sections, data)
		return s
	}
	h.State, h.Directory, h.Frames = place(state), place(directory), place(lists)
	for k := range frames {
		h.Level[k] = section{Offset: at}
		for _, f := range frames[k] {
			h.Level[k].Length += place(f).Length
		}
	}
	h.Length = at
	if x.full > 0 {
		h.Covered = uint64(x.blocks[x.full-1].End)
	}
	return h, sections, nil
}

// frames cuts each level's rollups of full blocks into frames and lists their lengths and checksums.
func (x *Index) frames() (lists []byte, frames [Levels][][]byte, err error) {
	for k := range x.levels {
		v := &x.levels[k]
		n := 0 // groups without the open block
		for n < len(v.groups) && int(v.groups[n].first) < x.full {
			n++
		}
		for from := 0; from < n; from += frameRollups {
			var frame []byte
			for i := from; i < min(from+frameRollups, n); i++ {
				data, err := v.encoded(i)
				if err != nil {
					return nil, frames, err
				}
				frame = binary.AppendUvarint(frame, uint64(len(data)))
				frame = append(frame, data...)
			}
			frames[k] = append(frames[k], frame)
			lists = order.AppendUint32(lists, uint32(len(frame)))
			lists = order.AppendUint32(lists, crc32.Checksum(frame, castagnoli))
		}
	}
	return lists, frames, nil
}

// visit calls f on every number of a block, in the order of the file.
func (b *Block) visit(f func(*int64)) {
	for _, n := range []*int64{
		&b.Offset, &b.End, &b.FirstLine, &b.Steps, &b.Unplaced, &b.MinStep, &b.MaxStep, &b.FirstNS, &b.LastNS, &b.Gaps, &b.Stalls,
		&b.Before.OffsetNS, &b.Before.SkewNS, &b.Before.LastStep, &b.Before.LastSubmitNS, &b.Before.LastCompleteNS,
	} {
		f(n)
	}
	for i := range b.Zones {
		f(&b.Zones[i].Min)
		f(&b.Zones[i].Max)
	}
}

func appendBlocks(dst []byte, blocks []Block) []byte {
	var before [64]int64
	for i := range blocks {
		b := &blocks[i]
		dst = binary.AppendUvarint(dst, uint64(b.Engine))
		dst = append(dst, b.Graphs, sequenceBits(&b.Before))
		k := 0
		b.visit(func(n *int64) {
			dst = binary.AppendVarint(dst, *n-before[k]) // wraps around, and back when decoded
			before[k] = *n
			k++
		})
	}
	return dst
}

func sequenceBits(q *store.Sequence) (bits byte) {
	for i, set := range []bool{q.Started, q.Aligned, q.Broken} {
		if set {
			bits |= 1 << i
		}
	}
	return bits
}

// decodeBlocks reads a directory and refuses blocks that do not follow one another.
func decodeBlocks(src []byte, count, engines int) ([]Block, error) {
	r := bytes.NewReader(src)
	blocks := make([]Block, 0, min(count, len(src)/8))
	var before [64]int64
	end := int64(0)
	for i := range count {
		var b Block
		engine, err := binary.ReadUvarint(r)
		if err != nil || engine >= uint64(max(engines, 1)) {
			return nil, fmt.Errorf("%w: block %d: expected an engine's number", errDamaged, i)
		}
		b.Engine = int(engine)
		var bits [2]byte
		if _, err := io.ReadFull(r, bits[:]); err != nil {
			return nil, fmt.Errorf("%w: block %d: the directory ends early", errDamaged, i)
		}
		b.Graphs = bits[0]
		b.Before.Started, b.Before.Aligned, b.Before.Broken = bits[1]&1 != 0, bits[1]&2 != 0, bits[1]&4 != 0
		k, failed := 0, false
		b.visit(func(n *int64) {
			delta, err := binary.ReadVarint(r)
			failed = failed || err != nil
			before[k] += delta
			*n = before[k]
			k++
		})
		if failed || b.Offset != end || b.End <= b.Offset || b.FirstLine < 0 || b.Steps < 0 || b.Steps > BlockSteps || b.Unplaced < 0 || b.Unplaced > b.Steps {
			return nil, fmt.Errorf("%w: block %d does not follow the one before it", errDamaged, i)
		}
		end = b.End
		blocks = append(blocks, b)
	}
	if r.Len() > 0 {
		return nil, fmt.Errorf("%w: %d bytes behind the directory", errDamaged, r.Len())
	}
	return blocks, nil
}
