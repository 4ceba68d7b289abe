package runreport

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"opprof/campaign/page"
	"opprof/engine/unit"
	"opprof/traces/capture"
	"opprof/traces/family"
)

// detailed bounds the windows of which the tables are shown; the list has all of them.
const detailed = 40

// windows are the profiler windows: a list, and the breakdown of each whose traces were read.
func (r *Report) windows() []page.Block {
	if len(r.Windows) == 0 {
		return nil
	}
	list := page.Table{Columns: []page.Column{{Name: "window", Number: true}, {Name: "state"}, {Name: "started"}, {Name: "steps"}, {Name: "ranks"},
		{Name: "export stall", Unit: "ms", Number: true}, {Name: "remark"}}}
	var details []page.Block
	for i := range r.Windows {
		w := &r.Windows[i]
		steps, ranks := unit.Unknown, unit.Unknown
		switch {
		case w.FirstStep > 0 && w.LastStep > 0:
			steps = fmt.Sprintf("%s-%s", unit.Count(w.FirstStep), unit.Count(w.LastStep))
		case w.FirstStep > 0:
			steps = unit.Count(w.FirstStep) + "-"
		}
		if w.Expected > 0 {
			ranks = fmt.Sprintf("%d of %d", w.Ranks, w.Expected)
		}
		list.Rows = append(list.Rows, []string{w.Name, w.State, r.date(w.StartNS), steps, ranks, unit.Known(w.StallNS, unit.DurationMS), w.remark()})
		if w.Detail != nil && i < detailed {
			details = append(details, page.Fold{Title: "Window " + w.Name + " by family, rank and iteration", Blocks: breakdown(w.Detail)})
		}
	}
	if len(r.Windows) > detailed {
		list.Note = fmt.Sprintf("Breakdowns follow of the first %d windows; opprof trace has all.", detailed)
	}
	return append([]page.Block{list}, details...)
}

// remark is why a window is not verified, and that nobody armed it.
func (w *TracedWindow) remark() string {
	const nobody = "nobody armed it"
	switch {
	case w.Number > 0:
		return w.Reason
	case w.Reason == "":
		return nobody
	}
	return nobody + "; " + w.Reason
}

// breakdown is what the traces of a window tell.
func breakdown(d *capture.WindowReport) []page.Block {
	return []page.Block{page.Text("Holds " + d.Holds + "; kernels run by " + d.Mode + "; graph modes of its steps: " + modes(d.GraphModes) + "."),
		families(d), ranks(d), iterations(d), remarks(d)}
}

func modes(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return dash(strings.Join(parts, ", "))
}

func rankName(rank *int64, i int) string {
	if rank == nil {
		return fmt.Sprintf("file %d", i+1)
	}
	return fmt.Sprintf("rank %d", *rank)
}

// families is a line for each family and two columns for each rank.
func families(d *capture.WindowReport) page.Table {
	t := page.Table{Title: "Busy time by family", Columns: []page.Column{{Name: "family"}},
		Note: "Union of device intervals over the whole window, never the sum of durations; families may overlap. The share is that of the rank's busy time."}
	for i, r := range d.Ranks {
		t.Columns = append(t.Columns, page.Column{Name: rankName(r.Rank, i), Unit: "ms", Number: true}, page.Column{Name: "share", Unit: "%", Number: true})
	}
	for f := range family.Count {
		row, any := []string{f.String()}, false
		for _, r := range d.Ranks {
			u := r.Families[f.String()].UnionNS
			any = any || u > 0
			row = append(row, unit.DurationMS(u), share(u, r.UnionNS))
		}
		if any {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func ranks(d *capture.WindowReport) page.Table {
	t := page.Table{Title: "Ranks", Columns: []page.Column{{Name: "rank"}, {Name: "busy", Unit: "ms", Number: true}, {Name: "without collectives", Unit: "ms", Number: true},
		{Name: "sum", Unit: "ms", Number: true}, {Name: "idle", Unit: "ms", Number: true}, {Name: "kernels", Number: true}, {Name: "unknown kernels", Unit: "%", Number: true},
		{Name: "lost events", Number: true}}}
	for i, r := range d.Ranks {
		t.Rows = append(t.Rows, []string{rankName(r.Rank, i), unit.DurationMS(r.UnionNS), unit.DurationMS(r.NonCollectiveUnionNS), unit.DurationMS(r.SumNS),
			unit.DurationMS(r.IdleNS), unit.Count(r.Kernels), share(r.UnknownSumNS, r.SumNS), unit.Count(r.LostEvents)})
	}
	return t
}

// iterations is a line for each labelled step.
func iterations(d *capture.WindowReport) page.Table {
	t := page.Table{Title: "Iterations", Columns: []page.Column{{Name: "iteration"}, {Name: "step", Number: true}, {Name: "graph"}, {Name: "period", Unit: "ms", Number: true},
		{Name: "critical path", Unit: "ms", Number: true}, {Name: "sum of ranks", Unit: "ms", Number: true}, {Name: "residual", Unit: "ms", Number: true}, {Name: "collective wait", Unit: "ms", Number: true},
		{Name: "spread of ranks", Unit: "ms", Number: true}, {Name: "remark"}}, Note: "Residual: the step's period minus the largest busy time of its ranks. It may be negative for one step; judge it over several. Sum of ranks: all device durations of all ranks, which may exceed the period."}
	for _, it := range d.Iterations {
		step, graph, remark := unit.Known(it.StepIndex, unit.Count), unit.Unknown, ""
		if it.GraphMode != nil {
			graph = fmt.Sprintf("%s %s", *it.GraphMode, unit.Known(it.BucketTokens, unit.Count))
		}
		switch {
		case it.Warmup:
			remark = "warm-up"
		case it.ExportStall:
			remark = "holds the stall of the export"
		}
		t.Rows = append(t.Rows, []string{it.Label, step, graph, unit.Known(it.PeriodNS, unit.DurationMS), unit.Known(it.CriticalPathNS, unit.DurationMS), unit.Known(it.SumOfRanksNS, unit.DurationMS),
			unit.Known(it.ResidualNS, unit.DurationMS), unit.Known(it.CollectiveWaitNS, unit.DurationMS), unit.Known(it.SpreadNS, unit.DurationMS), remark})
	}
	return t
}

func remarks(d *capture.WindowReport) page.List {
	l := page.List{}
	if d.Reason != "" {
		l.Lines = append(l.Lines, d.Reason)
	}
	if d.Join.Reason != "" && d.Join.Reason != d.Reason {
		l.Lines = append(l.Lines, d.Join.Reason)
	}
	for i, r := range d.Ranks {
		for _, said := range r.Remarks {
			l.Lines = append(l.Lines, rankName(r.Rank, i)+": "+said)
		}
	}
	return l
}
