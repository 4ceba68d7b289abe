package serverlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"opprof/engine/regular"
)

// reader answers one query from a State and the file it was made from.
type reader struct {
	log      *Log
	ctx      context.Context
	state    *State
	calendar calendar
	shown    sparse   // the lines that are shown
	filter   *matcher // what shown lets through; nil is all
	passing  sparse   // the lines that pass, shown alone or not
	mark     *matcher // what passing lets through; nil is all
	file     *os.File
}

func (r *reader) close() {
	if r.file != nil {
		r.file.Close()
	}
}

var errChanged = errors.New("another file has taken its place")

// open opens the file of the state.
func (r *reader) open() error {
	if r.file != nil {
		return nil
	}
	f, err := regular.Open(r.state.Path)
	if err != nil {
		return fmt.Errorf("cannot read server log: %w", err)
	}
	st, err := f.Stat()
	if err == nil && !os.SameFile(st, r.state.file) {
		err = errChanged
	}
	if err != nil {
		f.Close()
		return fmt.Errorf("cannot read server log: %s: %w", r.state.Path, err)
	}
	r.file = f
	return nil
}

// scan returns a scanner from an offset to the end of what the state covers.
func (r *reader) scan(offset int64, chunk int) (*scanner, error) {
	if err := r.open(); err != nil {
		return nil, err
	}
	in := newScanner(r.file, offset, r.state.Read, chunk, r.log.options.LineMax)
	in.final = true
	return in, nil
}

// walk reads lines from a mark on until fn returns false or the log ends.
func (r *reader) walk(from *mark, chunk int, fn func(raw []byte, l *Line) bool) error {
	in, err := r.scan(from.offset, chunk)
	if err != nil {
		return err
	}
	var j joiner
	for number := from.number; ; number++ {
		if number%1024 == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		raw, offset, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read server log: %w", err)
		}
		l := newLine(raw, number, offset, r.log.options.TextMax)
		if number == from.number {
			l.Head, l.Severity, l.Said = from.head, from.severity, from.said
			j.resume(from)
		} else {
			j.place(&l)
		}
		if !fn(raw, &l) {
			return nil
		}
	}
}

// search looks through the next bytes of the file.
func (r *reader) search(f *found) (*found, error) {
	if f.read >= r.state.Read {
		return f, nil
	}
	m, err := f.filter.matcher()
	if err != nil {
		return nil, err
	}
	in, err := r.scan(f.read, chunkBytes)
	if err != nil {
		return nil, err
	}
	o := r.log.options
	next := *f
	next.joiner.open = slices.Clone(f.joiner.open)
	for next.read-f.read < int64(o.LookBytes) {
		if next.lines%1024 == 0 && r.ctx.Err() != nil {
			return nil, r.ctx.Err()
		}
		raw, offset, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read server log: %w", err)
		}
		next.lines++
		line := newLine(raw, next.lines, offset, o.TextMax)
		next.joiner.place(&line)
		if m.matches(raw, &line) {
			next.marks.add(&line, next.joiner.open, o.Marks)
		}
		next.read = in.offset
	}
	return &next, nil
}

// show fills a view with the lines around the place that is gone to.
func (r *reader) show(q Query, v *View) error {
	if r.shown.count == 0 {
		return nil
	}
	at, err := r.place(q.Goto)
	if err != nil {
		return err
	}
	if q.Goto.Jump != JumpNone {
		number, err := r.jump(q.Goto.Jump, at)
		if err != nil {
			return err
		}
		if v.Nowhere = number == 0; !v.Nowhere {
			if at, err = r.ordinal(number); err != nil {
				return err
			}
		}
	}
	from, to := max(0, at-int64(max(0, q.Before))), min(r.shown.count, at+int64(max(0, q.After))+1)
	if v.Lines, err = r.lines(from, to); err != nil || len(v.Lines) == 0 {
		return err
	}
	v.Cursor = min(int(at-from), len(v.Lines)-1)
	v.Ordinal = at + 1
	return nil
}

// place is the ordinal, among the lines shown, of the line that is gone to.
func (r *reader) place(g Goto) (int64, error) {
	at := r.shown.count - 1
	var err error
	switch {
	case g.AtNS != 0 && r.calendar.known:
		var number int64
		if number, err = r.atTime(g.AtNS); err == nil {
			at, err = r.ordinal(number)
		}
	case g.Line != 0:
		at, err = r.ordinal(g.Line)
	}
	return min(max(0, at+g.Move), r.shown.count-1), err
}

// ordinal is the place of a line among those shown, or of the last one before it; 0 if there is none.
func (r *reader) ordinal(number int64) (int64, error) {
	if r.filter == nil {
		return min(max(1, number), r.shown.count) - 1, nil
	}
	i := r.shown.byLine(number)
	if i < 0 {
		return 0, nil
	}
	at := r.shown.marks[i].ordinal
	if r.shown.stride == 1 {
		return at, nil
	}
	at--
	err := r.walk(&r.shown.marks[i], chunkBytes, func(raw []byte, l *Line) bool {
		if l.Number <= number && r.filter.matches(raw, l) {
			at++
		}
		return l.Number <= number
	})
	return max(0, at), err
}

// atTime is the number of the last line said at or before a moment; 1 if there is none.
func (r *reader) atTime(ns int64) (int64, error) {
	index := &r.state.index
	i := max(0, index.at(func(m *mark) bool { return r.calendar.wallNS(m.said) <= ns }))
	number, end := index.marks[i].number, int64(1<<62)
	if i+1 < len(index.marks) {
		end = index.marks[i+1].number
	}
	see := func(l *Line) {
		if r.calendar.wallNS(l.Said) <= ns {
			number = l.Number
		}
	}
	if recent := r.state.recent; len(recent) > 0 && recent[0].Number <= number {
		for k := number - recent[0].Number; k < int64(len(recent)); k++ {
			see(&recent[k])
		}
		return number, nil
	}
	err := r.walk(&index.marks[i], chunkBytes, func(_ []byte, l *Line) bool {
		see(l)
		return l.Number < end
	})
	return number, err
}

// lines are the shown lines from one ordinal up to another.
func (r *reader) lines(from, to int64) ([]Line, error) {
	if recent := r.state.recent; r.mark == nil && len(recent) > 0 && from+1 >= recent[0].Number {
		out := append([]Line(nil), recent[from+1-recent[0].Number:to+1-recent[0].Number]...)
		for i := range out {
			out[i].WallNS, out[i].Match = r.calendar.wallNS(out[i].Said), true
		}
		return out, nil
	}
	var out []Line
	for i := max(0, r.shown.byOrdinal(from)); i < len(r.shown.marks) && from < to; i++ {
		until := to
		if i+1 < len(r.shown.marks) {
			until = min(until, r.shown.marks[i+1].ordinal)
		}
		var err error
		if out, err = r.segment(out, i, from, until); err != nil {
			return nil, err
		}
		from = max(from, until)
	}
	return out, nil
}

// segment appends the shown lines from one ordinal up to another, which both belong to mark i.
func (r *reader) segment(out []Line, i int, from, until int64) ([]Line, error) {
	m := &r.shown.marks[i]
	chunk := chunkBytes
	if r.shown.stride == 1 {
		chunk = 1 << 10 // one line
	}
	at := m.ordinal
	if at >= until {
		return out, nil
	}
	err := r.walk(m, chunk, func(raw []byte, l *Line) bool {
		if r.filter != nil && !r.filter.matches(raw, l) {
			return true
		}
		if at >= from {
			l.WallNS = r.calendar.wallNS(l.Said)
			l.Match = r.mark == nil || r.mark.matches(raw, l)
			out = append(out, *l)
		}
		at++
		return at < until
	})
	return out, err
}
