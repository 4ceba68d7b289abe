package report

import (
	"opprof/campaign/bench"
	"opprof/campaign/plan"
)

// Input is all that a report is made of.
type Input struct {
	Plan        *plan.Plan
	Runs        []Run // that ended, in the order of the campaign
	SecondLook  bool  // the declared second look was taken
	Environment []Fact
	Backends    []string // the server's lines about its backends
	Deviations  []string // from the plan, in sentences
}

// Fact is a name with what is known of it.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Run is what is known of one run that ended. Nil is unknown.
type Run struct {
	plan.Run
	Void    string // why the run cannot count, from the one who ran it; "" when nothing is known against it
	Result  *bench.Result
	Layer1  *Layer1 // nil for a run without a recorder
	CPU     *CPU
	Checks  []Check
	Machine *Machine
}

// Machine is where a run took place. "" is unknown.
type Machine struct {
	Name   string `json:"name"` // of the host
	GPU    string `json:"gpu"`  // names and how many
	Driver string `json:"driver"`
	Clocks string `json:"clocks"` // as the GPU had them during the run, with unit
}

// Layer1 is what the recorder of a run left.
type Layer1 struct {
	Steps           int64    `json:"steps"`
	BytesPerStep    *float64 `json:"bytes_per_step"`
	QueueHigh       *int64   `json:"queue_high_watermark"`
	Dropped         *int64   `json:"dropped"`
	ForegroundP50US *float64 `json:"foreground_p50_us"` // per step, in the thread that serves
	ForegroundP99US *float64 `json:"foreground_p99_us"`
}

// CPU is the mean use of processors, in cores.
type CPU struct {
	Engine   *float64 `json:"engine_cores"`
	FrontEnd *float64 `json:"front_end_cores"`
}

// Check is a check of a run's correctness.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}
