package store

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// countInts counts the integers that fillInts would set.
func countInts(v reflect.Value) int {
	n := 0
	fillInts(v, func() int64 { n++; return 0 })
	return n
}

func TestEveryCountIsEncoded(t *testing.T) {
	var c Counts
	seen := map[*int64]bool{}
	c.visit(func(n *int64) { seen[n] = true })
	if want := countInts(reflect.ValueOf(&c).Elem()); len(seen) != want {
		t.Errorf("visit finds %d of %d integers", len(seen), want)
	}
}

func anyRollup(t *rapid.T) *Rollup {
	r := &Rollup{}
	fillInts(reflect.ValueOf(r).Elem(), func() int64 { return rapid.Int64().Draw(t, "n") })
	r.Counts.KVUsageMax, r.Counts.KVUsageSum = rapid.Float64Range(-1e300, 1e300).Draw(t, "max"), rapid.Float64Range(-1e300, 1e300).Draw(t, "sum")
	r.Period = sketchOf(rapid.SliceOf(durations()).Draw(t, "periods"))
	return r
}

func sameRollup(a, b *Rollup) bool {
	return a.StartNS == b.StartNS && a.EndNS == b.EndNS && a.FirstStep == b.FirstStep && a.LastStep == b.LastStep && a.Counts == b.Counts &&
		sameSketch(&a.Period, &b.Period)
}

func TestRollupEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyRollup(t), anyRollup(t)
		bytes := b.AppendBinary(a.AppendBinary([]byte("x"))[1:])
		got, rest, err := DecodeRollup(bytes)
		if err != nil || !sameRollup(got, a) {
			t.Fatalf("first: %v\n got %+v\nwant %+v", err, got, a)
		}
		if got, rest, err = DecodeRollup(rest); err != nil || !sameRollup(got, b) || len(rest) != 0 {
			t.Fatalf("second: %v, %d bytes left", err, len(rest))
		}
		cut := rapid.IntRange(0, len(a.AppendBinary(nil))-1).Draw(t, "cut")
		if _, _, err := DecodeRollup(bytes[:cut]); err == nil || !strings.Contains(err.Error(), "rebuild the index") {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	})
}

func TestRollupMergeAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts [3]Rollup
		var all Rollup
		q := Sequence{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			s := anyStep(t)
			s.CompleteMonoNS, s.SubmitMonoNS, s.SubmitWallNS = rapid.Int64Range(0, 1e12).Draw(t, "ns"), 0, 0
			p := q.Next(&s)
			parts[rapid.IntRange(0, 2).Draw(t, "part")].Add(&s, p)
			all.Add(&s, p)
		}
		var merged Rollup
		for i := range parts {
			merged.Merge(&parts[i])
		}
		if !sameRollup(&merged, &all) {
			t.Fatalf("merged %+v\nall    %+v", merged.Counts, all.Counts)
		}
	})
}

func FuzzDecodeRollup(f *testing.F) {
	r := &Rollup{StartNS: 1, EndNS: 2, Period: sketchOf([]int64{5, 11_800_000, 11_900_000, 8_900_000_000})}
	r.Counts.Steps = 4
	f.Add(r.AppendBinary(nil))
	f.Add((&Rollup{}).AppendBinary(nil))
	f.Add([]byte{rollupVersion})
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, src []byte) {
		r, rest, err := DecodeRollup(src)
		if err != nil {
			return
		}
		if len(rest) >= len(src) {
			t.Fatal("nothing was read")
		}
		// What was accepted is a rollup like any other: it encodes to itself and can be merged and asked.
		again, _, err := DecodeRollup(r.AppendBinary(nil))
		if err != nil || !sameRollup(again, r) {
			t.Fatalf("decoded again: %v", err)
		}
		again.Merge(r)
		again.Period.Quantile(99)
	})
}
