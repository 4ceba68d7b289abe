package window

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"opprof/engine/control"
	"opprof/engine/record"

	"pgregory.net/rapid"
)

const second = 1_000_000_000

// bench drives a controller and keeps what it decided.
type bench struct {
	t   testing.TB
	c   *Controller
	now int64
	log []string
}

func newBench(t testing.TB, ranks int) *bench {
	s := Defaults()
	s.Ranks = ranks
	return &bench{t: t, c: New(s), now: 1000 * second}
}

func (b *bench) take(actions []Action) []Action {
	for _, a := range actions {
		switch a.Kind {
		case PostStart:
			b.log = append(b.log, fmt.Sprintf("start %d", a.N))
		case PostStop:
			b.log = append(b.log, fmt.Sprintf("stop %d", a.N))
		case Inspect:
			b.log = append(b.log, fmt.Sprintf("inspect %d %d", a.N, len(a.Paths)))
		case Changed:
			b.log = append(b.log, fmt.Sprintf("%d %s", a.N, a.Window.State))
		}
	}
	return actions
}

func (b *bench) arm(t control.Trigger, count int) {
	b.t.Helper()
	_, a, err := b.c.Arm(b.now, t, count)
	if err != nil {
		b.t.Fatal(err)
	}
	b.take(a)
}

func (b *bench) step(engine string, index int64, batch int64) {
	b.now += second / 100
	period := int64(second / 100)
	b.take(b.c.Step(b.now, &record.Step{EngineID: engine, StepIndex: index, DecodeBatchSize: batch}, &period))
}

func (b *bench) tick(seconds int64) {
	b.now += seconds * second
	b.take(b.c.Tick(b.now))
}

func (b *bench) state(n int) Window { return b.c.Windows()[n-1] }

// open brings window n to recording: the start answered, the marker seen after a step.
func (b *bench) open(n int, after int64) {
	b.take(b.c.StartReturned(b.now, n, nil))
	b.take(b.c.Marker(b.now, b.now, &record.Profile{EngineID: "dp0", Action: record.ActionStart, AfterStep: after}))
}

func files(n int, complete bool) (out []File) {
	for i := range n {
		out = append(out, File{Path: fmt.Sprintf("rank%d.json", i), Bytes: 10, Complete: complete})
	}
	return out
}

func ranks(n int, labels int64) (i Inspection) {
	for r := range n {
		i.Ranks = append(i.Ranks, InspectedRank{Path: fmt.Sprintf("rank%d.json", r), Rank: int64(r), Labels: labels})
	}
	return i
}

func (b *bench) expect(want ...string) {
	b.t.Helper()
	if !slices.Equal(b.log, want) {
		b.t.Errorf("decided\n %q\nwant\n %q", b.log, want)
	}
}

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
	b.take(b.c.Inspected(b.now, 1, ranks(2, 10), nil))
	b.expect("1 armed", "1 starting", "start 1", "1 recording", "1 flushing", "stop 1", "inspect 1 2", "1 verified")
	w := b.state(1)
	if *w.First != 101 || *w.Last != 110 || *w.StallNS != second/100 || w.Reason != "" {
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

func TestWhatMakesAWindowIncomplete(t *testing.T) {
	for name, c := range map[string]struct {
		files []File
		found Inspection
		err   error
		state string
		words string
	}{
		"a rank is missing":        {files(1, true), ranks(1, 10), nil, control.WindowIncomplete, "1 of 2 ranks"},
		"labels are missing":       {files(2, true), ranks(2, 7), nil, control.WindowIncomplete, "7 labelled steps of 10"},
		"a file is cut":            {append(files(1, true), File{Path: "cut.json"}), ranks(2, 10), nil, control.WindowIncomplete, "cut.json is not complete"},
		"labels differ from steps": {files(2, true), Inspection{Ranks: ranks(2, 10).Ranks, Problems: []string{"label 3 is not step 103"}}, nil, control.WindowIncomplete, "label 3"},
		"nothing could be read":    {files(2, true), Inspection{}, errors.New("not a trace"), control.WindowFailed, "not a trace"},
		"all is well":              {files(2, true), ranks(2, 10), nil, control.WindowVerified, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 2)
			b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
			b.open(1, 100)
			for i := int64(101); i <= 111; i++ {
				b.step("dp0", i, 8)
			}
			b.take(b.c.StopReturned(b.now, 1, nil))
			b.take(b.c.Files(b.now, 1, c.files))
			b.tick(121)
			b.take(b.c.Inspected(b.now, 1, c.found, c.err))
			if w := b.state(1); w.State != c.state || !strings.Contains(w.Reason, c.words) {
				t.Errorf("%s: %s, %q", name, w.State, w.Reason)
			}
		})
	}
}

func TestDeadlines(t *testing.T) {
	t.Run("start", func(t *testing.T) {
		b := newBench(t, 1)
		b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
		b.tick(29)
		if b.state(1).State != control.WindowStarting {
			t.Errorf("after 29 s: %s", b.state(1).State)
		}
		b.tick(2)
		b.expect("1 armed", "1 starting", "start 1", "1 flushing", "stop 1")
	})
	t.Run("a hung stop", func(t *testing.T) {
		b := newBench(t, 1)
		b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
		b.open(1, 100)
		b.tick(6)
		b.tick(301)
		if w := b.state(1); w.State != control.WindowFlushing {
			t.Errorf("%s: its files may still come", w.State)
		}
		b.tick(121)
		if w := b.state(1); w.State != control.WindowFailed || !strings.Contains(w.Reason, "stop_profile") {
			t.Errorf("%s: %q", w.State, w.Reason)
		}
	})
	t.Run("no file", func(t *testing.T) {
		b := newBench(t, 1)
		b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
		b.open(1, 100)
		b.tick(6)
		b.take(b.c.StopReturned(b.now, 1, nil))
		b.tick(121)
		if w := b.state(1); w.State != control.WindowFailed || !strings.Contains(w.Reason, "no trace") {
			t.Errorf("%s: %q", w.State, w.Reason)
		}
	})
}

// A step that has been can start nothing: it is refused with the newest step, and no window is made. Before the first step any may come.
func TestPassedStep(t *testing.T) {
	b := newBench(t, 1)
	b.arm(control.Trigger{Kind: control.TriggerStep, Step: 1}, 1)
	if _, err := b.c.Cancel(b.now, 1); err != nil {
		t.Fatal(err)
	}
	b.step("dp0", 7587, 1)
	b.step("dp1", 4000, 1)
	for _, step := range []int64{5, 7586, 7587} {
		_, actions, err := b.c.Arm(b.now, control.Trigger{Kind: control.TriggerStep, Step: step}, 1)
		if err == nil || !strings.Contains(err.Error(), "the newest is 7,587") || len(actions) > 0 || len(b.c.Windows()) != 1 {
			t.Errorf("step %d: %v, %d actions, %d windows", step, err, len(actions), len(b.c.Windows()))
		}
	}
	b.arm(control.Trigger{Kind: control.TriggerStep, Step: 7588}, 1)
	if w := b.state(2); w.State != control.WindowArmed {
		t.Errorf("the next step: %s", w.State)
	}
}

func TestTriggers(t *testing.T) {
	b := newBench(t, 1)
	b.step("dp0", 10, 1)
	b.arm(control.Trigger{Kind: control.TriggerStep, Step: 50}, 1)
	b.arm(control.Trigger{Kind: control.TriggerExpr, Expr: "decode_batch_size >= 32", For: 3}, 1)
	b.arm(control.Trigger{Kind: control.TriggerEvery, Every: 100}, 2)
	b.arm(control.Trigger{Kind: control.TriggerAfter, AfterNS: 60 * second}, 1)
	b.log = nil
	for i := int64(11); i < 49; i++ {
		b.step("dp0", i, 1)
	}
	b.expect()
	for _, batch := range []int64{40, 40, 1, 40, 40} {
		b.step("dp0", 49, batch)
	}
	b.expect()
	b.step("dp0", 49, 40)
	b.expect("2 starting", "start 2")
	if got := []int64{b.c.windows[2].FromStep, b.c.windows[3].FromStep}; got[0] != 110 || got[1] != 210 {
		t.Errorf("every 100 steps from 10 starts at %v", got)
	}
	if a, err := b.c.Cancel(b.now, 3); err != nil || b.take(a)[0].Window.State != control.WindowCancelled {
		t.Errorf("cancel: %v", err)
	}
	if _, err := b.c.Cancel(b.now, 2); err == nil {
		t.Error("a starting window was cancelled")
	}
	if _, err := b.c.Cancel(b.now, 9); err == nil {
		t.Error("a window that does not exist was cancelled")
	}
}

func TestTheTorchScheduleRecordsOneWindow(t *testing.T) {
	s := Defaults()
	s.OneOnly = true
	c := New(s)
	if _, _, err := c.Arm(1, control.Trigger{Kind: control.TriggerNow}, 2); err == nil {
		t.Error("two windows were armed")
	}
	if _, _, err := c.Arm(1, control.Trigger{Kind: control.TriggerNow}, 1); err != nil {
		t.Error(err)
	}
	if _, _, err := c.Arm(1, control.Trigger{Kind: control.TriggerNow}, 1); err == nil {
		t.Error("a second window was armed")
	}
}

func TestAServerThatDies(t *testing.T) {
	b := newBench(t, 1)
	b.arm(control.Trigger{Kind: control.TriggerNow}, 2)
	b.open(1, 100)
	b.take(b.c.ServerGone(b.now))
	b.expect("1 armed", "2 armed", "1 starting", "start 1", "1 recording", "2 cancelled", "1 flushing", "1 failed")
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

func errorOf(ok bool) error {
	if ok {
		return nil
	}
	return errors.New("refused")
}

func TestWindowsOfAReplacedOwner(t *testing.T) {
	b := newBench(t, 1)
	taken := func(state string, trigger control.Trigger) Taken {
		return Taken{Window: control.Window{State: state, Trigger: trigger}, StartsNS: b.now - second}
	}
	every := control.Trigger{Kind: control.TriggerEvery, Every: 100}
	now := control.Trigger{Kind: control.TriggerNow}
	b.take(b.c.Restore(b.now, []Taken{taken(control.WindowVerified, now), taken(control.WindowRecording, now),
		taken(control.WindowArmed, every), taken(control.WindowArmed, every)}))
	b.expect("2 flushing", "stop 2")
	b.step("dp0", 50, 1)
	if got := []int64{b.c.windows[2].FromStep, b.c.windows[3].FromStep}; got[0] != 0 || got[1] != 0 {
		t.Errorf("placed while another window runs: %v", got)
	}
	b.take(b.c.StopReturned(b.now, 2, nil))
	b.take(b.c.Files(b.now, 2, files(1, true)))
	b.take(b.c.Inspected(b.now, 2, ranks(1, 4), nil))
	b.step("dp0", 51, 1)
	if w := b.state(2); w.State != control.WindowIncomplete || !strings.Contains(w.Reason, "replaced") || !strings.Contains(w.Reason, "4 labelled") {
		t.Errorf("%s: %s", w.State, w.Reason)
	}
	if got := []int64{b.c.windows[2].FromStep, b.c.windows[3].FromStep}; got[0] < 150 || got[1] != got[0]+100 {
		t.Errorf("every 100 steps from 50 starts at %v", got)
	}
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

func TestAHeldWindowWaits(t *testing.T) {
	b := newBench(t, 1)
	b.c.Hold(true)
	b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
	b.tick(100)
	b.expect("1 armed")
	b.c.Hold(false)
	b.tick(0)
	b.expect("1 armed", "1 starting", "start 1")
}

// TestTheStepThatTheExportHoldsUpBelongsToTheWindow: its record comes after the files are whole, and its period is the stall.
func TestTheStepThatTheExportHoldsUpBelongsToTheWindow(t *testing.T) {
	b := newBench(t, 1)
	b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
	b.open(1, 100)
	for i := int64(101); i <= 110; i++ {
		b.step("dp0", i, 8)
	}
	b.take(b.c.Files(b.now, 1, files(1, true)))
	b.take(b.c.StopReturned(b.now, 1, nil))
	b.expect("1 armed", "1 starting", "start 1", "1 recording", "1 flushing", "stop 1")
	stall := int64(900_000_000)
	b.take(b.c.Step(b.now, &record.Step{EngineID: "dp0", StepIndex: 111}, &stall))
	b.take(b.c.Inspected(b.now, 1, ranks(1, 10), nil))
	if w := b.state(1); w.State != control.WindowVerified || *w.StallNS != stall || w.Engines[0].PerturbedLast != 111 || *w.Last != 110 {
		t.Errorf("%+v", w)
	}
}

// TestALongStepBeforeTheExport: a labelled step that compiled a kernel takes longer than the export, and is not taken for it. The steps that
// the worker labelled may be told only by what it wrote.
func TestALongStepBeforeTheExport(t *testing.T) {
	for name, c := range map[string]struct {
		loose    bool
		slow     int64 // of the step that is longest of all
		labelled map[string][2]int64
		want     int64
	}{
		"in the first step":       {false, 101, nil, 700},
		"in the ninth":            {false, 109, nil, 700},
		"in the last":             {false, 110, nil, 1800},
		"behind the last":         {false, 111, nil, 1800},
		"labels begin later":      {true, 101, map[string][2]int64{"dp0": {103, 110}}, 700},
		"labels end sooner":       {true, 109, map[string][2]int64{"dp0": {103, 108}}, 1800},
		"nothing says the labels": {true, 101, nil, 1800},
	} {
		b := newBench(t, 1)
		b.c.settings.Loose = c.loose
		b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
		b.open(1, 100)
		for i := int64(101); i <= 112; i++ {
			period := int64(10)
			switch i {
			case c.slow:
				period = 1800
			case 110:
				period = 700
			}
			b.take(b.c.Step(b.now, &record.Step{EngineID: "dp0", StepIndex: i}, &period))
		}
		b.take(b.c.Marker(b.now, b.now, &record.Profile{EngineID: "dp0", Action: record.ActionStop, AfterStep: 112}))
		b.take(b.c.Files(b.now, 1, files(1, true)))
		b.take(b.c.StopReturned(b.now, 1, nil))
		b.tick(2)
		found := ranks(1, 10)
		found.Labelled = c.labelled
		b.take(b.c.Inspected(b.now, 1, found, nil))
		if w := b.state(1); w.StallNS == nil || *w.StallNS != c.want {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

// TestTrafficThatEndsWithTheWindow: no step comes after the last labelled one, and the window ends all the same.
func TestTrafficThatEndsWithTheWindow(t *testing.T) {
	b := newBench(t, 1)
	b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
	b.open(1, 100)
	for i := int64(101); i <= 110; i++ {
		b.step("dp0", i, 8)
	}
	b.tick(6)
	b.take(b.c.StopReturned(b.now, 1, nil))
	b.take(b.c.Files(b.now, 1, files(1, true)))
	b.tick(2)
	b.take(b.c.Inspected(b.now, 1, ranks(1, 10), nil))
	if w := b.state(1); w.State != control.WindowVerified || w.Reason != "" {
		t.Errorf("%s: %s", w.State, w.Reason)
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
	b.take(b.c.Inspected(b.now, 1, ranks(1, 8), nil))
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
