// Package progress is how a campaign stands: what its runner knows and what a screen or a script shows of it. It holds no state of its own.
package progress

import (
	"opprof/campaign/gate"
	"opprof/campaign/plan"
)

// States of a campaign.
const (
	Running  = "running"  // a runner works on it
	Paused   = "paused"   // pairs are left and no runner works: resume goes on
	Finished = "finished" // every run of the plan has ended
	Refused  = "refused"  // the machine or the results make going on pointless; Reason says why
)

// States of a run.
const (
	Pending  = "pending"
	Starting = "starting" // its server starts; Phase says how far
	Loading  = "loading"  // the load generator works
	Stopping = "stopping"
	Cooling  = "cooling" // the pause before the next run
	Done     = "done"
	Failed   = "failed" // Reason says why; a measured one voids its pair
)

// Campaign is how a campaign stands.
type Campaign struct {
	Schema     int     `json:"schema"`
	Name       string  `json:"name"`
	Path       string  `json:"path"`
	State      string  `json:"state"`
	Reason     string  `json:"reason"`
	RunnerPID  *int64  `json:"runner_pid"` // nil when none works
	StartedNS  *int64  `json:"started_wall_ns"`
	EndedNS    *int64  `json:"ended_wall_ns"`
	UntilNS    *int64  `json:"until_wall_ns"` // no pair is begun that would not end by then
	LeftNS     *int64  `json:"left_ns"`       // estimate, from the runs that ended and else from the plan
	LimitPct   float64 `json:"limit_pct"`
	SecondLook bool    `json:"second_look"` // it was taken
	Verdict    string  `json:"verdict"`     // the worst of the cells

	Units map[string]string `json:"units"` // of the metrics, by name; a metric without a known unit is left out

	Cells   []Cell   `json:"cells"`
	Current *Run     `json:"current"` // the run in progress
	Remarks []string `json:"remarks"` // what went wrong or deviates, in sentences
}

// Cell is one point of the matrix with its runs in their order.
type Cell struct {
	Name     string        `json:"name"`
	Planned  int           `json:"pairs_planned"`
	Counted  int           `json:"pairs_counted"`
	Void     int           `json:"pairs_void"`
	Decision gate.Decision `json:"gate"`
	Runs     []Run         `json:"runs"`
}

// Run is one server start.
type Run struct {
	ID        string             `json:"id"`
	Path      string             `json:"path"`
	Kind      plan.Kind          `json:"kind"`
	Arm       string             `json:"arm"`
	Pair      int                `json:"pair"`  // 0 unless measured
	Order     string             `json:"order"` // AB or BA
	State     string             `json:"state"`
	Phase     string             `json:"phase"` // of the start, as the server's log tells it
	Reason    string             `json:"reason"`
	Void      string             `json:"void"` // why its pair does not count
	StartedNS *int64             `json:"started_wall_ns"`
	EndedNS   *int64             `json:"ended_wall_ns"`
	Metrics   map[string]float64 `json:"metrics"` // those that are known
}
