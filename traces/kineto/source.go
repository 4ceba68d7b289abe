package kineto

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	blockBytes = 256 << 10
	blocks     = 4
)

// block is a stretch of inflated bytes, or the error that ended the stream.
type block struct {
	data []byte
	err  error
}

// source inflates ahead of the scanner in a goroutine of its own, a few blocks at most, and takes the blocks back for reuse.
type source struct {
	full   chan block
	free   chan []byte
	cancel context.CancelFunc
	done   chan struct{}
}

func newSource(ctx context.Context, r io.Reader) *source {
	ctx, cancel := context.WithCancel(ctx)
	s := &source{full: make(chan block, blocks), free: make(chan []byte, blocks), cancel: cancel, done: make(chan struct{})}
	for range blocks {
		s.free <- nil
	}
	go s.run(ctx, r)
	return s
}

// close ends the inflating goroutine and waits for it.
func (s *source) close() {
	s.cancel()
	<-s.done
}

func (s *source) run(ctx context.Context, r io.Reader) {
	defer close(s.done)
	defer close(s.full)
	in, closeIn, err := inflate(r)
	if err != nil {
		s.send(ctx, block{err: err})
		return
	}
	defer closeIn()
	for {
		var buf []byte
		select {
		case buf = <-s.free:
		case <-ctx.Done():
			return
		}
		if buf == nil {
			buf = make([]byte, blockBytes)
		}
		n, err := io.ReadFull(in, buf)
		if errors.Is(err, io.ErrUnexpectedEOF) && n > 0 && !isCut(in) {
			err = io.EOF
		}
		if !s.send(ctx, block{data: buf[:n], err: err}) || err != nil {
			return
		}
	}
}

func (s *source) send(ctx context.Context, b block) bool {
	select {
	case s.full <- b:
		return true
	case <-ctx.Done():
		return false
	}
}

// cutReader remembers whether its stream ended in the middle of a compressed member, which io.ReadFull hides by the same error.
type cutReader struct {
	r   io.Reader
	cut bool
}

func (c *cutReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		c.cut = true
	}
	return n, err
}

func isCut(r io.Reader) bool {
	c, ok := r.(*cutReader)
	return ok && c.cut
}

// inflate recognises gzip (any number of members) and zstd by their first bytes; anything else is taken as it is.
func inflate(r io.Reader) (io.Reader, func(), error) {
	br := bufio.NewReaderSize(r, 128<<10)
	magic, _ := br.Peek(4)
	switch {
	case len(magic) >= 2 && magic[0] == 0x1f && magic[1] == 0x8b:
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read the gzip header: %w", err)
		}
		return &cutReader{r: z}, func() { z.Close() }, nil
	case len(magic) == 4 && magic[0] == 0x28 && magic[1] == 0xb5 && magic[2] == 0x2f && magic[3] == 0xfd:
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read the zstd header: %w", err)
		}
		return &cutReader{r: z}, z.Close, nil
	}
	return &cutReader{r: br}, func() {}, nil
}
