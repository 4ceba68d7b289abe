package runner

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"opprof/campaign/gate"
	"opprof/campaign/plan"
	"opprof/campaign/progress"
	"opprof/engine/journal"
	"opprof/engine/rundir"
)

// While a runner works, its campaign says what runs, in which state, and how much is left.
func TestStandingWhileARunnerWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.campaign(whole)
		var states []string
		left := time.Duration(1 << 62)
		c.appended = func(event string) {
			s := stand(t, c.Dir)
			if event == eventRunner && (s.State != progress.Running || *s.RunnerPID != int64(os.Getpid())) {
				t.Errorf("%+v", s)
			}
			if s.Current != nil {
				states = append(states, strings.TrimPrefix(s.Current.ID, "tp1-default-a-")+" "+s.Current.State)
			}
			if event == eventStarted {
				for _, r := range s.Cells[0].Runs {
					if r.State == progress.Cooling {
						t.Errorf("%s is cooling while %s starts", r.ID, s.Current.ID)
					}
				}
			}
			if s.LeftNS != nil && event == eventDone {
				if now := time.Duration(*s.LeftNS); now >= left {
					t.Errorf("%s left after a run, %s before it", now, left)
				} else {
					left = now
				}
			}
			if s.Verdict != gate.Undecided {
				t.Errorf("verdict %s after %s", s.Verdict, event)
			}
		}
		w.must(c)
		text := strings.Join(states, "\n")
		for _, want := range []string{"warm-up-1-off starting", "warm-up-1-off loading", "warm-up-1-off stopping", "warm-up-1-off cooling", "p001-2-on loading", "experts-1-on starting"} {
			if !strings.Contains(text, want) {
				t.Errorf("never %q:\n%s", want, text)
			}
		}
	})
}

func TestStandingOfWhatIsNoCampaign(t *testing.T) {
	dir := t.TempDir()
	if _, err := Stand(dir); err == nil || !strings.Contains(err.Error(), "holds no campaign") || Is(dir) {
		t.Error(err)
	}
	w := newWorld(t)
	c := w.campaign(whole)
	if s := stand(t, c.Dir); !Is(c.Dir) || s.State != progress.Paused || s.StartedNS != nil || len(s.Cells[0].Runs) != 8 {
		t.Errorf("%+v", s)
	}
	if err := Create(c.Dir, nil, &plan.Plan{}, journal.SystemClock{}); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Error(err)
	}
	if err := Lacking(dir); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(c.Dir, PlanName)); err != nil {
		t.Fatal(err)
	}
	if err := Lacking(c.Dir); Is(c.Dir) || err == nil || !strings.Contains(err.Error(), "has no file plan.json any more") {
		t.Error(err)
	}
	if err := Stop(c.Dir); err == nil || !strings.Contains(err.Error(), "no runner works") {
		t.Error(err)
	}
}

// A disk that is full ends the runner, its server too; the campaign goes on when there is space again.
func TestAJournalThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want, events := uninterrupted(t, whole, slower(0.02))
		for n := 1; n < events; n += 3 {
			w := newWorld(t)
			w.measure = slower(0.02)
			c := w.campaign(whole)
			full := c
			left := n
			full.failing = func() error {
				if left--; left < 0 {
					return os.ErrClosed
				}
				return nil
			}
			if err := Run(context.Background(), full); err == nil {
				t.Errorf("event %d: no error", n)
			}
			if len(w.running) > 0 {
				t.Errorf("event %d: a server is left: %v", n, w.running)
			}
			w.must(c)
			if got := endOf(t, c.Dir); got != want {
				t.Errorf("event %d\n%s\nwithout\n%s", n, got, want)
			}
		}
	})
}

func TestEventsInWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.exit["tp1-default-a-p001-1-off"] = 1
		c := w.campaign(whole)
		w.must(c)
		events, err := Events(c.Dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, e := range events {
			lines = append(lines, e.Text)
		}
		text := strings.Join(lines, "\n")
		for _, want := range []string{"campaign c is declared", "tp1-default-a-warm-up-1-off: its server starts", "tp1-default-a-warm-up-1-off: done, 200 requests in 20.0 s",
			"tp1-default-a-p001-1-off: done, but the load generator ended with exit code 1", "pair 1 of tp1-default-a does not count: off: the load generator",
			"pair 2 of tp1-default-a counts", "windows-1-on: done, 200 requests in 20.0 s, 2 windows verified", "2 responses with routed experts", "finished: UNDECIDED"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		if later, err := Events(c.Dir, events[2].Seq); err != nil || len(later) != len(events)-3 {
			t.Errorf("%d of %d events, %v", len(later), len(events), err)
		}
	})
}

// Campaigns with known effects, through runs, journal, report and standing.
func TestCoverageOfWholeCampaigns(t *testing.T) {
	const campaigns = 4
	noise := func(seed uint64, sd float64, effect func(run string) float64) func(string) map[string]any {
		return func(run string) map[string]any {
			h := uint64(0)
			for _, c := range run {
				h = h*1099511628211 + uint64(c)
			}
			r := rand.New(rand.NewPCG(seed, h))
			f := func() float64 { return 1 + effect(run) + sd*r.NormFloat64() }
			return result(map[string]any{"output_throughput": 100 / f(), "p50_ttft_ms": 10 * f(), "p95_ttft_ms": 20 * f(), "p50_tpot_ms": 3 * f(), "p95_tpot_ms": 4 * f()})
		}
	}
	on := func(effect float64) func(string) float64 {
		return func(run string) float64 {
			if strings.HasSuffix(run, "-on") {
				return effect
			}
			return 0
		}
	}
	for _, c := range []struct {
		name    string
		effect  func(run string) float64
		verdict string
	}{
		{"no effect", on(0), gate.Pass},
		{"a cost of 6 %", on(0.06), gate.Fail},
		{"a gain of 6 %", on(-0.06), gate.Pass},
		{"the second run 4 % slower", func(run string) float64 {
			if strings.Contains(run, "-2-") {
				return 0.04
			}
			return 0
		}, gate.Undecided},
	} {
		got := map[string]int{}
		for seed := range uint64(campaigns) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.measure = noise(seed, 0.003, c.effect)
				cfg := w.campaign("[campaign]\npairs = 6\nwarm_up_runs = 0\ncooldown = '0s'\n[campaign.load.a]\n")
				w.must(cfg)
				s := stand(t, cfg.Dir)
				r, err := Report(cfg.Dir)
				if err != nil || r.Verdict != s.Verdict {
					t.Errorf("%s: the report says %s, the standing %s (%v)", c.name, r.Verdict, s.Verdict, err)
				}
				got[s.Verdict]++
			})
		}
		t.Logf("%-28s %v of %d whole campaigns", c.name, got, campaigns)
		if got[c.verdict] != campaigns {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestVersionsThatWereSaid(t *testing.T) {
	for want, said := range map[string][]string{
		"0.24.0+cpu":              {"0.24.0+cpu", "0.24.0", "0.24.0+cpu"},
		"0.24.0+cu130":            {"0.24.0", "0.24.0+cu130"},
		"0.24.0 0.24.01 0.24.0.1": {"0.24.0", "0.24.01", "0.24.0.1", "0.24.0"},
	} {
		var got []string
		for _, v := range said {
			got = another(got, v)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%v: %s", said, text)
		}
	}
}

// FuzzJournal: whatever stands in a journal, reading it ends in a standing or an error.
func FuzzJournal(f *testing.F) {
	dir := f.TempDir()
	source := "[server]\nmodel = 'm'\n" + whole
	p, err := plan.Parse("c.toml", source)
	if err != nil {
		f.Fatal(err)
	}
	campaign := filepath.Join(dir, "c")
	if err := Create(campaign, []byte(source), p, journal.SystemClock{}); err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(campaign, rundir.JournalName)
	head, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"seq":2,"event":"run_started","run":"tp1-default-a-p001-1-off","dir":"x","attempt":1}` + "\n" + `{"seq":3,"event":"run_done","run":"tp1-default-a-p001-1-off","results":{}}` + "\n"))
	f.Add([]byte(`{"seq":2,"event":"pair_void","cell":"tp1-default-a","pair":1,"again":true}` + "\n" + `{"seq":3,"event":"run_state","run":"never"}` + "\n"))
	f.Add([]byte(`{"seq":2,"event":"run_done","run":7}` + "\n"))
	f.Add([]byte(`{"seq":2,"event":"second_look","cells":["tp1-default-a"]}` + "\n" + `{"seq":3,"event":"closed"}` + "\n"))
	f.Fuzz(func(t *testing.T, tail []byte) {
		if err := os.WriteFile(path, append(head[:len(head):len(head)], tail...), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Stand(campaign)
		if err != nil {
			return
		}
		if _, err := json.Marshal(s); err != nil {
			t.Fatal(err)
		}
		if _, err := Report(campaign); err != nil {
			t.Fatal(err)
		}
		if _, err := Events(campaign, 0); err != nil {
			t.Fatal(err)
		}
	})
}

// Results that were taken away after their pair was judged, or events of the journal, leave nothing to decide by.
func TestWhatWasTakenAwayDecidesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.campaign(pairsOnly)
		w.must(c)
		if r, err := Report(c.Dir); err != nil || len(r.Damage) > 0 {
			t.Fatalf("%q, %v", r.Damage, err)
		}
		results, err := filepath.Glob(filepath.Join(c.Dir, RunsName, "*p002-1*", "bench"))
		if err != nil || len(results) != 1 {
			t.Fatalf("%q, %v", results, err)
		}
		if err := os.RemoveAll(results[0]); err != nil {
			t.Fatal(err)
		}
		r, err := Report(c.Dir)
		if err != nil || r.Verdict != gate.Undecided || len(r.Damage) != 1 || !strings.HasPrefix(r.Damage[0], "pair 2 of ") {
			t.Errorf("%s: %q, %v", r.Verdict, r.Damage, err)
		}
		path := filepath.Join(c.Dir, rundir.JournalName)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(text), "\n")
		if err := os.WriteFile(path, []byte(strings.Join(append(lines[:5:5], lines[6:]...), "")), 0o600); err != nil {
			t.Fatal(err)
		}
		s := stand(t, c.Dir)
		if s.Verdict != gate.Undecided || !strings.Contains(strings.Join(s.Remarks, "\n"), "event 7 follows event 5") {
			t.Errorf("%s: %q", s.Verdict, s.Remarks)
		}
	})
}
