package store

import (
	"testing"

	"opprof/engine/record"
)

func TestWindows(t *testing.T) {
	no := false
	failed := marker("dp0-pid1", "start", 30, 400e6)
	failed.Profile.OK = &no
	slow := marker("dp0-pid1", "stop", 40, 405e6)
	slow.Profile.ReturnMonoNS = slow.Profile.MonoNS + 26e9
	stopAtOnce := marker("dp0-pid1", "stop", 20, 210e6)
	stopAtOnce.Profile.ReturnMonoNS = stopAtOnce.Profile.MonoNS + 3e6
	for _, c := range []struct {
		name  string
		lines map[int64]*record.Line // by the step whose line follows
		want  []Window
	}{
		{"none", nil, nil},
		{"one", map[int64]*record.Line{21: marker("dp0-pid1", "start", 20, 205e6), 41: marker("dp0-pid1", "stop", 40, 405e6)},
			[]Window{{StartNS: wallNS + 205e6, StartWallNS: wallNS + 205e6, AfterStep: 20, StopNS: wallNS + 405e6, StopAfterStep: 40, LongestNS: 10e6}}},
		{"a stop that writes the traces", map[int64]*record.Line{21: marker("dp0-pid1", "start", 20, 205e6), 41: slow},
			[]Window{{StartNS: wallNS + 205e6, StartWallNS: wallNS + 205e6, AfterStep: 20, StopNS: wallNS + 405e6, StopAfterStep: 40, LongestNS: 10e6, StopHeldNS: 26e9}}},
		{"markers before lines of steps in flight", map[int64]*record.Line{19: marker("dp0-pid1", "start", 20, 205e6), 39: marker("dp0-pid1", "stop", 40, 405e6)},
			[]Window{{StartNS: wallNS + 205e6, StartWallNS: wallNS + 205e6, AfterStep: 20, StopNS: wallNS + 405e6, StopAfterStep: 40, LongestNS: 10e6}}},
		{"still open", map[int64]*record.Line{21: marker("dp0-pid1", "start", 20, 205e6)},
			[]Window{{StartNS: wallNS + 205e6, StartWallNS: wallNS + 205e6, AfterStep: 20, LongestNS: 600e6}}},
		{"the stall of its last step", map[int64]*record.Line{21: marker("dp0-pid1", "start", 20, 205e6), 49: marker("dp0-pid1", "stop", 50, 485e6)},
			[]Window{{StartNS: wallNS + 205e6, StartWallNS: wallNS + 205e6, AfterStep: 20, StopNS: wallNS + 485e6, StopAfterStep: 50, LongestNS: 600e6}}},
		{"before the first step", map[int64]*record.Line{1: marker("dp0-pid1", "start", 0, 5e6), 11: marker("dp0-pid1", "stop", 10, 105e6)},
			[]Window{{StartNS: wallNS + 5e6, StartWallNS: wallNS + 5e6, StopNS: wallNS + 105e6, StopAfterStep: 10, LongestNS: 10e6}}},
		{"stopped before a step", map[int64]*record.Line{20: marker("dp0-pid1", "start", 20, 205e6), 21: stopAtOnce},
			[]Window{{StartNS: wallNS + 205e6, StartWallNS: wallNS + 205e6, AfterStep: 20, StopNS: wallNS + 210e6, StopAfterStep: 20, StopHeldNS: 3e6}}},
		{"a start that failed", map[int64]*record.Line{31: failed}, nil},
		{"a stop alone", map[int64]*record.Line{31: marker("dp0-pid1", "stop", 30, 305e6)}, nil},
		{"a lost stop", map[int64]*record.Line{11: marker("dp0-pid1", "start", 10, 105e6), 31: marker("dp0-pid1", "start", 30, 305e6), 41: marker("dp0-pid1", "stop", 40, 405e6)},
			[]Window{
				{StartNS: wallNS + 105e6, StartWallNS: wallNS + 105e6, AfterStep: 10, StopNS: wallNS + 305e6, StopAfterStep: 30, LongestNS: 10e6},
				{StartNS: wallNS + 305e6, StartWallNS: wallNS + 305e6, AfterStep: 30, StopNS: wallNS + 405e6, StopAfterStep: 40, LongestNS: 10e6},
			}},
	} {
		s := New(Options{})
		for i := int64(1); i <= 60; i++ {
			if l := c.lines[i]; l != nil {
				s.Line(0, l)
			}
			l := step("dp0-pid1", i, i*10e6)
			if i == 50 { // the export
				l.Step.CompleteMonoNS += 590e6
			}
			if i > 50 {
				l = step("dp0-pid1", i, i*10e6+590e6)
			}
			s.Line(0, l)
		}
		f := s.Snapshot().Frame(Query{Columns: 200, SpanNS: 1500e6})
		if len(f.Windows) != len(c.want) {
			t.Errorf("%s: %+v", c.name, f.Windows)
			continue
		}
		for i, w := range c.want {
			w.Engine = "dp0-pid1"
			if f.Windows[i] != w || f.Windows[i].Empty() != (c.name == "stopped before a step") {
				t.Errorf("%s: window %d\n got %+v\nwant %+v", c.name, i, f.Windows[i], w)
			}
		}
		checkPerturbed(t, c.name, f)
	}
}

// checkPerturbed compares the marks with the windows: from the start marker to the stop, and to the end of the last step in it.
func checkPerturbed(t *testing.T, name string, f *Frame) {
	for i := range f.Columns {
		c := &f.Columns[i]
		want := false
		for _, w := range f.Windows {
			end := w.StopNS
			if w.StopNS == 0 {
				end = f.Run.Counts.LastNS
			} else if w.StopAfterStep == 50 {
				end = wallNS + 510e6 + 590e6
			} else if w.StopNS%1e7 != 0 { // the step in flight at the marker completes 5 ms later
				end = w.StopNS + 5e6
			}
			want = want || w.StartNS < c.StartNS+f.BucketNS && end >= c.StartNS
		}
		if c.Perturbed != want {
			t.Errorf("%s: column %d at %d is perturbed: %v", name, i, c.StartNS-wallNS, c.Perturbed)
		}
	}
}

func TestWindowsAreBounded(t *testing.T) {
	var w windows
	for i := range int64(windowsKept + 10) {
		w.mark(&record.Profile{Action: "start", AfterStep: i}, i*10)
		w.mark(&record.Profile{Action: "stop", AfterStep: i}, i*10+5)
	}
	if len(w.list) != windowsKept || w.list[0].AfterStep != 10 {
		t.Errorf("%d windows, the oldest after step %d", len(w.list), w.list[0].AfterStep)
	}
}

// A window of a process that is gone will not be stopped any more.
func TestRestartClosesAWindow(t *testing.T) {
	s := steady(10)
	s.Line(0, marker("dp0-pid1", "start", 10, 115e6))
	s.Line(0, step("dp0-pid1", 11, 120e6))
	for i := int64(1); i < 100; i++ {
		s.Line(0, step("dp0-pid1", i, 10*second+i*10e6))
	}
	f := s.Snapshot().Frame(Query{Columns: 100})
	if len(f.Windows) != 1 || f.Windows[0].StopNS == 0 || f.Columns[len(f.Columns)-2].Perturbed {
		t.Errorf("%+v", f.Windows)
	}
}
