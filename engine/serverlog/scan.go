package serverlog

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"opprof/engine/vllm"
)

// scanner reads whole lines from some offset on. It does not read past an end that is given: the file may be growing.
type scanner struct {
	f       io.ReaderAt
	buf     []byte
	from    int   // of buf, the next line
	to      int   // of buf, what was read
	offset  int64 // of the byte at from
	end     int64
	lineMax int
	final   bool // what stands behind the last newline is a line too
}

func newScanner(f io.ReaderAt, offset, end int64, chunk, lineMax int) *scanner {
	return &scanner{f: f, buf: make([]byte, chunk), offset: offset, end: end, lineMax: lineMax}
}

// next returns the next line without its newline, valid until the following call, and its offset. A line that is longer than lineMax
// comes in pieces of that length. io.EOF says that no whole line is left.
func (s *scanner) next() (line []byte, offset int64, err error) {
	searched := 0
	for {
		window := s.buf[s.from:s.to]
		if i := bytes.IndexByte(window[searched:], '\n'); i >= 0 && searched+i <= s.lineMax {
			n := searched + i
			return s.take(n, n+1)
		}
		if len(window) >= s.lineMax {
			return s.take(s.lineMax, s.lineMax)
		}
		searched = len(window)
		switch err := s.fill(); {
		case err == io.EOF && s.final && len(window) > 0:
			return s.take(len(window), len(window))
		case err != nil:
			return nil, s.offset, err
		}
	}
}

func (s *scanner) take(n, with int) ([]byte, int64, error) {
	line, offset := s.buf[s.from:s.from+n], s.offset
	s.from += with
	s.offset += int64(with)
	return line, offset, nil
}

// rest is what stands behind the last whole line.
func (s *scanner) rest() []byte { return s.buf[s.from:s.to] }

// fill reads on behind what is in the buffer.
func (s *scanner) fill() error {
	at := s.offset + int64(s.to-s.from)
	if at >= s.end {
		return io.EOF
	}
	if s.from > 0 {
		s.to = copy(s.buf, s.buf[s.from:s.to])
		s.from = 0
	}
	if s.to == len(s.buf) {
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	space := s.buf[s.to:]
	space = space[:min(int64(len(space)), s.end-at)]
	n, err := s.f.ReadAt(space, at)
	s.to += n
	switch {
	case n > 0:
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.EOF // the file became shorter
	}
	return err
}

// newLine reads one line. Of a long message no more than textMax bytes are kept.
func newLine(raw []byte, number, offset int64, textMax int) Line {
	l := Line{LogLine: vllm.ParseLogLine(string(raw)), Number: number, Offset: offset, Bytes: int64(len(raw))}
	if len(l.Message) > textMax {
		l.Message, l.Cut = l.Message[:textMax], true
	}
	if len(raw) > 2*len(l.Message)+512 { // do not hold a whole progress bar for its last drawing
		l.Message, l.Process, l.Source = strings.Clone(l.Message), strings.Clone(l.Process), strings.Clone(l.Source)
	}
	return l
}
