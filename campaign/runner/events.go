package runner

import (
	"opprof/campaign/plan"
	"opprof/engine/supervisor/process"
)

// Names of the journal's events.
const (
	eventCreated  = "campaign_created"
	eventRunner   = "runner_started"
	eventStarted  = "run_started"
	eventState    = "run_state"
	eventDone     = "run_done"
	eventDropped  = "run_dropped" // it was interrupted and counts for nothing
	eventPairDone = "pair_done"
	eventPairVoid = "pair_void"
	eventLook     = "second_look"
	eventPaused   = "paused"
	eventClosed   = "closed"
)

// Payloads of the events.
type (
	createdEvent struct {
		Name string `json:"name"`
		Plan string `json:"plan_sha256"` // of plan.json
	}
	runnerEvent struct {
		PID       int     `json:"pid"`
		StartTime uint64  `json:"starttime"`
		UntilNS   *int64  `json:"until_wall_ns"`
		Version   string  `json:"version"` // of opprof
		Machine   Machine `json:"machine"`
	}
	startedEvent struct {
		Run     string    `json:"run"`
		Dir     string    `json:"dir"` // below runs
		Attempt int       `json:"attempt"`
		Kind    plan.Kind `json:"kind"`
		Cell    string    `json:"cell"`
		Arm     string    `json:"arm"`
		Pair    int       `json:"pair"`
		Order   string    `json:"order"`
	}
	stateEvent struct {
		Run   string            `json:"run"`
		State string            `json:"state"`
		Load  *process.Identity `json:"load"` // the generator's process, while it works
	}
	doneEvent struct {
		Run     string  `json:"run"`
		Dir     string  `json:"dir"`
		Results Outcome `json:"results"`
	}
	droppedEvent struct {
		Run    string `json:"run"`
		Dir    string `json:"dir"`
		Reason string `json:"reason"`
	}
	pairEvent struct {
		Cell   string `json:"cell"`
		Pair   int    `json:"pair"`
		Reason string `json:"reason"`
		Again  bool   `json:"again"` // it was interrupted and is begun again as a whole
	}
	lookEvent struct {
		Cells []string `json:"cells"` // whose first look was undecided
	}
	pausedEvent struct {
		Reason  string `json:"reason"`
		Refused bool   `json:"refused"`
	}
	closedEvent struct {
		Verdict string `json:"verdict"`
	}
)
