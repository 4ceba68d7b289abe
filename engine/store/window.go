package store

import (
	"slices"

	"opprof/engine/record"
)

// windowsKept bounds the windows of an engine: a server that captures one every minute for three days.
const windowsKept = 4096

// windowSpan is a window with what is needed to place it: its first step's time, and the end of its influence.
type windowSpan struct {
	Window
	firstNS int64 // completion of its first step; 0 before that step is read
	endNS   int64 // later of the stop and the completion of its last step; 0 while open
}

// windows are the profiler windows of one engine, by the markers in its stream.
type windows struct {
	list   []windowSpan
	shared bool // a snapshot holds the list

	lastStep, lastNS int64 // newest step, while a window is open
}

func (w *windows) own() {
	if w.shared {
		w.list, w.shared = slices.Clone(w.list), false
	}
}

// open reports the newest window while it waits for its stop.
func (w *windows) open() bool { return len(w.list) > 0 && w.list[len(w.list)-1].StopNS == 0 }

// mark takes a profile marker at a time on the axis. A start that failed opens nothing.
func (w *windows) mark(p *record.Profile, timeNS int64) {
	switch {
	case p.Action == record.ActionStart && (p.OK == nil || *p.OK):
		if w.open() {
			w.stop(timeNS, p.AfterStep) // its own stop was lost
		}
		w.own()
		if len(w.list) == windowsKept {
			w.list = slices.Delete(w.list, 0, 1)
		}
		w.list = append(w.list, windowSpan{Window: Window{Engine: p.EngineID, StartNS: timeNS, StartWallNS: p.WallNS, AfterStep: p.AfterStep}})
	case p.Action == record.ActionStop && w.open():
		w.stop(timeNS, p.AfterStep)
		last := &w.list[len(w.list)-1]
		last.StopHeldNS = max(0, p.ReturnMonoNS-p.MonoNS)
	}
}

func (w *windows) stop(timeNS, afterStep int64) {
	w.own()
	last := &w.list[len(w.list)-1]
	last.StopNS, last.StopAfterStep = max(timeNS, last.StartNS), afterStep
	last.endNS = last.StopNS
	if w.lastStep > last.AfterStep && w.lastStep <= afterStep {
		last.endNS = max(last.endNS, w.lastNS)
	}
}

// add looks whether the step belongs to the newest window. The lines of steps that were in flight at a marker follow it.
func (w *windows) add(s *record.Step, p Place) {
	if len(w.list) == 0 {
		return
	}
	last := &w.list[len(w.list)-1]
	w.lastStep, w.lastNS = s.StepIndex, p.TimeNS
	if s.StepIndex <= last.AfterStep || (last.StopNS != 0 && s.StepIndex > last.StopAfterStep) || p.OffAxis {
		return
	}
	if last.firstNS != 0 && p.PeriodNS <= last.LongestNS && (last.StopNS == 0 || p.TimeNS <= last.endNS) {
		return
	}
	w.own()
	last = &w.list[len(w.list)-1]
	if last.firstNS == 0 {
		last.firstNS = p.TimeNS
	}
	last.LongestNS = max(last.LongestNS, p.PeriodNS)
	if last.StopNS != 0 {
		last.endNS = max(last.endNS, p.TimeNS)
	}
}

// restart ends a window that the old process can no longer stop.
func (w *windows) restart(timeNS int64) {
	if w.open() {
		w.stop(timeNS, w.list[len(w.list)-1].AfterStep)
	}
}

// view is the list as a snapshot may keep it.
func (w *windows) view() []windowSpan {
	w.shared = true
	return w.list[:len(w.list):len(w.list)]
}

// atNS is where a reader who looks for the window goes: its first step, or the marker while that step is not known.
func (w *windowSpan) atNS() int64 {
	if w.firstNS != 0 {
		return w.firstNS
	}
	return w.StartNS
}

// addTo is add for steps that are read after all markers: any window may hold them.
func (w *windows) addTo(s *record.Step, p Place) {
	for i := range w.list {
		one := windows{list: w.list[i : i+1]}
		one.add(s, p)
	}
}
