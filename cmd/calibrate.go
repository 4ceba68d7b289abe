package cmd

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"opprof/campaign/calibrate"
	"opprof/engine/rundir"
	"opprof/engine/unit"
	"opprof/traces/capture"
	"opprof/traces/family"
)

type calibrateOptions struct {
	json     bool
	markdown bool
	at       string
	rules    string
}

func newCalibrate(env *Env) *cobra.Command {
	o := &calibrateOptions{}
	c := &cobra.Command{
		Use:   "calibrate RUN…",
		Short: "Learn from profiler windows what a step costs, and say what one would cost",
		Long: `Reads the profiler windows of runs that are tied to Layer-1 steps and tabulates kernel time by family over what the steps held: decode
batch, prefill tokens, context lengths, graph mode and bucket. Beside the table stands a model of a few terms, none of them negative. Its
errors are those on windows that it was not fitted to, each held out as a whole. Times are those of the rank with the most work, without
its waiting in collectives.

A campaign's folder stands for all of its runs.

--at asks what a step would cost, whether or not it ran: decode (requests), prefill (tokens), prefill_requests, context (mean length of a
request), graph, bucket. Beyond what was seen the answer says so and has no interval.

` + runArgument,
		Example: `  opprof calibrate RUN
  opprof calibrate RUN --at decode=48,context=8192
  opprof calibrate CAMPAIGN --md
  opprof calibrate --json RUN | jq '.sets[].busy_held_out.mean_pct'`,
		Args:              atLeastOne("RUN"),
		ValidArgsFunction: completeRuns(env),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object, times in nanoseconds")
	c.Flags().BoolVar(&o.markdown, "md", false, "print the tables as Markdown")
	c.Flags().StringVar(&o.at, "at", "", "the step to ask for, such as decode=48,context=8192")
	c.Flags().StringVar(&o.rules, "rules", "", "a TOML `file` of kernel rules that are tried before the built-in ones")
	return c
}

func (o *calibrateOptions) run(ctx context.Context, env *Env, args []string) error {
	if o.json && o.markdown {
		return usageErrorf("--json and --md are two ways to print: give one of them")
	}
	var question *calibrate.Question
	if o.at != "" {
		q, err := calibrate.ParseQuestion(o.at)
		if err != nil {
			return WithCode(fmt.Errorf("--at: %w", err), ExitUsage)
		}
		question = &q
	}
	rules, err := kernelRules(o.rules)
	if err != nil {
		return err
	}
	defer spareMemory(env, nil)()
	var windows []calibrate.Named
	for _, arg := range args {
		found, err := env.loadCampaign(ctx, arg, rules)
		if err != nil {
			return err
		}
		windows = append(windows, found...)
	}
	sets, left := calibrate.Samples(windows)
	report := calibrate.NewReport(sets, left, question)
	if o.json {
		err = printJSON(env.Stdout, report)
	} else {
		err = calibrationDocument(&report).write(env.Stdout, o.markdown)
	}
	if err == nil && len(sets) == 0 {
		return fmt.Errorf("nothing to learn from: none of %s has device work that is tied to steps", unit.Counted(len(windows), "window"))
	}
	return err
}

// loadCampaign are the windows of a run, or of all runs of a campaign: most of its runs are measured without any.
func (e *Env) loadCampaign(ctx context.Context, arg string, rules *family.Rules) ([]calibrate.Named, error) {
	runs := runsOfCampaign(arg)
	if len(runs) == 0 {
		return e.loadWindows(ctx, arg, rules)
	}
	var out []calibrate.Named
	for _, path := range runs {
		run, err := rundir.Open(path)
		if err != nil || len(run.Traces) == 0 {
			continue // opprof check says what is wrong with it
		}
		found, err := e.loadWindows(ctx, path, rules)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("none of the %s of campaign %s has traces: profiler windows come from its calibration runs", unit.Counted(len(runs), "run"), arg)
	}
	return out, nil
}

// loadWindows are the windows of a run, named by it and by time.
func (e *Env) loadWindows(ctx context.Context, arg string, rules *family.Rules) ([]calibrate.Named, error) {
	in := capture.Input{Rules: rules}
	if err := e.addTraces(&in, arg); err != nil {
		return nil, err
	}
	if len(in.Traces) == 0 {
		return nil, fmt.Errorf("cannot find traces (*.pt.trace.json or *.pt.trace.json.gz) in %s", arg)
	}
	defer spareMemory(e, in.Traces)()
	c, err := capture.Load(ctx, in)
	if err != nil {
		return nil, err
	}
	for _, f := range c.Failed {
		if err := printf(e.Stderr, "opprof: %s is left out: %s\n", f.Path, f.Why()); err != nil {
			return nil, err
		}
	}
	out := make([]calibrate.Named, len(c.Windows))
	for i, w := range c.Windows {
		out[i] = calibrate.Named{Name: arg + " window " + c.Names[i], Window: w}
	}
	return out, nil
}

func calibrationDocument(r *calibrate.Report) *document {
	d := &document{}
	for i := range r.Sets {
		s := &r.Sets[i]
		d.sections = append(d.sections, setSection(s), costTable(s), modelSection(s), heldOutSection(s))
		switch {
		case s.Answer != nil:
			d.sections = append(d.sections, answerSection(s.Answer))
		case s.Refusal != "":
			no := section{title: "No answer"}
			no.note("%s", s.Refusal)
			d.sections = append(d.sections, no)
		}
	}
	left := section{title: "Left out"}
	left.note("%s of the warm-up, %s with damage, %s of an unknown graph mode", unit.Counted(r.LeftOut.WarmUp, "step"),
		unit.Counted(r.LeftOut.Damaged, "step"), unit.Counted(r.LeftOut.Unknown, "step"))
	for _, w := range r.LeftOut.Windows {
		left.note("%s", w)
	}
	d.sections = append(d.sections, left)
	return d
}

func setSection(r *calibrate.SetReport) section {
	s := section{title: fmt.Sprintf("Servers of %s", unit.Counted(r.Ranks, "rank")), head: []string{"graph", "steps", "decode", "prefill tokens", "context of all"}}
	s.note("%s of %s", unit.Counted(r.Steps, "step"), unit.Counted(len(r.Windows), "window"))
	span := func(v calibrate.Range) string {
		if v.Min == v.Max {
			return unit.Count(int64(v.Min))
		}
		return unit.Count(int64(v.Min)) + " to " + unit.Count(int64(v.Max))
	}
	for _, mode := range slices.Sorted(maps.Keys(r.Seen)) {
		v := r.Seen[mode]
		s.row(mode, strconv.Itoa(v.Steps), span(v.Decode), span(v.Prefill), span(v.Context))
	}
	return s
}

// costTable is the table of cells; families that take no time are left out.
func costTable(r *calibrate.SetReport) section {
	s := section{title: "Busy time by what the step held, mean ms", head: []string{"graph", "bucket", "decode", "prefill", "context", "windows", "steps", "busy", "least", "most"}}
	var families []string
	for f := range family.Count {
		if slices.ContainsFunc(r.Table, func(row calibrate.Row) bool { return row.FamilyNS[f.String()] > 0 }) {
			families = append(families, f.String())
		}
	}
	s.head = append(s.head, families...)
	if r.Ranks > 1 {
		s.head = append(s.head, "sum of ranks")
	}
	for _, row := range r.Table {
		cells := []string{row.Graph, bucketName(row.Bucket), row.Decode, row.Prefill, row.Context, strconv.Itoa(row.Windows), strconv.Itoa(row.Steps),
			floatMS(row.BusyNS), floatMS(row.BusyMin), floatMS(row.BusyMax)}
		for _, f := range families {
			cells = append(cells, floatMS(row.FamilyNS[f]))
		}
		if r.Ranks > 1 {
			cells = append(cells, floatMS(row.SumNS))
		}
		s.row(cells...)
	}
	return s
}

// bucketName is a captured size; "-" where no graph ran.
func bucketName(tokens int64) string {
	if tokens == 0 {
		return "-"
	}
	return unit.Count(tokens)
}

func floatMS(ns float64) string { return ms(int64(math.Round(ns))) }

func modelSection(r *calibrate.SetReport) section {
	s := section{title: "Model: the time of each family is a sum of these", left: map[int]bool{1: true, 3: true},
		head: []string{"family", "terms", "error held out", "largest"}}
	for _, m := range r.Models {
		var parts []string
		for _, t := range m.Terms {
			if t.NS > 0 {
				parts = append(parts, fmt.Sprintf("%.4g us/%s", t.NS/1e3, t.Unit))
			}
		}
		terms := strings.Join(parts, " + ")
		if m.Saturation != nil {
			terms += fmt.Sprintf(" (63 %% touched by %.3g tokens)", *m.Saturation)
		}
		s.row(m.Family, terms, errorPct(m.Held.MeanPct), errorPct(m.Held.MaxPct))
	}
	s.row("busy", "all of them", errorPct(r.Busy.MeanPct), errorPct(r.Busy.MaxPct))
	return s
}

func errorPct(v *float64) string {
	return unit.Known(v, func(v float64) string { return fmt.Sprintf("%.1f %%", v) })
}

func heldOutSection(r *calibrate.SetReport) section {
	s := section{title: "Busy time of held-out windows, error of the prediction", left: map[int]bool{1: true},
		head: []string{"window", "", "steps", "model", "spread of its steps", "table"}}
	s.note("each window predicted from the others: model %s in the mean, %s at most", errorPct(r.Busy.MeanPct), errorPct(r.Busy.MaxPct))
	if r.Busy.MeanIn == nil {
		s.note("no window lies within what the others show: every error here is of extrapolation")
	} else {
		s.note("%s within what the others show: %s in the mean", unit.Counted(r.Busy.Inside, "window"), errorPct(r.Busy.MeanIn))
	}
	s.note("table %s in the mean over %s; %s are in cells that no other window has", errorPct(r.TableHeld.MeanPct), unit.Counted(r.TableHeld.Windows, "window"),
		unit.Counted(r.TableMissing, "step"))
	table := map[string]float64{}
	for _, w := range r.TableHeld.ByWindow {
		table[w.Window] = w.Pct
	}
	for _, w := range r.Busy.ByWindow {
		where, byTable := "outside", "-"
		if w.Inside {
			where = "inside"
		}
		if v, ok := table[w.Window]; ok {
			byTable = fmt.Sprintf("%+.1f %%", v)
		}
		s.row(w.Window, where, strconv.Itoa(w.Steps), fmt.Sprintf("%+.1f %%", w.Pct), fmt.Sprintf("%.1f %%", w.Spread), byTable)
	}
	return s
}

func answerSection(a *calibrate.Answer) section {
	s := section{title: fmt.Sprintf("A step with decode %.0f, prefill %.0f, context %.0f, ms", a.Decode, a.Prefill, a.Context), head: []string{"family", "estimate", "low", "high"}}
	if !a.Inside {
		s.title += ": OUTSIDE of what was seen"
	}
	for _, n := range a.Notes {
		s.note("%s", n)
	}
	if c := a.Cell; c != nil {
		s.note("row of the table (bucket %s, decode %s, prefill %s, context %s): mean %s, %s to %s, %s of %s", bucketName(c.Bucket), c.Decode, c.Prefill, c.Context,
			floatMS(c.BusyNS), floatMS(c.BusyMin), floatMS(c.BusyMax), unit.Counted(c.Steps, "step"), unit.Counted(c.Windows, "window"))
	} else {
		s.note("no such step was measured: the table has no row for it")
	}
	for _, e := range append(slices.Clone(a.Families), a.Busy) {
		s.row(e.Name, floatMS(e.NS), unit.Known(e.LowNS, floatMS), unit.Known(e.HighNS, floatMS))
	}
	return s
}
