package tables

import (
	"strings"

	"opprof/campaign/export/columnar"
	"opprof/traces/capture"
)

// Window is a row of the windows table: a profiler window, by its traces or by its marker alone.
type Window struct {
	Number int64 // it was armed under, or by time where the run's folder does not tell; negative for one that nobody armed
	Name   string
	TimeNS int64 // start of the profiler, or else of the first label, ns since 1970
	Report *capture.WindowReport

	StallNS *int64 // how long writing its traces held serving up; nil unknown
}

// Windows is one row a profiler window.
func Windows() *columnar.Table[Window] {
	return &columnar.Table[Window]{Name: "windows", Doc: "One row for each profiler window.", Columns: []columnar.Column[Window]{
		columnar.Int("window", "", "number that the window was armed under, or by time, from 1, where the run's folder does not tell; negative for one that nobody armed: -1 is t1", func(w *Window) int64 { return w.Number }),
		columnar.Text("window_name", "what the window is called: its number, or t1, t2 … where nobody armed it", func(w *Window) string { return w.Name }),
		columnar.MaybeInt("time_ns", "ns since 1970", "start of the first labelled step, or of the profiler where there are no traces", func(w *Window) (int64, bool) { return w.TimeNS, w.TimeNS != 0 }),
		columnar.Text("state", "verified, unjoined, incomplete, or recorded where its marker is all there is", func(w *Window) string { return w.Report.State }),
		columnar.MaybeText("reason", "why it is not verified", func(w *Window) string { return w.Report.Reason }),
		columnar.MaybeText("mode", "how its kernels were launched: graphs, compiled, eager or cpu", func(w *Window) string { return w.Report.Mode }),
		columnar.MaybeText("join_method", "how it was tied to steps: marker, labels or time", func(w *Window) string { return w.Report.Join.Method }),
		columnar.MaybeText("join_reason", "why it was not", func(w *Window) string { return w.Report.Join.Reason }),
		columnar.MaybeInt("after_step", "", "step_index of the last step before the window", func(w *Window) (int64, bool) { return known(w.Report.Join.AfterStep) }),
		columnar.MaybeInt("first_step", "", "step_index of the first labelled step", func(w *Window) (int64, bool) { return w.step(false) }),
		columnar.MaybeInt("last_step", "", "step_index of the last labelled step", func(w *Window) (int64, bool) { return w.step(true) }),
		columnar.MaybeInt("stall_ns", "ns", "how long writing its traces held serving up, as the windows page tells it; null where the labels are not tied to steps", func(w *Window) (int64, bool) { return known(w.StallNS) }),
		columnar.MaybeText("composition", "what its labelled steps held", func(w *Window) string { return w.Report.Holds }),
		columnar.Int("iterations", "", "labelled steps, warm-up included", func(w *Window) int64 { return int64(len(w.Report.Iterations)) }),
		columnar.Int("ranks", "", "ranks whose traces were read", func(w *Window) int64 { return int64(len(w.Report.Ranks)) }),
		columnar.Int("missing_ranks", "", "ranks without a trace", func(w *Window) int64 { return int64(len(w.Report.Missing)) }),
		columnar.MaybeText("files", "its trace files, one a line", func(w *Window) string { return strings.Join(w.Report.Files, "\n") }),
	}}
}

// step is the first or the last step that an iteration was joined to.
func (w *Window) step(last bool) (v int64, ok bool) {
	for i := range w.Report.Iterations {
		if index := w.Report.Iterations[i].StepIndex; index != nil && (!ok || last) {
			v, ok = *index, true
		}
	}
	return v, ok
}

func known(p *int64) (int64, bool) {
	if p == nil {
		return 0, false
	}
	return *p, true
}

// Iteration is a row of the iterations table: one labelled step of a window on one rank.
type Iteration struct {
	Window int64
	Number int64 // in its window, 0 first
	Step   *capture.IterationReport
	Rank   *capture.RankIterationReport
}

type iterationColumn = columnar.Column[Iteration]

// Iterations is one row a labelled step and rank. What is of the step and not of a rank is the same in all its rows.
func Iterations() *columnar.Table[Iteration] {
	t := &columnar.Table[Iteration]{Name: "iterations", Doc: "One row for each labelled step of a window and rank; step figures repeat in the rows of its ranks."}
	t.Columns = append(append([]iterationColumn{
		columnar.Int("window", "", "number of the window", func(i *Iteration) int64 { return i.Window }),
		columnar.Int("iteration", "", "number in the window, from 0", func(i *Iteration) int64 { return i.Number }),
		columnar.MaybeInt("rank", "", "global rank; null where the file does not say", func(i *Iteration) (int64, bool) { return known(i.Rank.Rank) }),
	}, iterationColumns()...), rankColumns()...)
	return t
}

func iterationColumns() []iterationColumn {
	step := func(name, unit, doc string, get func(*capture.IterationReport) *int64) iterationColumn {
		return columnar.MaybeInt(name, unit, doc, func(i *Iteration) (int64, bool) { return known(get(i.Step)) })
	}
	return []iterationColumn{
		columnar.Text("label", "the server's own name of the step", func(i *Iteration) string { return i.Step.Label }),
		columnar.Bool("warmup", "disturbed by the profiler's start: left out of the window's figures", func(i *Iteration) bool { return i.Step.Warmup }),
		columnar.Bool("export_stall", "the step's period holds the stall of the trace's export", func(i *Iteration) bool { return i.Step.ExportStall }),
		step("step_index", "", "the step that it is; null when not joined", func(s *capture.IterationReport) *int64 { return s.StepIndex }),
		columnar.MaybeText("cudagraph_mode", "of that step", func(i *Iteration) string {
			if i.Step.GraphMode == nil {
				return ""
			}
			return *i.Step.GraphMode
		}),
		step("bucket_tokens", "tokens", "of that step", func(s *capture.IterationReport) *int64 { return s.BucketTokens }),
		step("period_ns", "ns", "of that step", func(s *capture.IterationReport) *int64 { return s.PeriodNS }),
		step("submit_to_complete_ns", "ns", "of that step", func(s *capture.IterationReport) *int64 { return s.SubmitToCompleteNS }),
		step("critical_path_ns", "ns", "largest busy union over the ranks", func(s *capture.IterationReport) *int64 { return s.CriticalPathNS }),
		step("critical_rank", "", "the rank that has it", func(s *capture.IterationReport) *int64 { return s.CriticalRank }),
		step("noncollective_path_ns", "ns", "largest union without collectives", func(s *capture.IterationReport) *int64 { return s.NonCollectiveNS }),
		step("spread_ns", "ns", "largest minus smallest union without collectives", func(s *capture.IterationReport) *int64 { return s.SpreadNS }),
		step("residual_ns", "ns", "period minus critical path; judge it over several steps", func(s *capture.IterationReport) *int64 { return s.ResidualNS }),
		step("overlap_ns", "ns", "family unions of the critical rank minus its union", func(s *capture.IterationReport) *int64 { return s.OverlapNS }),
	}
}

func rankColumns() []iterationColumn {
	rank := func(name, unit, doc string, get func(*capture.RankIterationReport) int64) iterationColumn {
		return columnar.Int(name, unit, doc, func(i *Iteration) int64 { return get(i.Rank) })
	}
	return []iterationColumn{
		rank("sum_ns", "ns", "sum of the rank's device intervals", func(r *capture.RankIterationReport) int64 { return r.SumNS }),
		rank("union_ns", "ns", "their union: how long the device was busy", func(r *capture.RankIterationReport) int64 { return r.UnionNS }),
		rank("noncollective_union_ns", "ns", "the union without collectives", func(r *capture.RankIterationReport) int64 { return r.NonCollectiveUnionNS }),
		rank("launches", "", "kernels, copies and sets", func(r *capture.RankIterationReport) int64 { return r.Launches }),
		rank("graph_launches", "", "launches that stand for a whole graph", func(r *capture.RankIterationReport) int64 { return r.GraphLaunches }),
		rank("span_ns", "ns", "first start to last end", func(r *capture.RankIterationReport) int64 { return r.SpanNS }),
		columnar.MaybeInt("collective_wait_ns", "ns", "time in collectives spent waiting for a later rank", func(i *Iteration) (int64, bool) { return known(i.Rank.WaitNS) }),
	}
}

// Family is a row of the families table: device time of one family in one iteration of a rank.
type Family struct {
	Iteration
	Name string
	Use  capture.UseReport
}

// Families is one row a labelled step, rank and kernel family.
func Families() *columnar.Table[Family] {
	return &columnar.Table[Family]{Name: "families", Doc: "One row for each labelled step of a window, rank and kernel family.", Columns: []columnar.Column[Family]{
		columnar.Int("window", "", "number of the window", func(f *Family) int64 { return f.Window }),
		columnar.Int("iteration", "", "number in the window, from 0", func(f *Family) int64 { return f.Number }),
		columnar.MaybeInt("rank", "", "global rank; null where the file does not say", func(f *Family) (int64, bool) { return known(f.Rank.Rank) }),
		columnar.Text("family", "attention, router, expert_gemm, dense_gemm, norm_act, collective, sampling, memory, other or unknown", func(f *Family) string { return f.Name }),
		columnar.MaybeInt("step_index", "", "the step that the iteration is; null when not joined", func(f *Family) (int64, bool) { return known(f.Step.StepIndex) }),
		columnar.Bool("warmup", "disturbed by the profiler's start", func(f *Family) bool { return f.Step.Warmup }),
		columnar.Int("sum_ns", "ns", "sum of the family's device intervals", func(f *Family) int64 { return f.Use.SumNS }),
		columnar.Int("union_ns", "ns", "their union", func(f *Family) int64 { return f.Use.UnionNS }),
		columnar.Int("launches", "", "kernels, copies and sets", func(f *Family) int64 { return f.Use.Launches }),
	}}
}
