package tui

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/panel"
)

func eventName(ev store.Event) string {
	switch ev {
	case store.EventPreemption:
		return "preemption"
	case store.EventGraphMiss:
		return "graph miss"
	case store.EventStall:
		return "stall"
	case store.EventWindow:
		return "profiler window"
	}
	return "gap"
}

// find asks for the next or the previous event from the cursor.
func (b *board) find(ev store.Event, forward bool) tea.Cmd {
	j := jump{ctx: b.ctx, source: b.source, engine: b.engine}
	from, v := b.cursorNS(), b.view()
	return func() tea.Msg { return j.find(ev, from, forward, v) }
}

// jump asks a source where to go. It runs beside the event loop.
type jump struct {
	ctx    context.Context
	source StepSource
	engine string
}

// find goes to the next event, and round to the other end of the run when there is none.
func (j jump) find(ev store.Event, fromNS int64, forward bool, v view) foundMsg {
	name, round := eventName(ev), ""
	at, ok, err := j.source.Find(j.ctx, ev, j.engine, fromNS, forward)
	if err == nil && !ok {
		end := v.firstNS - 1
		round = "no later " + name + ": back to the first.  "
		if !forward {
			end = v.lastNS + 1
			round = "no earlier " + name + ": on to the last.  "
		}
		at, ok, err = j.source.Find(j.ctx, ev, j.engine, end, forward)
	}
	switch {
	case err != nil:
		return foundMsg{text: name + ": " + err.Error()}
	case !ok:
		return foundMsg{text: "no " + name + " in this run"}
	}
	return foundMsg{atNS: at, ok: true, text: round + name + j.describe(ev, at)}
}

// describe says what happened at the time of an event: nothing where its step is not kept any more.
func (j jump) describe(ev store.Event, atNS int64) string {
	f, now := j.at(atNS, "")
	if now == nil || now.TimeNS != atNS {
		return ""
	}
	step := ": step " + unit.Count(now.StepIndex)
	switch ev {
	case store.EventPreemption:
		return step + ", " + unit.Counted(now.Preemptions, "request")
	case store.EventGraphMiss:
		if now.Graph == nil {
			return step
		}
		return step + ", " + now.Graph.Mode.String() + ", " + unit.Counted(now.Graph.UnpaddedTokens, "token")
	case store.EventStall:
		return step + ", " + unit.Known(now.PeriodNS, unit.Duration) + inWindow(f, now)
	case store.EventWindow:
		return describeWindow(f, now)
	}
	return j.describeGap(f, now)
}

// inWindow names the profiler window that a step belongs to; and says where it is the longest, as the one that the export holds up mostly is.
func inWindow(f *store.Frame, now *store.Instant) string {
	for i := range f.Windows {
		w := &f.Windows[i]
		if now.StepIndex <= w.AfterStep || w.StopNS != 0 && now.StepIndex > w.StopAfterStep || now.TimeNS < w.StartNS {
			continue
		}
		text := ", in profiler window " + panel.WindowName(f, i)
		if now.PeriodNS != nil && w.LongestNS > 0 && *now.PeriodNS >= w.LongestNS {
			text += " (its longest step)"
		}
		return text
	}
	return ""
}

func describeWindow(f *store.Frame, now *store.Instant) string {
	for i := range f.Windows {
		w := &f.Windows[i]
		if now.StepIndex != w.AfterStep+1 {
			continue
		}
		name := " " + panel.WindowName(f, i) + ": "
		switch {
		case w.StopNS == 0:
			return fmt.Sprintf("%sfrom step %s, open", name, unit.Count(w.AfterStep+1))
		case w.Empty():
			return name + "stopped before its first step"
		case w.LongestNS == 0:
			return fmt.Sprintf("%ssteps %s to %s", name, unit.Count(w.AfterStep+1), unit.Count(w.StopAfterStep))
		}
		return fmt.Sprintf("%ssteps %s to %s, longest step %s", name, unit.Count(w.AfterStep+1), unit.Count(w.StopAfterStep), unit.Duration(w.LongestNS))
	}
	return ": step " + unit.Count(now.StepIndex)
}

// describeGap compares the step with the one before it.
func (j jump) describeGap(f *store.Frame, now *store.Instant) string {
	engine := engineAt(f, now)
	_, before := j.at(now.TimeNS-1, engine)
	switch {
	case before == nil:
		return ": step " + unit.Count(now.StepIndex) + " follows nothing that is known"
	case before.StepIndex >= now.StepIndex:
		return fmt.Sprintf(": the step index goes back from %s to %s: another server wrote on", unit.Count(before.StepIndex), unit.Count(now.StepIndex))
	case before.StepIndex+1 == now.StepIndex:
		return ": the file was interrupted before step " + unit.Count(now.StepIndex)
	}
	dropped := "none reported as dropped"
	if now.Dropped > 0 {
		dropped = unit.Count(now.Dropped) + " reported as dropped"
	}
	n := now.StepIndex - before.StepIndex - 1
	return ": " + missingSteps(before.StepIndex+1, now.StepIndex-1) + " missing (" + unit.Count(n) + "), " + dropped
}

func missingSteps(first, last int64) string {
	if first == last {
		return "step " + unit.Count(first)
	}
	return "steps " + unit.Count(first) + " to " + unit.Count(last)
}

// at is the newest step at a moment, of one engine or of that which completed it, with the frame that tells it; nil when none is known.
func (j jump) at(atNS int64, engine string) (*store.Frame, *store.Instant) {
	if engine == "" {
		engine = j.engine
	}
	f, err := j.source.Frame(j.ctx, store.Query{Engine: j.engine, AtNS: atNS, SpanNS: 1, Columns: 1})
	if err != nil {
		return nil, nil
	}
	now := (*store.Instant)(nil)
	for i := range f.Engines {
		e := &f.Engines[i]
		if (engine == "" || e.ID == engine) && e.Now.Known && e.Now.TimeNS <= atNS && (now == nil || e.Now.TimeNS > now.TimeNS) {
			now = &e.Now
		}
	}
	return f, now
}

// engineAt is the engine whose newest step this is.
func engineAt(f *store.Frame, now *store.Instant) string {
	for i := range f.Engines {
		if &f.Engines[i].Now == now {
			return f.Engines[i].ID
		}
	}
	return ""
}
