package window

import (
	"fmt"
	"slices"

	"opprof/engine/control"
	"opprof/engine/record"
	"opprof/engine/stall"
)

// StartReturned takes the answer to /start_profile. The call may have worked although the answer was lost, so a stop is sent after a
// failure too.
func (c *Controller) StartReturned(nowNS int64, n int, err error) []Action {
	w := c.active
	if w == nil || w.N != n || w.State != control.WindowStarting {
		return nil
	}
	w.Started = nowNS
	if err != nil {
		w.stopError = fmt.Errorf("the server did not start its profiler: %w", err)
		c.change(nowNS, w, control.WindowFlushing, w.stopError.Error())
		c.stop(nowNS, w)
		return c.take()
	}
	c.stepNS = nowNS
	c.change(nowNS, w, control.WindowRecording, "")
	c.flushWhenFull(nowNS, w)
	return c.take()
}

// Marker takes the line that an engine wrote when its profiler was started or stopped. atNS is when the engine was asked, on the clock of
// nowNS: a line from before the window's start, read late, is not its marker.
func (c *Controller) Marker(nowNS, atNS int64, p *record.Profile) []Action {
	w := c.active
	if w == nil || atNS < w.Starts {
		return nil
	}
	if p.Action != record.ActionStart {
		c.stopped(w, p)
		return nil
	}
	if p.OK != nil && !*p.OK {
		w.stopError = fmt.Errorf("engine %s could not start its profiler: %s", p.EngineID, p.Error)
		return nil
	}
	if w.engine(p.EngineID) == nil {
		w.Engines = append(w.Engines, EngineWindow{ID: p.EngineID, AfterStep: p.AfterStep, LastStep: p.AfterStep})
	}
	return c.take()
}

// stopped takes an engine's word that its profiler was stopped: what was kept of a loose window behind it has no label.
func (c *Controller) stopped(w *Window, p *record.Profile) {
	e := w.engine(p.EngineID)
	if e == nil || p.Action != record.ActionStop {
		return
	}
	e.stop = &stall.Stop{AfterStep: p.AfterStep, HeldNS: p.ReturnMonoNS - p.MonoNS}
	if c.settings.Loose {
		e.keep(0, p.AfterStep)
	}
}

func (w *Window) engine(id string) *EngineWindow {
	for i := range w.Engines {
		if w.Engines[i].ID == id {
			return &w.Engines[i]
		}
	}
	return nil
}

// follow keeps the steps that the profiler labels. Steps may be read before the answer to the start is.
func (c *Controller) follow(w *Window, s *record.Step) {
	e := w.engine(s.EngineID)
	if e == nil || s.StepIndex <= e.LastStep {
		return
	}
	e.LastStep = s.StepIndex
	if n := len(e.Steps); n > 0 && s.StepIndex == e.Steps[n-1].Index+1 {
		e.behind = &stall.Step{Index: s.StepIndex, SpanNS: s.SubmitToCompleteNS()}
	}
	if c.labels(e, s.StepIndex) {
		e.Steps = append(e.Steps, LabelledStep{Index: s.StepIndex, PrefillRequests: s.PrefillRequests, PrefillTokens: s.PrefillTokens,
			DecodeRequests: s.DecodeBatchSize, DecodeTokens: s.DecodeTokens, SubmitWallNS: s.SubmitWallNS, SpanNS: s.SubmitToCompleteNS()})
	}
}

// exportNS is how long the export held serving up; nil where the files do not say which steps were labelled, or where they end.
func (e *EngineWindow) exportNS() *int64 {
	if !e.labelled || !e.whole {
		return nil
	}
	labelled := make([]stall.Step, len(e.Steps))
	for i, s := range e.Steps {
		labelled[i] = stall.Step{Index: s.Index, SpanNS: s.SpanNS}
	}
	if ns, ok := stall.Export(labelled, e.behind, e.stop); ok {
		return &ns
	}
	return nil
}

// keep drops the kept steps outside of some, and remembers the one behind.
func (e *EngineWindow) keep(first, last int64) {
	e.Steps = slices.DeleteFunc(e.Steps, func(s LabelledStep) bool {
		if s.Index == last+1 {
			e.behind = &stall.Step{Index: s.Index, SpanNS: s.SpanNS}
		}
		return s.Index < first || s.Index > last
	})
}

// looseMost bounds the steps that are kept of a window whose labels are not counted before they are read.
const looseMost = 4096

// labels reports whether the profiler may label a step.
func (c *Controller) labels(e *EngineWindow, step int64) bool {
	first := e.AfterStep + c.settings.Skip
	if c.settings.Loose {
		return step > first && len(e.Steps) < looseMost && (e.stop == nil || step <= e.stop.AfterStep)
	}
	return step > first && step <= first+c.settings.MaxIterations
}

// flushWhenFull ends a recording window whose steps have gone past it. The worker stops by itself at the step after the last labelled
// one; when that has completed on every engine, the export is over or under way and the stop cuts nothing off.
func (c *Controller) flushWhenFull(nowNS int64, w *Window) {
	if w.State != control.WindowRecording || len(w.Engines) == 0 {
		return
	}
	for _, e := range w.Engines {
		if e.LastStep <= e.AfterStep+c.settings.Skip+c.settings.MaxIterations {
			return
		}
	}
	c.flush(nowNS, w, "")
}

// flush sends the stop and waits for the files.
func (c *Controller) flush(nowNS int64, w *Window, cause string) {
	w.cause = cause
	c.change(nowNS, w, control.WindowFlushing, cause)
	c.stop(nowNS, w)
}

func (c *Controller) stop(nowNS int64, w *Window) {
	if w.stopSent {
		return
	}
	w.stopSent = true
	w.Stops = nowNS
	c.decide(PostStop, w)
}

// StopReturned takes the answer to /stop_profile.
func (c *Controller) StopReturned(nowNS int64, n int, err error) []Action {
	w := c.active
	if w == nil || w.N != n || !w.stopSent || w.Stopped > 0 {
		return nil
	}
	w.Stopped = nowNS
	if err != nil && w.stopError == nil {
		w.stopError = fmt.Errorf("the server did not stop its profiler: %w", err)
	}
	if w.Started > 0 && w.stopError != nil && len(w.Files) == 0 && len(w.Engines) == 0 {
		c.finish(nowNS, w, control.WindowFailed, w.stopError.Error())
		return c.take()
	}
	c.inspectWhenComplete(nowNS, w)
	return c.take()
}

// Files takes the trace files that appeared since the window started.
func (c *Controller) Files(nowNS int64, n int, files []File) []Action {
	w := c.active
	if w == nil || w.N != n {
		return nil
	}
	w.Files = slices.Clone(files)
	if w.State == control.WindowRecording && c.allComplete(w) {
		c.flush(nowNS, w, "")
	}
	c.inspectWhenComplete(nowNS, w)
	return c.take()
}

// allComplete reports whether every expected rank's file is whole.
func (c *Controller) allComplete(w *Window) bool {
	complete := 0
	for _, f := range w.Files {
		if !f.Complete {
			return false
		}
		complete++
	}
	return complete >= max(c.settings.Ranks, 1)
}

func (c *Controller) inspectWhenComplete(nowNS int64, w *Window) {
	if w.State == control.WindowFlushing && w.Stopped > 0 && !w.reading && c.allComplete(w) && c.settled(nowNS, w) {
		c.inspect(nowNS, w)
	}
}

// settleNS is how long after the stop the record of the step that the export held up may take to be read.
const settleNS = 1_500_000_000

// settled reports whether the step behind the last labelled one, which the export holds up, was seen on every engine, or will not come.
func (c *Controller) settled(nowNS int64, w *Window) bool {
	if nowNS-w.Stopped > settleNS {
		return true
	}
	for _, e := range w.Engines {
		if e.LastStep <= e.AfterStep+c.settings.Skip+c.settings.MaxIterations {
			return false
		}
	}
	return true
}

func (c *Controller) inspect(nowNS int64, w *Window) {
	if w.reading {
		return
	}
	w.reading, w.stateNS = true, nowNS
	for i := range w.Engines {
		e := &w.Engines[i]
		e.PerturbedLast = max(c.last[e.ID], e.LastStep)
	}
	a := c.decide(Inspect, w)
	w.Loose = c.settings.Loose
	a.Window = w.copy()
	for _, f := range w.Files {
		a.Paths = append(a.Paths, f.Path)
	}
}

// Tick lets time pass: deadlines, ended traffic, time triggers.
func (c *Controller) Tick(nowNS int64) []Action {
	s := c.settings
	w := c.active
	if w == nil {
		c.startNow(nowNS)
		return c.take()
	}
	c.inspectWhenComplete(nowNS, w)
	age := nowNS - w.stateNS
	switch {
	case w.State == control.WindowStarting && age > s.StartDeadlineNS:
		w.stopError = fmt.Errorf("the server did not answer /start_profile within %d s", s.StartDeadlineNS/1e9)
		c.flush(nowNS, w, w.stopError.Error())
	case w.State == control.WindowRecording && nowNS-c.stepNS > s.IdleNS:
		c.flush(nowNS, w, fmt.Sprintf("no step for %d s: the traffic ended inside the window", s.IdleNS/1e9))
	case w.State == control.WindowRecording && age > s.RecordLimitNS:
		c.flush(nowNS, w, fmt.Sprintf("the window did not fill within %d s", s.RecordLimitNS/1e9))
	case w.State == control.WindowFlushing && w.Stopped == 0 && nowNS-w.Stops > s.StopDeadlineNS:
		return c.StopReturned(nowNS, w.N, fmt.Errorf("no answer to /stop_profile within %d s", s.StopDeadlineNS/1e9))
	case w.State == control.WindowFlushing && w.Stopped > 0 && !w.reading && nowNS-w.Stopped > s.FilesDeadlineNS:
		c.filesAreLate(nowNS, w)
	}
	return c.take()
}

func (c *Controller) filesAreLate(nowNS int64, w *Window) {
	if len(w.Files) == 0 {
		reason := fmt.Sprintf("no trace appeared within %d s of the stop%s", c.settings.FilesDeadlineNS/1e9, c.where())
		if w.stopError != nil {
			reason = w.stopError.Error() + "; " + reason
		}
		c.finish(nowNS, w, control.WindowFailed, reason)
		return
	}
	c.inspect(nowNS, w)
}

// where names the place that was looked at.
func (c *Controller) where() string {
	switch s := c.settings; {
	case s.Folder == "":
		return ""
	case s.Loose:
		return " in " + s.Folder + ", and the server's profiler may write elsewhere: opprof attach RUN --url URL --traces FOLDER looks there"
	default:
		return " in " + s.Folder
	}
}
