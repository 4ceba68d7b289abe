package kineto

import (
	"bytes"
	"errors"
	"io"
)

// window is the stretch of the stream that the scanner looks at. Slices of it are valid until the next fill.
type window struct {
	src   *source
	buf   []byte
	pos   int   // next byte to look at
	base  int64 // stream offset of buf[0]
	eof   bool
	err   error // what ended the stream, nil for a clean end
	limit int64 // bytes after which reading stops
}

func newWindow(src *source, limit int64) *window {
	return &window{src: src, buf: nil, limit: limit}
}

func (w *window) offset() int64 { return w.base + int64(w.pos) }

// rest is what is buffered from the current position on.
func (w *window) rest() []byte { return w.buf[w.pos:] }

// fill appends the next block, dropping what lies before the current position. It reports whether bytes were added.
func (w *window) fill() bool {
	if w.eof {
		return false
	}
	b, ok := <-w.src.full
	if !ok {
		w.eof = true
		return false
	}
	if w.pos > 0 {
		n := copy(w.buf, w.buf[w.pos:])
		w.buf = w.buf[:n]
		w.base += int64(w.pos)
		w.pos = 0
	}
	w.buf = append(w.buf, b.data...)
	if b.data != nil {
		w.src.free <- b.data[:blockBytes]
	}
	if b.err != nil {
		w.eof = true
		if !errors.Is(b.err, io.EOF) {
			w.err = b.err
		}
	}
	if w.base+int64(len(w.buf)) > w.limit {
		w.eof, w.err = true, errTooLong
	}
	return len(b.data) > 0
}

// need makes at least n bytes available from the current position, if the stream has them.
func (w *window) need(n int) bool {
	for len(w.buf)-w.pos < n {
		if !w.fill() {
			return false
		}
	}
	return true
}

// space skips white space and commas, and reports whether a byte follows.
func (w *window) space() bool {
	for {
		for w.pos < len(w.buf) {
			switch w.buf[w.pos] {
			case ' ', '\n', '\r', '\t', ',':
				w.pos++
			default:
				return true
			}
		}
		if !w.fill() {
			return false
		}
	}
}

// find returns the distance from the current position to pat, looking at no more than within bytes; -1 when it is not there.
func (w *window) find(pat []byte, from, within int) int {
	for {
		rest := w.rest()
		if from < len(rest) {
			if i := bytes.Index(rest[from:], pat); i >= 0 {
				return from + i
			}
			from = len(rest) - len(pat) + 1
		}
		if len(rest) > within || !w.fill() {
			return -1
		}
		from = max(from, 0)
	}
}
