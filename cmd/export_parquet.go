package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"opprof/campaign/export"
	"opprof/campaign/export/dataset"
	"opprof/engine/armed"
	"opprof/engine/unit"
	"opprof/traces/family"
)

type exportParquetOptions struct {
	out   string
	json  bool
	rules string
}

// exportReport is what `export parquet --json` prints.
type exportReport struct {
	Schema int           `json:"schema"`
	Out    string        `json:"out"`
	Runs   []exportedRun `json:"runs"`
}

// exportedRun is one run of it.
type exportedRun struct {
	Campaign string          `json:"campaign"` // "" for a run of its own
	Run      string          `json:"run"`
	Source   string          `json:"source"`
	Files    []dataset.Entry `json:"files"`
	Read     export.Summary  `json:"read"`
}

func newExportParquet(env *Env) *cobra.Command {
	o := &exportParquetOptions{}
	c := &cobra.Command{
		Use:   "parquet RUN… --out DIR",
		Short: "Write Parquet tables: steps, events, windows, iterations, families",
		Long: `Writes one row for each step, line of another kind, profiler window, labelled iteration and kernel family, as zstd-compressed Parquet in
DIR/<table>/campaign=<c>/run=<r>/engine=<e>/part-<n>.parquet, which DuckDB, Polars, PyArrow and Spark read in place. docs/export.md describes the
columns. Times are integer nanoseconds; unknown is null.

What was there when the export began is exported; a live run may grow meanwhile. A run's files get their names together, when all are whole, and
replace those of an earlier export of it. RUN may also be a campaign's folder or a folder of runs.

` + runArgument,
		Example: `  opprof export parquet latest --out lake
  opprof export parquet campaigns/moe --out lake
  duckdb -c "SELECT run, count(*) FROM read_parquet('lake/steps/**/*.parquet') GROUP BY run"`,
		Args:              atLeastOne("RUN"),
		ValidArgsFunction: completeRuns(env),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args) },
	}
	c.Flags().StringVar(&o.out, "out", "", "the `folder` to write to; it may hold other runs")
	c.Flags().BoolVar(&o.json, "json", false, "print what was written as one JSON object")
	c.Flags().StringVar(&o.rules, "rules", "", "a TOML `file` of kernel rules that are tried before the built-in ones")
	return c
}

func (o *exportParquetOptions) run(ctx context.Context, env *Env, args []string) error {
	if o.out == "" {
		return WithHint(usageErrorf("--out is missing: name a folder to write to"), "opprof export parquet "+args[0]+" --out lake")
	}
	rules, err := kernelRules(o.rules)
	if err != nil {
		return err
	}
	runs, err := env.distinctRuns(args)
	if err != nil {
		return err
	}
	to, err := dataset.Open(o.out, export.Tables()...)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	report := exportReport{Schema: 1, Out: o.out, Runs: []exportedRun{}}
	var failed []error
	for _, r := range runs {
		if len(runs) > 1 && r.unrecorded() {
			env.note(fmt.Errorf("%s: not exported: it ran without the recorder and holds no traces", r.run.ID))
			continue
		}
		done, err := exportRun(ctx, env, to, r, rules)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failed = append(failed, err)
			continue
		}
		report.Runs = append(report.Runs, done)
	}
	if len(report.Runs)+len(failed) == 0 {
		return errors.New("nothing to export: none of the runs holds records or traces")
	}
	if o.json {
		err = printJSON(env.Stdout, report)
	} else {
		err = report.table().write(env.Stdout)
	}
	return errors.Join(append(failed, err)...)
}

// unrecorded reports whether a run of a campaign has nothing to export, as those without the recorder do that others are compared with.
func (r *exported) unrecorded() bool {
	return r.campaign != "" && len(r.run.Streams) == 0 && len(r.run.Traces) == 0
}

// distinctRuns are the runs of all arguments. Two of the same names would take each other's place.
func (e *Env) distinctRuns(args []string) ([]exported, error) {
	var all []exported
	paths := map[[2]string]string{}
	for _, arg := range args {
		runs, err := e.exportedRuns(arg)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			key := [2]string{r.campaign, r.run.ID}
			if path, ok := paths[key]; ok && path != r.run.Path {
				return nil, usageErrorf("cannot export %s and %s together: both are called %q; export one of them to another folder", path, r.run.Path, r.run.ID)
			} else if ok {
				continue
			}
			paths[key] = r.run.Path
			all = append(all, r)
		}
	}
	return all, nil
}

func exportRun(ctx context.Context, env *Env, to *dataset.Dataset, r exported, rules *family.Rules) (exportedRun, error) {
	source, err := filepath.Abs(r.run.Path)
	if err != nil {
		return exportedRun{}, fmt.Errorf("cannot export %s: %w", r.run.Path, err)
	}
	restore := spareMemory(env, r.run.Traces)
	defer restore()
	bar := env.newProgress()
	bar.begin()
	defer bar.clear()
	m, read, err := export.Parquet(ctx, to, export.Source{Campaign: r.campaign, Run: r.run.ID, Path: source, Streams: r.run.Streams, Traces: r.run.Traces, Rules: rules, Armed: armed.Read(r.run.Root)},
		func(done, total int64) { bar.tell(r.run.ID, done, total) })
	bar.clear()
	if err != nil {
		return exportedRun{}, err
	}
	read.Problems = append(read.Problems, r.run.Problems...)
	if read.BadLines > 0 {
		env.note(fmt.Errorf("%s: left out of the steps: %s that %s; the first: %s", r.run.ID, unit.Counted(read.BadLines, "line"), unit.Verb(read.BadLines, "is no record", "are no records"), read.FirstBad))
	}
	if read.Torn > 0 {
		env.note(fmt.Errorf("%s: left out: %s that had no end yet", r.run.ID, unit.Counted(read.Torn, "last line")))
	}
	for _, problem := range read.Problems {
		env.note(errors.New(problem))
	}
	return exportedRun{Campaign: m.Campaign, Run: m.Run, Source: m.Source, Files: m.Files, Read: read}, nil
}

// table is a line for each run.
func (r *exportReport) table() *table {
	t := &table{left: []int{1}} // campaign
	t.row("run", "campaign", "read", "steps", "windows", "bad lines", "files", "written")
	for i := range r.Runs {
		run := &r.Runs[i]
		var bytes int64
		for _, f := range run.Files {
			bytes += f.Bytes
		}
		t.row(run.Run, orDash(run.Campaign), unit.Bytes(run.Read.Bytes), unit.Count(run.Read.Steps), unit.Count(run.Read.Windows), unit.Count(run.Read.BadLines),
			unit.Count(int64(len(run.Files))), unit.Bytes(bytes))
	}
	return t
}
