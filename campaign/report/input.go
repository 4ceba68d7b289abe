package report

import (
	"strings"

	"opprof/campaign/bench"
	"opprof/campaign/plan"
)

// Input is all that a report is made of.
type Input struct {
	Plan        *plan.Plan
	Runs        []Run // that ended, in the order of the campaign
	Left        int   // pairs that have still to be judged: no verdict is given before
	SecondLook  bool  // the declared second look was taken
	Environment []Fact
	Backends    []string // the server's lines about its backends
	Deviations  []string // from the plan, in sentences
	Damage      []string // what of the campaign's folder is missing or was changed, in sentences: nothing is decided then
}

// pairsPlanned are the pairs of each cell.
func (in *Input) pairsPlanned() int {
	if in.SecondLook {
		return in.Plan.Campaign.Pairs + in.Plan.Campaign.SecondLookPairs
	}
	return in.Plan.Campaign.Pairs
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
	Cache   *Cache
}

// Cache is what the prefix cache of a run had been asked and had known when the load ended, in tokens since the server's start.
type Cache struct {
	Queries float64 `json:"queries"`
	Hits    float64 `json:"hits"`
}

// Machine is where a run took place. "" is unknown.
type Machine struct {
	Name   string `json:"name"` // of the host
	GPU    string `json:"gpu"`  // names and how many
	Driver string `json:"driver"`
	Clocks string `json:"clocks"` // as the GPU had them during the run, with unit
}

// String names a machine with what may set it apart.
func (m *Machine) String() string {
	parts := []string{}
	for _, p := range []string{m.Name, m.GPU, m.Driver} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ", ")
}

// same reports whether runs on both may be compared. Clocks vary from run to run.
func (m *Machine) same(o *Machine) bool {
	return m.Name == o.Name && m.GPU == o.GPU && m.Driver == o.Driver
}

// Layer1 is what the recorder of a run left.
type Layer1 struct {
	Steps           int64    `json:"steps"`
	PeriodP50MS     *float64 `json:"period_p50_ms"` // median step period
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
	Workers  *float64 `json:"worker_cores"` // all together, where they are processes of their own
}

// Check is a check of a run's correctness.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}
