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
		a, b := spans(t, "a"), spans(t, "b")
		pa, pb := paint(a), paint(b)
		sa, sb := Of(slices.Clone(a)), Of(slices.Clone(b))
		if got, want := sa.Len(), count(pa); got != want {
			t.Fatalf("Len(%v) = %d, cells %d", a, got, want)
		}
		if got := paint(sa.And(sb).Spans()); got != and(pa, pb) {
			t.Fatalf("And(%v, %v) = %v", a, b, sa.And(sb).Spans())
		}
		if got := paint(sa.Sub(sb).Spans()); got != sub(pa, pb) {
			t.Fatalf("Sub(%v, %v) = %v", a, b, sa.Sub(sb).Spans())
		}
		if sa.And(sb).Len()+sa.Sub(sb).Len() != sa.Len() {
			t.Fatalf("And and Sub do not add up for %v, %v", a, b)
		}
		gaps := int64(0)
		for _, g := range sa.Gaps() {
			gaps += g.Len()
		}
		if sa.Len()+gaps != sa.Bounds().Len() {
			t.Fatalf("union %d and gaps %d do not fill %v", sa.Len(), gaps, sa.Bounds())
		}
	})
}

func and(a, b [axis]bool) (out [axis]bool) {
	for i := range out {
		out[i] = a[i] && b[i]
	}
	return out
}

func sub(a, b [axis]bool) (out [axis]bool) {
	for i := range out {
		out[i] = a[i] && !b[i]
	}
	return out
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
		s := Of(spans(t, "s")).Spans()
		for i := range s {
			if s[i].Len() == 0 || (i > 0 && s[i-1].End >= s[i].Start) {
				t.Fatalf("not disjoint and sorted: %v", s)
			}
		}
	})
}
