package compare

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Merging blocks keeps sums, and a tally that had to widen is that of longer blocks.
func TestWideningKeepsSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := drawValues(t, "a", 3000)
		narrow, wide := newTally(0), newTally(4)
		for i, v := range values {
			narrow.add(v.key, int64(i), v.ns, v.tokens)
			wide.add(v.key, int64(i), v.ns, v.tokens)
		}
		if narrow.shift > 4 {
			t.Fatalf("%d values made blocks of 1<<%d", len(values), narrow.shift)
		}
		for k, c := range wide.cells {
			if got := slices.Collect(narrow.cells[k].merged(4 - narrow.shift)); !slices.Equal(got, c.blocks) {
				t.Fatalf("%v, want %v", got, c.blocks)
			}
		}
	})
}

func TestBins(t *testing.T) {
	for _, c := range []struct {
		n    int64
		name string
	}{{-1, "0"}, {0, "0"}, {1, "1"}, {2, "2"}, {3, "3-4"}, {4, "3-4"}, {5, "5-8"}, {8, "5-8"}, {1024, "513-1024"}, {1025, "1025-2048"}, {math.MaxInt64, "4611686018427387905-9223372036854775808"}} {
		if got := binName(binOf(c.n)); got != c.name {
			t.Errorf("%d is in %s, want %s", c.n, got, c.name)
		}
	}
}

// What is large for its kind is a stall, wherever it stands; what is usual, or happens often, is none.
func TestStalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		usual := rapid.SampledFrom([]int64{1e6, 4e7, 6e7, 9e8}).Draw(t, "usual")
		n, stalls := rapid.IntRange(3, 400).Draw(t, "steps"), rapid.IntRange(0, 2).Draw(t, "stalls")
		large := usual * rapid.SampledFrom([]int64{9, 12}).Draw(t, "factor")
		values := make([]value, n)
		for i := range values {
			values[i] = value{keyN(1), usual, 1}
		}
		for i := range min(stalls, n/3) {
			values[i].ns = large
		}
		tl := tallied(rapid.Permutation(values).Draw(t, "order"))
		var want int64
		if large >= stallNS && large > stallFactor*usual {
			want = int64(min(stalls, n/3))
		}
		if usual >= stallNS && n > stallsKept {
			want = 0
		}
		if tl.stalls != want || tl.n+tl.stalls != int64(n) || tl.sum+tl.stalledN != int64(n)*usual+int64(min(stalls, n/3))*(large-usual) {
			t.Fatalf("%d stalls, %d values, want %d of %d", tl.stalls, tl.n, want, n)
		}
	})
}

// A run of more kinds of steps than are kept says so, and keeps what it has.
func TestCellsAreBounded(t *testing.T) {
	tl := newTally(firstShift)
	for i := range int64(cellsKept + 100) {
		if got := tl.add(Key{Bucket: i}, i, 1, 1); got != (i < cellsKept) {
			t.Fatalf("kind %d: taken %t", i, got)
		}
	}
	if tl.add(Key{Bucket: 7}, cellsKept, 1, 1); tl.n != cellsKept+1 {
		t.Errorf("%d values", tl.n)
	}
}
