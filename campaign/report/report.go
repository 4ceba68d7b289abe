package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"opprof/campaign/gate"
	"opprof/campaign/plan"
	"opprof/campaign/stat"
	"opprof/engine/unit"
)

// Report is a campaign's report as its JSON has it.
type Report struct {
	Schema      int      `json:"schema"`
	Name        string   `json:"name"`
	Verdict     string   `json:"verdict"`  // the worst of the cells
	Sentence    string   `json:"sentence"` // to quote
	LimitPct    float64  `json:"limit_pct"`
	Model       string   `json:"model"`
	Planned     int      `json:"pairs_planned"` // of each cell
	SecondLook  bool     `json:"second_look"`
	Left        int      `json:"pairs_left"` // still to be judged: until then nothing is decided
	Cells       []Cell   `json:"cells"`
	Environment []Fact   `json:"environment"`
	Backends    []string `json:"backends"`
	Deviations  []string `json:"deviations"`
	Damage      []string `json:"-"` // also the first of the deviations
	Warnings    []string `json:"warnings"`
}

// Cell is one point of the matrix.
type Cell struct {
	Name     string        `json:"name"`
	Decision gate.Decision `json:"gate"`
	Pairs    []Pair        `json:"pairs"`
	Runs     []RunRow      `json:"runs"`
	Warnings []string      `json:"warnings"`
	Cost     []Cost        `json:"cost"`     // of the pairs that count
	Machines []MachineMean `json:"machines"` // of the pairs that count; empty when not known
	Same     Same          `json:"same_texts"`

	SelfTest *gate.Decision `json:"self_test"` // recorder off against the server as it was installed, of which neither records; null without that arm

	metrics []gate.Metric
	units   map[string]string // of the metrics, by name
}

// RunRow is one measured run.
type RunRow struct {
	ID       string             `json:"id"`
	Pair     int                `json:"pair"`
	Arm      string             `json:"arm"`
	Void     string             `json:"void"`
	Requests *int64             `json:"requests"`
	Failed   *int64             `json:"failed"`
	Metrics  map[string]float64 `json:"metrics"` // what is known of them
	Layer1   *Layer1            `json:"layer1"`
	CPU      *CPU               `json:"cpu"`
	Checks   []Check            `json:"checks"`
	Machine  *Machine           `json:"machine"`
	Cache    *Cache             `json:"prefix_cache"`
}

// New judges the runs so far.
func New(in *Input) *Report {
	p := in.Plan
	r := &Report{Schema: 1, Name: p.Name, LimitPct: p.Campaign.LimitPct, Model: cmp.Or(p.Server.ServedName, p.Server.Model), Planned: p.Campaign.Pairs, SecondLook: in.SecondLook,
		Environment: list(in.Environment), Backends: list(in.Backends), Deviations: list(slices.Concat(in.Damage, in.Deviations)), Damage: in.Damage, Warnings: list(p.Warnings)}
	for _, c := range p.Cells() {
		r.Cells = append(r.Cells, newCell(in, c))
	}
	r.Left = in.Left
	r.conclude()
	return r
}

// list makes an empty list of nil, for JSON.
func list[T any](v []T) []T { return append([]T{}, v...) }

func newCell(in *Input, c plan.Cell) Cell {
	out := Cell{Name: c.String(), Pairs: list(pairsOf(in, c)), Runs: []RunRow{}, Warnings: []string{}}
	out.metrics = metricsOf(in.Plan, out.Pairs)
	// Both looks of a campaign that declared two use the stricter bound: the first could have ended it.
	out.Decision = gate.Decide(out.metrics, gate.Options{Limit: in.Plan.Campaign.LimitPct / 100, SecondLook: in.Plan.Campaign.SecondLookPairs > 0})
	if left := in.pairsPlanned() - len(out.Pairs); in.Left > 0 && left > 0 {
		out.Decision.Verdict = gate.Undecided
		out.Decision.Reasons = append([]string{fmt.Sprintf("%d of %s still to come", left, unit.Counted(in.pairsPlanned(), "pair"))}, out.Decision.Reasons...)
	}
	for i := range in.Runs {
		r := &in.Runs[i]
		if r.Kind == plan.Measured && r.Cell.Index == c.Index {
			out.Runs = append(out.Runs, row(in.Plan, r))
		}
	}
	out.units = plan.Units(in.Plan.Metrics)
	out.Cost, out.Machines, out.Same = costOf(out.Pairs), out.machines(), sameTexts(in.Plan, c, out.Pairs)
	out.SelfTest = selfTest(in.Plan, out.Pairs)
	out.warn(in)
	return out
}

func row(p *plan.Plan, r *Run) RunRow {
	out := RunRow{ID: r.ID(), Pair: r.Pair, Arm: r.Arm, Void: r.Void, Metrics: map[string]float64{}, Layer1: r.Layer1, CPU: r.CPU, Checks: list(r.Checks), Machine: r.Machine, Cache: r.Cache}
	if r.Result == nil {
		return out
	}
	out.Requests, out.Failed = r.Result.Completed, r.Result.Failed
	for _, m := range p.Metrics {
		if v, ok := r.Result.Field(m.Field); ok {
			out.Metrics[m.Name] = v
		}
	}
	return out
}

// maxOffCV is the variation of the off runs beyond which the machine itself is not steady enough.
const maxOffCV = 0.02

func (c *Cell) warn(in *Input) {
	say := func(format string, args ...any) { c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...)) }
	planned, counted := in.pairsPlanned(), 0
	for _, p := range c.Pairs {
		if p.Void == "" {
			counted++
		}
		if p.Same != nil && *p.Same < p.Texts {
			say("pair %d: %d of %d generated texts differ between the arms%s", p.Number, p.Texts-*p.Same, p.Texts, c.Same.excuse())
		}
	}
	if counted < planned {
		say("%d of %d planned pairs count", counted, planned)
	}
	for _, m := range c.metrics {
		var off []float64
		for _, p := range m.Pairs {
			off = append(off, p.Off)
		}
		if cv := stat.SD(off) / stat.Mean(off); cv > maxOffCV {
			say("%s varies by %.1f %% between the off runs alone", m.Name, 100*cv)
		}
	}
	var chance []string
	for i := range c.Decision.Metrics {
		if m := &c.Decision.Metrics[i]; m.OrderByChance() {
			chance = append(chance, m.Name)
		}
	}
	if len(chance) > 0 {
		say("%s: %s", strings.Join(chance, ", "), gate.ByChance)
	}
	c.Warnings = append(c.Warnings, c.bundled(in.Plan.Metrics)...)
	if t := c.SelfTest; t != nil && t.Verdict == gate.Fail {
		say("self-test: neither the server as it was installed nor the one with its recorder off records, and they differ all the same: %s", t.Reasons[0])
	}
}

// conclude takes the worst of the cells: a campaign passes if every cell does.
func (r *Report) conclude() {
	rank := map[string]int{gate.Pass: 0, gate.Undecided: 1, gate.Fail: 2}
	r.Verdict = gate.Pass
	if len(r.Cells) == 0 {
		r.Verdict = gate.Undecided
	}
	for i := range r.Cells {
		if v := r.Cells[i].Decision.Verdict; rank[v] > rank[r.Verdict] {
			r.Verdict = v
		}
	}
	if r.Left > 0 || len(r.Damage) > 0 {
		r.Verdict = gate.Undecided
	}
	r.Sentence = r.sentence()
}

// counted are the pairs that count, of all cells.
func (r *Report) counted() int {
	n := 0
	for i := range r.Cells {
		for _, p := range r.Cells[i].Pairs {
			if p.Void == "" {
				n++
			}
		}
	}
	return n
}

// sentence is what may be quoted: the verdict with the number that it rests on.
func (r *Report) sentence() string {
	if len(r.Damage) > 0 {
		return fmt.Sprintf("%s: the campaign's folder is not whole, so nothing is decided: %s.", r.Verdict, r.Damage[0])
	}
	var worst *gate.Result
	var where *Cell
	upper := math.Inf(-1)
	for i := range r.Cells {
		for k := range r.Cells[i].Decision.Metrics {
			if m := &r.Cells[i].Decision.Metrics[k]; m.N >= gate.MinPairs && m.UpperPct != nil && *m.UpperPct > upper {
				worst, where, upper = m, &r.Cells[i], *m.UpperPct
			}
		}
	}
	if n := r.counted(); worst == nil && n > 0 {
		return fmt.Sprintf("%s: too few pairs count (%d, a verdict needs %d), so nothing is said of the recorder's cost.", r.Verdict, n, gate.MinPairs)
	}
	if worst == nil {
		return fmt.Sprintf("%s: no pair counts, so nothing is known of the recorder's cost.", r.Verdict)
	}
	text := fmt.Sprintf("%s: with the recorder on, the metric that suffers most (%s, %s) regresses by %.2f %%, with an upper end of the 95 %% interval of %.2f %% over %s; the limit is %.2f %%.",
		r.Verdict, worst.Name, where.Name, *worst.PointPct, upper, unit.Counted(worst.N, "pair"), r.LimitPct)
	if r.Left > 0 {
		return text + fmt.Sprintf(" Undecided because pairs are still to come: %d.", r.Left)
	}
	if r.Verdict == gate.Undecided {
		for i := range r.Cells {
			if d := &r.Cells[i].Decision; d.Verdict == gate.Undecided && len(d.Reasons) > 0 {
				return text + " Undecided because of " + d.Reasons[0] + "."
			}
		}
	}
	return text
}
