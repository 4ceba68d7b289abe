package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"opprof/engine/regular"
	"opprof/engine/rundir"
)

func newExport(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Write runs in the formats of other programs",
		Long: `Writes what runs recorded in formats that other programs read: Parquet tables for DuckDB, Polars, PyArrow and Spark, OpenMetrics for Prometheus,
a Perfetto trace, and the benchmark report of llm-d. A file gets its name when it is whole.`,
		Example: "  opprof export parquet latest --out lake",
		Args:    noSuchCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newExportParquet(env), newExportOpenMetrics(env), newExportPerfetto(env), newExportLLMD(env))
	return c
}

// exported is a run that an argument of an export means.
type exported struct {
	run      *rundir.Run
	campaign string // "" for a run of its own
}

// exportedRuns are the runs of an argument: a run, a campaign's folder, or a folder of runs.
func (e *Env) exportedRuns(arg string) ([]exported, error) {
	if st, err := os.Stat(arg); err == nil && st.IsDir() {
		listed, err := runsIn(arg)
		if err != nil {
			return nil, err
		}
		var all []exported
		for _, l := range listed {
			run, err := rundir.Open(l.Path)
			if err != nil {
				return nil, err
			}
			all = append(all, exported{run, campaignOf(run.Root)})
		}
		if len(all) > 0 {
			return all, nil
		}
	}
	run, err := e.openRun(arg)
	if err != nil {
		return nil, err
	}
	return []exported{{run, campaignOf(run.Root)}}, nil
}

// runsIn are the runs of a campaign or of a folder of runs; none when dir is a run itself or something else.
func runsIn(dir string) ([]rundir.Listed, error) {
	if _, err := os.Stat(filepath.Join(dir, campaignFile)); err == nil {
		return rundir.List(filepath.Join(dir, campaignRuns))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot look at %s: %w", dir, regular.Cause(err, filepath.Join(dir, campaignFile)))
	}
	for _, name := range []string{rundir.Layer1Name, rundir.ManifestName, rundir.JournalName} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return nil, nil
		}
	}
	return rundir.List(dir)
}

// campaignRuns is the folder of a campaign's runs.
const campaignRuns = "runs"

// campaignOf is the name of the campaign that a run's folder lies in, "" for none.
func campaignOf(root string) string {
	path, err := filepath.Abs(root)
	if err != nil || filepath.Base(filepath.Dir(path)) != campaignRuns {
		return ""
	}
	campaign := filepath.Dir(filepath.Dir(path))
	if _, err := os.Stat(filepath.Join(campaign, campaignFile)); err != nil {
		return ""
	}
	return filepath.Base(campaign)
}
