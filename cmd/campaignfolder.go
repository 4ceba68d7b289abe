package cmd

import (
	"os"
	"path/filepath"

	"opprof/campaign/runner"
	"opprof/cmd/session"
	"opprof/engine/rundir"
)

// runsOfCampaign are the folders of a campaign's runs, sorted; none for a path that is no campaign.
func runsOfCampaign(path string) []string {
	if !runner.Is(path) {
		return nil
	}
	entries, err := os.ReadDir(filepath.Join(path, runner.RunsName))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, filepath.Join(path, runner.RunsName, e.Name()))
		}
	}
	return out
}

// runsBeside are the other runs with traces of the campaign that a finished run belongs to. Beside a live one nothing heavy is read.
func runsBeside(root, kind string) []string {
	root = absolutePath(root)
	if kind != session.KindFinished || filepath.Base(filepath.Dir(root)) != runner.RunsName {
		return nil
	}
	var out []string
	for _, path := range runsOfCampaign(filepath.Dir(filepath.Dir(root))) {
		if st, err := os.Stat(filepath.Join(path, rundir.KinetoName)); err == nil && st.IsDir() && filepath.Base(path) != filepath.Base(root) {
			out = append(out, path)
		}
	}
	return out
}
