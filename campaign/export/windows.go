package export

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"opprof/campaign/export/tables"
	"opprof/campaign/export/windows"
	"opprof/traces/capture"
	"opprof/traces/catalog"
	"opprof/traces/join"
	"opprof/traces/rank"
)

// writeWindows writes the three tables of profiler windows.
func (p *parquetExport) writeWindows(ctx context.Context, sum *Summary) error {
	s := p.source
	all, err := windows.List(ctx, windows.Source{Traces: s.Traces, Streams: s.Streams, Rules: s.Rules, Armed: s.Armed}, p.marks, nil)
	if err != nil {
		return err
	}
	sum.Windows = int64(len(all))
	byEngine := map[string][]tables.Window{}
	for i := range all {
		w := &all[i]
		byEngine[w.Engine] = append(byEngine[w.Engine], tables.Window{Number: number(w), Name: w.Name(), TimeNS: w.TimeNS, Report: reportOf(&w.Window), StallNS: w.StallNS})
		for _, f := range w.Files {
			if f.State == catalog.FileFailed {
				sum.Problems = append(sum.Problems, "cannot read trace: "+f.Why)
			}
		}
	}
	for _, engine := range slices.Sorted(maps.Keys(byEngine)) {
		if err := p.engineWindows(engine, byEngine[engine]); err != nil {
			return err
		}
	}
	return nil
}

// number is that of a window, negative for one that nobody armed.
func number(w *windows.Window) int64 {
	if w.Number == 0 {
		return -int64(w.Stray)
	}
	return int64(w.Number)
}

// reportOf is what `opprof trace --json` says of a window, and of one without traces what its marker says.
func reportOf(w *catalog.Window) *capture.WindowReport {
	out := &capture.WindowReport{}
	if w.Detail != nil {
		c := capture.Capture{Windows: []join.Window{*w.Detail}, Names: []string{w.Name()}, Paths: map[*rank.Breakdown]string{}}
		for _, b := range w.Detail.Ranks {
			c.Paths[b] = b.File
			for _, f := range w.Files {
				if filepath.Base(f.Path) == filepath.Base(b.File) {
					c.Paths[b] = f.Path
				}
			}
		}
		out = &c.Report(0).Windows[0]
	} else if w.Marker != nil {
		after := w.Marker.AfterStep
		out.Join.AfterStep = &after
	}
	out.State, out.Reason = string(w.State), w.Reason
	return out
}

// engineWindows writes the windows of one engine.
func (p *parquetExport) engineWindows(engine string, all []tables.Window) error {
	meta := p.meta(engine)
	rows := sink[tables.Window]{table: tables.Windows(), engine: engine, meta: meta}
	iterations := sink[tables.Iteration]{table: tables.Iterations(), engine: engine, meta: meta}
	families := sink[tables.Family]{table: tables.Families(), engine: engine, meta: meta}
	for i := range all {
		if err := rows.add(p.to, &all[i]); err != nil {
			return err
		}
		if err := p.iterations(&all[i], &iterations, &families); err != nil {
			return err
		}
	}
	if err := rows.end(p.to); err != nil {
		return err
	}
	if err := iterations.end(p.to); err != nil {
		return err
	}
	return families.end(p.to)
}

func (p *parquetExport) iterations(w *tables.Window, iterations *sink[tables.Iteration], families *sink[tables.Family]) error {
	for n := range w.Report.Iterations {
		step := &w.Report.Iterations[n]
		for k := range step.Ranks {
			row := tables.Iteration{Window: w.Number, Number: int64(n), Step: step, Rank: &step.Ranks[k]}
			if err := iterations.add(p.to, &row); err != nil {
				return err
			}
			uses := step.Ranks[k].Families
			for _, name := range slices.Sorted(maps.Keys(uses)) {
				if err := families.add(p.to, &tables.Family{Iteration: row, Name: name, Use: uses[name]}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
