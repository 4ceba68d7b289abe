package store

import (
	"testing"

	"pgregory.net/rapid"

	"opprof/engine/record"
)

// eventful is a store whose steps hold every event, and the times of each.
func eventful(ringSteps int, n int64) (*Store, map[Event][]int64) {
	s := New(Options{RingSteps: ringSteps})
	at := map[Event][]int64{}
	start, index := int64(0), int64(0)
	for i := int64(1); i <= n; i++ {
		start += 10e6
		index++
		if i%1999 == 0 {
			start += 700e6
		}
		if i%1511 == 0 {
			index += 5
		}
		l := step("dp0-pid1", index, start)
		done := int64(wallNS + start + 10e6)
		if i%1511 == 0 {
			at[EventGap] = append(at[EventGap], done)
		}
		if i%977 == 0 {
			l.Step.Preemptions = 2
			at[EventPreemption] = append(at[EventPreemption], done)
		}
		if i%613 == 0 {
			l.Step.Graph.Mode = record.GraphNone
			at[EventGraphMiss] = append(at[EventGraphMiss], done)
		}
		if i%1409 == 0 {
			l.Step.CompleteMonoNS += 600e6
			start += 600e6
			at[EventStall] = append(at[EventStall], done+600e6)
		}
		if i%1300 == 0 {
			s.Line(0, marker("dp0-pid1", "start", index-1, start-5e6))
			at[EventWindow] = append(at[EventWindow], l.Step.CompleteMonoNS+wallNS)
		}
		s.Line(0, l)
		if i%1300 == 20 && i > 1300 {
			s.Line(0, marker("dp0-pid1", "stop", index, start))
		}
	}
	return s, at
}

// TestStep: a step that is kept whole comes back as it was written; others do not come at all.
func TestStep(t *testing.T) {
	s := New(Options{})
	for i := int64(1); i <= 3000; i++ {
		l := step("dp0-pid1", i, i*10e6)
		l.Step.PrefillTokens, l.Step.ScheduledRequests = i, i*100_000 // beyond what is packed, for some
		s.Line(0, l)
	}
	s.Line(0, step("dp1-pid2", 7, 70e6))
	sn := s.Snapshot()
	for _, index := range []int64{1, 2, 1500, 2999, 3000} {
		got, at, ok := sn.Step("dp0-pid1", index)
		want := step("dp0-pid1", index, index*10e6).Step
		if !ok || got.StepIndex != index || got.PrefillTokens != index || got.ScheduledRequests != index*100_000 || got.SubmitToCompleteNS() != want.SubmitToCompleteNS() {
			t.Errorf("step %d: %+v, %v", index, got, ok)
		}
		if known := at.PeriodNS != UnknownNS; known != (index > 1) || at.TimeNS != want.CompleteMonoNS+wallNS {
			t.Errorf("step %d lies at %+v", index, at)
		}
	}
	for _, none := range []struct {
		engine string
		index  int64
	}{{"dp0-pid1", 0}, {"dp0-pid1", 3001}, {"dp1-pid2", 8}, {"dp2-pid3", 7}} {
		if got, _, ok := sn.Step(none.engine, none.index); ok {
			t.Errorf("%s has step %d: %+v", none.engine, none.index, got)
		}
	}
}

// next is the first of the times after, or the last before, one.
func next(times []int64, fromNS int64, forward bool) (atNS int64, ok bool) {
	for _, t := range times {
		if forward && t > fromNS {
			return t, true
		}
		if !forward && t < fromNS {
			atNS, ok = t, true
		}
	}
	return atNS, ok
}

func TestFindAmongWholeSteps(t *testing.T) {
	s, times := eventful(RingSteps, 8000)
	sn := s.Snapshot()
	first, last := int64(wallNS), int64(wallNS+100e9)
	rapid.Check(t, func(t *rapid.T) {
		ev := rapid.SampledFrom([]Event{EventPreemption, EventGraphMiss, EventStall, EventWindow, EventGap}).Draw(t, "event")
		from := rapid.OneOf(rapid.Int64Range(first, last), rapid.SampledFrom(times[ev])).Draw(t, "from")
		forward := rapid.Bool().Draw(t, "forward")
		want, ok := next(times[ev], from, forward)
		if got, found := sn.Find(ev, "", from, forward); got != want || found != ok {
			t.Fatalf("event %d from %d: %d %v, want %d %v", ev, from, got, found, want, ok)
		}
		if _, found := sn.Find(ev, "another", from, forward); found {
			t.Fatal("an engine that is not there has events")
		}
	})
	if _, ok := sn.Find(Event(99), "", 0, true); ok {
		t.Error("an unknown event was found")
	}
}

// Where steps are gone, an event is found to the second.
func TestFindAmongRollups(t *testing.T) {
	s, times := eventful(blockSteps, 20000)
	sn := s.Snapshot()
	for _, ev := range []Event{EventPreemption, EventGraphMiss, EventStall, EventGap} {
		n := 0
		for at := int64(0); ; n++ {
			next, ok := sn.Find(ev, "", at, true)
			if !ok {
				break
			}
			near := false
			for _, want := range times[ev] {
				near = near || next <= want && next > want-second
			}
			if !near || next <= at {
				t.Errorf("event %d at %d after %d is none", ev, next, at)
			}
			if back, ok := sn.Find(ev, "", next+1, false); !ok || back != next {
				t.Errorf("event %d: from %d back to %d", ev, next, back)
			}
			at = next
		}
		if n < len(times[ev])*9/10 || n > len(times[ev]) {
			t.Errorf("event %d: %d of %d found", ev, n, len(times[ev]))
		}
	}
}

func TestAtStep(t *testing.T) {
	s := New(Options{RingSteps: blockSteps})
	for i := int64(1); i <= 5000; i++ {
		s.Line(0, step("dp0-pid1", i, i*10e6))
		s.Line(1, step("dp1-pid2", i+3, i*10e6))
	}
	sn := s.Snapshot()
	for _, c := range []struct {
		engine string
		step   int64
		atNS   int64 // 0: not found
		within int64
	}{
		{"", 5000, wallNS + 5001*10e6, 0},
		{"dp1-pid2", 5003, wallNS + 5001*10e6, 0},
		{"dp1-pid2", 5000, wallNS + 4998*10e6, 0},
		{"", 5003, wallNS + 5001*10e6, 0},
		{"dp0-pid1", 17, wallNS + 18*10e6, second},
		{"", 5004, 0, 0},
		{"dp0-pid1", 0, 0, 0},
		{"none", 5, 0, 0},
	} {
		at, ok := sn.AtStep(c.engine, c.step)
		if ok != (c.atNS != 0) || at > c.atNS || at < c.atNS-c.within {
			t.Errorf("step %d of %q: %d %v, want %d", c.step, c.engine, at, ok, c.atNS)
		}
	}
	// Of a step that was counted twice, the newest.
	again := step("dp0-pid1", 5000, 60000e6)
	s.Line(0, again)
	if at, ok := s.Snapshot().AtStep("dp0-pid1", 5000); !ok || at != wallNS+60010e6 {
		t.Errorf("%d %v", at, ok)
	}
}
