package feed

import (
	"bufio"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
	readBytes = 1 << 20
	// zstdWindowMax bounds the memory that a hostile frame can ask for.
	zstdWindowMax = 64 << 20
)

// inflate goes by the first bytes, not by the name.
func inflate(src io.Reader) (io.Reader, func(), error) {
	in := bufio.NewReaderSize(src, readBytes)
	head, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	switch {
	case len(head) >= 2 && string(head[:2]) == gzipMagic:
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, err
		}
		return z, func() { _ = z.Close() }, nil
	case string(head) == zstdMagic:
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindowMax))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return in, func() {}, nil
}

// counting adds what is read to a count that others look at.
type counting struct {
	io.Reader
	n *atomic.Int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}
