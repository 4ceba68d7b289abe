package supervisor

import (
	"fmt"
	"time"

	"opprof/engine/control"
	"opprof/engine/vllm"
)

// facts are all that the state is judged by, at one moment.
type facts struct {
	dead     string // why the server is gone, "" while it is not
	stopping string // why it is being stopped, "" while it is not
	ready    bool   // it has answered /health once

	phase     control.Phase
	silence   time.Duration // since the last line of its log
	health    error         // the last answer to /health, nil for a good one
	unwell    time.Duration // since the last good answer
	stepped   bool          // a step was seen
	work      bool          // the last step of an engine left requests
	stepAge   time.Duration // since the last step
	exporting int           // number of the window whose traces are being written, 0 for none
}

// logSilence is how long a starting server may say nothing before that is worth a word. Weights load for minutes between two lines.
const logSilence = 2 * time.Minute

// judge says in which state a server with these facts is, and why. A hung engine still answers /health and a dead one ends with exit code
// 0, so that neither is believed alone.
func (t Timing) judge(f facts) (state, reason string) {
	switch {
	case f.dead != "":
		return control.Dead, f.dead
	case f.stopping != "":
		return control.Stopping, f.stopping
	case !f.ready:
		if f.silence > logSilence {
			return control.Starting, fmt.Sprintf("no line in the log for %s", f.silence.Round(10*time.Second))
		}
		return control.Starting, ""
	case f.health != nil && f.unwell > t.Unhealthy:
		return control.Stalled, fmt.Sprintf("no good answer to /health for %s: %v", f.unwell.Round(time.Second), f.health)
	case f.work && f.stepAge > t.Stall && f.exporting > 0:
		return control.Stalled, fmt.Sprintf("the traces of window %d are being written", f.exporting)
	case f.work && f.stepAge > t.Stall:
		return control.Stalled, fmt.Sprintf("requests exist and no step has completed for %s", f.stepAge.Round(time.Second))
	case !f.stepped:
		return control.Ready, ""
	case f.work || f.stepAge <= t.Idle:
		return control.Busy, ""
	}
	return control.Idle, ""
}

// serving are the states of a server that works as it should: changes between them are not events of a run.
func serving(state string) bool {
	return state == control.Ready || state == control.Busy || state == control.Idle
}

// written is a state as the journal has it: busy and idle are moments of a ready server.
func written(state string) string {
	if serving(state) {
		return control.Ready
	}
	return state
}

// phaseOf is the phase as the API has it.
func phaseOf(p vllm.Phase) control.Phase {
	return control.Phase{Name: p.Name, Done: p.Done, Total: p.Total}
}
