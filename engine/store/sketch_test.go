package store

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestBins(t *testing.T) {
	last := -1
	for _, ns := range []int64{-5, 0, 1, 63, 64, 65, 127, 128, 129, 130, 1000, 1e6, 11_805_277, 1e9, 1e12, 1 << 40, 1 << 62, math.MaxInt64} {
		i := binIndex(ns)
		if i < last || i >= sketchBins {
			t.Errorf("bin of %d is %d after %d", ns, i, last)
		}
		last = i
	}
	if binIndex(math.MaxInt64) != sketchBins-1 {
		t.Errorf("last bin is %d of %d", binIndex(math.MaxInt64), sketchBins)
	}
	for i := range sketchBins - 1 {
		low, width := binBounds(i)
		if next, _ := binBounds(i + 1); low+width != next {
			t.Fatalf("bin %d ends at %d, the next begins at %d", i, low+width, next)
		}
		if binIndex(low) != i || binIndex(low+width-1) != i {
			t.Fatalf("bin %d = [%d, %d) holds other values", i, low, low+width)
		}
	}
	if SketchErrorPct > 1 {
		t.Errorf("stated error %v %%", SketchErrorPct)
	}
}

// durations draws periods over many orders of magnitude.
func durations() *rapid.Generator[int64] {
	return rapid.Custom(func(t *rapid.T) int64 {
		return rapid.Int64Range(0, 1<<rapid.IntRange(1, 62).Draw(t, "bits")).Draw(t, "ns")
	})
}

func sketchOf(list []int64) Sketch {
	var s Sketch
	for _, ns := range list {
		s.Add(ns)
	}
	return s
}

// rankOf is the nearest-rank percentile by its definition.
func rankOf(list []int64, pct int64) int64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[max(int(math.Ceil(float64(pct)/100*float64(len(sorted))-1e-9)), 1)-1]
}

func TestSketchQuantilesAreWithinTheStatedError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(durations(), 1, 300).Draw(t, "periods")
		s := sketchOf(list)
		for _, pct := range []int64{1, 50, 95, 99, 100} {
			got, ok := s.Quantile(pct)
			want := rankOf(list, pct)
			if !ok || math.Abs(float64(got-want)) > SketchErrorPct/100*float64(want) {
				t.Fatalf("p%d of %v is %d, sketch says %d", pct, list, want, got)
			}
		}
		if s.MaxNS() != slices.Max(list) || s.N() != int64(len(list)) {
			t.Fatalf("max %d of %v", s.MaxNS(), list)
		}
	})
}

func TestSketchMergeIsTheSketchOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOf(durations()).Draw(t, "a")
		b := rapid.SliceOf(durations()).Draw(t, "b")
		merged, other := sketchOf(a), sketchOf(b)
		before := other.clone()
		merged.Merge(&other)
		if want := sketchOf(slices.Concat(a, b)); !sameSketch(&merged, &want) {
			t.Fatalf("merged %v, all at once %v", merged, want)
		}
		if !sameSketch(&other, &before) {
			t.Fatal("merging changed its argument")
		}
		var d dense
		for range 2 { // filled, emptied, filled
			d.reset()
			for _, ns := range a {
				d.add(ns)
			}
		}
		got, want := d.sketch(), sketchOf(a)
		if !sameSketch(&got, &want) {
			t.Fatalf("dense %v, sparse %v", got, want)
		}
	})
}

func sameSketch(a, b *Sketch) bool {
	return a.n == b.n && a.maxNS == b.maxNS && len(a.bins) == len(b.bins) && (len(a.bins) == 0 || reflect.DeepEqual(a.bins, b.bins))
}
