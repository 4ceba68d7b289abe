package window

import (
	"errors"
	"strings"
	"testing"

	"opprof/engine/control"
)

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

func TestAServerThatDies(t *testing.T) {
	b := newBench(t, 1)
	b.arm(control.Trigger{Kind: control.TriggerNow}, 2)
	b.open(1, 100)
	b.take(b.c.ServerGone(b.now))
	b.expect("1 armed", "2 armed", "1 starting", "start 1", "1 recording", "2 cancelled", "1 flushing", "1 failed")
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
