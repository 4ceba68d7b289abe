package cmd

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"opprof/engine/unit"
	"opprof/traces/capture"
	"opprof/traces/family"
	"opprof/traces/rank"
)

// traceDocument lays a report out: a section for each window, its ranks, families, iterations and kernels, and one for what could not be read.
func traceDocument(r *capture.Report) *document {
	d := &document{}
	for i := range r.Windows {
		w := &r.Windows[i]
		d.sections = append(d.sections, windowSection(w, engineOf(r, w)))
		if w.Mode != string(rank.ModeCPU) {
			d.sections = append(d.sections, rankSection(w))
			for from := 0; from < len(w.Ranks); from += familyRanks {
				d.sections = append(d.sections, familySection(w.Ranks, from, min(from+familyRanks, len(w.Ranks))))
			}
		}
		if len(w.Iterations) > 0 {
			d.sections = append(d.sections, iterationSection(w))
		}
		for k := range w.Ranks {
			if len(w.Ranks[k].TopKernels) > 0 {
				d.sections = append(d.sections, kernelSection(&w.Ranks[k], k))
			}
		}
	}
	if len(r.Failed) > 0 {
		s := section{title: "Files that gave nothing", head: []string{"file", "why"}, left: map[int]bool{1: true}}
		for _, f := range r.Failed {
			s.row(f.Path, f.Error)
		}
		d.sections = append(d.sections, s)
	}
	return d
}

// engineOf names the data-parallel engine of a window, where the capture has several; "" otherwise.
func engineOf(r *capture.Report, w *capture.WindowReport) string {
	own := w.Ranks[0].DataParallel
	for i := range r.Windows {
		if other := r.Windows[i].Ranks[0].DataParallel; own != nil && other != nil && *other != *own {
			return fmt.Sprintf(" of engine dp%d", *own)
		}
	}
	return ""
}

func windowSection(w *capture.WindowReport, engine string) section {
	s := section{title: "Window " + w.Name + "  " + w.State}
	if w.Reason != "" {
		s.title += ": " + w.Reason
	}
	s.note("%s of %s", unit.Counted(len(w.Iterations), "iteration"), unit.Counted(len(w.Ranks), "rank")+engine+missing(w.Missing))
	s.note("holds %s", w.Holds)
	if w.Join.Method == "" {
		s.note("steps not known: %s", w.Join.Reason)
	} else {
		s.note("steps from %s, by %s%s", unit.Count(*w.Join.AfterStep+1), w.Join.Method, parenthesis(w.Join.Reason))
	}
	s.note("kernels run %s%s", modeText(w.Mode), parenthesis(graphModes(w.GraphModes)))
	for k := range w.Ranks {
		for _, remark := range w.Ranks[k].Remarks {
			s.note("%s: %s", rankName(w.Ranks[k].Rank, k), remark)
		}
	}
	return s
}

func missing(ranks []int64) string {
	if len(ranks) == 0 {
		return ""
	}
	names := make([]string, len(ranks))
	for i, r := range ranks {
		names[i] = strconv.FormatInt(r, 10)
	}
	return ", missing rank " + strings.Join(names, ", ")
}

func parenthesis(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func graphModes(counts map[string]int) string {
	var parts []string
	for _, mode := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", mode, counts[mode]))
	}
	return strings.Join(parts, ", ")
}

func modeText(mode string) string {
	switch rank.Mode(mode) {
	case rank.ModeGraphs:
		return "from CUDA graphs"
	case rank.ModeCompiled:
		return "compiled, without CUDA graphs"
	case rank.ModeEager:
		return "eagerly, without compilation"
	}
	return "on the CPU"
}

// rankName is the rank, or which file of the window stands for one whose rank is not known.
func rankName(global *int64, k int) string {
	if global == nil {
		return fmt.Sprintf("file %d", k+1)
	}
	return "rank " + strconv.FormatInt(*global, 10)
}

// ms prints milliseconds with three decimals, so that a column lines up.
func ms(ns int64) string { return strconv.FormatFloat(float64(ns)/1e6, 'f', 3, 64) }

func msOrDash(ns *int64) string { return unit.Known(ns, ms) }

func rankSection(w *capture.WindowReport) section {
	s := section{title: "Ranks, ms", left: map[int]bool{14: true},
		head: []string{"", "kernels", "copies", "sets", "graph", "busy (union)", "sum", "without collectives", "idle", "gaps", "longest", "exposed coll.", "exposed copy", "lost", "file"}}
	for k := range w.Ranks {
		r := &w.Ranks[k]
		s.row(rankName(r.Rank, k), unit.Count(r.Kernels), unit.Count(r.Copies), unit.Count(r.Sets), unit.Share(r.GraphEvents, r.GraphEvents+r.EagerEvents),
			ms(r.UnionNS), ms(r.SumNS), ms(r.NonCollectiveUnionNS), ms(r.IdleNS), unit.Count(r.IdleGaps), ms(r.LongestGapNS), ms(r.ExposedCollectiveNS), ms(r.ExposedCopyNS),
			unit.Count(r.LostEvents), filepath.Base(r.File))
	}
	return s
}

// familyRanks is how many ranks stand side by side.
const familyRanks = 4

// familySection shows unions by family and what share of the rank's busy time they are, of some of the ranks. The unknown share is always there.
func familySection(ranks []capture.RankReport, from, to int) section {
	s := section{title: "Families, busy ms and share of the rank's busy time", head: []string{""}}
	shown := ranks[from:to]
	for k := range shown {
		s.head = append(s.head, rankName(shown[k].Rank, from+k), "share", "launches")
	}
	for f := range family.Count {
		row := []string{f.String()}
		for k := range shown {
			u := shown[k].Families[f.String()]
			row = append(row, ms(u.UnionNS), unit.Share(u.UnionNS, shown[k].UnionNS), unit.Count(u.Launches))
		}
		s.row(row...)
	}
	for _, extra := range []struct {
		name string
		of   func(*capture.RankReport) int64
	}{{"of other: unknown to the rules", func(r *capture.RankReport) int64 { return r.UnknownSumNS }},
		{"before the first label", func(r *capture.RankReport) int64 { return r.UnattributedSumNS }},
		{"left out: suspect times", func(r *capture.RankReport) int64 { return r.SuspectSumNS }}} {
		row := []string{extra.name}
		for k := range shown {
			row = append(row, ms(extra.of(&shown[k])), unit.Share(extra.of(&shown[k]), shown[k].SumNS), "")
		}
		s.row(row...)
	}
	return s
}

func iterationSection(w *capture.WindowReport) section {
	s := section{title: "Iterations, ms", left: map[int]bool{2: true, 3: true},
		head: []string{"", "step", "label", "graph", "bucket", "CPU range", "critical path", "on", "sum of ranks", "without collectives", "slowest", "spread", "coll. wait", "overlap", "period", "residual"}}
	for i := range w.Iterations {
		it := &w.Iterations[i]
		graph := ""
		if it.GraphMode != nil {
			graph = *it.GraphMode
		}
		mark := ""
		if it.Warmup {
			mark = " warm-up"
		}
		if it.ExportStall {
			mark = " export"
			s.notes = []string{"the period marked export holds the stall of the trace's export"}
		}
		s.row(strconv.Itoa(i+1)+mark, unit.Known(it.StepIndex, unit.Count), it.Label, orDash(graph), unit.Known(it.BucketTokens, unit.Count), msOrDash(it.LabelNS),
			msOrDash(it.CriticalPathNS), rankOrDash(it.CriticalRank), msOrDash(it.SumOfRanksNS), msOrDash(it.NonCollectiveNS), rankOrDash(it.SlowestRank), msOrDash(it.SpreadNS), msOrDash(it.CollectiveWaitNS),
			msOrDash(it.OverlapNS), msOrDash(it.PeriodNS), msOrDash(it.ResidualNS))
	}
	return s
}

func rankOrDash(global *int64) string {
	return unit.Known(global, func(v int64) string { return strconv.FormatInt(v, 10) })
}

func kernelSection(r *capture.RankReport, k int) section {
	s := section{title: fmt.Sprintf("Kernels of %s, us a launch", rankName(r.Rank, k)), left: map[int]bool{1: true, 9: true, 10: true},
		head: []string{"sum ms", "family", "share", "launches", "mean", "p50", "p95", "max", "grid x block", "rule", "name"}}
	for i := range r.TopKernels {
		v := &r.TopKernels[i]
		s.row(ms(v.SumNS), v.Family, unit.Share(v.SumNS, r.SumNS), unit.Count(v.Launches), us(v.MeanNS), us(v.P50NS), us(v.P95NS), us(v.MaxNS),
			shape(v), v.Rule, shorten(v.Name, 100))
	}
	return s
}

func us(ns int64) string { return strconv.FormatFloat(float64(ns)/1e3, 'f', 2, 64) }

// shape is the launch shape of the longest launch, and how many others there are.
func shape(v *capture.KernelReport) string {
	if v.Grid == [3]int32{} {
		return "-"
	}
	more := ""
	if v.Shapes > 1 {
		more = fmt.Sprintf(" +%d", v.Shapes-1)
	}
	return triple(v.Grid) + " x " + triple(v.Block) + more
}

func triple(v [3]int32) string { return fmt.Sprintf("%d,%d,%d", v[0], v[1], v[2]) }

// shorten cuts a text to n runes.
func shorten(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}

// traceCells is the report as a table of one line for each window, iteration, rank and family, with a heading. Unknown is an empty cell.
func traceCells(r *capture.Report) [][]string {
	out := [][]string{{"window", "iteration", "label", "warmup", "step_index", "graph_mode", "bucket_tokens", "rank", "family", "sum_ns", "union_ns", "launches",
		"critical_path_ns", "period_ns", "residual_ns", "sum_of_ranks_ns"}}
	for wi := range r.Windows {
		for i := range r.Windows[wi].Iterations {
			it := &r.Windows[wi].Iterations[i]
			for k := range it.Ranks {
				out = append(out, iterationCells(r.Windows[wi].Name, i, it, &it.Ranks[k])...)
			}
		}
	}
	return out
}

func iterationCells(window string, i int, it *capture.IterationReport, r *capture.RankIterationReport) [][]string {
	graph := ""
	if it.GraphMode != nil {
		graph = *it.GraphMode
	}
	var out [][]string
	add := func(name string, sum, union, launches int64) {
		out = append(out, []string{window, strconv.Itoa(i + 1), it.Label, strconv.FormatBool(it.Warmup), cell(it.StepIndex), graph, cell(it.BucketTokens),
			cell(r.Rank), name, cell(&sum), cell(&union), cell(&launches), cell(it.CriticalPathNS), cell(it.PeriodNS), cell(it.ResidualNS), cell(it.SumOfRanksNS)})
	}
	add("total", r.SumNS, r.UnionNS, r.Launches)
	for f := range family.Count {
		u := r.Families[f.String()]
		add(f.String(), u.SumNS, u.UnionNS, u.Launches)
	}
	return out
}

func cell(v *int64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(*v, 10)
}
