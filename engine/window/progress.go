package window

import (
	"fmt"
	"slices"
	"strings"

	"opprof/engine/control"
	"opprof/engine/record"
	"opprof/engine/unit"
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

// stopped takes an engine's word that its profiler was stopped: what was kept of a loose window behind it has no label. A server that writes its
// traces within that call makes no step meanwhile.
func (c *Controller) stopped(w *Window, p *record.Profile) {
	e := w.engine(p.EngineID)
	if e == nil || p.Action != record.ActionStop {
		return
	}
	held := p.ReturnMonoNS - p.MonoNS
	e.longestNS, e.behindNS = max(e.longestNS, held), max(e.behindNS, held)
	if !c.settings.Loose {
		return
	}
	e.stopAfter = p.AfterStep
	e.keep(0, p.AfterStep)
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
func (c *Controller) follow(w *Window, s *record.Step, periodNS *int64) {
	e := w.engine(s.EngineID)
	if e == nil || s.StepIndex <= e.LastStep {
		return
	}
	e.LastStep = s.StepIndex
	var period int64
	if periodNS != nil {
		period = *periodNS
	}
	e.longestNS = max(e.longestNS, period)
	switch {
	case c.labels(e, s.StepIndex):
		e.Steps = append(e.Steps, LabelledStep{Index: s.StepIndex, PrefillRequests: s.PrefillRequests, PrefillTokens: s.PrefillTokens,
			DecodeRequests: s.DecodeBatchSize, DecodeTokens: s.DecodeTokens, SubmitWallNS: s.SubmitWallNS, PeriodNS: period})
	case s.StepIndex > e.AfterStep+c.settings.Skip:
		e.behindNS = max(e.behindNS, period)
	}
}

// exportNS is the longest period from the last labelled step on: the profiler ends there and writes its traces, which holds serving up. A
// longer step before it, such as one that compiled a kernel, is none of the export's. Where no labels are known it is the longest of all.
func (e *EngineWindow) exportNS() int64 {
	if len(e.Steps) == 0 {
		return e.longestNS
	}
	return max(e.behindNS, e.Steps[len(e.Steps)-1].PeriodNS)
}

// keep drops the kept steps outside of some, and takes the periods of those behind.
func (e *EngineWindow) keep(first, last int64) {
	e.Steps = slices.DeleteFunc(e.Steps, func(s LabelledStep) bool {
		if s.Index > last {
			e.behindNS = max(e.behindNS, s.PeriodNS)
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
		return step > first && len(e.Steps) < looseMost && (e.stopAfter == 0 || step <= e.stopAfter)
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

// Inspected takes what reading the files found and ends the window.
func (c *Controller) Inspected(nowNS int64, n int, found Inspection, err error) []Action {
	w := c.active
	if w == nil || w.N != n || !w.reading {
		return nil
	}
	w.Found = found.Ranks
	w.keepLabelled(found.Labelled)
	problems := slices.Clone(found.Problems)
	if err != nil {
		problems = append(problems, err.Error())
	}
	if w.stopError != nil {
		problems = append(problems, w.stopError.Error())
	}
	if want := c.settings.Ranks; len(found.Ranks) < want {
		problems = append(problems, fmt.Sprintf("%d of %d ranks left a trace", len(found.Ranks), want))
	}
	for _, f := range w.Files {
		if !f.Complete {
			problems = append(problems, f.Path+" is not complete")
		}
	}
	for _, r := range found.Ranks {
		switch {
		case c.settings.Loose && r.Labels == 0:
			problems = append(problems, fmt.Sprintf("rank %d has no labelled step", r.Rank))
		case !c.settings.Loose && r.Labels != c.settings.MaxIterations:
			problems = append(problems, fmt.Sprintf("rank %d has %s of %d", r.Rank, unit.Counted(r.Labels, "labelled step"), c.settings.MaxIterations))
		}
		if r.LostEvents > 0 {
			problems = append(problems, fmt.Sprintf("rank %d lost %s to damage", r.Rank, unit.Counted(r.LostEvents, "event")))
		}
	}
	switch {
	case len(problems) == 0:
	case found.Cause != "":
		problems = append([]string{found.Cause}, problems...)
	case w.cause != "" && w.stopError == nil:
		problems = append([]string{w.cause}, problems...)
	}
	state := control.WindowVerified
	switch {
	case len(found.Ranks) == 0:
		state = control.WindowFailed
	case len(problems) > 0:
		state = control.WindowIncomplete
	}
	c.finish(nowNS, w, state, strings.Join(problems, "; "))
	return c.take()
}

// keepLabelled drops the steps that no label is of. An engine of which that is not known keeps all.
func (w *Window) keepLabelled(labelled map[string][2]int64) {
	for i := range w.Engines {
		e := &w.Engines[i]
		if r, ok := labelled[e.ID]; ok {
			e.labelled = true
			e.keep(r[0], r[1])
		}
	}
}

func (c *Controller) finish(nowNS int64, w *Window, state, reason string) {
	var stall int64
	for i, e := range w.Engines {
		if c.settings.Loose && !e.labelled { // which steps it recorded is not known
			e.Steps, w.Engines[i].Steps = nil, nil
		}
		if n := len(e.Steps); i == 0 && n > 0 {
			first, last := e.Steps[0].Index, e.Steps[n-1].Index
			w.First, w.Last = &first, &last
		}
		stall = max(stall, w.Engines[i].exportNS())
	}
	if stall > 0 {
		w.StallNS = &stall
	}
	c.active, w.reading = nil, false
	c.change(nowNS, w, state, reason)
	c.startNow(nowNS)
}

// ServerStopping ends everything, for a reason: armed windows are cancelled, a running one is stopped.
func (c *Controller) ServerStopping(nowNS int64, why string) []Action {
	c.stopAll(nowNS, why)
	return c.take()
}

func (c *Controller) stopAll(nowNS int64, why string) {
	for _, w := range c.windows {
		if w.State == control.WindowArmed {
			c.change(nowNS, w, control.WindowCancelled, why)
		}
	}
	if w := c.active; w != nil && (w.State == control.WindowRecording || w.State == control.WindowStarting) {
		c.flush(nowNS, w, why)
	}
}

// ServerGone ends what no stop can end any more. Files that are there are still looked at.
func (c *Controller) ServerGone(nowNS int64) []Action {
	c.stopAll(nowNS, "the server is gone")
	clear(c.last) // another one would count its steps anew
	c.actions = slices.DeleteFunc(c.actions, func(a Action) bool { return a.Kind == PostStop })
	if w := c.active; w != nil && !w.reading {
		w.Stopped = max(w.Stopped, nowNS)
		w.stopError = fmt.Errorf("the server ended while the window was open")
		if len(w.Files) > 0 {
			c.inspect(nowNS, w)
		} else {
			c.finish(nowNS, w, control.WindowFailed, w.stopError.Error())
		}
	}
	return c.take()
}
