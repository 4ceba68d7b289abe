// Package interval measures half-open time intervals [start, end) in integer nanoseconds: the length of their union, and of the gaps between
// them. Kernels of one stream do overlap, so a union is never a sum.
package interval

import (
	"cmp"
	"slices"
)

// Span is the interval [Start, End). A span with End <= Start is empty.
type Span struct{ Start, End int64 }

// Len is the span's length, never negative.
func (s Span) Len() int64 { return max(s.End-s.Start, 0) }

// Set is a sorted list of disjoint, non-touching, non-empty spans. The zero value is empty.
type Set struct{ spans []Span }

// Of builds a set from spans in any order, which may overlap. The slice is sorted in place.
func Of(spans []Span) Set {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	var s Set
	for _, v := range spans {
		s.add(v)
	}
	return s
}

// add appends a span that does not start before the last one added.
func (s *Set) add(v Span) {
	if v.Len() == 0 {
		return
	}
	if n := len(s.spans); n > 0 && v.Start <= s.spans[n-1].End {
		s.spans[n-1].End = max(s.spans[n-1].End, v.End)
		return
	}
	s.spans = append(s.spans, v)
}

// Len is the total length of the set.
func (s Set) Len() int64 {
	var n int64
	for _, v := range s.spans {
		n += v.Len()
	}
	return n
}

// Gaps are the holes between the set's spans.
func (s Set) Gaps() []Span {
	var out []Span
	for i := 1; i < len(s.spans); i++ {
		out = append(out, Span{s.spans[i-1].End, s.spans[i].Start})
	}
	return out
}

// Meter is the length of a union whose spans arrive by start: no set is kept. The zero value is ready.
type Meter struct {
	end   int64
	total int64
	begun bool
}

// Add takes the next span and returns by how much the union grew. Starts must not decrease.
func (m *Meter) Add(v Span) int64 {
	if v.Len() == 0 {
		return 0
	}
	from := v.Start
	if m.begun {
		from = max(from, m.end)
	}
	m.begun = true
	grew := max(v.End-from, 0)
	m.end = max(m.end, v.End)
	m.total += grew
	return grew
}

// Len is the union's length so far.
func (m *Meter) Len() int64 { return m.total }
