package cmd

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opprof/engine/armed"
	"opprof/engine/regular"
	"opprof/traces/capture"
	"opprof/traces/family"
)

type traceOptions struct {
	json, csv, markdown bool
	top                 int
	rules               string
	taxonomy            []string
}

func newTrace(env *Env) *cobra.Command {
	o := &traceOptions{}
	c := &cobra.Command{
		Use:   "trace PATH…",
		Short: "Break profiler traces down by rank, iteration and kernel family",
		Long: `Reads torch-profiler traces: files, folders of them, or runs. The files of the ranks are grouped into windows and joined with the Layer-1
steps of the run, where it has them. Busy time is the union of the device intervals of a rank, never their sum; the critical path of an
iteration is the largest busy time of its ranks; the residual is the step's period minus the critical path.

What is damaged is left out, counted and named; what no rule knows is shown as unknown, never hidden in a family.

PATH is a trace (*.pt.trace.json or *.pt.trace.json.gz), a folder of traces, or a RUN.

` + runArgument,
		Example: `  opprof trace RUN
  opprof trace kineto/ --top 30
  opprof trace --json RUN | jq '.windows[0].ranks[].families'`,
		Args:              atLeastOne("PATH"),
		ValidArgsFunction: completeRuns(env),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object, times in nanoseconds")
	c.Flags().BoolVar(&o.csv, "csv", false, "print one line for each window, iteration, rank and family, times in nanoseconds")
	c.Flags().BoolVar(&o.markdown, "md", false, "print the tables as Markdown")
	c.Flags().IntVar(&o.top, "top", 10, "kernels listed for each rank; 0 lists all")
	c.Flags().StringVar(&o.rules, "rules", "", "a TOML `file` of kernel rules that are tried before the built-in ones")
	c.Flags().StringArrayVar(&o.taxonomy, "taxonomy", nil, "a `path` with a window of the same model with cudagraph_mode=NONE, which teaches places in the layer; may be given again")
	return c
}

func (o *traceOptions) run(ctx context.Context, env *Env, args []string) error {
	if (o.json && o.csv) || (o.json && o.markdown) || (o.csv && o.markdown) {
		return usageErrorf("--json, --csv and --md are three ways to print: give one of them")
	}
	if o.top < 0 {
		return usageErrorf("--top %d: expected a number of kernels, or 0 for all", o.top)
	}
	rules, err := kernelRules(o.rules)
	if err != nil {
		return err
	}
	in := capture.Input{Rules: rules}
	for _, arg := range args {
		if err := env.addTraces(&in, arg); err != nil {
			return err
		}
	}
	if len(in.Traces) == 0 {
		return fmt.Errorf("cannot find traces (*.pt.trace.json or *.pt.trace.json.gz) in %s", args[0])
	}
	for _, arg := range o.taxonomy {
		var teaching capture.Input
		if err := env.addTraces(&teaching, arg); err != nil {
			return err
		}
		in.Taxonomy = append(in.Taxonomy, teaching.Traces...)
	}
	restore := spareMemory(env, in.Traces)
	defer restore()
	c, err := capture.Load(ctx, in)
	if err != nil {
		return err
	}
	report := c.Report(o.top)
	if err := o.print(env, &report); err != nil {
		return err
	}
	if len(c.Windows) == 0 {
		return errors.New("none of the traces could be read")
	}
	return nil
}

func (o *traceOptions) print(env *Env, report *capture.Report) error {
	switch {
	case o.json:
		return printJSON(env.Stdout, report)
	case o.csv:
		w := csv.NewWriter(env.Stdout)
		cells := traceCells(report)
		for _, row := range cells {
			for i := range row {
				row[i] = printable(row[i])
			}
		}
		if err := w.WriteAll(cells); err != nil {
			return fmt.Errorf("cannot print CSV: %w", err)
		}
		return nil
	}
	return traceDocument(report).write(env.Stdout, o.markdown)
}

const (
	// calmPercent lets the heap of a small job grow before it is collected at all; tightPercent keeps a trace of a gigabyte within 100 MB: what
	// is kept is packed and long-lived and the rest are blocks that are used again, so collecting often costs little.
	calmPercent  = 400
	tightPercent = 33
	calmBytes    = 16 << 20 // packed traces up to here are a small job
)

// spareMemory sets the collector for reading traces, unless the user did so.
func spareMemory(env *Env, traces []string) (restore func()) {
	if env.Getenv("GOGC") != "" || env.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	var size int64
	for _, path := range traces {
		if s, err := os.Stat(path); err == nil {
			size += s.Size()
		}
	}
	percent := tightPercent
	if size <= calmBytes {
		percent = calmPercent
	}
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}

// addTraces takes a trace file with the streams of the run it lies in, or whatever holds a run or traces.
func (e *Env) addTraces(in *capture.Input, arg string) error {
	st, err := os.Stat(arg)
	switch {
	case err == nil && st.Mode().IsRegular():
		in.Traces = append(in.Traces, arg)
		in.Streams = append(in.Streams, e.streamsBeside(arg)...)
		in.Runs = withRun(in.Runs, filepath.Dir(arg), filepath.Dir(arg), []string{arg})
		return nil
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsRune(arg, filepath.Separator):
		return WithHint(fmt.Errorf("cannot find traces: %s does not exist", arg), "a trace (*.pt.trace.json, *.pt.trace.json.gz), a folder of traces, or a run")
	}
	run, err := e.openRun(arg)
	if err != nil {
		return fmt.Errorf("cannot find traces: %w", err)
	}
	in.Traces = append(in.Traces, run.Traces...)
	in.Streams = append(in.Streams, run.Streams...)
	in.Runs = withRun(in.Runs, run.ID, run.Root, run.Traces)
	return nil
}

// withRun adds traces and the folder that tells the numbers of their windows, once for several files of a folder. A folder that tells none is
// left out: its windows are numbered by time.
func withRun(runs []capture.Run, name, dir string, traces []string) []capture.Run {
	list := armed.Read(dir)
	if list == nil {
		return runs
	}
	for i := range runs {
		if runs[i].Name == name {
			runs[i].Traces = append(runs[i].Traces, traces...)
			return runs
		}
	}
	return append(runs, capture.Run{Name: name, Traces: slices.Clone(traces), Armed: list})
}

// streamsBeside are the Layer-1 streams of the run whose kineto folder holds a trace file.
func (e *Env) streamsBeside(trace string) []string {
	streams, err := filepath.Glob(filepath.Join(filepath.Dir(trace), "..", "layer1", "*.jsonl*"))
	if err != nil {
		return nil
	}
	return streams
}

// kernelRules are the built-in rules, preceded by those of a user's file.
func kernelRules(path string) (*family.Rules, error) {
	rules, err := family.Default()
	if err != nil || path == "" {
		return rules, err
	}
	text, err := regular.Read(path, settingsMax)
	if err != nil {
		return nil, WithCode(fmt.Errorf("cannot read kernel rules: %w", err), ExitUsage)
	}
	rules, err = rules.With(path, string(text))
	return rules, WithCode(err, ExitUsage)
}
