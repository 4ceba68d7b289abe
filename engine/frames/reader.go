package frames

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// kept is how many decompressed frames a Reader keeps: a jump reads a few neighbours, several probes read beside each other.
const kept = 6

// Reader reads the stream that a file of frames holds. Any goroutine may use it.
type Reader struct {
	r       io.ReaderAt
	table   *table
	decoder *zstd.Decoder

	mu    sync.Mutex
	cache []decoded // newest first
}

type decoded struct {
	frame int
	data  []byte
}

// NewReader reads the seek table of a file of size bytes. The error wraps ErrNotSeekable if it has none that fits. Close frees memory.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	t, err := readTable(r, size)
	if err != nil {
		return nil, err
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderMaxMemory(frameMax), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, fmt.Errorf("cannot decompress: %w", err)
	}
	return &Reader{r: r, table: t, decoder: d}, nil
}

// Size is the length of the stream in bytes.
func (r *Reader) Size() int64 { return r.table.size }

// Packed is how many bytes of the file hold the first n bytes of the stream, to the end of a frame.
func (r *Reader) Packed(n int64) int64 {
	if n <= 0 || len(r.table.frames) == 0 {
		return 0
	}
	s := r.table.frames[r.table.find(min(n, r.table.size)-1)]
	return s.at + int64(s.packed)
}

// ReadAt implements io.ReaderAt on the stream. An error about compressed data is a *DamageError; others are those of the file.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("cannot read at byte %d", off)
	}
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= r.table.size {
			return n, io.EOF
		}
		i := r.table.find(at)
		data, err := r.frame(i)
		if err != nil {
			return n, err
		}
		n += copy(p[n:], data[at-r.table.frames[i].offset:])
	}
	return n, nil
}

// frame is what a frame holds. Two that ask at once may both decompress it: neither waits for the other.
func (r *Reader) frame(i int) ([]byte, error) {
	if data := r.cached(i); data != nil {
		return data, nil
	}
	s := &r.table.frames[i]
	packed := make([]byte, s.packed)
	if err := readAt(r.r, packed, s.at); err != nil {
		return nil, err
	}
	data, err := r.decoder.DecodeAll(packed, make([]byte, 0, s.bytes))
	if err == nil && len(data) != int(s.bytes) {
		err = fmt.Errorf("it holds %d bytes, the seek table says %d", len(data), s.bytes)
	}
	if err != nil {
		return nil, &DamageError{Frame: i, At: s.at, Err: err}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cache = slices.Insert(r.cache[:min(len(r.cache), kept-1)], 0, decoded{i, data})
	return data, nil
}

// cached is a frame that was read lately, nil if it was not.
func (r *Reader) cached(i int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := slices.IndexFunc(r.cache, func(d decoded) bool { return d.frame == i })
	if k < 0 {
		return nil
	}
	d := r.cache[k]
	copy(r.cache[1:k+1], r.cache[:k])
	r.cache[0] = d
	return d.data
}

// Close ends the decompressor. The file below stays open.
func (r *Reader) Close() { r.decoder.Close() }

// DamageError is a frame that does not decompress to what it should be.
type DamageError struct {
	Frame int   // number, from 0
	At    int64 // of its first byte in the file
	Err   error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("compressed frame %d at byte %d is damaged: %v", e.Frame, e.At, e.Err)
}

func (e *DamageError) Unwrap() error { return e.Err }
