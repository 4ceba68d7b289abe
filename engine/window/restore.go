package window

import (
	"opprof/engine/control"
	"opprof/engine/query"
)

// Taken is a window of an owner that is gone, as its journal has it.
type Taken struct {
	control.Window
	StartsNS int64 // when its start was decided, on the clock of nowNS; 0 if it was not
}

const takenOver = "its supervisor was replaced while the window was open"

// RestoreGone takes the windows of another owner whose server has ended meanwhile: those that had not ended have no more to come.
func (c *Controller) RestoreGone(nowNS int64, taken []Taken) []Action {
	c.Hold(true)
	c.actions = c.Restore(nowNS, taken)
	return c.ServerGone(nowNS)
}

// Restore continues the windows of another owner: finished ones stay as they are, armed ones stay armed, and one that ran is stopped,
// since a profiler that is left on fills the memory of its worker.
func (c *Controller) Restore(nowNS int64, taken []Taken) []Action {
	for _, t := range taken {
		w := &Window{Window: t.Window, Starts: t.StartsNS, stateNS: nowNS, ordinal: 1}
		w.N = len(c.windows) + 1
		w.FromStep, w.Held = 0, 0 // steps are counted anew
		c.windows = append(c.windows, w)
		switch w.State {
		case control.WindowArmed:
			if w.Trigger.Kind == control.TriggerExpr {
				var err error
				if w.query, err = query.Compile(w.Trigger.Expr); err != nil {
					c.change(nowNS, w, control.WindowFailed, err.Error())
				}
			}
			for _, before := range c.windows[:len(c.windows)-1] {
				if before.State == control.WindowArmed && before.Trigger == w.Trigger {
					w.ordinal++
				}
			}
		case control.WindowStarting, control.WindowRecording, control.WindowFlushing:
			if c.active != nil {
				c.change(nowNS, w, control.WindowFailed, takenOver)
				continue
			}
			c.active = w
			w.Started = nowNS
			c.flush(nowNS, w, takenOver)
		}
	}
	return c.take()
}
