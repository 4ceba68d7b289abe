package runner

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"opprof/campaign/bench"
	"opprof/campaign/plan"
	"opprof/campaign/report"
	"opprof/engine/regular"
	"opprof/engine/rundir"
)

// Report judges a campaign's folder as it stands, without a runner.
func Report(dir string) (*report.Report, error) {
	h, err := readHistory(dir)
	if err != nil {
		return nil, err
	}
	p, err := readPlan(dir, h.created.Plan)
	if err != nil {
		return nil, err
	}
	return h.report(dir, p), nil
}

func (r *runner) report() (*report.Report, error) {
	return r.history.report(r.Dir, r.plan), nil
}

// report is made of the pairs that were judged. Results that were taken away or changed since would decide by the pairs that are left, which
// nobody declared: then nothing is decided.
func (h *history) report(dir string, p *plan.Plan) *report.Report {
	in := input(dir, p, h, h.judgedPair)
	out := report.New(in)
	counts := map[pairKey]bool{}
	for _, c := range out.Cells {
		for _, pair := range c.Pairs {
			counts[pairKey{c.Name, pair.Number}] = pair.Void == ""
		}
	}
	for key, j := range h.pairs {
		if j.void == "" && !counts[key] {
			in.Damage = append(in.Damage, fmt.Sprintf("pair %d of %s counted when it was judged, and its results are not those any more", key.pair, key.cell))
		}
	}
	if len(in.Damage) == len(h.damage) {
		return out
	}
	slices.Sort(in.Damage)
	return report.New(in)
}

// judgedPair reports whether a pair was judged: only then it is a part of a report.
func (h *history) judgedPair(key pairKey) bool {
	_, ok := h.pairs[key]
	return ok
}

// verdictOf is why a pair does not count, "" when it does, by the rules of the report.
func verdictOf(dir string, p *plan.Plan, h *history, key pairKey) (string, error) {
	rep := report.New(input(dir, p, h, func(k pairKey) bool { return k == key }))
	for _, c := range rep.Cells {
		for _, pair := range c.Pairs {
			if c.Name == key.cell && pair.Number == key.pair {
				return pair.Void, nil
			}
		}
	}
	return "", fmt.Errorf("pair %d of %s is not in its report", key.pair, key.cell)
}

// input is what a report of the pairs that take lets through is made of.
func input(dir string, p *plan.Plan, h *history, take func(pairKey) bool) *report.Input {
	in := &report.Input{Plan: p, SecondLook: h.look != nil}
	left := map[pairKey]bool{}
	for _, r := range h.runs(p) {
		if r.Kind != plan.Measured {
			continue
		}
		key := pairKey{r.Cell.String(), r.Pair}
		if !h.judgedPair(key) {
			left[key] = true
		}
		if a := h.last(r.ID()); take(key) && a != nil && a.outcome != nil {
			in.Runs = append(in.Runs, reportRun(dir, r, a, p))
		}
	}
	in.Left = len(left)
	in.Environment, in.Backends = h.environment(p)
	in.Deviations, in.Damage = h.deviations(p), slices.Clone(h.damage)
	return in
}

func reportRun(dir string, r plan.Run, a *attempt, p *plan.Plan) report.Run {
	o := a.outcome
	out := report.Run{Run: r, Void: strings.Join(o.Void, "; "), Layer1: o.Layer1, CPU: o.CPU, Checks: o.Checks, Machine: reportMachine(o.Machine, o.After)}
	if o.Cache.End != nil {
		out.Cache = &report.Cache{Queries: o.Cache.End.Queries, Hits: o.Cache.End.Hits}
	}
	load, _ := p.Load(r.Cell.Load)
	result, err := readResult(filepath.Join(dir, RunsName, a.dir, rundir.BenchName, resultName), load.Format)
	if err != nil && out.Void == "" {
		out.Void = err.Error()
	}
	out.Result = result
	return out
}

func readResult(path, format string) (*bench.Result, error) {
	path, err := bench.Find(path)
	if err != nil {
		return nil, err
	}
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read results: %w", err)
	}
	all, err := bench.Read(f, path, format)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return all[len(all)-1], nil
}

// reportMachine is where a run took place. Before a load the clocks are those of an idle device: what they were when it had ended is told.
func reportMachine(m Machine, after []Device) *report.Machine {
	if m.Host == "" {
		return nil
	}
	if len(after) == 0 {
		after = m.Devices
	}
	out := &report.Machine{Name: m.Host, Driver: m.Driver, GPU: deviceNames(m.Devices)}
	var clocks []string
	for _, d := range after {
		if d.SMMHz != nil {
			clocks = append(clocks, fmt.Sprintf("%.0f MHz", *d.SMMHz))
		}
	}
	out.Clocks = strings.Join(slices.Compact(clocks), ", ")
	return out
}

// deviceNames are the names of devices, with how many there are of each.
func deviceNames(devices []Device) string {
	var parts []string
	for i := 0; i < len(devices); {
		n := i
		for n < len(devices) && devices[n].Name == devices[i].Name {
			n++
		}
		parts = append(parts, fmt.Sprintf("%d x %s", n-i, devices[i].Name))
		i = n
	}
	return strings.Join(parts, ", ")
}
