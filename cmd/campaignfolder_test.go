package cmd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"opprof/campaign/runner"
	"opprof/cmd/session"
	"opprof/engine/rundir"
	"opprof/testdata"
)

// newCampaignFolder makes a campaign with an empty run, one with routed experts and two with traces.
func newCampaignFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put := func(path string, text []byte) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{runner.SourceName, runner.PlanName, rundir.JournalName, filepath.Join(runner.RunsName, "0-off", "load.json")} {
		put(name, []byte("{}"))
	}
	files, err := testdata.Experts()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		put(filepath.Join(runner.RunsName, "1-experts", rundir.ExpertsName, name), text)
	}
	put(filepath.Join(runner.RunsName, "2-windows", rundir.KinetoName, "a.pt.trace.json"), []byte("{"))
	put(filepath.Join(runner.RunsName, "3-windows", rundir.KinetoName, "a.pt.trace.json"), []byte("{"))
	return dir
}

func TestRunsOfACampaign(t *testing.T) {
	dir := newCampaignFolder(t)
	runs := filepath.Join(dir, runner.RunsName)
	if got := runsOfCampaign(dir); len(got) != 4 || got[0] != filepath.Join(runs, "0-off") {
		t.Errorf("%q", got)
	}
	if got := runsOfCampaign(runs); got != nil {
		t.Errorf("a folder that is no campaign has %q", got)
	}
	for _, tt := range []struct {
		run, kind string
		want      []string
	}{
		{"0-off", session.KindFinished, []string{filepath.Join(runs, "2-windows"), filepath.Join(runs, "3-windows")}},
		{"2-windows", session.KindFinished, []string{filepath.Join(runs, "3-windows")}},
		{"2-windows", session.KindLive, nil},
		{"..", session.KindFinished, nil},
	} {
		if got := runsBeside(filepath.Join(runs, tt.run), tt.kind); !slices.Equal(got, tt.want) {
			t.Errorf("beside %s, %s: %q", tt.run, tt.kind, got)
		}
	}
	env, _, _ := memoryEnv(nil)
	found, err := env.findExperts(dir)
	if err != nil || len(found) != 2 || filepath.Base(found[0]) != "response0.json" {
		t.Errorf("%q, %v", found, err)
	}
	if err := os.RemoveAll(filepath.Join(runs, "1-experts")); err != nil {
		t.Fatal(err)
	}
	if found, err := env.findExperts(dir); err == nil {
		t.Errorf("found %q in a campaign without any", found)
	}
}
