package kineto

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"opprof/engine/regular"
)

// Options bound what a reader takes. The zero value is the default.
type Options struct {
	MaxBytes  int64 // inflated bytes, against compression bombs; default 64 GiB
	MaxEvents int   // kept events of each kind: device events, launches, ranges; default 64 Mi (2 GiB of packed device events)
}

const (
	defaultMaxBytes  = 64 << 30
	defaultMaxEvents = 64 << 20
	maxObject        = 4 << 20   // bytes of one event; a longer one is damage
	maxFaults        = 100       // faults kept with offset and reason
	maxNameBytes     = 256 << 20 // bytes of distinct names; later names are not told apart from the first
)

var (
	errTooLong = errors.New("the inflated stream is longer than the limit")
	// ErrNotTrace says that a stream holds no event list: another kind of file.
	ErrNotTrace = errors.New("not a Kineto trace: no traceEvents list found")
)

// Open reads the trace in a file. See Read.
func Open(ctx context.Context, path string, o Options) (*Trace, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open trace: %w", err)
	}
	defer f.Close()
	t, err := Read(ctx, f, filepath.Base(path), o)
	if err != nil {
		return t, fmt.Errorf("cannot read trace %s: %w", path, err)
	}
	return t, nil
}

// Read reads a trace to its end. Damage is in the trace's faults; an error means that there is no trace to speak of, or that ctx ended.
// name is the file's name, from which the rank is read.
func Read(ctx context.Context, r io.Reader, name string, o Options) (*Trace, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.MaxEvents == 0 {
		o.MaxEvents = defaultMaxEvents
	}
	src := newSource(ctx, r)
	defer src.close()
	s := &scanner{w: newWindow(src, o.MaxBytes), t: &Trace{Name: name}, o: o, names: map[string]int32{}, shapes: map[Shape]int32{}, shapeTexts: map[string]int32{},
		streams: map[Stream]uint16{}, threads: map[int64]uint16{}}
	s.shape(Shape{})
	s.top()
	s.rest()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.finish()
}

// scanner walks the stream once and fills the trace.
type scanner struct {
	w          *window
	t          *Trace
	o          Options
	names      map[string]int32
	nameBytes  int
	shapes     map[Shape]int32
	shapeTexts map[string]int32 // by grid and block as they are written
	key        []byte           // scratch
	streams    map[Stream]uint16
	threads    map[int64]uint16

	lastStream Stream // the row of the event before, which is most often the row of the next
	lastRow    uint16
	fields     fields
	inEvents   bool // the event list was found
	listClosed bool
	rankSeen   int64
	look       int    // how much of an event that does not end is looked at first
	inARow     int    // damaged events since the last good one
	opening    []byte // key that opens the first event, quoted
	closer     []byte // newline, indentation and brace that close an event in this file; nil when the layout has no such line
}

func (s *scanner) fault(offset int64, format string, args ...any) {
	s.t.FaultCount++
	if len(s.t.Faults) < maxFaults {
		s.t.Faults = append(s.t.Faults, Fault{Offset: offset, Reason: fmt.Sprintf(format, args...)})
	}
}

// top reads the outermost value: an object with a traceEvents list anywhere among its keys, or a bare list of events.
func (s *scanner) top() {
	s.rankSeen = -1
	if !s.w.space() {
		return
	}
	if bytes.HasPrefix(s.w.rest(), []byte("\xef\xbb\xbf")) {
		s.w.pos += 3
		s.w.space()
	}
	if !s.w.need(1) {
		return
	}
	switch s.w.rest()[0] {
	case '[':
		s.w.pos++
		s.events()
		s.t.Closed = s.listClosed
	case '{':
		s.w.pos++
		s.members()
	default:
		s.fault(s.w.offset(), "expected { or [ at the start")
		s.resyncTop()
	}
}

// rest reads what follows the trace: nothing, as a rule, but the end of the compressed stream is checked there. A second export behind the
// first is told, and not read: events of two windows must not be mixed.
func (s *scanner) rest() {
	if !s.inEvents {
		return
	}
	if s.w.space() && s.t.Closed {
		s.fault(s.w.offset(), "more follows the end of the trace, such as a second export: only the first is read")
	}
	for {
		s.w.pos = len(s.w.buf)
		if !s.w.fill() {
			return
		}
	}
}

// members reads the outermost object's keys and values until it closes.
func (s *scanner) members() {
	for s.w.space() {
		switch s.w.rest()[0] {
		case '}':
			s.t.Closed = true
			s.w.pos++
			return
		case '"':
			if !s.member() {
				return
			}
		default:
			s.fault(s.w.offset(), "expected a key of the outermost object, found %q", s.w.rest()[0])
			if !s.resyncTop() {
				return
			}
		}
	}
}

// resyncTop goes on at the event list, when it was not reached yet; otherwise nothing after it is worth the risk of misreading.
func (s *scanner) resyncTop() bool {
	if s.inEvents {
		return false
	}
	key := []byte(`"traceEvents"`)
	for {
		if i := s.w.find(key, 0, blockBytes); i >= 0 {
			s.w.pos += i
			return s.member() && s.inEvents
		}
		if s.w.eof {
			return false
		}
		s.w.pos += max(len(s.w.rest())-len(key), 0)
	}
}

// member reads one key and its value. It reports whether the walk may go on.
func (s *scanner) member() bool {
	start := s.w.offset()
	n := s.valueLen()
	if n < 0 {
		s.fault(start, "a key does not end")
		return s.resyncTop()
	}
	key := string(s.w.rest()[:n])
	s.w.pos += n
	if !s.w.space() || s.w.rest()[0] != ':' {
		s.fault(s.w.offset(), "expected : after key %.40s", key)
		return s.resyncTop()
	}
	s.w.pos++
	if !s.w.space() {
		return false
	}
	if key == `"traceEvents"` && s.w.rest()[0] == '[' {
		s.w.pos++
		s.events()
		return s.listClosed
	}
	n = s.valueLen()
	if n < 0 {
		if s.w.eof {
			return false
		}
		s.fault(s.w.offset(), "the value of %.40s does not end", key)
		return s.resyncTop()
	}
	s.metadata(key, s.w.rest()[:n])
	s.w.pos += n
	return true
}

// valueLen is the length of the JSON value at the current position, or -1 when it does not end within the bounds of an object.
func (s *scanner) valueLen() int {
	var m matcher
	from := 0
	for {
		rest := s.w.rest()
		if n := m.end(rest, from); n >= 0 {
			return n
		}
		from = len(rest)
		if len(rest) > maxObject {
			return -1
		}
		if !s.w.fill() {
			return m.endAtEOF(len(s.w.rest()))
		}
	}
}

func (s *scanner) finish() (*Trace, error) {
	t := s.t
	t.Bytes = s.w.base + int64(len(s.w.buf))
	if s.w.err != nil {
		s.fault(t.Bytes, "the stream ends here: %v", s.w.err)
		t.Truncated = true
	}
	if !s.inEvents {
		if s.w.err != nil {
			return t, fmt.Errorf("%w (%v)", ErrNotTrace, s.w.err)
		}
		return t, ErrNotTrace
	}
	if !s.listClosed {
		t.Truncated = true
	}
	if t.isAbsolute() {
		t.BaseNS = 0
	}
	s.t.Rank = rankFromName(t.Name)
	if !t.Rank.Known() && s.rankSeen >= 0 {
		t.Rank.Global, t.Rank.From = s.rankSeen, "distributedInfo"
	}
	slices.SortStableFunc(t.Launches, func(a, b Launch) int {
		return cmp.Or(cmp.Compare(a.Correlation, b.Correlation), cmp.Compare(a.StartNS, b.StartNS))
	})
	t.markSuspect()
	return t, nil
}

// isAbsolute reports whether the times are since 1970 already, whatever base the file names: within three months of its base a time stays
// far below.
func (t *Trace) isAbsolute() bool {
	const since1970 = 1e17 // March 1973
	switch {
	case len(t.Labels) > 0:
		return t.Labels[0].StartNS > since1970
	case len(t.Launches) > 0:
		return t.Launches[0].StartNS > since1970
	}
	return t.Events.Len() > 0 && t.Events.At(0).StartNS > since1970
}
