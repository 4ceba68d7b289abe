package window

import (
	"testing"

	"opprof/engine/control"
	"opprof/engine/record"
)

// TestTheStepThatTheExportHoldsUpBelongsToTheWindow: its record comes after the files are whole.
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
	b.take(b.c.Step(b.now, &record.Step{EngineID: "dp0", StepIndex: 111, CompleteMonoNS: 9 * second / 10}, nil))
	b.take(b.c.Inspected(b.now, 1, ranks(1, 10).labelled(101, 110), nil))
	want := int64(9*second/10 - second/50) // others take a fiftieth
	if w := b.state(1); w.State != control.WindowVerified || *w.StallNS != want || w.Engines[0].PerturbedLast != 111 || *w.Last != 110 {
		t.Errorf("%+v", w)
	}
}

// TestTheExportOfAWindow: which steps the worker labelled is told by what it wrote, and the export is known where that is.
func TestTheExportOfAWindow(t *testing.T) {
	const ms = 1_000_000
	damaged := ranks(1, 10).labelled(101, 108)
	damaged.Labelled["dp0"] = Labelled{First: 101, Last: 108}
	for _, c := range []struct {
		name  string
		loose bool
		spans map[int64]int64 // ms from submission to completion; 20 for others
		stop  record.Profile
		found Inspection
		want  int64 // ms; -1 unknown
		first int64 // labelled step; 0 unknown
	}{
		{"over two periods, behind a step that compiled a kernel", false, map[int64]int64{103: 1800, 110: 148, 111: 240}, record.Profile{AfterStep: 112}, ranks(1, 10).labelled(101, 110), 220, 101},
		{"labels begin later", true, map[int64]int64{101: 1800, 111: 240}, record.Profile{AfterStep: 112}, ranks(1, 8).labelled(103, 110), 220, 103},
		{"labels end sooner", true, map[int64]int64{109: 240, 111: 1800}, record.Profile{AfterStep: 112}, ranks(1, 6).labelled(103, 108), 220, 103},
		{"the stop writes the traces", true, nil, record.Profile{AfterStep: 112, MonoNS: 5, ReturnMonoNS: 5 + 26*second}, ranks(1, 12).labelled(101, 112), 26_000, 101},
		{"a long stop behind the export", false, map[int64]int64{111: 240}, record.Profile{AfterStep: 112, MonoNS: 5, ReturnMonoNS: 5 + 26*second}, ranks(1, 10).labelled(101, 110), 220, 101},
		{"the end of the labels is lost", false, map[int64]int64{109: 240}, record.Profile{AfterStep: 112}, damaged, -1, 101},
		{"no labels", false, map[int64]int64{111: 240}, record.Profile{AfterStep: 112}, ranks(1, 0), -1, 0},
		{"labels of no step", true, map[int64]int64{111: 240}, record.Profile{AfterStep: 112}, ranks(1, 10), -1, 0},
		{"no file could be read", false, map[int64]int64{111: 240}, record.Profile{AfterStep: 112}, Inspection{}, -1, 0},
	} {
		b := newBench(t, 1)
		b.c.settings.Loose = c.loose
		b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
		b.open(1, 100)
		for i := int64(101); i <= 112; i++ {
			span := int64(20)
			if long, ok := c.spans[i]; ok {
				span = long
			}
			b.take(b.c.Step(b.now, &record.Step{EngineID: "dp0", StepIndex: i, CompleteMonoNS: span * ms}, nil))
		}
		c.stop.EngineID, c.stop.Action = "dp0", record.ActionStop
		b.take(b.c.Marker(b.now, b.now, &c.stop))
		b.take(b.c.Files(b.now, 1, files(1, true)))
		b.take(b.c.StopReturned(b.now, 1, nil))
		b.tick(2)
		b.take(b.c.Inspected(b.now, 1, c.found, nil))
		got, first := int64(-ms), int64(0)
		w := b.state(1)
		if w.StallNS != nil {
			got = *w.StallNS
		}
		if w.First != nil {
			first = *w.First
		}
		if got != c.want*ms || first != c.first || (first == 0) != (len(w.Engines[0].Steps) == 0) {
			t.Errorf("%s: %d ns from step %d, want %d ms from %d: %+v", c.name, got, first, c.want, c.first, w)
		}
	}
}

// TestAWindowThatLeftNoTrace: the steps that it was to record are not told for recorded ones.
func TestAWindowThatLeftNoTrace(t *testing.T) {
	b := newBench(t, 1)
	b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
	b.open(1, 100)
	for i := int64(101); i <= 111; i++ {
		b.step("dp0", i, 8)
	}
	b.take(b.c.StopReturned(b.now, 1, nil))
	b.tick(121)
	if w := b.state(1); w.State != control.WindowFailed || w.First != nil || w.Last != nil || w.StallNS != nil {
		t.Errorf("%+v", w)
	}
}

// TestTheLongestExportIsTold: engines export beside each other.
func TestTheLongestExportIsTold(t *testing.T) {
	b := newBench(t, 2)
	b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
	b.open(1, 100)
	b.take(b.c.Marker(b.now, b.now, &record.Profile{EngineID: "dp1", Action: record.ActionStart, AfterStep: 500}))
	for i := int64(1); i <= 10; i++ {
		b.step("dp0", 100+i, 8)
		b.step("dp1", 500+i, 8)
	}
	b.take(b.c.Step(b.now, &record.Step{EngineID: "dp0", StepIndex: 111, CompleteMonoNS: 5 * second / 10}, nil))
	b.take(b.c.Step(b.now, &record.Step{EngineID: "dp1", StepIndex: 511, CompleteMonoNS: 7 * second / 10}, nil))
	b.take(b.c.Files(b.now, 1, files(2, true)))
	b.take(b.c.StopReturned(b.now, 1, nil))
	found := ranks(2, 10).labelled(101, 110)
	found.Labelled["dp1"] = Labelled{First: 501, Last: 510, Whole: true}
	b.take(b.c.Inspected(b.now, 1, found, nil))
	if w := b.state(1); w.StallNS == nil || *w.StallNS != 7*second/10-second/50 || *w.First != 101 {
		t.Errorf("%+v", w)
	}
}
