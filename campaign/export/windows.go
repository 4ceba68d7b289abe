package export

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"opprof/campaign/export/tables"
	"opprof/traces/capture"
	"opprof/traces/join"
)

// stateRecorded is the state of a window whose marker is all there is.
const stateRecorded = "recorded"

// window is a window with the engine that it belongs to.
type window struct {
	tables.Window
	engine string // "" when nothing tells
}

// windows writes the three tables of profiler windows.
func (p *parquetExport) windows(ctx context.Context, sum *Summary) error {
	c, err := capture.Load(ctx, capture.Input{Traces: p.source.Traces, Streams: p.source.Streams, Rules: p.source.Rules})
	if err != nil {
		return err
	}
	report := c.Report(0)
	for _, f := range report.Failed {
		sum.Problems = append(sum.Problems, "cannot read trace: "+f.Error)
	}
	all := p.measured(c, &report)
	all = append(all, p.unmeasured(all)...)
	slices.SortStableFunc(all, func(a, b window) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
	for i := range all {
		all[i].Number = int64(i + 1)
	}
	sum.Windows = int64(len(all))
	engines := []string{}
	for i := range all {
		if !slices.Contains(engines, all[i].engine) {
			engines = append(engines, all[i].engine)
		}
	}
	for _, engine := range engines {
		if err := p.engineWindows(engine, all); err != nil {
			return err
		}
	}
	return nil
}

// measured are the windows with traces.
func (p *parquetExport) measured(c *capture.Capture, report *capture.Report) []window {
	var all []window
	for i := range c.Windows {
		w := window{Window: tables.Window{TimeNS: startNS(&c.Windows[i]), Report: &report.Windows[i]}}
		w.engine = p.engineOf(c.Windows[i].DP(), w.TimeNS)
		all = append(all, w)
	}
	return all
}

// startNS is when the first labelled step of a window began, or else its device work; 0 when it has neither.
func startNS(w *join.Window) int64 {
	var at int64
	first := func(ns int64) {
		if ns != 0 && (at == 0 || ns < at) {
			at = ns
		}
	}
	for _, b := range w.Ranks {
		if len(b.Iterations) > 0 {
			first(b.Iterations[0].LabelNS.Start)
		} else {
			first(b.Span.Start)
		}
	}
	return at
}

// engineOf is the engine of a data-parallel rank at a time: the only one of that rank, or the one whose profiler was started last before it.
func (p *parquetExport) engineOf(dp, atNS int64) string {
	var fit []string
	for _, id := range p.seen {
		if own, ok := dataParallelRank(id); id != "" && (dp < 0 || !ok || own == dp) {
			fit = append(fit, id)
		}
	}
	if len(fit) == 1 {
		return fit[0]
	}
	best, bestNS := "", int64(0)
	for _, id := range fit {
		for _, m := range p.marks[id] {
			if m.wallNS <= atNS && m.wallNS > bestNS {
				best, bestNS = id, m.wallNS
			}
		}
	}
	if dp < 0 && len(fit) > 1 {
		return "" // the file names carry no data-parallel rank
	}
	return best
}

// dataParallelRank reads the rank from an engine id such as dp1-pid1234.
func dataParallelRank(id string) (dp int64, ok bool) {
	_, err := fmt.Sscanf(id, "dp%d-", &dp)
	return dp, err == nil
}

// unmeasured are the profiler starts whose traces were not read.
func (p *parquetExport) unmeasured(measured []window) []window {
	var all []window
	for _, engine := range p.seen {
		for _, m := range p.marks[engine] {
			if slices.ContainsFunc(measured, func(w window) bool {
				after := w.Report.Join.AfterStep
				return w.engine == engine && after != nil && *after == m.afterStep
			}) {
				continue
			}
			after := m.afterStep
			all = append(all, window{engine: engine, Window: tables.Window{TimeNS: m.wallNS,
				Report: &capture.WindowReport{State: stateRecorded, Reason: "no trace of it was read", Join: capture.JoinReport{AfterStep: &after}}}})
		}
	}
	return all
}

// engineWindows writes the windows of one engine.
func (p *parquetExport) engineWindows(engine string, all []window) error {
	meta := p.meta(engine)
	windows := sink[tables.Window]{table: tables.Windows(), engine: engine, meta: meta}
	iterations := sink[tables.Iteration]{table: tables.Iterations(), engine: engine, meta: meta}
	families := sink[tables.Family]{table: tables.Families(), engine: engine, meta: meta}
	for i := range all {
		if all[i].engine != engine {
			continue
		}
		if err := windows.add(p.to, &all[i].Window); err != nil {
			return err
		}
		if err := p.iterations(&all[i].Window, &iterations, &families); err != nil {
			return err
		}
	}
	for _, end := range []func() error{func() error { return windows.end(p.to) }, func() error { return iterations.end(p.to) }, func() error { return families.end(p.to) }} {
		if err := end(); err != nil {
			return err
		}
	}
	return nil
}

func (p *parquetExport) iterations(w *tables.Window, iterations *sink[tables.Iteration], families *sink[tables.Family]) error {
	for n := range w.Report.Iterations {
		step := &w.Report.Iterations[n]
		for k := range step.Ranks {
			row := tables.Iteration{Window: w.Number, Number: int64(n), Step: step, Rank: &step.Ranks[k]}
			if err := iterations.add(p.to, &row); err != nil {
				return err
			}
			for _, name := range slices.Sorted(maps.Keys(step.Ranks[k].Families)) {
				if err := families.add(p.to, &tables.Family{Iteration: row, Name: name, Use: step.Ranks[k].Families[name]}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
