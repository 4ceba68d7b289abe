package runner

import (
	"context"
	"time"

	"opprof/campaign/plan"
	"opprof/engine/control"
	"opprof/engine/unit"
)

const (
	// leastEvery is the smallest distance of two windows, in steps: a window covers 10 and then exports.
	leastEvery = 20
	// settleLimit bounds how long the traces of the last window may take to be written.
	settleLimit = 5 * time.Minute
	settleEvery = time.Second
)

// arm spreads the windows of a run over its load: by steps, as many as a measured run of the cell had, so that they fall into the load however
// long its generator takes to begin.
func (m *measurement) arm(ctx context.Context, s Server) {
	count := min(m.plan.Campaign.Windows, control.MaxCount)
	steps := m.history.steps(m.plan, m.run.Cell)
	trigger := control.Trigger{Kind: control.TriggerEvery, Every: max(steps/int64(count+1), leastEvery)}
	if steps == 0 {
		trigger.Every = leastEvery
		m.remark("how many steps the load has is not known: windows follow each other every %d steps", leastEvery)
	}
	if err := s.Arm(ctx, trigger, count); err != nil {
		m.void("no windows could be armed: %v", err)
	}
}

// steps are those of a measured run of a cell, 0 when not known.
func (h *history) steps(p *plan.Plan, cell plan.Cell) (steps int64) {
	for _, r := range h.runs(p) {
		if r.Cell != cell || r.Arm != plan.On {
			continue
		}
		if a := h.last(r.ID()); a != nil && a.outcome != nil && a.outcome.Layer1 != nil {
			steps = a.outcome.Layer1.Steps
		}
	}
	return steps
}

// settleWindows takes back what did not start and waits until what did is written.
func (m *measurement) settleWindows(ctx context.Context, s Server) error {
	late := time.NewTimer(settleLimit)
	defer late.Stop()
	ticker := time.NewTicker(settleEvery)
	defer ticker.Stop()
	for {
		windows, err := s.Windows(ctx)
		if err != nil {
			m.void("the windows are not known: %v", err)
			return nil
		}
		open := 0
		for _, w := range windows {
			switch w.State {
			case control.WindowArmed:
				m.remark("window %d did not start during the load", w.N)
				if err := s.Cancel(ctx, w.N); err != nil {
					m.remark("window %d: %v", w.N, err)
				}
			case control.WindowStarting, control.WindowRecording, control.WindowFlushing:
				open++
			}
		}
		if open == 0 {
			m.countWindows(windows)
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-late.C:
			m.remark("not written in %s: %s", settleLimit, unit.Counted(open, "window"))
			m.countWindows(windows)
			return nil
		case <-ticker.C:
		}
	}
}

func (m *measurement) countWindows(windows []control.Window) {
	for _, w := range windows {
		switch w.State {
		case control.WindowVerified:
			m.outcome.Windows++
		case control.WindowFailed, control.WindowIncomplete:
			m.remark("window %d is %s: %s", w.N, w.State, w.Reason)
		}
	}
	if m.outcome.Windows == 0 {
		m.void("no window was verified")
	}
}
