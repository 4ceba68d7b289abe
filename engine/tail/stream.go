package tail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"opprof/engine/record"
	"opprof/engine/regular"
)

// stream is one base name: the part that is being read and what is known of the parts before it.
type stream struct {
	t       *Tailer
	number  int
	decoder *record.Decoder
	listed  []string // the paths of this pass, oldest part first
	done    []finished
	part

	total    int64 // uncompressed bytes read
	rate     meter
	lines    int64
	bad      int64
	firstBad string
	firstAt  int64 // lines up to the first bad one
	restarts int64
	gone     bool
	more     bool

	goneAt    time.Time // since when the open file is deleted and gets nothing; zero when it is not
	goneTotal int64     // total then
	err       error
}

// part is the file that is being read and how far.
type part struct {
	path    string
	st      fs.FileInfo
	file    file    // nil while closed
	content content // nil while the file is too short to tell what it is
	begun   bool    // Start was asked
	mark    mark
	pos     int64  // where the next line begins
	line    int64  // lines before pos; -1 unknown
	long    int64  // bytes of the next line that were passed over, since it is too long
	carry   []byte // the start of the next line
	midway  bool   // the last pass stopped at its limit behind carry; the next one goes on there
	torn    bool
	ended   fs.FileInfo // of a compressed part, when it gave no more
	damage  error       // why it gave no more
}

// finished is a part that was read to its end.
type finished struct {
	st   fs.FileInfo
	mark mark
}

func newStream(t *Tailer, number int, path string) *stream {
	return &stream{t: t, number: number, part: part{path: path}, decoder: record.NewDecoder(path)}
}

// pass reads on, part after part, until there is no more or the limit of a pass is reached.
func (s *stream) pass(ctx context.Context, sink Sink) {
	s.err, s.more = nil, false
	budget := s.t.options.PassBytes
	for ctx.Err() == nil {
		if !s.ready(sink) {
			return
		}
		next := s.hasNext() // before reading: who writes to the next part writes no more to this one
		if s.fresh(sink) && !s.read(ctx, sink, &budget) || !next {
			return
		}
		s.flush(ctx, sink)
		s.close()
		s.done = append(s.done, finished{s.st, s.mark})
		s.part = part{path: s.path}
	}
}

// ready sees to it that the right part is open and still holds what was read of it.
func (s *stream) ready(sink Sink) bool {
	if s.file != nil {
		s.recheck(sink)
	}
	if s.file == nil && !s.open(sink) {
		return false
	}
	if s.content == nil {
		c, ok, err := openContent(s.file)
		if err != nil {
			s.fail(err)
		}
		if !ok {
			return s.file != nil && s.hasNext() && s.pos == 0 // an empty part is finished once there is another
		}
		s.content = c
	}
	s.begin()
	return true
}

// begin asks where to start in a part that can be read from anywhere, and of which nothing was read. An offset that is not the start of a line
// is not taken.
func (s *stream) begin() {
	c, isSized := s.content.(sized)
	if s.begun || s.pos > 0 || s.t.options.Start == nil || !isSized {
		return
	}
	s.begun = true
	pos, line := s.t.options.Start(s.path, c.size(s.st))
	var before [1]byte
	if pos <= 0 {
		return
	}
	if n, _ := c.read(before[:], pos-1); n == 1 && before[0] == '\n' && s.mark.take(c, pos) == nil {
		s.pos, s.line = pos, max(line, -1)
	}
}

// recheck compares the open file with what now has its name.
func (s *stream) recheck(sink Sink) {
	st, err := s.t.disk.Stat(s.path)
	if err == nil && s.t.disk.Same(st, s.st) {
		s.gone = false
		s.verify(sink, st)
		return
	}
	if moved, at := s.find(); moved != "" {
		s.path, s.gone = moved, false
		s.verify(sink, at)
		return
	}
	if err != nil {
		s.gone = errors.Is(err, fs.ErrNotExist)
		if !s.gone {
			s.note(err)
		}
		return
	}
	s.replaced(sink)
}

// find looks for the open file among the listed ones.
func (s *stream) find() (string, fs.FileInfo) {
	for _, path := range s.listed {
		if st, err := s.t.disk.Stat(path); err == nil && s.t.disk.Same(st, s.st) {
			return path, st
		}
	}
	return "", nil
}

// verify sees whether the open file still holds what was read. Compressed data is compared only when it is read again.
func (s *stream) verify(sink Sink, st fs.FileInfo) {
	if s.ended == nil {
		s.st = st
	}
	switch c := s.content.(type) {
	case plain:
		v, err := s.mark.compare(c)
		if err != nil {
			s.fail(err)
			return
		}
		if v != same {
			s.lost(sink, v, st.Size())
			return
		}
		if s.long > 0 && !reaches(c, s.pos+s.long) {
			s.long = 0
		}
	case *packed:
		if st.Size() < c.raw(0) {
			s.ended = s.st // fresh compares
		}
	}
}

func reaches(c content, end int64) bool {
	var b [1]byte
	n, _ := c.read(b[:], end-1)
	return n == 1
}

// replaced deals with another file under the name of the open one: a copy with the same content goes on where reading stopped, one that
// took the place of the last name of the open file is read in its stead, and beside one that was renamed away it is the next part.
func (s *stream) replaced(sink Sink) {
	f, st, c, err := s.try(s.path)
	if err != nil {
		s.note(err)
		return
	}
	s.gone = false
	v := rewritten
	if c != nil {
		if v, err = s.mark.compare(c); err != nil {
			f.Close()
			s.note(err)
			return
		}
	}
	now, err := s.file.Stat()
	replaced := err == nil && unlinked(now)
	if c == nil || !replaced && (v != same || s.pos == 0) {
		f.Close()
		if replaced {
			s.lost(sink, rewritten, st.Size())
		}
		return
	}
	s.swap(f, st, c)
	if v != same {
		s.lost(sink, v, st.Size())
	}
}

// lost deals with a file that no longer holds what was read of it. After a cut, the whole lines that are left were read already, so that
// reading goes on behind them; compressed data that is cut is a copy that is being made, and is waited for. Other content is read from its
// first byte.
func (s *stream) lost(sink Sink, v verdict, size int64) {
	why := fmt.Sprintf("%s holds other bytes than were read: reading it from its first byte", s.path)
	c, isPlain := s.content.(plain)
	switch {
	case v == cut && !isPlain:
		return
	case v == cut:
		why = fmt.Sprintf("%s was cut to %d bytes, %d were read: going on at its new end", s.path, size, s.pos)
		at, err := lineStart(c, size)
		if err != nil {
			s.fail(err)
			return
		}
		s.resume(c, at)
	default:
		if v == rewritten {
			s.done = append(s.done, finished{s.st, s.mark})
		}
		s.close()
		s.part = part{path: s.path}
	}
	s.restarts++
	sink.Restart(s.number, why)
}

// resume goes back to a line that begins at a byte before pos. Its number is not known any more.
func (s *stream) resume(c content, at int64) {
	if at == 0 {
		s.done = append(s.done, finished{s.st, s.mark}) // a copy of it is not new
	}
	s.pos, s.line, s.long, s.carry, s.midway = at, -1, 0, s.carry[:0], false
	s.mark = mark{}
	if at == 0 {
		s.line = 0
	} else if err := s.mark.take(c, at); err != nil {
		s.fail(err)
	}
}

// lineStart finds the byte behind the last newline before size, 0 if there is none.
func lineStart(c content, size int64) (int64, error) {
	buf := make([]byte, chunkBytes)
	for end := size; end > 0; {
		from := max(0, end-chunkBytes)
		n, err := c.read(buf[:end-from], from)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}

// try opens a path; content is nil while the file is too short to tell what it is.
func (s *stream) try(path string) (file, fs.FileInfo, content, error) {
	f, err := s.t.disk.Open(path)
	if err != nil {
		return nil, nil, nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, nil, err
	}
	c, _, err := openContent(f)
	if err != nil {
		f.Close()
		return nil, nil, nil, err
	}
	return f, st, c, nil
}

func (s *stream) swap(f file, st fs.FileInfo, c content) {
	s.close()
	s.file, s.st, s.content, s.ended, s.damage, s.carry, s.midway = f, st, c, nil, nil, s.carry[:0], false
}

// close closes the file and keeps what is known of the part.
func (s *stream) close() {
	switch {
	case s.content != nil:
		s.content.close()
	case s.file != nil:
		s.file.Close()
	}
	s.file, s.content, s.ended, s.midway = nil, nil, nil, false
}

// fail notes an error of the open file and closes it: the next pass opens it again, which is what a stale NFS handle needs.
func (s *stream) fail(err error) {
	s.note(err)
	s.close()
}

func (s *stream) note(err error) {
	s.err = fmt.Errorf("cannot read %s: %w", s.path, regular.Cause(err, s.path))
}

// letGo closes a file that was deleted when nothing was added to it for goneGrace: an open one keeps its space on the disk. If the name
// comes back, the stream goes on as with any other file.
func (s *stream) letGo(now time.Time) {
	switch {
	case !s.gone || s.file == nil || s.more:
		s.goneAt = time.Time{}
	case s.goneAt.IsZero() || s.total != s.goneTotal:
		s.goneAt, s.goneTotal = now, s.total
	case now.Sub(s.goneAt) >= goneGrace:
		s.close()
	}
}

func (s *stream) status() Status {
	st := Status{
		Path: s.path, Lines: s.lines, Bad: s.bad, FirstBad: s.firstBad, FirstRead: s.firstAt, Torn: s.torn, Gone: s.gone, More: s.more,
		Parts: int64(len(s.done)), Restarts: s.restarts, BytesPerS: s.rate.perS, Err: s.err, Decode: s.decoder.Stats(),
	}
	if st.Err == nil && s.damage != nil {
		st.Err = fmt.Errorf("cannot read %s: %w", s.path, s.damage)
	}
	if s.st != nil {
		st.Size = s.st.Size()
	}
	st.Offset = s.pos + s.long
	if s.content != nil {
		st.Offset = s.content.raw(st.Offset)
	}
	return st
}
