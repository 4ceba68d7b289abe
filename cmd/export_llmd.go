package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opprof/campaign/bench"
	"opprof/campaign/export/feed"
	"opprof/campaign/export/llmd"
	"opprof/engine/regular"
	"opprof/engine/rundir"
)

func newExportLLMD(env *Env) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "llm-d RUN|CAMPAIGN",
		Short: "Write benchmark reports in the format of llm-d",
		Long: `Writes benchmark reports in the format of llm-d-benchmark, version ` + llmd.Version + `: the server from run.json, the load and its latencies from the
results in the run's bench folder (vllm bench serve, GuideLLM, AIPerf or inference-perf), KV usage, queues, preemptions and step periods from the
records. One report for each result of the load generator; a run without any has one report without request latencies.

One report is printed; several need --out, a folder in which each gets a file of its own.

` + runArgument,
		Example: `  opprof export llm-d latest
  opprof export llm-d campaigns/moe --out reports`,
		Args:              exactly("RUN|CAMPAIGN"),
		ValidArgsFunction: completeRuns(env),
		RunE:              func(c *cobra.Command, args []string) error { return exportLLMD(c.Context(), env, args[0], out) },
	}
	c.Flags().StringVar(&out, "out", "", "a `folder` for the reports")
	return c
}

// namedReport is a report and the file that it goes to.
type namedReport struct {
	name   string
	report llmd.Report
}

func exportLLMD(ctx context.Context, env *Env, arg, out string) error {
	runs, err := env.exportedRuns(arg)
	if err != nil {
		return err
	}
	var reports []namedReport
	for _, r := range runs {
		own, err := env.llmdReports(ctx, r)
		if err != nil {
			return err
		}
		reports = append(reports, own...)
	}
	switch {
	case out == "" && len(reports) == 1:
		return printJSON(env.Stdout, reports[0].report)
	case out == "":
		return WithHint(usageErrorf("%s gives %d reports: name a folder for them", arg, len(reports)), "opprof export llm-d "+arg+" --out reports")
	}
	if err := os.MkdirAll(out, rundir.DirMode); err != nil {
		return fmt.Errorf("cannot make folder: %w", err)
	}
	for _, r := range reports {
		path := filepath.Join(out, r.name)
		err := rundir.WriteAtomic(path, func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(r.report)
		})
		if err != nil {
			return err
		}
		if err := printf(env.Stdout, "%s\n", path); err != nil {
			return err
		}
	}
	return nil
}

// llmdReports are the reports of one run.
func (e *Env) llmdReports(ctx context.Context, r exported) ([]namedReport, error) {
	in, err := feed.Open(r.run.Streams)
	if err != nil {
		return nil, err
	}
	bar := e.newProgress()
	bar.begin()
	defer bar.clear()
	steps, n := &llmd.Steps{}, 0
	take := func(it *feed.Item) error {
		if n++; n%4096 == 0 {
			bar.tell(r.run.ID, in.Read(), in.Bytes())
		}
		steps.Add(it)
		return nil
	}
	if _, err := in.Each(ctx, take, nil); err != nil {
		return nil, err
	}
	input := llmd.Input{Campaign: r.campaign, Run: r.run.ID, Path: r.run.Path, Manifest: r.run.Manifest, About: r.run.Describe(), Steps: steps}
	results := e.benchResults(r.run)
	if len(results) == 0 {
		results = []*bench.Result{nil}
	}
	var out []namedReport
	for i, result := range results {
		input.Result, input.Stage = result, int64(i)
		name := fileName(r.run.ID)
		if len(results) > 1 {
			name += fmt.Sprintf("-%d", i)
		}
		out = append(out, namedReport{name + ".json", llmd.Build(input)})
	}
	return out, nil
}

// fileName is a run's id as one safe name of a file.
func fileName(id string) string {
	return strings.TrimLeft(strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, id), ".")
}

// benchResults are what load generators left in the run's bench folder. What is no result is noted.
func (e *Env) benchResults(run *rundir.Run) []*bench.Result {
	dir := filepath.Join(run.Root, rundir.BenchName)
	entries, err := os.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			e.note(fmt.Errorf("cannot list results: %w", err))
		}
		return nil
	}
	var out []*bench.Result
	for _, entry := range entries {
		if !slices.Contains([]string{".json", ".jsonl"}, filepath.Ext(entry.Name())) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		f, err := regular.Open(path)
		if err != nil {
			e.note(err)
			continue
		}
		results, err := bench.Read(f, path, "")
		_ = f.Close()
		if err != nil {
			e.note(err)
			continue
		}
		out = append(out, results...)
	}
	return out
}
