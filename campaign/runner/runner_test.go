package runner

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"opprof/campaign/gate"
	"opprof/campaign/plan"
	"opprof/campaign/progress"
	"opprof/campaign/report"
	"opprof/engine/journal"
	"opprof/engine/rundir"
)

// npy is the array [[[0, 1]]] of bytes as numpy.save writes it, in base64.
func npy() string {
	head := "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 2), }"
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	return base64.StdEncoding.EncodeToString(append([]byte("\x93NUMPY\x01\x00\x76\x00"+head), 0, 1))
}

const whole = "[campaign]\npairs = 2\nwindows = 2\nexpert_requests = 2\ncooldown = '10s'\n[campaign.load.a]\n"

// slower makes the on arm of a run slower by a share of everything.
func slower(share float64) func(string) map[string]any {
	return func(run string) map[string]any {
		f := 1.0
		if strings.HasSuffix(run, "-on") {
			f += share
		}
		return result(map[string]any{"output_throughput": 100 / f, "p50_ttft_ms": 10 * f, "p95_ttft_ms": 20 * f, "p50_tpot_ms": 3 * f, "p95_tpot_ms": 4 * f})
	}
}

func stand(t *testing.T, dir string) progress.Campaign {
	t.Helper()
	s, err := Stand(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestACampaignFromItsFirstRunToItsReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.measure = slower(0.01)
		c := w.campaign(whole)
		began := time.Now()
		w.must(c)
		var ids []string
		for _, dir := range w.starts {
			ids = append(ids, strings.TrimPrefix(w.name(dir), "tp1-default-a-"))
		}
		want := []string{"warm-up-1-off", "warm-up-1-on", "p001-1-off", "p001-2-on", "p002-1-on", "p002-2-off", "windows-1-on", "experts-1-on"}
		if !slices.Equal(ids, want) {
			t.Errorf("runs %v", ids)
		}
		// Seven runs of a minute's start, half a minute's load and five seconds' stop, one with two requests, and seven rests.
		if took := time.Since(began); took != 7*95*time.Second+67*time.Second+7*10*time.Second {
			t.Errorf("it took %s", took)
		}
		s := stand(t, c.Dir)
		if s.State != progress.Finished || s.Verdict != gate.Undecided || s.Cells[0].Counted != 2 || s.LeftNS != nil {
			t.Errorf("%+v", s)
		}
		checkRuns(t, s.Cells[0].Runs)
		for _, name := range []string{"report.json", "report.md", "report.html", "report.csv"} {
			if st, err := os.Stat(filepath.Join(c.Dir, name)); err != nil || st.Size() == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
		checkReport(t, c.Dir)
		saved, err := filepath.Glob(filepath.Join(c.Dir, RunsName, "*-experts-1-on", rundir.ExpertsName, "*.json"))
		if err != nil || len(saved) != 2 {
			t.Errorf("%v %v", saved, err)
		}
	})
}

func checkRuns(t *testing.T, runs []progress.Run) {
	t.Helper()
	for _, r := range runs {
		if r.State != progress.Done || r.Void != "" || r.StartedNS == nil || r.EndedNS == nil {
			t.Errorf("%+v", r)
		}
		if v := r.Metrics["throughput"]; r.Kind == plan.Measured && (r.Arm == plan.Off) != (v == 100) {
			t.Errorf("%s: %v", r.ID, v)
		}
	}
}

// checkReport looks at what the report says about the on runs.
func checkReport(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for _, run := range r.Cells[0].Runs {
		if run.CPU == nil || *run.CPU.Engine < 0.49 || *run.CPU.Engine > 0.51 || run.CPU.Workers != nil {
			t.Errorf("%s: %+v", run.ID, run.CPU)
		}
		if (run.Arm == plan.On) != (run.Layer1 != nil) {
			t.Errorf("%s: %+v", run.ID, run.Layer1)
		}
		if run.Arm == plan.On && (run.Layer1.Steps != 60 || *run.Layer1.QueueHigh != 3 || *run.Layer1.Dropped != 0 || *run.Layer1.ForegroundP50US != 20 || *run.Layer1.PeriodP50MS != 0.001 || !run.Checks[0].OK) {
			t.Errorf("%s: %+v %+v", run.ID, run.Layer1, run.Checks)
		}
	}
	if p := r.Cells[0].Decision.Metrics[0].PointPct; p == nil || *p < 0.99 || *p > 1.01 {
		t.Errorf("throughput: %v", p)
	}
}

// ended is what must not depend on how often a campaign was interrupted.
type ended struct {
	Verdict string
	Cells   []endedCell
}

type endedCell struct {
	Gate  gate.Decision
	Pairs []string
	Runs  []string
}

func endOf(t *testing.T, dir string) string {
	t.Helper()
	r, err := Report(dir)
	if err != nil {
		t.Fatal(err)
	}
	e := ended{Verdict: r.Verdict}
	for _, c := range r.Cells {
		one := endedCell{Gate: c.Decision}
		for _, p := range c.Pairs {
			one.Pairs = append(one.Pairs, fmt.Sprint(p.Number, p.Order, p.Look, p.Void))
		}
		for _, run := range c.Runs {
			one.Runs = append(one.Runs, run.ID)
		}
		e.Cells = append(e.Cells, one)
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// crashing runs a campaign with runners that die as the events at these places of their own journals are on disk, and then to its end.
func crashing(t *testing.T, w *world, c Config, at ...int) {
	t.Helper()
	for _, n := range at {
		left := n
		c.appended = func(event string) {
			w.events = append(w.events, event)
			if left--; left == 0 {
				runtime.Goexit() // as kill -9: nothing is cleaned up but what the system does
			}
		}
		over := make(chan error, 1)
		go func() {
			defer close(over)
			over <- Run(context.Background(), c)
		}()
		if err := <-over; err != nil {
			t.Fatal(err)
		}
	}
	c.appended = func(event string) { w.events = append(w.events, event) }
	w.must(c)
}

// uninterrupted is how a campaign ends, and how many events that takes.
func uninterrupted(t *testing.T, text string, measure func(string) map[string]any) (end string, events int) {
	t.Helper()
	w := newWorld(t)
	w.measure = measure
	c := w.campaign(text)
	w.must(c)
	return endOf(t, c.Dir), len(w.events)
}

const looks = "[campaign]\npairs = 1\nsecond_look_pairs = 1\nwarm_up_runs = 0\nwindows = 1\ncooldown = '10s'\n[campaign.load.a]\n"

func TestACrashAtAnyEventChangesNothing(t *testing.T) {
	for name, text := range map[string]string{"one look": whole, "two looks": looks} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want, events := uninterrupted(t, text, slower(0.02))
				for n := 1; n <= events; n++ {
					w := newWorld(t)
					w.measure = slower(0.02)
					c := w.campaign(text)
					crashing(t, w, c, n)
					if got := endOf(t, c.Dir); got != want {
						t.Errorf("after a crash at event %d (%s)\n%s\nwithout\n%s", n, w.events[n-1], got, want)
					}
					w.whole(c.Dir, n)
				}
			})
		})
	}
}

func TestCrashesAfterCrashesChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want, _ := uninterrupted(t, whole, slower(0.02))
		for _, at := range [][]int{{2, 1, 1, 2, 3}, {9, 9, 9, 9}, {14, 2, 15, 2}, {20, 3, 3, 3, 3, 3}, {1, 1, 1, 1}} {
			w := newWorld(t)
			w.measure = slower(0.02)
			c := w.campaign(whole)
			crashing(t, w, c, at...)
			if got := endOf(t, c.Dir); got != want {
				t.Errorf("after crashes at %v\n%s\nwithout\n%s", at, got, want)
			}
			w.whole(c.Dir, at[0])
		}
	})
}

// whole checks that nothing that was complete was made again: at most the runs of one unit for each crash.
func (w *world) whole(dir string, crash int) {
	w.t.Helper()
	h, err := readHistory(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	seen := map[string]int{}
	for _, start := range w.starts {
		seen[w.run(start)]++
	}
	for id, n := range seen {
		done := 0
		for i, a := range h.attempts[id] {
			if last := i == len(h.attempts[id])-1; !last && a.generation == h.generation {
				w.t.Errorf("crash at %d: %s was made in vain by a runner that was not interrupted", crash, id)
			}
			if a.open() {
				w.t.Errorf("crash at %d: an attempt at %s is still open", crash, id)
			}
			if a.outcome != nil {
				done++
			}
		}
		measured := strings.Contains(id, "-p0")
		if done > 1 && !measured {
			w.t.Errorf("crash at %d: %s was made %d times", crash, id, n)
		}
		if made := h.attempts[id]; done > 1 && measured && made[len(made)-1].number == made[0].number {
			w.t.Errorf("crash at %d: %s was made again though its pair was not", crash, id)
		}
	}
	for key := range h.pairs {
		arms := map[int64]bool{}
		for id := range h.attempts {
			if strings.HasPrefix(id, fmt.Sprintf("%s-p%03d-", key.cell, key.pair)) {
				arms[h.last(id).generation] = true
			}
		}
		if len(arms) != 1 {
			w.t.Errorf("crash at %d: pair %d was made by %d runners", crash, key.pair, len(arms))
		}
	}
}

func TestAnOrderToStopEndsTheServerAndResumeGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want, _ := uninterrupted(t, whole, slower(0.02))
		for after := 10 * time.Second; after < 14*time.Minute; after += 47 * time.Second {
			w := newWorld(t)
			w.measure = slower(0.02)
			c := w.campaign(whole)
			ctx, cancel := context.WithTimeout(context.Background(), after)
			err := Run(ctx, c)
			cancel()
			if s := stand(t, c.Dir); err != nil || len(w.running) > 0 || s.State != progress.Paused && s.State != progress.Finished {
				t.Errorf("stopped after %s: %v, %v, %s", after, err, w.running, s.State)
			}
			w.must(c)
			if got := endOf(t, c.Dir); got != want {
				t.Errorf("stopped after %s\n%s\nwithout\n%s", after, got, want)
			}
		}
	})
}

func TestTwoRunnersAreOneTooMany(t *testing.T) {
	w := newWorld(t)
	c := w.campaign(whole)
	j, _, err := journal.Open(filepath.Join(c.Dir, rundir.JournalName), journal.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := Run(context.Background(), c); err == nil || !strings.Contains(err.Error(), ErrRunning.Error()) {
		t.Error(err)
	}
}

func TestAPlanIsFixed(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		SourceName: func(b []byte) []byte { return bytes.Replace(b, []byte("pairs = 2"), []byte("pairs = 9"), 1) },
		PlanName:   func(b []byte) []byte { return bytes.Replace(b, []byte(`"m"`), []byte(`"n"`), 1) },
	} {
		w := newWorld(t)
		c := w.campaign(whole)
		path := filepath.Join(c.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := change(text)
		if bytes.Equal(changed, text) {
			t.Fatalf("%s was not changed", name)
		}
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Run(context.Background(), c); err == nil || !strings.Contains(err.Error(), name+" was changed after the campaign began") {
			t.Errorf("%s: %v", name, err)
		}
		if len(w.starts) > 0 {
			t.Errorf("%s: servers were started", name)
		}
	}
}
