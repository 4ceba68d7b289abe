package serverlog

import (
	"slices"
	"sort"

	"opprof/engine/vllm"
)

// sparse is a list of places in the log, one in every stride of the lines that it counts, evenly thinned out as it grows.
type sparse struct {
	marks  []mark // appended to, never changed: copies of a sparse share them
	stride int64
	count  int64 // lines counted
}

// mark is where a counted line stands, and what it belongs to.
type mark struct {
	ordinal  int64 // of the counted lines, from 0
	number   int64 // of the line in the log, from 1
	offset   int64
	head     int64
	severity vllm.Level
	said     Moment
	open     []*entry // the messages that lines behind it may continue
}

func newSparse(stride int64) sparse { return sparse{stride: stride} }

// add counts a line, behind which the messages in open may be continued. At most limit marks are kept.
func (s *sparse) add(l *Line, open []*entry, limit int) {
	if s.count%s.stride == 0 && len(s.marks) >= limit {
		s.thin()
	}
	if s.count%s.stride == 0 {
		s.marks = append(s.marks, mark{s.count, l.Number, l.Offset, l.Head, l.Severity, l.Said, slices.Clone(open)})
	}
	s.count++
}

// thin drops every other mark.
func (s *sparse) thin() {
	kept := make([]mark, 0, cap(s.marks))
	for i := 0; i < len(s.marks); i += 2 {
		kept = append(kept, s.marks[i])
	}
	s.marks, s.stride = kept, 2*s.stride
}

// at is the index of the last mark for which is holds; is holds up to some mark and for none behind it. -1 is none.
func (s *sparse) at(is func(m *mark) bool) int {
	return sort.Search(len(s.marks), func(i int) bool { return !is(&s.marks[i]) }) - 1
}

// byOrdinal is the mark from which the n-th counted line is found.
func (s *sparse) byOrdinal(n int64) int {
	return s.at(func(m *mark) bool { return m.ordinal <= n })
}

// byLine is the mark from which the last counted line at or before a line number is found.
func (s *sparse) byLine(number int64) int {
	return s.at(func(m *mark) bool { return m.number <= number })
}
