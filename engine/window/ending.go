package window

import (
	"fmt"
	"slices"
	"strings"

	"opprof/engine/control"
	"opprof/engine/unit"
)

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

// keepLabelled drops the steps that no label is of.
func (w *Window) keepLabelled(labelled map[string]Labelled) {
	for i := range w.Engines {
		e := &w.Engines[i]
		if r, ok := labelled[e.ID]; ok {
			e.labelled, e.whole = true, r.Whole
			e.keep(r.First, r.Last)
		}
	}
}

// finish ends a window. Of an engine whose labels are not known no step is kept: nothing says which ones it recorded. Of several exports the longest
// is told.
func (c *Controller) finish(nowNS int64, w *Window, state, reason string) {
	for i := range w.Engines {
		e := &w.Engines[i]
		if !e.labelled {
			e.Steps = nil
		}
		if n := len(e.Steps); i == 0 && n > 0 {
			first, last := e.Steps[0].Index, e.Steps[n-1].Index
			w.First, w.Last = &first, &last
		}
		if ns := e.exportNS(); ns != nil && (w.StallNS == nil || *ns > *w.StallNS) {
			w.StallNS = ns
		}
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
