package frames

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Writer cuts what is written to it into frames. Close ends the last one and writes the seek table; it does not close what lies below.
// Not for concurrent use.
type Writer struct {
	w       io.Writer
	encoder *zstd.Encoder
	buf     []byte   // lines that are not written yet
	cuts    []int    // ends of whole frames in buf
	packed  [][]byte // memory of the frames of a batch
	frames  []span
	err     error
}

// NewWriter returns a Writer that compresses so many frames at once.
func NewWriter(w io.Writer, workers int) (*Writer, error) {
	workers = max(1, workers)
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(workers), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, fmt.Errorf("cannot compress: %w", err)
	}
	return &Writer{w: w, encoder: e, packed: make([][]byte, workers)}, nil
}

// Write takes bytes of the stream. After an error it takes no more.
func (w *Writer) Write(p []byte) (int, error) {
	for taken := 0; taken < len(p) && w.err == nil; {
		part := p[taken:min(len(p), taken+FrameBytes)]
		w.buf = append(w.buf, part...)
		taken += len(part)
		w.cut(len(part))
		if len(w.cuts) == len(w.packed) {
			w.err = w.flush()
		}
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// cut ends a frame at the first line end that makes it whole; a line that is too long for a frame is cut in its middle. The last added bytes
// of buf are new.
func (w *Writer) cut(added int) {
	begin := 0
	if len(w.cuts) > 0 {
		begin = w.cuts[len(w.cuts)-1]
	}
	if len(w.buf)-begin < FrameBytes {
		return
	}
	from := max(begin+FrameBytes-1, len(w.buf)-added)
	switch end := bytes.IndexByte(w.buf[from:], '\n'); {
	case end >= 0:
		w.cuts = append(w.cuts, from+end+1)
	case len(w.buf)-begin >= frameMax/2:
		w.cuts = append(w.cuts, len(w.buf))
	}
}

// flush compresses the whole frames of buf beside each other and writes them in their order.
func (w *Writer) flush() error {
	var running sync.WaitGroup
	begin := 0
	for i, end := range w.cuts {
		data := w.buf[begin:end]
		running.Go(func() { w.packed[i] = w.encoder.EncodeAll(data, w.packed[i][:0]) })
		begin = end
	}
	running.Wait()
	before := 0
	for i, end := range w.cuts {
		if len(w.frames) == framesMax {
			return fmt.Errorf("cannot compress: more than %d frames", framesMax)
		}
		if _, err := w.w.Write(w.packed[i]); err != nil {
			return err
		}
		w.frames = append(w.frames, span{packed: uint32(len(w.packed[i])), bytes: uint32(end - before)})
		before = end
	}
	w.buf, w.cuts = append(w.buf[:0], w.buf[begin:]...), w.cuts[:0]
	return nil
}

// Close writes what is left and the seek table.
func (w *Writer) Close() error {
	if w.err == nil && len(w.cuts) > 0 {
		w.err = w.flush()
	}
	if w.err == nil && len(w.buf) > 0 {
		w.cuts = append(w.cuts[:0], len(w.buf))
		w.err = w.flush()
	}
	if w.err == nil {
		_, w.err = w.w.Write(appendTable(nil, w.frames))
	}
	err := w.err
	if w.err == nil {
		w.err = io.ErrClosedPipe
	}
	return err
}
