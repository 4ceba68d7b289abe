package window

import (
	"fmt"
	"strings"
	"testing"

	"opprof/engine/control"
	"opprof/engine/record"
)

// looseBench is a window of a server whose profiler's settings are not known, stopped by step 120 and after step 115.
func looseBench(t *testing.T) *bench {
	s := Defaults()
	s.Ranks, s.Loose, s.Folder = 1, true, "/traces"
	b := &bench{t: t, c: New(s), now: 1000 * second}
	b.step("dp0", 100, 8)
	b.arm(control.Trigger{Kind: control.TriggerNow}, 1)
	b.open(1, 100)
	for i := int64(101); i <= 120; i++ {
		b.step("dp0", i, 8)
	}
	b.take(b.c.Marker(b.now, b.now, &record.Profile{EngineID: "dp0", Action: record.ActionStop, AfterStep: 115}))
	b.step("dp0", 121, 8)
	b.take(b.c.StopReturned(b.now, 1, nil))
	return b
}

func TestALooseWindow(t *testing.T) {
	for _, c := range []struct {
		name        string
		found       Inspection
		state, says string
		first, last int64 // 0 unknown
	}{
		{"more labels than asked for", ranks(1, 15).labelled(101, 115), control.WindowVerified, "", 101, 115},
		{"a schedule", ranks(1, 5).labelled(103, 107), control.WindowVerified, "", 103, 107},
		{"no label", ranks(1, 0), control.WindowIncomplete, "no labelled step", 0, 0},
		{"other labels", Inspection{Ranks: ranks(1, 15).Ranks, Problems: []string{"labels and steps differ"}}, control.WindowIncomplete, "differ", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := looseBench(t)
			var asked Window
			for _, a := range b.take(b.c.Files(b.now, 1, files(1, true))) {
				if a.Kind == Inspect {
					asked = a.Window
				}
			}
			if n := len(asked.Engines[0].Steps); !asked.Loose || n != 15 {
				t.Errorf("%d steps are compared, loose %t", n, asked.Loose)
			}
			b.take(b.c.Inspected(b.now, 1, c.found, nil))
			w := b.state(1)
			if w.State != c.state || !strings.Contains(w.Reason, c.says) || steps(w) != fmt.Sprint(c.first, c.last) {
				t.Errorf("%s, %q, steps %s", w.State, w.Reason, steps(w))
			}
		})
	}
}

func steps(w Window) string {
	if w.First == nil {
		return "0 0"
	}
	return fmt.Sprint(*w.First, *w.Last)
}

// TestNoTraceOfALooseWindow: the reason says where was looked and how to look elsewhere.
func TestNoTraceOfALooseWindow(t *testing.T) {
	b := looseBench(t)
	b.tick(200)
	w := b.state(1)
	if w.State != control.WindowFailed || !strings.Contains(w.Reason, "in /traces") || !strings.Contains(w.Reason, "--traces") || w.First != nil {
		t.Errorf("%+v", w)
	}
}
