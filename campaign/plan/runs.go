package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"opprof/engine/serverconf"
)

// Cell is one point of the matrix.
type Cell struct {
	Index          int // from 0
	TensorParallel int
	GraphMode      string
	Load           string
}

// String names a cell: a part of the ids of its runs.
func (c Cell) String() string {
	return fmt.Sprintf("tp%d-%s-%s", c.TensorParallel, strings.ToLower(c.GraphMode), c.Load)
}

// Kind says what a run is for.
type Kind string

// Kinds of runs, in the order in which a cell has them.
const (
	WarmUp   Kind = "warm_up"  // not measured: pays for page cache, compilation and graph capture
	Measured Kind = "measured" // one arm of a pair; no profiler is configured
	Windows  Kind = "windows"  // profiler windows for the calibration
	Experts  Kind = "experts"  // returns routed experts
)

// Run is one server start.
type Run struct {
	Index int // from 0, in the order of the campaign
	Cell  Cell
	Kind  Kind
	Arm   string
	Pair  int    // from 1; 0 unless measured
	Order string // AB when off runs before on in this pair, BA otherwise; "" unless measured
	Slot  int    // place within the pair, from 0
	Look  int    // 2 for pairs of the declared second look, else 1
}

// ID names the run's folder within the campaign.
func (r Run) ID() string {
	if r.Kind == Measured {
		return fmt.Sprintf("%s-p%03d-%d-%s", r.Cell, r.Pair, r.Slot+1, r.Arm)
	}
	return fmt.Sprintf("%s-%s-%d-%s", r.Cell, strings.ReplaceAll(string(r.Kind), "_", "-"), r.Slot+1, r.Arm)
}

// Cells are the points of the matrix: graph modes within loads within parallel sizes, so that neighbours share as much as they can.
func (p *Plan) Cells() []Cell {
	var out []Cell
	for _, tp := range p.Campaign.TensorParallel {
		for _, load := range p.Loads {
			for _, mode := range p.Campaign.GraphModes {
				out = append(out, Cell{len(out), tp, mode, load.Name})
			}
		}
	}
	return out
}

// Runs are all runs in their order. A cell is finished before the next begins, and the runs of a pair are neighbours. The pairs of a second
// look are included only if it is taken; they follow those of the first, which keep their places.
func (p *Plan) Runs(secondLook bool) []Run {
	var out []Run
	for _, cell := range p.Cells() {
		runs := p.warmUps(cell)
		for pair := 1; pair <= p.Campaign.Pairs; pair++ {
			runs = append(runs, p.pair(cell, pair, 1)...)
		}
		out = append(out, append(runs, p.after(cell)...)...)
	}
	if secondLook {
		for _, cell := range p.Cells() {
			for i := range p.Campaign.SecondLookPairs {
				out = append(out, p.pair(cell, p.Campaign.Pairs+1+i, 2)...)
			}
		}
	}
	for i := range out {
		out[i].Index = i
	}
	return out
}

func (p *Plan) warmUps(cell Cell) []Run {
	var out []Run
	for i := range p.Campaign.WarmUpRuns {
		for _, arm := range p.arms() {
			out = append(out, Run{Cell: cell, Kind: WarmUp, Arm: arm, Slot: i, Look: 1})
		}
	}
	return out
}

// arms are the arms in the order AB; an unpatched run stands at the end, so that off and on are neighbours.
func (p *Plan) arms() []string {
	if slices.Contains(p.Campaign.Arms, Unpatched) {
		return []string{Off, On, Unpatched}
	}
	return []string{Off, On}
}

// pair orders the arms of a pair: as they stand in one, reversed in the next.
func (p *Plan) pair(cell Cell, pair, look int) []Run {
	arms, order := p.arms(), "AB"
	if (pair%2 == 0) != (p.Campaign.Order == BAAB) {
		slices.Reverse(arms)
		order = "BA"
	}
	out := make([]Run, len(arms))
	for i, arm := range arms {
		out[i] = Run{Cell: cell, Kind: Measured, Arm: arm, Pair: pair, Order: order, Slot: i, Look: look}
	}
	return out
}

// after are the runs of a cell that must not come before its pairs: a worker that profiled once stays slower until it ends.
func (p *Plan) after(cell Cell) []Run {
	var out []Run
	if p.Campaign.Windows > 0 {
		out = append(out, Run{Cell: cell, Kind: Windows, Arm: On, Look: 1})
	}
	if p.Campaign.ExpertRequests > 0 {
		out = append(out, Run{Cell: cell, Kind: Experts, Arm: On, Look: 1})
	}
	return out
}

// Config is the server of a run: the campaign's, with what the cell, the kind and the arm change. Measured runs have no profiler at all.
func (p *Plan) Config(r Run) serverconf.Server {
	s := p.Server
	s.Args = slices.Clone(s.Args)
	s.TensorParallel = r.Cell.TensorParallel
	s.Record = r.Arm == On
	s.Patch = r.Arm != Unpatched
	s.Profiler.Enabled = r.Kind == Windows
	switch r.Cell.GraphMode {
	case GraphDefault:
	case GraphEager:
		s.Args = append(s.Args, "--enforce-eager")
	default:
		s.Args = append(s.Args, "-cc.cudagraph_mode="+r.Cell.GraphMode)
	}
	if r.Kind == Experts {
		s.Args = append(s.Args, "--enable-return-routed-experts")
	}
	return s
}

// Load is the load of a name; false when there is none.
func (p *Plan) Load(name string) (Load, bool) {
	i := slices.IndexFunc(p.Loads, func(l Load) bool { return l.Name == name })
	if i < 0 {
		return Load{}, false
	}
	return p.Loads[i], true
}

// Needs are what a campaign takes.
type Needs struct {
	Cells  int           `json:"cells"`
	Runs   int           `json:"runs"`
	GPUs   int           `json:"gpus"` // of the largest server
	Time   time.Duration `json:"time_ns"`
	Pair   time.Duration `json:"pair_time_ns"`        // of the longest pair: what --until must leave room for
	Second time.Duration `json:"second_look_time_ns"` // more, if the second look is taken
}

// Needs estimates what the campaign takes, by the estimates of the file.
func (p *Plan) Needs() Needs {
	n := Needs{Cells: len(p.Cells())}
	for _, tp := range p.Campaign.TensorParallel {
		n.GPUs = max(n.GPUs, tp*p.Server.PipelineParallel*p.Server.DataParallel)
	}
	pairs := map[string]time.Duration{}
	for _, r := range p.Runs(true) {
		took := p.Estimate(r)
		if r.Look == 2 {
			n.Second += took
			continue
		}
		n.Runs++
		n.Time += took
		if r.Kind == Measured {
			key := fmt.Sprint(r.Cell.Index, r.Pair)
			pairs[key] += took
			n.Pair = max(n.Pair, pairs[key])
		}
	}
	return n
}

// Estimate is how long a run takes: the start, the load and the cooldown. Windows make a load longer by their stalls, which is left out.
func (p *Plan) Estimate(r Run) time.Duration {
	d := time.Duration(p.Campaign.StartEstimate) + time.Duration(p.Campaign.Cooldown)
	if load, ok := p.Load(r.Cell.Load); ok {
		d += time.Duration(load.Estimate)
	}
	return d
}
