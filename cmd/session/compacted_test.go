package session

import (
	"reflect"
	"testing"

	"opprof/engine/compact"
	"opprof/engine/store"
)

// A long stream that was compacted shows what it showed before, by the index that it had before and without one.
func TestCompactedStreamShowsWhatItShowed(t *testing.T) {
	dir, stream := writeRounds(t, "h200-tp1", 2)
	long := Options{wholeBytes: 1 << 20, recentBytes: 1 << 20}
	plain := open(t, dir, long)
	wait(t, plain)
	if _, err := compact.Stream(t.Context(), stream, compact.Options{Workers: 2}); err != nil {
		t.Fatal(err)
	}
	packed := open(t, dir, long)
	wait(t, packed)
	if packed.notes.recentNS.Load() == 0 {
		t.Fatal("the compacted stream was read whole")
	}
	a, b := frame(t, plain, store.Query{Columns: 40}), frame(t, packed, store.Query{Columns: 40})
	if !reflect.DeepEqual(a.Run, b.Run) || !reflect.DeepEqual(a.Windows, b.Windows) {
		t.Errorf("run:\n%+v\nwant\n%+v", b.Run.Counts, a.Run.Counts)
	}
	last := a.Engines[0].LastStep
	for step := int64(1); step <= last; step += last / 13 {
		at, ok, err := plain.AtStep(t.Context(), "", step)
		now, okNow, errNow := packed.AtStep(t.Context(), "", step)
		if at != now || ok != okNow || err != nil || errNow != nil {
			t.Fatalf("step %d: at %d, %t, %v; want %d, %t, %v", step, now, okNow, errNow, at, ok, err)
		}
		if !ok {
			continue // it was lost
		}
		q := store.Query{AtNS: at, SpanNS: 2_000_000_000, Columns: 40}
		x, y := frame(t, plain, q), frame(t, packed, q)
		if x.Now.StepIndex != y.Now.StepIndex || !reflect.DeepEqual(x.Span, y.Span) {
			t.Errorf("around step %d the picture differs", step)
		}
	}
	x, y := plain.Run(), packed.Run()
	if x.Streams[0].Lines != y.Streams[0].Lines || x.Streams[0].BadLines != y.Streams[0].BadLines || len(x.Problems) != len(y.Problems) {
		t.Errorf("described as %+v, %q; want %+v, %q", y.Streams[0], y.Problems, x.Streams[0], x.Problems)
	}
}
