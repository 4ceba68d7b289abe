package tail

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"opprof/engine/frames"
	"opprof/engine/regular"
)

// disk is what the tailer needs of the file system.
type disk interface {
	Open(path string) (file, error)
	Stat(path string) (fs.FileInfo, error)
	Same(a, b fs.FileInfo) bool
}

type file interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
	Close() error
}

type osDisk struct{}

func (osDisk) Open(path string) (file, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osDisk) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }
func (osDisk) Same(a, b fs.FileInfo) bool            { return os.SameFile(a, b) }

// unlinked reports whether no name is left for a file: it was deleted or another one was renamed over it. A file that was renamed away
// still has a name.
func unlinked(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && sys.Nlink == 0
}

// content is the uncompressed bytes of one file.
type content interface {
	// read fills p from byte pos on. io.EOF with n < len(p) means that there is no more for now; errTorn that compressed data ends in its
	// middle. Other errors are failures of the disk or damage.
	read(p []byte, pos int64) (n int, err error)
	// raw is how many bytes of the file on disk were needed to read up to pos.
	raw(pos int64) int64
	close()
}

var errTorn = errors.New("compressed data ends in its middle")

const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
	// zstdWindowMax bounds the memory that a hostile frame can ask for.
	zstdWindowMax = 64 << 20
)

// openContent goes by the first bytes, not by the name. ok is false while a file is too short to tell.
func openContent(f file) (c content, ok bool, err error) {
	var head [4]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return nil, false, err
	}
	switch {
	case n >= 2 && string(head[:2]) == gzipMagic:
		return &packed{f: f, unpack: unpackGzip}, true, nil
	case n == 4 && string(head[:]) == zstdMagic:
		c, err := openZstd(f)
		return c, err == nil, err
	case n == 0 || n < 4 && (head[0] == gzipMagic[0] || head[0] == zstdMagic[0]):
		return nil, false, nil
	}
	return plain{f}, true, nil
}

type plain struct{ f file }

// openZstd tells frames that can be read anywhere from a stream that can only be read forward.
func openZstd(f file) (content, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r, err := frames.NewReader(f, st.Size())
	switch {
	case errors.Is(err, frames.ErrNotSeekable) || errors.Is(err, io.ErrUnexpectedEOF):
		return &packed{f: f, unpack: unpackZstd}, nil
	case err != nil:
		return nil, err
	}
	return framed{f, r}, nil
}

// sized is content of which any byte can be read, and whose end is known.
type sized interface {
	content
	size(st fs.FileInfo) int64 // uncompressed bytes
}

func (c plain) size(st fs.FileInfo) int64 { return st.Size() }

// framed is a file of frames. It was whole when it got its name, and does not grow.
type framed struct {
	f      file
	frames *frames.Reader
}

func (c framed) read(p []byte, pos int64) (int, error) {
	n, err := c.frames.ReadAt(p, pos)
	var damage *frames.DamageError
	if errors.As(err, &damage) {
		err = &damageError{at: damage.At, err: damage}
	}
	return n, err
}

func (c framed) raw(pos int64) int64    { return c.frames.Packed(pos) }
func (c framed) size(fs.FileInfo) int64 { return c.frames.Size() }
func (c framed) close() {
	c.frames.Close()
	c.f.Close()
}

func (c plain) read(p []byte, pos int64) (int, error) { return c.f.ReadAt(p, pos) }
func (c plain) raw(pos int64) int64                   { return pos }
func (c plain) close()                                { c.f.Close() }

// packed reads forward through a decompressor; a step back starts it again.
type packed struct {
	f      file
	unpack func(io.Reader) (io.ReadCloser, error)
	stream io.ReadCloser // nil before the first read
	in     *counter
	at     int64 // uncompressed bytes read
}

func unpackGzip(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }

func unpackZstd(r io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindowMax))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// counter reads a file from its start and counts.
type counter struct {
	f  file
	at int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.f.ReadAt(p, c.at)
	c.at += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func (c *packed) read(p []byte, pos int64) (int, error) {
	if c.stream == nil || pos < c.at {
		if err := c.rewind(); err != nil {
			return 0, packedError(err, c.in)
		}
	}
	if pos > c.at {
		n, err := io.CopyN(io.Discard, c.stream, pos-c.at)
		c.at += n
		if err != nil {
			return 0, packedError(err, c.in)
		}
	}
	n := 0
	for n < len(p) {
		got, err := c.stream.Read(p[n:]) // io.ReadFull would hide whether the data or the file ended
		n += got
		c.at += int64(got)
		if err != nil {
			return n, packedError(err, c.in)
		}
	}
	return n, nil
}

func (c *packed) rewind() error {
	c.stop()
	c.in, c.at = &counter{f: c.f}, 0
	stream, err := c.unpack(bufio.NewReaderSize(c.in, 64<<10))
	if err == nil {
		c.stream = stream
	}
	return err
}

// packedError keeps io.EOF for a whole end and tells cut data from damage.
func packedError(err error, in *counter) error {
	switch {
	case err == nil || err == io.EOF:
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errTorn
	}
	var path *fs.PathError
	if errors.As(err, &path) || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ESTALE) {
		return err
	}
	return &damageError{at: in.at, err: err}
}

// damageError is compressed data that cannot be read on. at is close behind the damage: the decompressor reads ahead.
type damageError struct {
	at  int64
	err error
}

func (e *damageError) Error() string {
	return fmt.Sprintf("compressed data is damaged before byte %d: %v; what stands before it is shown", e.at, e.err)
}

func (e *damageError) Unwrap() error { return e.err }

func (c *packed) raw(int64) int64 {
	if c.in == nil {
		return 0
	}
	return c.in.at
}

func (c *packed) stop() {
	if c.stream != nil {
		c.stream.Close()
		c.stream = nil
	}
}

func (c *packed) close() {
	c.stop()
	c.f.Close()
}
