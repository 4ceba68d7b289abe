package frames

import (
	"fmt"
	"io"
	"os"

	"opprof/engine/regular"
)

// Extension of a compressed stream.
const Extension = ".zst"

const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
)

// File is a stream of which any byte can be read: a plain file, or one of frames.
type File struct {
	file   *os.File
	frames *Reader // nil for a plain file
	size   int64
}

// Open opens a stream by what it holds, not by its name. The error wraps ErrNotSeekable for compressed data that can only be read from its start.
func Open(path string) (*File, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	s, err := open(f)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func open(f *os.File) (*File, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var head [4]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case n >= 2 && string(head[:2]) == gzipMagic:
		return nil, ErrNotSeekable
	case string(head[:n]) != zstdMagic:
		return &File{file: f, size: st.Size()}, nil
	}
	r, err := NewReader(f, st.Size())
	if err != nil {
		return nil, err
	}
	return &File{file: f, frames: r, size: r.Size()}, nil
}

// ReadAt implements io.ReaderAt on the stream.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if f.frames != nil {
		return f.frames.ReadAt(p, off)
	}
	return f.file.ReadAt(p, off)
}

// Size is the length of the stream in bytes, that of a plain file when it was opened.
func (f *File) Size() int64 { return f.size }

// Packed reports whether the stream is compressed.
func (f *File) Packed() bool { return f.frames != nil }

// Close closes the file.
func (f *File) Close() error {
	if f.frames != nil {
		f.frames.Close()
	}
	return f.file.Close()
}
