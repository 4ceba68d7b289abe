package index

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"syscall"

	"opprof/engine/regular"
	"opprof/engine/rundir"
)

// ErrNone says that there is no index file.
var ErrNone = errors.New("the stream has no index yet")

// ErrStale is wrapped by the reason why an index file is not believed: it is damaged, of another version, or of another stream.
var ErrStale = errors.New("the index is not used")

// Save writes the full blocks of an index to path, by renaming a temporary file into place. The stream is needed for its hashes.
func (x *Index) Save(path string, stream io.ReaderAt) error {
	return rundir.WriteAtomic(path, func(w io.Writer) error { return x.write(w, stream) })
}

func (x *Index) write(w io.Writer, stream io.ReaderAt) error {
	h, sections, err := x.encode()
	if err != nil {
		return err
	}
	if h.First, h.Last, err = ends(stream, x.blocks[:x.full]); err != nil {
		return err
	}
	header := h.encode()
	order.PutUint32(header[headerCRCAt:], checksum(header))
	for _, part := range append([][]byte{header}, sections...) {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// ends are the hashes of the first and last block's bytes.
func ends(stream io.ReaderAt, blocks []Block) (first, last [32]byte, err error) {
	if len(blocks) == 0 {
		return first, last, nil
	}
	sum := func(b *Block) (hash [32]byte, err error) {
		h := sha256.New()
		n, err := io.Copy(h, io.NewSectionReader(stream, b.Offset, b.End-b.Offset))
		if err == nil && n < b.End-b.Offset {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return hash, fmt.Errorf("cannot read %d bytes of the stream at byte %d: %w", b.End-b.Offset, b.Offset, err)
		}
		return [32]byte(h.Sum(nil)), nil
	}
	if first, err = sum(&blocks[0]); err != nil {
		return first, last, err
	}
	last, err = sum(&blocks[len(blocks)-1])
	return first, last, err
}

// Load reads the index file at path and verifies it: its own checksums, then that the stream, size bytes long, begins and ends as it says.
// A longer stream has grown and is fine. The error wraps ErrNone if there is no file and ErrStale, with the reason, if it is not to be
// believed; then it is to be built anew. Every rollup has been read once and was whole; they are read again when they are asked for, until
// Close.
func Load(path string, stream io.ReaderAt, size int64) (*Index, error) {
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStale, err)
	}
	x, err := verified(f, stream, size)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%w: %s: %w", ErrStale, path, err)
	}
	x.closer = f
	return x, nil
}

func verified(f *os.File, stream io.ReaderAt, size int64) (*Index, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return verify(f, st.Size(), stream, size)
}

// verify reads an index of length bytes and compares it with its stream.
func verify(f io.ReaderAt, length int64, stream io.ReaderAt, size int64) (*Index, error) {
	x, h, err := parse(f, length)
	if err != nil {
		return nil, err
	}
	if x.end > size {
		return nil, fmt.Errorf("it covers %d bytes, the stream has %d: it was cut or is another one", x.end, size)
	}
	first, last, err := ends(stream, x.blocks)
	if err != nil {
		return nil, err
	}
	if first != h.First || last != h.Last {
		return nil, errors.New("the stream holds other bytes than were indexed")
	}
	if err := x.verifyRollups(); err != nil {
		return nil, err
	}
	return x, nil
}

// parse reads an index of length bytes.
func parse(f io.ReaderAt, length int64) (*Index, *fileHeader, error) {
	h, err := parseHeader(f, length)
	if err != nil {
		return nil, nil, err
	}
	x := &Index{}
	data, err := h.section(f, h.State, "state")
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(data, &x.sealed); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if n := len(x.sealed.Engines); x.sealed.Current < -1 || x.sealed.Current >= n || x.sealed.Lines < 0 {
		return nil, nil, fmt.Errorf("%w: engine %d of %d", errDamaged, x.sealed.Current, n)
	}
	if data, err = h.section(f, h.Directory, "directory"); err != nil {
		return nil, nil, err
	}
	if x.blocks, err = decodeBlocks(data, int(h.Blocks), len(x.sealed.Engines)); err != nil {
		return nil, nil, err
	}
	if data, err = h.section(f, h.Frames, "list of frames"); err != nil {
		return nil, nil, err
	}
	if x.levels, err = savedLevels(f, h, data, x.blocks); err != nil {
		return nil, nil, err
	}
	x.last, x.full, x.end = x.sealed.clone(), len(x.blocks), 0
	if x.full > 0 {
		x.end = x.blocks[x.full-1].End
	}
	if uint64(x.end) != h.Covered {
		return nil, nil, fmt.Errorf("%w: its blocks end at byte %d, its header says %d", errDamaged, x.end, h.Covered)
	}
	return x, h, nil
}

func parseHeader(f io.ReaderAt, length int64) (*fileHeader, error) {
	if length < int64(headerSize) || length > fileMax {
		return nil, fmt.Errorf("%w: it has %d bytes", errDamaged, length)
	}
	buf := make([]byte, headerSize)
	if _, err := f.ReadAt(buf, 0); err != nil {
		return nil, err
	}
	var h fileHeader
	if _, err := binary.Decode(buf, order, &h); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	switch {
	case string(h.Magic[:]) != formatMagic:
		return nil, fmt.Errorf("%w: it does not begin like one", errDamaged)
	case h.Version != formatVersion:
		return nil, fmt.Errorf("it has version %d, this program reads %d", h.Version, formatVersion)
	case checksum(buf) != h.CRC:
		return nil, fmt.Errorf("%w: the header's checksum does not hold", errDamaged)
	case h.Length != uint64(length):
		return nil, fmt.Errorf("%w: it has %d bytes of %d", errDamaged, length, h.Length)
	case h.Blocks > blocksMax:
		return nil, fmt.Errorf("%w: %d blocks", errDamaged, h.Blocks)
	}
	return &h, nil
}

func (h *fileHeader) section(f io.ReaderAt, s section, name string) ([]byte, error) {
	if s.Offset > h.Length || s.Length > h.Length-s.Offset {
		return nil, fmt.Errorf("%w: its %s lies outside the file", errDamaged, name)
	}
	data := make([]byte, s.Length)
	if _, err := f.ReadAt(data, int64(s.Offset)); err != nil && (err != io.EOF || s.Length > 0) {
		return nil, err
	}
	if crc32.Checksum(data, castagnoli) != s.CRC {
		return nil, fmt.Errorf("%w: the checksum of its %s does not hold", errDamaged, name)
	}
	return data, nil
}
