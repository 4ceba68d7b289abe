package serverlog

import "context"

// Goto says where a View stands. The first of AtNS and Line that is set holds, else the newest line.
type Goto struct {
	AtNS int64 // the last line said at or before this moment, ns since 1970
	Line int64 // this line, or the last one before it that passes
	Move int64 // by so many lines that pass, towards newer ones when positive
	Jump Jump  // then to the next or previous of its kind
}

// Jump goes to a neighbour of a kind.
type Jump uint8

const (
	JumpNone Jump = iota
	JumpNextProblem
	JumpPrevProblem
	JumpNextError
	JumpPrevError
	JumpNextMatch
	JumpPrevMatch
)

// Query asks for a View.
type Query struct {
	Filter        Filter
	Context       bool // show all lines and mark those that pass
	Goto          Goto
	Before, After int // lines to show before and behind the line that is gone to
}

// View is a part of the log.
type View struct {
	State   *State
	Lines   []Line // oldest first
	Cursor  int    // index of the line that was gone to; -1 when there is no line
	Nowhere bool   // there is no line of the kind that was to be jumped to: the view stands where it was

	Count    int64 // lines that pass, of those that were searched
	Searched int64 // bytes
	Done     bool  // all that was read has been searched
	Ordinal  int64 // 1-based place of the cursor's line among the lines shown
	Shown    int64 // lines that can be shown: all, or those that pass
	FirstNS  int64 // time of the first line of the log that has one, and of the last; 0 unknown
	LastNS   int64
	Phases   []PhaseNS
}

// PhaseNS is a phase of the start with its wall time, 0 when unknown, and how long it took; -1 while it goes on or when unknown.
type PhaseNS struct {
	Name   string
	Line   int64
	Said   Moment // its time as the server wrote it
	AtNS   int64
	TookNS int64
}

// found is how far a search has come. It is immutable.
type found struct {
	filter   Filter
	restarts int64 // of the state that was searched
	lines    int64 // lines and bytes that were searched
	read     int64
	joiner   joiner
	marks    sparse
}

// Look answers a query. With a filter it searches on, by LookBytes at most, before it answers: View.Done says whether that was all. An
// error means that the filter is not valid, the file could not be read, or ctx has ended.
func (l *Log) Look(ctx context.Context, q Query) (*View, error) {
	s := l.State()
	m, err := q.Filter.matcher()
	if err != nil {
		return nil, err
	}
	r := &reader{log: l, ctx: ctx, state: s, calendar: s.calendar(l.known.Load())}
	defer r.close()
	v := &View{State: s, Cursor: -1, Count: s.Lines, Searched: s.Read, Done: true, FirstNS: r.calendar.wallNS(s.first), LastNS: r.calendar.wallNS(s.last)}
	v.Phases = s.phases(r.calendar)
	r.shown, r.passing = s.index, s.index
	if !q.Filter.All() {
		f, err := l.searchOn(r, q.Filter)
		if err != nil {
			return nil, err
		}
		v.Count, v.Searched, v.Done = f.marks.count, f.read, f.read >= s.Read
		r.passing = f.marks
		r.mark = m
		if !q.Context {
			r.shown, r.filter = f.marks, m
		}
	}
	v.Shown = r.shown.count
	return v, r.show(q, v)
}

// phases tells how long each phase took.
func (s *State) phases(c calendar) []PhaseNS {
	out := make([]PhaseNS, len(s.Phases))
	for i, p := range s.Phases {
		out[i] = PhaseNS{Name: p.Name, Line: p.Line, Said: p.At, AtNS: c.wallNS(p.At), TookNS: -1}
		if i > 0 {
			out[i-1].TookNS = out[i-1].until(out[i])
		}
	}
	return out
}

// until is how long a phase took when another one follows. Where no year is known, any will do.
func (p PhaseNS) until(next PhaseNS) int64 {
	const someYear = 2000
	switch {
	case p.AtNS != 0 && next.AtNS != 0:
		return max(0, next.AtNS-p.AtNS)
	case p.Said.Known() && next.Said.Known():
		from, to := p.Said.At(someYear+int(p.Said.Years)), next.Said.At(someYear+int(next.Said.Years))
		return max(0, to.Sub(from).Nanoseconds())
	}
	return -1
}

// searchOn goes on with the last search, or begins another one. One caller searches at a time.
func (l *Log) searchOn(r *reader, filter Filter) (*found, error) {
	select {
	case l.search.free <- struct{}{}:
		defer func() { <-l.search.free }()
	case <-r.ctx.Done():
		return nil, r.ctx.Err()
	}
	l.search.mu.Lock()
	f := l.search.found
	l.search.mu.Unlock()
	if f == nil || f.filter != filter || f.restarts != r.state.Restarts || f.read > r.state.Read {
		f = &found{filter: filter, restarts: r.state.Restarts, marks: newSparse(1)}
	}
	next, err := r.search(f)
	if err != nil {
		return nil, err
	}
	l.search.mu.Lock()
	l.search.found = next
	l.search.mu.Unlock()
	return next, nil
}
