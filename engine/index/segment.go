package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"opprof/engine/record"
)

const (
	segmentBytes = 1 << 20
	// segments in flight: one being read, some being decoded, one being counted.
	segments = 6
	decoders = 3
)

// segment is a stretch of whole lines, decoded.
type segment struct {
	offset  int64 // of its first byte
	data    []byte
	buf     []byte
	lines   int64
	steps   []stepLine
	others  []otherLine
	err     error
	decoded chan struct{}
}

// stepLine is a step and where its line ends: the byte behind its newline and the lines up to there, counted from the segment's start.
type stepLine struct {
	record.Step
	end, lines int64
	fallback   bool // it needed the tolerant scanner
}

// otherLine is what a line that is no step says. Neighbours that only count are one.
type otherLine struct {
	before     int // it stands before this step of the segment
	end, lines int64
	kind       record.Kind
	n          int64 // lines
	header     *record.Header
	footer     *record.Footer
	profile    *record.Profile
	dummy      *record.DummyStep
}

// pipeline keeps the segments, with their memory, from one run to the next.
type pipeline [segments]segment

// run reads [from, size) in segments and calls add with each, in order. The last line without a newline is left out. Reading, decoding and
// adding run beside each other; all end before it returns.
func (p *pipeline) run(ctx context.Context, r io.ReaderAt, from, size int64, add func(*segment) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	free := make(chan *segment, segments)
	for i := range p {
		p[i].decoded = make(chan struct{}, 1)
		free <- &p[i]
	}
	jobs, ordered := make(chan *segment, segments), make(chan *segment, segments)
	running.Go(func() {
		defer close(jobs)
		defer close(ordered)
		newCutter(r, from, size).run(ctx, free, jobs, ordered)
	})
	for range decoders {
		running.Go(func() {
			d := record.NewDecoder("")
			for s := range jobs {
				s.decode(d)
				s.decoded <- struct{}{}
			}
		})
	}
	for s := range ordered {
		select {
		case <-s.decoded:
		case <-ctx.Done():
			return ctx.Err()
		}
		if s.err != nil {
			return s.err
		}
		if err := add(s); err != nil {
			return err
		}
		free <- s // as many as there are places
	}
	return ctx.Err()
}

// cutter reads ahead and cuts at line ends.
type cutter struct {
	r        io.ReaderAt
	pos, end int64
	rest     []byte // the start of the next line
}

func newCutter(r io.ReaderAt, from, size int64) *cutter { return &cutter{r: r, pos: from, end: size} }

func (c *cutter) run(ctx context.Context, free <-chan *segment, jobs, ordered chan<- *segment) {
	for {
		var s *segment
		select {
		case s = <-free:
		case <-ctx.Done():
			return
		}
		more := c.fill(ctx, s)
		if len(s.data) > 0 || s.lines > 0 || s.err != nil {
			jobs <- s // as many as there are places
			ordered <- s
		}
		if !more || s.err != nil {
			return
		}
	}
}

// fill reads until the segment holds at least one whole line. It reports whether there is more to read.
func (c *cutter) fill(ctx context.Context, s *segment) bool {
	s.offset, s.lines, s.err = c.pos-int64(len(c.rest)), 0, nil
	s.steps, s.others, s.data = s.steps[:0], s.others[:0], nil
	if len(s.buf) < segmentBytes {
		s.buf = make([]byte, segmentBytes)
	}
	n, searched := copy(s.buf, c.rest), 0 // behind a long line, the rest may hold whole lines
	for ctx.Err() == nil {
		if n > record.MaxLine {
			return c.passLong(ctx, s, int64(n))
		}
		if len(s.buf)-n < segmentBytes/4 {
			s.buf = append(s.buf[:n], make([]byte, len(s.buf))...)
		}
		got, err := c.read(s.buf[n:])
		n += got
		last := bytes.LastIndexByte(s.buf[searched:n], '\n')
		if err != nil && err != io.EOF {
			s.err = err
			return false
		}
		if last >= 0 {
			cut := searched + last + 1
			s.data = s.buf[:cut]
			c.rest = append(c.rest[:0], s.buf[cut:n]...)
			return err == nil
		}
		if searched = n; err == io.EOF {
			return false
		}
	}
	return false
}

// passLong passes over a line that is over the limit; it is one bad line.
func (c *cutter) passLong(ctx context.Context, s *segment, n int64) bool {
	for ctx.Err() == nil {
		got, err := c.read(s.buf)
		if i := bytes.IndexByte(s.buf[:got], '\n'); i >= 0 {
			n += int64(i) + 1
			s.lines = 1
			s.others = append(s.others, otherLine{end: s.offset + n, lines: 1, kind: record.KindBad, n: 1})
			c.rest = append(c.rest[:0], s.buf[i+1:got]...)
			return err == nil || len(c.rest) > 0
		}
		n += int64(got)
		if err != nil {
			if err != io.EOF {
				s.err = err
			}
			return false
		}
	}
	return false
}

// read fills p from pos on, up to the end.
func (c *cutter) read(p []byte) (int, error) {
	if left := c.end - c.pos; int64(len(p)) > left {
		p = p[:left]
	}
	if len(p) == 0 {
		return 0, io.EOF
	}
	n, err := c.r.ReadAt(p, c.pos)
	c.pos += int64(n)
	switch {
	case errors.Is(err, io.EOF) || err == nil && c.pos == c.end:
		return n, io.EOF
	case err != nil:
		return n, fmt.Errorf("cannot read stream at byte %d: %w", c.pos, err)
	}
	return n, nil
}

// decode parses the lines of data.
func (s *segment) decode(d *record.Decoder) {
	slow := d.Stats().Fallback
	var l record.Line
	for used := 0; used < len(s.data); {
		n := d.Next(s.data[used:], &l)
		if n == 0 {
			break
		}
		used += n
		s.lines++
		if n-1 > record.MaxLine {
			l.Kind = record.KindBad
		}
		end := s.offset + int64(used)
		if l.Kind == record.KindStep {
			before := slow
			slow = d.Stats().Fallback
			s.steps = append(s.steps, stepLine{l.Step, end, s.lines, slow > before})
			continue
		}
		s.other(&l, end)
	}
}

func (s *segment) other(l *record.Line, end int64) {
	o := otherLine{before: len(s.steps), end: end, lines: s.lines, kind: l.Kind, n: 1}
	switch l.Kind {
	case record.KindHeader:
		h := l.Header
		h.ContextEdges, h.ChunkEdges, h.ChunkTailEdges = slices.Clone(h.ContextEdges), slices.Clone(h.ChunkEdges), slices.Clone(h.ChunkTailEdges)
		o.header = &h
	case record.KindFooter:
		f := l.Footer
		o.footer = &f
	case record.KindProfile:
		p := l.Profile
		if p.OK != nil {
			ok := *p.OK
			p.OK = &ok
		}
		o.profile = &p
	case record.KindDummyStep:
		dummy := l.Dummy
		o.dummy = &dummy
	default:
		if k := len(s.others); k > 0 && s.others[k-1].kind == l.Kind && s.others[k-1].before == o.before {
			last := &s.others[k-1]
			last.n, last.end, last.lines = last.n+1, end, s.lines
			return
		}
	}
	s.others = append(s.others, o)
}
