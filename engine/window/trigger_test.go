package window

import (
	"math"
	"strings"
	"testing"

	"opprof/engine/control"
)

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

// Steps in a row are those of one engine: another that does something else, or nothing, is no interruption.
func TestARowIsOfOneEngine(t *testing.T) {
	b := newBench(t, 1)
	b.arm(control.Trigger{Kind: control.TriggerExpr, Expr: "decode_batch_size >= 32", For: 3}, 1)
	b.log = nil
	for i, step := range []struct {
		engine string
		batch  int64
		held   int64
	}{{"dp0", 40, 1}, {"dp1", 1, 1}, {"dp0", 40, 2}, {"dp1", 40, 2}, {"dp0", 1, 1}, {"dp1", 40, 2}, {"dp0", 40, 2}} {
		b.step(step.engine, int64(i)+1, step.batch)
		if w := b.state(1); w.Held != step.held || w.State != control.WindowArmed {
			t.Errorf("step %d: held for %d, want %d: %s", i+1, w.Held, step.held, w.State)
		}
	}
	b.step("dp1", 8, 40)
	b.expect("1 starting", "start 1")
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

// A time or a number of steps that cannot be added up has not passed.
func TestTriggersThatNeverCome(t *testing.T) {
	for _, c := range []control.Trigger{
		{Kind: control.TriggerAfter, AfterNS: math.MaxInt64},
		{Kind: control.TriggerEvery, Every: math.MaxInt64},
		{Kind: control.TriggerEvery, Every: 1<<62 + 5},
	} {
		b := newBench(t, 1)
		b.step("dp0", 10, 1)
		b.arm(c, 4)
		b.step("dp0", 1<<40, 1)
		b.tick(1)
		for _, w := range b.c.Windows() {
			if w.State != control.WindowArmed || w.Trigger.Kind == control.TriggerEvery && w.FromStep < c.Every {
				t.Errorf("%+v: window %d is %s, from step %d", c, w.N, w.State, w.FromStep)
			}
		}
	}
}

// A server that ended while nobody watched leaves no window open, and is told nothing.
func TestWindowsOfAServerThatIsGone(t *testing.T) {
	taken := make([]Taken, 0, 5)
	for _, state := range []string{control.WindowVerified, control.WindowArmed, control.WindowRecording, control.WindowArmed} {
		taken = append(taken, Taken{Window: control.Window{State: state, Trigger: control.Trigger{Kind: control.TriggerNow}}})
	}
	b := newBench(t, 1)
	b.take(b.c.RestoreGone(b.now, taken))
	b.expect("3 flushing", "2 cancelled", "4 cancelled", "3 failed")
	b.tick(1000)
	b.step("dp0", 1, 1)
	b.expect("3 flushing", "2 cancelled", "4 cancelled", "3 failed")
	if w := b.state(1); w.State != control.WindowVerified {
		t.Errorf("a window that had ended is %s", w.State)
	}
}
