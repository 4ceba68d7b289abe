package tail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"opprof/engine/record"
)

// fresh drops the start of a torn line of an uncompressed part, since it is read again, and starts compressed data again that ended and has
// changed since. It reports whether there may be something to read.
func (s *stream) fresh(sink Sink) bool {
	c, isPacked := s.content.(*packed)
	if !isPacked {
		if !s.midway {
			s.carry = s.carry[:0]
		}
		return s.content != nil
	}
	if s.ended == nil {
		return true
	}
	now, err := s.file.Stat()
	if err != nil {
		s.fail(err)
		return false
	}
	rests := sameState(now, s.st)
	s.st = now
	// Unpacking all of it whenever it has grown a little would be quadratic: wait until it has grown by a quarter, or rests.
	if sameState(now, s.ended) || !rests && now.Size() < s.ended.Size()+s.ended.Size()/4 {
		return false
	}
	c.stop()
	s.ended, s.damage, s.carry, s.long = nil, nil, s.carry[:0], 0
	v, err := s.mark.compare(c)
	if err != nil && !errors.As(err, new(*damageError)) {
		s.fail(err)
		return false
	}
	if v == same || v == cut {
		return true
	}
	s.lost(sink, v, now.Size())
	return s.ready(sink) && s.content != nil
}

func sameState(a, b fs.FileInfo) bool { return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) }

// read gives lines to the sink until the end of the part, the limit or an error. It reports the end.
func (s *stream) read(ctx context.Context, sink Sink, budget *int64) (end bool) {
	n := len(s.carry)
	copy(s.t.room(n), s.carry)
	s.midway = false
	for {
		buf := s.t.room(n)
		got, err := s.content.read(buf[n:n+chunkBytes], s.pos+s.long+int64(n))
		s.total += int64(got)
		*budget -= int64(got)
		n = s.take(sink, buf[:n+got])
		s.carry = append(s.carry[:0], buf[:n]...)
		switch {
		case err == io.EOF || err == errTorn || errors.As(err, new(*damageError)):
			s.torn = n > 0 || s.long > 0 || err != io.EOF
			return s.end(err)
		case err != nil:
			s.fail(err)
			return false
		case *budget <= 0 || ctx.Err() != nil:
			s.more, s.midway = *budget <= 0, true
			return false
		}
	}
}

// end notes how a part ended; compressed data is not read again until it has changed.
func (s *stream) end(err error) bool {
	if err != io.EOF && err != errTorn {
		s.damage = err
	}
	if _, isPacked := s.content.(*packed); isPacked {
		s.ended = s.st
		if now, err := s.file.Stat(); err == nil {
			s.st, s.ended = now, now
		}
	}
	return true
}

// take parses the whole lines at the start of buf and moves the rest to its start. The rest of a line that is too long is passed over.
func (s *stream) take(sink Sink, buf []byte) (left int) {
	used := 0
	if s.long > 0 {
		end := bytes.IndexByte(buf, '\n')
		if end < 0 {
			s.long += int64(len(buf))
			return 0
		}
		used = end + 1
		n := s.long + int64(used)
		s.mark.skip(n, buf[:used])
		s.tooLong(n - 1)
		s.pos, s.long = s.pos+n, 0
		s.deliver(sink)
	}
	first, l := used, &s.t.line
	for used < len(buf) {
		l.Number, l.Offset = max(s.line+1, 0), s.pos
		n := s.decoder.Next(buf[used:], l)
		if n == 0 {
			break
		}
		if n-1 > s.t.options.MaxLine {
			s.tooLong(int64(n - 1))
		}
		used += n
		s.pos += int64(n)
		s.deliver(sink)
	}
	s.mark.extend(buf[first:used])
	if len(buf)-used > s.t.options.MaxLine {
		s.long = int64(len(buf) - used)
		return 0
	}
	return copy(buf, buf[used:])
}

// tooLong makes the line at pos a bad one.
func (s *stream) tooLong(n int64) {
	l := &s.t.line
	l.Number, l.Offset, l.Len, l.Kind = max(s.line+1, 0), s.pos, int(n), record.KindBad
	l.Err = &record.LineError{
		Name: s.path, Line: l.Number, Offset: l.Offset,
		Reason: fmt.Sprintf("expected a line of at most %d bytes, found one of %d", s.t.options.MaxLine, n),
	}
}

// deliver counts the current line and gives it to the sink.
func (s *stream) deliver(sink Sink) {
	l := &s.t.line
	s.lines++
	if s.line >= 0 {
		s.line++
	}
	if l.Kind == record.KindBlank {
		return
	}
	if l.Kind == record.KindBad {
		l.Err.Name = s.path
		s.torn = l.Err.TornTail
		if !s.torn {
			s.bad++
		}
		if s.firstBad == "" && !s.torn {
			s.firstBad, s.firstAt = l.Err.Error(), s.lines
		}
	}
	sink.Line(s.number, l)
}

// flush gives a torn last line to the sink. A file too short to tell what it is holds text.
func (s *stream) flush(ctx context.Context, sink Sink) {
	if s.content == nil && s.file != nil {
		s.content = plain{s.file}
		budget := s.t.options.PassBytes
		s.read(ctx, sink, &budget)
	}
	n := s.long + int64(len(s.carry))
	if n == 0 {
		return
	}
	l := &s.t.line
	if s.long > 0 {
		s.mark.skip(n, s.carry)
		s.tooLong(n)
	} else {
		s.mark.extend(s.carry)
		l.Number, l.Offset = max(s.line+1, 0), s.pos
		s.decoder.Last(s.carry, l)
	}
	s.pos, s.long, s.carry, s.torn = s.pos+n, 0, s.carry[:0], false // deliver says whether it was torn
	s.deliver(sink)
}
