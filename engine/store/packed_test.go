package store

import (
	"math"
	"reflect"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"opprof/engine/record"
)

func TestStepTakesAtMost256Bytes(t *testing.T) {
	perStep := unsafe.Sizeof(packed{}) + 2*unsafe.Sizeof(int64(0)) // with its time and period
	if perStep > 256 {
		t.Errorf("a packed step takes %d bytes", perStep)
	}
	b := newBlock(blockSteps)
	if got := cap(b.steps)*int(unsafe.Sizeof(packed{})) + 8*(cap(b.times)+cap(b.periods)); got > 256*blockSteps {
		t.Errorf("a block takes %d bytes", got)
	}
}

// integers draws mostly small numbers, and those at the edges of every width.
func integers() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64Range(0, 300), rapid.Int64Range(0, 300), rapid.Int64Range(0, 300),
		rapid.SampledFrom([]int64{
			-1, math.MinInt64, math.MaxInt64, 1<<16 - 1, 1 << 16, 1<<16 + 1, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1 << 48,
		}),
	)
}

// fillInts sets every integer below v, in fields, arrays and structs.
func fillInts(v reflect.Value, draw func() int64) {
	switch v.Kind() {
	case reflect.Int64:
		v.SetInt(draw())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillInts(v.Field(i), draw)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fillInts(v.Index(i), draw)
		}
	}
}

func anyStep(t *rapid.T) record.Step {
	var s record.Step
	wide := rapid.IntRange(0, 3).Draw(t, "wide") == 0
	small := rapid.Int64Range(0, 60000)
	fillInts(reflect.ValueOf(&s).Elem(), func() int64 {
		if wide {
			return integers().Draw(t, "n")
		}
		return small.Draw(t, "n")
	})
	s.KV.Usage = rapid.Float64Range(0, 1).Draw(t, "usage")
	s.ModelExecuted, s.Graph.Hit = rapid.Bool().Draw(t, "executed"), rapid.Bool().Draw(t, "hit")
	s.Graph.Mode = record.GraphMode(rapid.IntRange(0, int(record.GraphModes)-1).Draw(t, "mode"))
	s.Has = record.Presence(rapid.IntRange(0, 255).Draw(t, "has"))
	return s
}

func TestPackingLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBlock(1)
		var want []record.Step
		var at []Place
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			s := anyStep(t)
			p := Place{TimeNS: rapid.Int64Range(0, 50).Draw(t, "time"), PeriodNS: rapid.Int64Range(-1, 1e9).Draw(t, "period"), PauseNS: rapid.SampledFrom([]int64{0, 0, 1, StallNS, 1 << 40}).Draw(t, "pause"), Gap: rapid.Bool().Draw(t, "gap")}
			b.add(&s, p)
			want, at = append(want, s), append(at, p)
		}
		for i := range want {
			var got record.Step
			if b.step(i, &got); got != want[i] || b.place(i) != at[i] {
				t.Fatalf("step %d:\n got %+v\nwant %+v", i, got, want[i])
			}
		}
		ordered := b.view()
		var left []record.Step
		left = append(left, want...)
		for i := range ordered.times {
			if i > 0 && ordered.times[i] < ordered.times[i-1] {
				t.Fatalf("times %v", ordered.times)
			}
			var got record.Step
			ordered.step(i, &got)
			k := 0
			for k < len(left) && left[k] != got {
				k++
			}
			if k == len(left) {
				t.Fatalf("ordering invented %+v", got)
			}
			left = append(left[:k], left[k+1:]...)
		}
	})
}
