package interval

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const axis = 64 // the oracle paints intervals onto this many one-nanosecond cells

func spans(t *rapid.T, name string) []Span {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Span {
		a := rapid.Int64Range(0, axis).Draw(t, "a")
		b := rapid.Int64Range(0, axis).Draw(t, "b")
		return Span{a, b} // End < Start is drawn too: empty
	}), 0, 20).Draw(t, name)
}

func paint(spans []Span) (cells [axis]bool) {
	for _, s := range spans {
		for i := s.Start; i < s.End; i++ {
			cells[i] = true
		}
	}
	return cells
}

func count(cells [axis]bool) (n int64) {
	for _, c := range cells {
		if c {
			n++
		}
	}
	return n
}

func TestAgainstPaintedCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := spans(t, "v")
		cells, s := paint(v), Of(slices.Clone(v))
		if got, want := s.Len(), count(cells); got != want {
			t.Fatalf("Len(%v) = %d, cells %d", v, got, want)
		}
		inside := false // behind the first painted cell
		var holes [axis]bool
		for i := range cells {
			inside = inside || cells[i]
			holes[i] = inside && !cells[i]
		}
		for i := axis - 1; i >= 0 && !cells[i]; i-- {
			holes[i] = false
		}
		if got := paint(s.Gaps()); got != holes {
			t.Fatalf("Gaps(%v) = %v", v, s.Gaps())
		}
	})
}

func TestMeterEqualsSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := spans(t, "v")
		slices.SortFunc(v, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
		var m Meter
		var grew int64
		for _, s := range v {
			grew += m.Add(s)
		}
		if want := count(paint(v)); m.Len() != want || grew != want {
			t.Fatalf("Meter(%v) = %d, grew %d, cells %d", v, m.Len(), grew, want)
		}
	})
}

func TestSetsAreDisjointAndSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Of(spans(t, "s")).spans
		for i := range s {
			if s[i].Len() == 0 || (i > 0 && s[i-1].End >= s[i].Start) {
				t.Fatalf("not disjoint and sorted: %v", s)
			}
		}
	})
}
