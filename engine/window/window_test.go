package window

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"opprof/engine/control"
	"opprof/engine/record"
)

func TestAWindowFromKeyToVerified(t *testing.T) {
	b := newBench(t, 2)
	b.step("dp0", 100, 8)
	b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
	b.open(1, 100)
	for i := int64(101); i <= 111; i++ {
		b.step("dp0", i, 8)
	}
	b.take(b.c.Files(b.now, 1, files(2, true)))
	b.take(b.c.StopReturned(b.now, 1, nil))
	b.take(b.c.Inspected(b.now, 1, ranks(2, 10).labelled(101, 110), nil))
	b.expect("1 armed", "1 starting", "start 1", "1 recording", "1 flushing", "stop 1", "inspect 1 2", "1 verified")
	w := b.state(1)
	if *w.First != 101 || *w.Last != 110 || *w.StallNS != 0 || w.Reason != "" {
		t.Errorf("steps %d to %d, stall %d, reason %q", *w.First, *w.Last, *w.StallNS, w.Reason)
	}
}

func TestTheStopIsSentOnceAndAlways(t *testing.T) {
	for name, end := range map[string]func(b *bench){
		"steps went past the window": func(b *bench) {
			for i := int64(101); i <= 111; i++ {
				b.step("dp0", i, 8)
			}
		},
		"files came first":  func(b *bench) { b.take(b.c.Files(b.now, 1, files(1, true))) },
		"the traffic ended": func(b *bench) { b.step("dp0", 101, 8); b.tick(6) },
		"the window never filled": func(b *bench) {
			for i := int64(101); i < 105; i++ {
				b.step("dp0", i, 8)
				b.tick(4)
			}
			b.now += 200 * second
			b.step("dp0", 106, 8)
			b.tick(0)
		},
		"the server is being stopped": func(b *bench) { b.take(b.c.ServerStopping(b.now, "the server stops")) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 1)
			b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
			b.open(1, 100)
			end(b)
			b.take(b.c.ServerStopping(b.now, "the server stops"))
			b.tick(1)
			if n := strings.Count(strings.Join(b.log, ","), "stop 1"); n != 1 {
				t.Errorf("%d stops: %q", n, b.log)
			}
		})
	}
}

func TestAFailedStartIsStoppedToo(t *testing.T) {
	b := newBench(t, 1)
	b.arm(control.Trigger{Kind: control.TriggerNow}, 2)
	b.take(b.c.StartReturned(b.now, 1, errors.New("500")))
	b.take(b.c.StopReturned(b.now, 1, nil))
	b.expect("1 armed", "2 armed", "1 starting", "start 1", "1 flushing", "stop 1", "1 failed", "2 starting", "start 2")
	if r := b.state(1).Reason; !strings.Contains(r, "500") {
		t.Errorf("reason %q", r)
	}
}

// TestAnyOrderOfFacts: whatever arrives in whatever order, a window that started is stopped exactly once before it ends, at most one runs,
// and every final state stays.
func TestAnyOrderOfFacts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Defaults()
		s.Ranks = rapid.IntRange(0, 2).Draw(t, "ranks")
		b := &bench{c: New(s), now: 1}
		final := map[int]string{}
		stops := map[int]int{}
		for range rapid.IntRange(1, 60).Draw(t, "facts") {
			n := rapid.IntRange(1, 3).Draw(t, "n")
			var a []Action
			switch rapid.IntRange(0, 8).Draw(t, "fact") {
			case 0:
				_, a, _ = b.c.Arm(b.now, control.Trigger{Kind: control.TriggerNow}, 1)
			case 1:
				a = b.c.StartReturned(b.now, n, errorOf(rapid.Bool().Draw(t, "ok")))
			case 2:
				a = b.c.StopReturned(b.now, n, errorOf(rapid.Bool().Draw(t, "ok")))
			case 3:
				a = b.c.Marker(b.now, b.now, &record.Profile{EngineID: "dp0", Action: record.ActionStart, AfterStep: rapid.Int64Range(0, 50).Draw(t, "after")})
			case 4:
				a = b.c.Step(b.now, &record.Step{EngineID: "dp0", StepIndex: rapid.Int64Range(0, 100).Draw(t, "step")}, nil)
			case 5:
				a = b.c.Files(b.now, n, files(rapid.IntRange(0, 3).Draw(t, "files"), rapid.Bool().Draw(t, "complete")))
			case 6:
				a = b.c.Inspected(b.now, n, ranks(rapid.IntRange(0, 2).Draw(t, "found"), 10), nil)
			case 7:
				b.now += rapid.Int64Range(0, 400).Draw(t, "seconds") * second
				a = b.c.Tick(b.now)
			case 8:
				a, _ = b.c.Cancel(b.now, n)
			}
			for _, x := range a {
				if x.Kind == PostStop {
					stops[x.N]++
				}
			}
			running := 0
			for _, w := range b.c.Windows() {
				switch w.State {
				case control.WindowVerified, control.WindowIncomplete, control.WindowFailed:
					if stops[w.N] != 1 {
						t.Fatalf("window %d ended %s after %d stops", w.N, w.State, stops[w.N])
					}
					fallthrough
				case control.WindowCancelled:
					if was, ok := final[w.N]; ok && was != w.State {
						t.Fatalf("window %d went from %s to %s", w.N, was, w.State)
					}
					final[w.N] = w.State
				case control.WindowStarting, control.WindowRecording, control.WindowFlushing:
					running++
				}
			}
			if running > 1 {
				t.Fatalf("%d windows run at once", running)
			}
		}
	})
}

func TestStepsReadBeforeTheAnswerToTheStartCount(t *testing.T) {
	b := newBench(t, 1)
	b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
	b.take(b.c.Marker(b.now, b.now, &record.Profile{EngineID: "dp0", Action: record.ActionStart, AfterStep: 7}))
	for i := int64(8); i <= 18; i++ {
		b.step("dp0", i, i)
	}
	b.expect("1 armed", "1 starting", "start 1")
	b.take(b.c.StartReturned(b.now, 1, nil))
	b.expect("1 armed", "1 starting", "start 1", "1 recording", "1 flushing", "stop 1")
	if e := b.state(1).Engines[0]; len(e.Steps) != 10 || e.Steps[0].Index != 8 || e.Steps[9].DecodeRequests != 17 {
		t.Errorf("labelled steps %+v", e.Steps)
	}
}

func TestAMarkerFromBeforeTheStartIsNotTheWindows(t *testing.T) {
	b := newBench(t, 1)
	b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
	b.take(b.c.Marker(b.now, b.now-second, &record.Profile{EngineID: "dp0", Action: record.ActionStart, AfterStep: 7}))
	if n := len(b.state(1).Engines); n != 0 {
		t.Errorf("%d engines have a marker", n)
	}
}

// TestTheWarmUpOfATorchScheduleCarriesNoLabel: steps 102 to 109 of a marker at 100, and the export at 110.
func TestTheWarmUpOfATorchScheduleCarriesNoLabel(t *testing.T) {
	s := Defaults()
	s.Ranks, s.MaxIterations, s.Skip, s.OneOnly = 1, 8, 1, true
	b := &bench{t: t, c: New(s), now: 1000 * second}
	b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
	b.open(1, 100)
	for i := int64(101); i <= 109; i++ {
		b.step("dp0", i, 8)
	}
	b.expect("1 armed", "1 starting", "start 1", "1 recording")
	b.step("dp0", 110, 8)
	b.take(b.c.StopReturned(b.now, 1, nil))
	b.take(b.c.Files(b.now, 1, files(1, true)))
	b.take(b.c.Inspected(b.now, 1, ranks(1, 8).labelled(102, 109), nil))
	if w := b.state(1); w.State != control.WindowVerified || *w.First != 102 || *w.Last != 109 {
		t.Errorf("%s, steps %d to %d", w.State, *w.First, *w.Last)
	}
}

// TestEachEngineHasItsMarker: a window is full when every engine has gone past its own.
func TestEachEngineHasItsMarker(t *testing.T) {
	b := newBench(t, 2)
	b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
	b.open(1, 100)
	b.take(b.c.Marker(b.now, b.now, &record.Profile{EngineID: "dp1", Action: record.ActionStart, AfterStep: 500}))
	for i := int64(1); i <= 11; i++ {
		b.step("dp0", 100+i, 8)
	}
	b.expect("1 armed", "1 starting", "start 1", "1 recording")
	for i := int64(1); i <= 11; i++ {
		b.step("dp1", 500+i, 8)
	}
	b.expect("1 armed", "1 starting", "start 1", "1 recording", "1 flushing", "stop 1")
	if e := b.state(1).Engines; e[1].Steps[0].Index != 501 || len(e[1].Steps) != 10 {
		t.Errorf("%+v", e)
	}
}
