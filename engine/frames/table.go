package frames

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
)

// ErrNotSeekable is wrapped by the error about a file that is not made of frames with a seek table.
var ErrNotSeekable = errors.New("no seek table")

// Numbers of the zstd seekable format, version 0.1.0. All are little-endian.
const (
	skippableMagic  = 0x184D2A5E
	seekableMagic   = 0x8F92EAB1
	skippableHeader = 8 // magic and length
	footerBytes     = 9 // number of frames, descriptor, magic
	entryBytes      = 8 // compressed and decompressed size
	checksumBytes   = 4 // behind an entry when the descriptor says so
	checksumFlag    = 0x80
	reservedBits    = 0x7C
	framesMax       = 0x8000000 // of the format
)

const (
	// FrameBytes is about how much a frame holds, in bytes of lines. One of it decompresses in about a millisecond.
	FrameBytes = 1 << 20
	// frameMax is the most that a frame may hold: a longer one is not worth seeking in, and a hostile table must not ask for more memory.
	frameMax = 32 << 20
)

var order = binary.LittleEndian

// span is where a frame lies, in the file and in the stream.
type span struct {
	at, offset    int64 // of its first byte: in the file, in the stream
	packed, bytes uint32
}

// table is the frames that hold something, in order.
type table struct {
	frames []span
	size   int64 // of the stream
}

// find is the number of the frame that holds a byte of the stream, which has one.
func (t *table) find(offset int64) int {
	return sort.Search(len(t.frames), func(i int) bool { return t.frames[i].offset+int64(t.frames[i].bytes) > offset })
}

// appendTable appends the seek table of frames that follow one another from the first byte of a file on.
func appendTable(dst []byte, frames []span) []byte {
	dst = order.AppendUint32(dst, skippableMagic)
	dst = order.AppendUint32(dst, uint32(len(frames)*entryBytes+footerBytes))
	for i := range frames {
		dst = order.AppendUint32(dst, frames[i].packed)
		dst = order.AppendUint32(dst, frames[i].bytes)
	}
	dst = order.AppendUint32(dst, uint32(len(frames)))
	dst = append(dst, 0)
	return order.AppendUint32(dst, seekableMagic)
}

// readTable reads the seek table at the end of a file of size bytes. Its frames fill the file exactly.
func readTable(r io.ReaderAt, size int64) (*table, error) {
	var footer [footerBytes]byte
	if size < skippableHeader+footerBytes {
		return nil, ErrNotSeekable
	}
	if err := readAt(r, footer[:], size-footerBytes); err != nil {
		return nil, err
	}
	if order.Uint32(footer[5:]) != seekableMagic {
		return nil, ErrNotSeekable
	}
	count, each := int64(order.Uint32(footer[:])), int64(entryBytes)
	switch descriptor := footer[4]; {
	case descriptor&reservedBits != 0:
		return nil, fmt.Errorf("%w that this program reads: its descriptor is %#x", ErrNotSeekable, descriptor)
	case descriptor&checksumFlag != 0:
		each += checksumBytes
	}
	length := count*each + footerBytes
	at := size - skippableHeader - length
	if count > framesMax || at < 0 {
		return nil, fmt.Errorf("%w that fits: it says %d frames, the file has %d bytes", ErrNotSeekable, count, size)
	}
	data := make([]byte, skippableHeader+length)
	if err := readAt(r, data, at); err != nil {
		return nil, err
	}
	if order.Uint32(data) != skippableMagic || int64(order.Uint32(data[4:])) != length {
		return nil, fmt.Errorf("%w at byte %d, where the end of the file says that it begins", ErrNotSeekable, at)
	}
	return parseTable(data[skippableHeader:], int(count), int(each), at)
}

// parseTable reads count entries and refuses those that do not fill the bytes of the file before end.
func parseTable(data []byte, count, each int, end int64) (*table, error) {
	t := &table{frames: make([]span, 0, count)}
	var at int64
	for i := range count {
		s := span{at: at, offset: t.size, packed: order.Uint32(data[i*each:]), bytes: order.Uint32(data[i*each+4:])}
		at += int64(s.packed)
		t.size += int64(s.bytes)
		switch {
		case at > end:
			return nil, fmt.Errorf("%w that fits: frame %d ends at byte %d, the frames at byte %d", ErrNotSeekable, i, at, end)
		case s.bytes > frameMax || s.packed > 2*frameMax:
			return nil, fmt.Errorf("%w worth using: frame %d holds %d bytes, at most %d are read at once", ErrNotSeekable, i, s.bytes, frameMax)
		case s.bytes > 0: // others hold nothing, such as a skippable frame
			t.frames = append(t.frames, s)
		}
	}
	if at != end {
		return nil, fmt.Errorf("%w that fits: its frames end at byte %d of %d", ErrNotSeekable, at, end)
	}
	return t, nil
}

// readAt fills p or fails.
func readAt(r io.ReaderAt, p []byte, at int64) error {
	n, err := r.ReadAt(p, at)
	switch {
	case n == len(p):
		return nil
	case err == nil || err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}
