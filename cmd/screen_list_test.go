package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opprof/campaign/plan"
	"opprof/campaign/runner"
	"opprof/cmd/session"
	"opprof/engine/journal"
	"opprof/engine/rundir"
	"opprof/testdata"
	"opprof/tui"
)

// plannedCampaign makes the folder of a campaign that nobody has begun.
func plannedCampaign(t *testing.T) string {
	t.Helper()
	file := filepath.Join("..", "testdata", "campaign", "cpu.toml")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "cpu")
	if err := runner.Create(dir, source, p, journal.SystemClock{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// recordedRun makes a run's folder with a recording that was written last at a time.
func recordedRun(t *testing.T, dir string, at time.Time) {
	t.Helper()
	stream, err := testdata.Recording("h200-tp2-eager")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, rundir.Layer1Name, "opprof-v1-dp0-pid1-1.jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Dir(file), dir} {
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOpener: what a list names is opened as what it is, and nothing of it is left when it is closed.
func TestOpener(t *testing.T) {
	campaign := plannedCampaign(t)
	env := scriptEnv()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	env.Now = func() time.Time { return now }
	free, old := filepath.Join(t.TempDir(), "free"), filepath.Join(t.TempDir(), "old")
	measured := filepath.Join(campaign, runner.RunsName, "tp1-default-steady-p001-1-off")
	recordedRun(t, free, now.Add(-writtenLately/2))
	recordedRun(t, old, now.Add(-2*writtenLately))
	recordedRun(t, measured, now.Add(-time.Hour))
	for _, c := range []struct {
		name, path      string
		readOnly        bool
		kind, page      string
		only, stoppable bool
	}{
		{"a run that is written", free, false, session.KindLive, "live", false, false},
		{"for a reader who only watches", free, true, session.KindLive, "live", true, false},
		{"a run that was written", old, false, session.KindFinished, "", false, false},
		{"a campaign's run is only watched", measured, false, session.KindFinished, "", true, false},
		{"a campaign", campaign, false, "campaign", "", false, true},
		{"a campaign that is only watched", campaign, true, "campaign", "", true, false},
	} {
		s, err := opener(env, &preferences{}, c.readOnly)(t.Context(), c.path)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		_, stoppable := s.Source.(tui.CampaignControl)
		if got := s.Source.Run().Kind; got != c.kind || s.Page != c.page || s.ReadOnly != c.only || stoppable != c.stoppable || s.Control != nil {
			t.Errorf("%s: kind %s, page %q, only watched %t, can be stopped %t, control %v", c.name, got, s.Page, s.ReadOnly, stoppable, s.Control)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := opener(env, &preferences{}, false)(t.Context(), filepath.Join(free, "gone")); err == nil {
		t.Error("what is not there is opened")
	}
}

// TestCampaignStands: the folder is read once a second at most, whoever asks how often.
func TestCampaignStands(t *testing.T) {
	env := scriptEnv()
	now := time.Now()
	env.Now = func() time.Time { return now }
	source, err := campaignAt(env, plannedCampaign(t), true)
	if err != nil {
		t.Fatal(err)
	}
	stands := source.(tui.CampaignSource)
	first, err := stands.Campaign(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(standEvery / 2)
	if again, err := stands.Campaign(t.Context()); err != nil || again != first {
		t.Errorf("read again after half a second: %v", err)
	}
	now = now.Add(standEvery)
	if later, err := stands.Campaign(t.Context()); err != nil || later == first {
		t.Errorf("not read again: %v", err)
	}
	if err := os.Remove(filepath.Join(first.Path, rundir.JournalName)); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * standEvery)
	if _, err := stands.Campaign(t.Context()); err == nil {
		t.Error("a campaign without a journal stands")
	}
}

// TestCampaignOnATerminal: the screen opens, says why a run cannot be opened or stopped, and is left with how the campaign stood.
func TestCampaignOnATerminal(t *testing.T) {
	dir := plannedCampaign(t)
	x := startTerminal(t, 120, 40, "campaign", "attach", dir)
	says := func(text string) {
		x.await(text, func(s string) bool { return strings.Contains(s, text) })
	}
	says("runs of tp1-default-steady")
	says("no runner has begun")
	x.press("\r")
	says("no run is in progress")
	x.press("\x18")
	says("no runner works on the campaign")
	x.press("q")
	if code := x.ended(); code != int(ExitOK) {
		t.Errorf("exit %d", code)
	}
	if got := x.written(); !strings.Contains(got, "opprof campaign attach "+dir) {
		t.Errorf("nothing stays on the terminal: %q", got[max(0, len(got)-300):])
	}
}
