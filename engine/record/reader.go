package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine is a Reader's default limit for one line in bytes. A step line has about 1 kB.
const MaxLine = 8 << 20

const (
	readSize      = 256 << 10
	maxEmptyReads = 100
)

// Reader streams the lines of a Layer-1 file from an io.Reader. Blank lines are passed over. A line that is no record comes as KindBad
// with its reason, and the reader goes on after it; only an I/O error ends the stream early. A line over the limit is one bad line,
// however long it is, and takes no more memory than the limit.
//
// The last line may lack its newline. Complete, it is a line like any other; cut off, it comes as KindBad with Err.TornTail.
type Reader struct {
	src     io.Reader
	dec     *Decoder
	line    Line
	maxLine int

	buf        []byte
	start, end int   // buf[start:end] is read but not decoded
	searched   int   // no newline in buf[start : start+searched]
	offset     int64 // of buf[start] in the stream
	number     int64 // of the line before it
	overlong   int64 // bytes dropped of the present line, which passed the limit
	eof        bool
	err        error
}

// NewReader returns a Reader of src with the default line limit. The name, usually a path, stands in the errors.
func NewReader(src io.Reader, name string) *Reader { return NewReaderSize(src, name, MaxLine) }

// NewReaderSize returns a Reader of src that takes lines of at most maxLine bytes, not counting the newline.
func NewReaderSize(src io.Reader, name string, maxLine int) *Reader {
	return &Reader{src: src, dec: NewDecoder(name), maxLine: max(maxLine, 1), buf: make([]byte, min(readSize, max(maxLine, 1)+1))}
}

// StartAt says where src begins in its stream: the byte offset of its first byte and the number of lines before it. It is for readers
// that start in the middle, and has to be called before the first Scan.
func (r *Reader) StartAt(offset, lines int64) { r.offset, r.number = offset, lines }

// Line is the line that the last Scan read. The next Scan overwrites it.
func (r *Reader) Line() *Line { return &r.line }

// Err is the I/O error that ended the stream, nil at its end.
func (r *Reader) Err() error { return r.err }

// Offset is the byte offset in the stream of the next line.
func (r *Reader) Offset() int64 { return r.offset }

// Stats returns the counts so far.
func (r *Reader) Stats() DecodeStats { return r.dec.Stats() }

// Scan reads the next line that is not blank and reports whether there is one.
func (r *Reader) Scan() bool {
	for {
		if r.next() {
			if r.line.Kind != KindBlank {
				return true
			}
			continue
		}
		switch {
		case r.err != nil:
			return false
		case r.eof:
			return r.last()
		}
		r.fill()
	}
}

// next decodes the next line if the buffer holds its newline.
func (r *Reader) next() bool {
	rest := r.buf[r.start:r.end]
	if r.searched == 0 && r.overlong == 0 {
		r.line.Number, r.line.Offset = r.number+1, r.offset
		if n := r.dec.Next(rest, &r.line); n > 0 {
			r.advance(n)
			r.number++
			return true
		}
		r.searched = len(rest)
		return false
	}
	n := bytes.IndexByte(rest[r.searched:], '\n')
	if n < 0 {
		r.searched = len(rest)
		return false
	}
	n += r.searched
	if r.overlong > 0 {
		r.tooLong(n, 1)
		return true
	}
	r.line.Number, r.line.Offset = r.number+1, r.offset
	r.dec.Next(rest[:n+1], &r.line)
	r.advance(n + 1)
	r.number++
	return true
}

func (r *Reader) advance(n int) {
	r.start += n
	r.offset += int64(n)
	r.searched = 0
}

// tooLong ends a line over the limit, of which n bytes are left in the buffer before its newline.
func (r *Reader) tooLong(n, newline int) {
	length := r.overlong + int64(n)
	r.number++
	r.line.Kind, r.line.Number, r.line.Offset, r.line.Len = KindBad, r.number, r.offset-r.overlong, int(length)
	r.dec.refuse(&r.line, newline, fmt.Sprintf("expected a line of at most %d bytes, found one of %d", r.maxLine, length))
	r.overlong = 0
	r.advance(n + newline)
}

// fill reads more of the stream into the buffer, and drops what it holds of a line over the limit.
func (r *Reader) fill() {
	if r.overlong > 0 || r.end-r.start > r.maxLine {
		r.overlong += int64(r.end - r.start)
		r.advance(r.end - r.start)
	}
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	if r.end == len(r.buf) {
		grown := make([]byte, min(2*len(r.buf), r.maxLine+1))
		copy(grown, r.buf)
		r.buf = grown
	}
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		switch {
		case errors.Is(err, io.EOF):
			r.eof = true
			return
		case err != nil:
			r.err = fmt.Errorf("cannot read %s at byte %d: %w", r.dec.name, r.offset+int64(r.end-r.start), err)
			return
		case n > 0:
			return
		}
	}
	r.err = fmt.Errorf("cannot read %s: %w", r.dec.name, io.ErrNoProgress)
}

// last decodes what stands after the last newline.
func (r *Reader) last() bool {
	rest := r.buf[r.start:r.end]
	if r.overlong > 0 || len(rest) > r.maxLine {
		r.tooLong(len(rest), 0)
		return true
	}
	if len(rest) == 0 {
		return false
	}
	r.line.Number, r.line.Offset = r.number+1, r.offset
	r.dec.Last(rest, &r.line)
	r.advance(len(rest))
	r.number++
	return r.line.Kind != KindBlank
}
