package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opprof/cmd/session"
	"opprof/engine/rundir"
	"opprof/engine/serverconf"
	"opprof/engine/unit"
	"opprof/tui/chart"
)

type checkOptions struct {
	json bool
}

func newCheck(env *Env) *cobra.Command {
	o := &checkOptions{}
	c := &cobra.Command{
		Use:   "check PATH…",
		Short: "Check that the records of runs hold together",
		Long: `Reads every Layer-1 stream below the given paths and checks what must be true of each: step indices without gaps, sums that agree,
block counts, graph buckets, clocks, the footer. Exits with 3 when something does not hold. A missing footer (the server was killed, or
still runs) is only mentioned.

PATH is a RUN as everywhere.

` + runArgument,
		Example: `  opprof check RUN
  opprof check --json RUN      # one JSON object, for scripts`,
		Args:              atLeastOne("PATH"),
		ValidArgsFunction: completeRuns(env),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return c
}

func (o *checkOptions) run(ctx context.Context, env *Env, args []string) error {
	report := &session.CheckReport{Schema: 1, Files: []session.FileCheck{}, Failed: []string{}}
	var failed []error
	for _, arg := range args {
		switch err := env.checkRun(ctx, report, arg); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failed = append(failed, err)
			report.Failed = append(report.Failed, err.Error())
		}
	}
	switch {
	case o.json:
		if err := printJSON(env.Stdout, report); err != nil {
			return err
		}
	case len(report.Files) > 0:
		if err := checkTable(report).write(env.Stdout); err != nil {
			return err
		}
	}
	if n := report.Stepless(); n > 0 {
		failed = append(failed, fmt.Errorf("cannot check: no step could be read of %s", unit.Counted(n, "stream")))
	}
	if n := report.Unreadable(); n > 0 {
		failed = append(failed, fmt.Errorf("cannot check: %s could not be read to the end", unit.Counted(n, "stream")))
	}
	switch {
	case len(failed) == 1:
		return failed[0] // with its hint
	case len(failed) > 1:
		return errors.Join(failed...)
	case report.Violated():
		return WithCode(errSilent, ExitCheck)
	}
	return nil
}

// checkRun adds what is found in one argument's streams.
func (e *Env) checkRun(ctx context.Context, report *session.CheckReport, arg string) error {
	run, err := e.openRun(arg)
	if err != nil {
		return err
	}
	if len(run.Streams) == 0 {
		why := append([]string{noStream(run)}, run.Problems...)
		return fmt.Errorf("cannot check %s: %s", run.Path, strings.Join(why, "; "))
	}
	return report.AddRun(ctx, run)
}

// noStream says why there is nothing to read of a run.
func noStream(run *rundir.Run) string {
	if s, err := serverconf.Load(filepath.Join(run.Root, rundir.ConfigName)); err == nil && !s.Record {
		return "its recorder was off (record = false), so that it has no steps"
	}
	return "it has no Layer-1 stream (.jsonl, .jsonl.gz or .jsonl.zst)"
}

// verdict is what is to be known of a stream in a few words.
func verdict(f *session.FileCheck) string {
	word := "holds"
	switch {
	case f.Stepless():
		word = "NO STEP COULD BE READ"
	case len(f.Violations) > 0:
		word = "DOES NOT HOLD"
	case f.Error != "":
		word = "CANNOT BE READ"
	}
	if f.BadLines > 0 {
		word += ", " + unit.Counted(f.BadLines, "bad line")
	}
	return word
}

func checkTable(report *session.CheckReport) *table {
	t := &table{}
	for i := range report.Files {
		f := &report.Files[i]
		t.line("%s  %s", chart.Sanitize(f.Path), verdict(f))
		t.line("  engine %s   %s   %s dropped   %s", orDash(chart.Sanitize(f.EngineID)), unit.Counted(f.Steps, "step"), unit.Count(f.Dropped), unit.Counted(f.BadLines, "bad line"))
		if f.Error != "" {
			t.line("  %s", chart.Sanitize(f.Error))
		}
		if f.FirstBad != "" {
			t.line("  first bad line: %s", chart.Sanitize(f.FirstBad))
		}
		if f.TornTail {
			t.line("  torn tail: the last line is cut off and left out")
		}
		if f.WallJumps > 0 {
			t.line("  %s of the wall clock by over a second: times of day are not to be trusted across them", unit.Counted(f.WallJumps, "jump"))
		}
		if f.MissingFooter {
			t.line("  no footer: the server was killed or is still running")
		}
		for _, name := range slices.Sorted(maps.Keys(f.Violations)) {
			v := f.Violations[name]
			t.line("  %-16s %s, first at step %s: %s", name, unit.Counted(v.Count, "time"), unit.Count(v.FirstStep), chart.Sanitize(v.Detail))
		}
	}
	return t
}
