package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/spf13/cobra"

	"opprof/campaign/export/feed"
	"opprof/campaign/export/perfetto"
	"opprof/campaign/export/windows"
	"opprof/engine/armed"
	"opprof/engine/rundir"
	"opprof/engine/unit"
)

type exportPerfettoOptions struct {
	out      string
	windows  []string
	from, to int64
	rules    string
}

func newExportPerfetto(env *Env) *cobra.Command {
	o := &exportPerfettoOptions{}
	c := &cobra.Command{
		Use:   "perfetto RUN --out FILE.json.gz",
		Short: "Write a trace of the steps, merged with the kernels of windows, for ui.perfetto.dev",
		Long: `Writes a trace in Chrome's JSON format, which ui.perfetto.dev and chrome://tracing open: a slice for each step with its composition, counters of
KV usage, requests, decode batch and prefill tokens, marks of preemptions, stalls and gaps, and, of the windows that are named, every kernel of
every rank with the step that it belongs to. All on one clock, exact to the nanosecond.

Browsers open some hundred thousand steps: --from and --to choose.

` + runArgument,
		Example: `  opprof export perfetto latest --out run.json.gz
  opprof export perfetto RUN --window 2 --from 900 --to 950 --out window2.json.gz`,
		Args:              exactly("RUN"),
		ValidArgsFunction: completeRuns(env),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args[0]) },
	}
	c.Flags().StringVar(&o.out, "out", "", "the `file` to write; compressed if its name ends in .gz")
	c.Flags().StringSliceVar(&o.windows, "window", nil, "merge the kernels of the window with this `number`, as the windows page has it, or t1 for the first one that nobody armed; may be given again")
	c.Flags().Int64Var(&o.from, "from", 0, "first step, by its index; 0 is the run's")
	c.Flags().Int64Var(&o.to, "to", 0, "last step, by its index; 0 is the run's")
	c.Flags().StringVar(&o.rules, "rules", "", "a TOML `file` of kernel rules that are tried before the built-in ones")
	return c
}

func (o *exportPerfettoOptions) run(ctx context.Context, env *Env, arg string) error {
	switch {
	case o.out == "":
		return WithHint(usageErrorf("--out is missing: name a file to write"), "opprof export perfetto "+arg+" --out run.json.gz")
	case o.from < 0 || o.to < 0 || o.to > 0 && o.to < o.from:
		return usageErrorf("--from %d --to %d: want step indexes, the first not behind the last", o.from, o.to)
	}
	run, err := env.openRun(arg)
	if err != nil {
		return err
	}
	in := perfetto.Input{Run: run.ID, From: o.from, To: o.to}
	if len(o.windows) > 0 {
		if in.Windows, err = o.windowsOf(ctx, run); err != nil {
			return err
		}
	}
	if in.Steps, err = feed.Open(run.Streams); err != nil {
		return err
	}
	bar := env.newProgress()
	bar.begin()
	defer bar.clear()
	in.Progress = func(done, total int64) { bar.tell(run.ID, done, total) }
	var sum perfetto.Summary
	err = rundir.WriteAtomic(o.out, func(w io.Writer) error {
		if strings.HasSuffix(o.out, ".gz") {
			z := gzip.NewWriter(w)
			sum, err = perfetto.Write(ctx, z, in)
			return errors.Join(err, z.Close())
		}
		sum, err = perfetto.Write(ctx, w, in)
		return err
	})
	bar.clear()
	if err != nil {
		return err
	}
	return o.report(env, run, &sum)
}

// report says what was written, and what was not.
func (o *exportPerfettoOptions) report(env *Env, run *rundir.Run, sum *perfetto.Summary) error {
	if sum.Count.Bad > 0 {
		env.note(fmt.Errorf("%s: left out: %s that %s; the first: %s", run.ID, unit.Counted(sum.Count.Bad, "line"), unit.Verb(sum.Count.Bad, "is no record", "are no records"), sum.Count.FirstBad))
	}
	if sum.Skipped > 0 {
		env.note(fmt.Errorf("%s: left out: %s whose clocks contradict each other", run.ID, unit.Counted(sum.Skipped, "step")))
	}
	for _, problem := range slices.Concat(run.Problems, sum.Problems) {
		env.note(errors.New(problem))
	}
	return printf(env.Stdout, "%s: %s steps, %s kernels\n", o.out, unit.Count(sum.Steps), unit.Count(sum.Kernels))
}

// windowsOf reads the windows that are asked for.
func (o *exportPerfettoOptions) windowsOf(ctx context.Context, run *rundir.Run) ([]windows.Window, error) {
	rules, err := kernelRules(o.rules)
	if err != nil {
		return nil, err
	}
	in, err := feed.Open(run.Streams)
	if err != nil {
		return nil, err
	}
	markers := windows.NewMarkers()
	if _, err := in.Each(ctx, func(it *feed.Item) error { markers.Add(it.Stream, it.Line); return nil }, nil); err != nil {
		return nil, err
	}
	asked := func(name string) bool { return slices.Contains(o.windows, name) }
	all, err := windows.List(ctx, windows.Source{Traces: run.Traces, Streams: run.Streams, Rules: rules, Armed: armed.Read(run.Root)}, markers, asked)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range all {
		names = append(names, all[i].Name())
	}
	for _, name := range o.windows {
		if !slices.Contains(names, name) {
			return nil, WithHint(usageErrorf("--window %s: %s has %s: %s", name, run.ID, unit.Counted(len(all), "window"), cmp.Or(strings.Join(slices.Compact(names), ", "), "none")), "opprof trace "+run.Path)
		}
	}
	return slices.DeleteFunc(all, func(w windows.Window) bool { return !asked(w.Name()) }), nil
}
