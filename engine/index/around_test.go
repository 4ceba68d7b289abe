package index

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"opprof/engine/record"
	"opprof/engine/store"
)

func TestStepsAround(t *testing.T) {
	data := recording(t, "h200-tp1")
	x, o := indexed(t, data), newOracle(t, data)
	id := x.Engines()[0].ID
	rapid.Check(t, func(rt *rapid.T) {
		k := rapid.IntRange(0, len(o.steps)-1).Draw(rt, "step")
		at := o.steps[k].at.TimeNS + rapid.SampledFrom([]int64{0, 1, -1}).Draw(rt, "off")
		n := rapid.IntRange(1, 8000).Draw(rt, "n")
		a, err := x.StepsAround(t.Context(), bytes.NewReader(data), id, at, n)
		if err != nil {
			rt.Fatal(err)
		}
		if len(a.Steps) < min(n, len(o.steps)) || len(a.Steps) > n+2*BlockSteps {
			rt.Fatalf("%d steps for %d", len(a.Steps), n)
		}
		first := 0
		for o.steps[first].StepIndex != a.Steps[0].StepIndex {
			first++
		}
		// Between two steps, which may be of two blocks, both are next to the time.
		before, behind := max(k-1, 0), min(k+1, len(o.steps)-1)
		for before+1 < len(o.steps) && o.steps[before+1].at.TimeNS <= at {
			before++
		}
		for behind > 0 && o.steps[behind-1].at.TimeNS >= at {
			behind--
		}
		in := func(k int) bool { return k >= first && k < first+len(a.Steps) }
		if !in(before) && !in(behind) {
			rt.Fatalf("neither step %d nor %d is in [%d, %d)", before, behind, first, first+len(a.Steps))
		}
		q := a.Before
		for i := range a.Steps {
			if want := &o.steps[first+i]; a.Steps[i] != want.Step || q.Next(&a.Steps[i]) != want.at {
				rt.Fatalf("step %d differs", first+i)
			}
		}
	})
	for _, at := range []int64{0, math.MinInt64, math.MaxInt64} {
		if a, err := x.StepsAround(t.Context(), bytes.NewReader(data), id, at, 10); err != nil || len(a.Steps) == 0 {
			t.Errorf("at %d: %d steps, %v", at, len(a.Steps), err)
		}
	}
	if a, err := x.StepsAround(t.Context(), bytes.NewReader(data), "nobody", 0, 10); err != nil || len(a.Steps) != 0 {
		t.Errorf("of nobody: %d steps, %v", len(a.Steps), err)
	}
}

func TestAtStep(t *testing.T) {
	data := recording(t, "h200-tp1")
	x, o := indexed(t, data), newOracle(t, data)
	id := x.Engines()[0].ID
	want := map[int64]int64{}
	for i := range o.steps {
		want[o.steps[i].StepIndex] = o.steps[i].at.TimeNS
	}
	for _, step := range []int64{-1, 0, 1, 1023, 1024, 1025, 4413, 4414, 5940, 5941, 7545, 7546} {
		at, ok, err := x.AtStep(t.Context(), bytes.NewReader(data), id, step)
		if err != nil || ok != (want[step] != 0) || at != want[step] {
			t.Errorf("step %d: %d, %v, %v, want %d", step, at, ok, err, want[step])
		}
	}
}

func TestFindAgainstBruteForce(t *testing.T) {
	for _, name := range recordings[:2] {
		t.Run(name, func(t *testing.T) {
			data := recording(t, name)
			x, o := indexed(t, data), newOracle(t, data)
			events := map[store.Event][]int64{}
			for i := range o.steps {
				for _, ev := range o.events(&o.steps[i]) {
					events[ev] = append(events[ev], o.steps[i].at.TimeNS)
				}
			}
			rapid.Check(t, func(rt *rapid.T) {
				ev := store.Event(rapid.IntRange(0, int(store.EventGap)).Draw(rt, "event"))
				from := o.steps[rapid.IntRange(0, len(o.steps)-1).Draw(rt, "step")].at.TimeNS + rapid.Int64Range(-2, 2).Draw(rt, "off")
				if list := events[ev]; len(list) > 0 && rapid.Bool().Draw(rt, "near") {
					from = list[rapid.IntRange(0, len(list)-1).Draw(rt, "of")] + rapid.Int64Range(-1, 1).Draw(rt, "by")
				}
				forward := rapid.Bool().Draw(rt, "forward")
				var want int64
				for _, at := range events[ev] {
					switch {
					case forward && at > from && (want == 0 || at < want), !forward && at < from && at > want:
						want = at
					}
				}
				got, ok, err := x.Find(t.Context(), bytes.NewReader(data), ev, "", from, forward)
				if err != nil || got != want || ok != (want != 0) {
					rt.Fatalf("event %d from %d, forward %v: %d, %v, %v, want %d", ev, from, forward, got, ok, err, want)
				}
			})
		})
	}
}

// events are those of a step. A window is at the step behind its marker.
func (o *oracle) events(s *placed) (list []store.Event) {
	for ev, is := range map[store.Event]bool{
		store.EventPreemption: s.Preemptions > 0,
		store.EventGraphMiss:  s.Known(record.HasGraph) && s.Graph.Mode == record.GraphNone,
		store.EventStall:      s.at.PeriodNS >= store.StallNS || s.at.PauseNS >= store.StallNS,
		store.EventGap:        s.at.Gap,
		store.EventWindow: slices.ContainsFunc(o.profiles, func(p record.Profile) bool {
			return p.Action == record.ActionStart && p.AfterStep+1 == s.StepIndex
		}),
	} {
		if is {
			list = append(list, ev)
		}
	}
	return list
}

func TestSearchReadsOnlyBlocksThatMay(t *testing.T) {
	data := recording(t, "h200-tp1")
	x, o := indexed(t, data), newOracle(t, data)
	limit := int64(0)
	for i := range o.steps {
		limit = max(limit, o.steps[i].DecodeBatchSize)
	}
	read := &counting{ReaderAt: bytes.NewReader(data)}
	hit, ok, err := x.Search(t.Context(), read, "", 0, true,
		func(b *Block) bool { return b.Zones[DecodeBatchSize].Meets(limit, math.MaxInt64) },
		func(s *record.Step, _ store.Place) bool { return s.DecodeBatchSize >= limit })
	if err != nil || !ok {
		t.Fatalf("%v, %v", ok, err)
	}
	for i := range o.steps {
		if o.steps[i].DecodeBatchSize == limit {
			if hit.AtNS != o.steps[i].at.TimeNS || hit.Step != o.steps[i].StepIndex {
				t.Errorf("hit %+v, want step %d", hit, o.steps[i].StepIndex)
			}
			break
		}
	}
	if read.bytes > int64(len(data))/2 {
		t.Errorf("%d of %d bytes were read", read.bytes, len(data))
	}
}
