package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"opprof/campaign/compare"
	"opprof/engine/rundir"
	"opprof/traces/family"
)

type compareOptions struct {
	json, markdown, html bool
	spanA, spanB         string
	most                 int
	rules                string
}

func newCompare(env *Env) *cobra.Command {
	o := &compareOptions{}
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Set two runs, or two spans of runs, against each other at equal composition",
		Long: `Compares steps with steps of the same kind: of the same CUDA-graph mode and bucket, and of one bin of decode batch, prefill tokens and
context length. So a different mix of work is not taken for a different speed: the plain difference of the step period is split into what
speed, what the mix and what kinds of one side alone make of it. Where both runs have profiler windows, kernel time by family is compared
the same way.

Intervals are 95 %, and their unit is not the step but a block of consecutive steps, as long as it must be for neighbouring blocks not to
move together. Kinds with too few steps are listed and not judged. Left out and counted are steps while a profiler window was open, steps
after gaps and restarts, stalls, the first ones of a server and those without tokens.

A and B are a RUN each, and may be the same one with two spans. A span is FROM..TO of step indices, of times since the first step (30s..2m)
or of times of day (2026-11-30T12:00:00Z..); either end may be left out.

` + runArgument,
		Example: `  opprof compare RUN RUN
  opprof compare RUN RUN --a-span ..800 --b-span 801.. # before and after
  opprof compare --json RUN RUN`,
		Args:              exactly("A", "B"),
		ValidArgsFunction: completeRuns(env),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args[0], args[1]) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object, times in nanoseconds")
	c.Flags().BoolVar(&o.markdown, "md", false, "print the tables as Markdown")
	c.Flags().BoolVar(&o.html, "html", false, "print one self-contained HTML page")
	c.Flags().StringVar(&o.spanA, "a-span", "", "the `span` of A that is compared (default all of it)")
	c.Flags().StringVar(&o.spanB, "b-span", "", "the `span` of B that is compared (default all of it)")
	c.Flags().IntVar(&o.most, "most", 40, "kinds of steps that are listed; 0 lists all. --json lists all")
	c.Flags().StringVar(&o.rules, "rules", "", "a TOML `file` of kernel rules that are tried before the built-in ones")
	return c
}

func (o *compareOptions) run(ctx context.Context, env *Env, a, b string) error {
	switch {
	case o.json && o.markdown || o.json && o.html || o.markdown && o.html:
		return usageErrorf("--json, --md and --html are three ways to print: give one of them")
	case o.most < 0:
		return usageErrorf("--most %d: expected a number of kinds of steps, or 0 for all", o.most)
	}
	spanA, err := parseSpan("--a-span", o.spanA)
	if err != nil {
		return err
	}
	spanB, err := parseSpan("--b-span", o.spanB)
	if err != nil {
		return err
	}
	rules, err := kernelRules(o.rules)
	if err != nil {
		return err
	}
	report, err := env.compare(ctx, [2]string{a, b}, [2]compare.Span{spanA, spanB}, rules)
	if err != nil {
		return err
	}
	switch {
	case o.json:
		return printJSON(env.Stdout, report)
	case o.html:
		return report.WriteHTML(env.Stdout, o.most)
	}
	return comparisonDocument(report, o.most).write(env.Stdout, o.markdown)
}

func parseSpan(flag, text string) (compare.Span, error) {
	s, err := compare.ParseSpan(text)
	if err != nil {
		return s, WithCode(fmt.Errorf("%s: %w", flag, err), ExitUsage)
	}
	return s, nil
}

// compare reads two runs beside each other and compares them.
func (e *Env) compare(ctx context.Context, args [2]string, spans [2]compare.Span, rules *family.Rules) (*compare.Comparison, error) {
	var readings [2]*compare.Reading
	var runs [2]*rundir.Run
	for i, arg := range args {
		run, err := e.openRun(arg)
		if err != nil {
			return nil, err
		}
		if len(run.Streams) == 0 {
			return nil, fmt.Errorf("cannot compare %s: %s", run.Path, noStream(run))
		}
		runs[i] = run
	}
	var reading sync.WaitGroup
	var failed [2]error
	for i, run := range runs {
		reading.Go(func() { readings[i], failed[i] = compare.Read(ctx, run, args[i], spans[i]) })
	}
	reading.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		return nil, err
	}
	if len(runs[0].Traces) > 0 && len(runs[1].Traces) > 0 {
		for i, run := range runs {
			windows, err := e.loadWindows(ctx, run.Path, rules)
			if err != nil {
				return nil, err
			}
			readings[i].AddWindows(windows)
		}
	}
	return compare.Compare(readings[0], readings[1]), nil
}

// comparisonDocument are the tables of a comparison.
func comparisonDocument(c *compare.Comparison, most int) *document {
	d := &document{}
	for _, t := range c.Tables(most) {
		s := section{title: t.Title, head: t.Head, rows: t.Rows, notes: t.Notes, left: map[int]bool{}}
		for i := range t.Left {
			s.left[i] = true
		}
		for i, head := range t.Head {
			s.left[i] = s.left[i] || head == ""
		}
		d.sections = append(d.sections, s)
	}
	return d
}
