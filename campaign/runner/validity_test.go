package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"opprof/campaign/gate"
	"opprof/campaign/plan"
	"opprof/campaign/progress"
)

const pairsOnly = "[campaign]\npairs = 2\nwarm_up_runs = 0\ncooldown = '0s'\n[campaign.load.a]\n"

// with changes what one run measures.
func with(run string, other map[string]any) func(string) map[string]any {
	return func(id string) map[string]any {
		if id == run {
			return result(other)
		}
		return result(nil)
	}
}

// A pair of which one side is invalid is dropped as a whole, with the reason, and is not replaced.
func TestWhatVoidsAPair(t *testing.T) {
	const on, off = "tp1-default-a-p001-2-on", "tp1-default-a-p001-1-off"
	for name, c := range map[string]struct {
		bend func(*world)
		want string
		runs int // that were begun; 0 is all four
	}{
		"token totals":        {func(w *world) { w.measure = with(on, map[string]any{"total_output_tokens": 499}) }, "500 and 499 output tokens", 0},
		"input tokens":        {func(w *world) { w.measure = with(off, map[string]any{"total_input_tokens": 1}) }, "1 and 1000 input tokens", 0},
		"a failed request":    {func(w *world) { w.measure = with(on, map[string]any{"failed": 1}) }, "on: 1 request failed", 0},
		"too few requests":    {func(w *world) { w.measure = with(off, map[string]any{"completed": 99}) }, "99 requests finished: expected at least 100", 3},
		"a missing metric":    {func(w *world) { w.measure = with(on, map[string]any{"p95_ttft_ms": nil}) }, "the results have no p95_ttft_ms", 0},
		"a zero":              {func(w *world) { w.measure = with(on, map[string]any{"p50_tpot_ms": 0}) }, "p50_tpot_ms is 0", 0},
		"cold compilation":    {func(w *world) { w.cold[off] = true }, "off: its server compiled with a cold cache", 3},
		"cold on the on side": {func(w *world) { w.cold[on] = true }, "on: its server compiled with a cold cache", 0},
		"kernels under load":  {func(w *world) { w.compiled = map[string]int{off: 4} }, "off: Triton compiled 4 kernels while the load was measured", 3},
		"another process":     {func(w *world) { w.others[on] = []string{"another process uses device GPU-1: 99 (train)"} }, "another process uses device GPU-1", 0},
		"a dead server":       {func(w *world) { w.die[off] = errDied }, "the server died: CUDA out of memory", 3},
		"no start":            {func(w *world) { w.fail[on] = errors.New("no such model") }, "the server did not start: no such model", 0},
		"no load":             {func(w *world) { w.exit[off] = 2 }, "the load generator ended with exit code 2: no route to host", 3},
		"a slow load":         {func(w *world) { w.loadS = time.Hour }, "the load took longer than 20m0s", 0},
		"other caches": {func(w *world) {
			w.counts = func(run string) Counters {
				if run == on {
					return Counters{1000, 900}
				}
				return Counters{1000, 0}
			}
		}, "the prefix caches differed: off hit 0.0 %", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				c.bend(w)
				cfg := w.campaign(pairsOnly)
				w.must(cfg)
				s := stand(t, cfg.Dir)
				first := s.Cells[0].Runs[1]
				if !strings.Contains(first.Void, c.want) || s.Cells[0].Void == 0 || s.Verdict != gate.Undecided {
					t.Errorf("void %q, want %q; %+v", first.Void, c.want, s.Cells[0])
				}
				if c.runs > 0 && len(w.starts) != c.runs {
					t.Errorf("%d runs were begun: %v", len(w.starts), w.starts)
				}
				r, err := Report(cfg.Dir)
				if err != nil || !strings.Contains(r.Cells[0].Pairs[0].Void, c.want) {
					t.Errorf("the report says %q (%v)", r.Cells[0].Pairs[0].Void, err)
				}
			})
		})
	}
}

func TestGoingOnWithoutHopeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.measure = func(string) map[string]any { return result(map[string]any{"completed": 7}) }
		c := w.campaign("[campaign]\npairs = 6\nwarm_up_runs = 0\n[campaign.load.a]\n")
		w.must(c)
		s := stand(t, c.Dir)
		if s.State != progress.Refused || !strings.Contains(s.Reason, "3 pairs one after the other do not count") || s.Cells[0].Void != 3 {
			t.Errorf("%s: %s", s.State, s.Reason)
		}
		w.measure = func(string) map[string]any { return result(nil) }
		w.must(c) // what is left is measured; what was judged stays
		if s := stand(t, c.Dir); s.State != progress.Finished || s.Cells[0].Void != 3 || s.Cells[0].Counted != 3 || s.Verdict != gate.Undecided {
			t.Errorf("%+v", s)
		}
	})
}

func TestAWarmUpThatFailsIsRefusedAndMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.fail["tp1-default-a-warm-up-1-on"] = errors.New("no such model")
		c := w.campaign(whole)
		w.must(c)
		if s := stand(t, c.Dir); s.State != progress.Refused || !strings.Contains(s.Reason, "no such model") {
			t.Errorf("%s: %s", s.State, s.Reason)
		}
		clear(w.fail)
		w.must(c)
		if n := len(w.starts); n != 9 || w.name(w.starts[2]) != "tp1-default-a-warm-up-1-on-again-2" {
			t.Errorf("%v", w.starts)
		}
	})
}

func TestABusyMachineIsRefusedBeforeAnythingIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.busy = "port 8000: address already in use"
		c := w.campaign(pairsOnly)
		began := time.Now()
		w.must(c)
		s := stand(t, c.Dir)
		if s.State != progress.Refused || s.Reason != w.busy || len(w.starts) > 0 || time.Since(began) != clearanceLimit {
			t.Errorf("%s: %s after %s", s.State, s.Reason, time.Since(began))
		}
		w.busy = ""
		w.must(c)
		if s := stand(t, c.Dir); s.State != progress.Finished || len(w.starts) != 4 {
			t.Errorf("%+v", s)
		}
	})
}

// What ends between the arms of a pair costs the whole pair, and no more.
func TestUntilEndsAfterTheLastPairThatFits(t *testing.T) {
	for _, c := range []struct {
		until time.Duration
		pairs int
		runs  int
	}{{time.Minute, 0, 0}, {12 * time.Minute, 3, 6}, {16 * time.Minute, 5, 10}, {time.Hour, 6, 12}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			// The plan estimates 11 minutes for a pair; it takes 190 s, which is known after the first.
			cfg := w.campaign("[campaign]\npairs = 6\nwarm_up_runs = 0\ncooldown = '0s'\nstart_estimate = '4m'\n[campaign.load.a]\nestimate = '90s'\n")
			cfg.Until = time.Now().Add(c.until)
			w.must(cfg)
			s := stand(t, cfg.Dir)
			if s.Cells[0].Counted != c.pairs || len(w.starts) != c.runs || time.Now().After(cfg.Until) {
				t.Errorf("until %s: %d pairs, %d runs, %s over", c.until, s.Cells[0].Counted, len(w.starts), time.Since(cfg.Until))
			}
			if c.pairs < 6 && (s.State != progress.Paused || !strings.Contains(s.Reason, fmt.Sprintf("pair %d", c.pairs+1)) || s.Verdict != gate.Undecided) {
				t.Errorf("until %s: %s, %s, %s", c.until, s.State, s.Reason, s.Verdict)
			}
			if r, err := Report(cfg.Dir); err != nil || r.Left != 6-c.pairs || c.pairs < 6 && r.Verdict != gate.Undecided {
				t.Errorf("until %s: %d pairs are left, the report says %s (%v)", c.until, r.Left, r.Verdict, err)
			}
			cfg.Until = time.Time{}
			w.must(cfg)
			if s := stand(t, cfg.Dir); s.State != progress.Finished || len(w.starts) != 12 {
				t.Errorf("%s after %d runs", s.State, len(w.starts))
			}
		})
	}
}

// noisy makes pairs with a regression of a share in the mean, some above and some below.
func noisy(mean, spread float64) func(string) map[string]any {
	return func(run string) map[string]any {
		f := 1.0
		if strings.HasSuffix(run, "-on") {
			f += mean + spread
			if strings.Contains(run, "p001") || strings.Contains(run, "p003") || strings.Contains(run, "p006") || strings.Contains(run, "p008") {
				f -= 2 * spread
			}
		}
		return result(map[string]any{"output_throughput": 100 / f, "p50_ttft_ms": 10 * f, "p95_ttft_ms": 20 * f, "p50_tpot_ms": 3 * f, "p95_tpot_ms": 4 * f})
	}
}

const twoLooks = "[campaign]\npairs = 6\nsecond_look_pairs = 6\nwarm_up_runs = 0\ncooldown = '0s'\n[campaign.load.a]\n"

func TestASecondLookIsTakenOnlyAsDeclaredAndOnlyIfUndecided(t *testing.T) {
	borderline := noisy(0.0035, 0.0325) // the bounds disagree about the limit
	for name, c := range map[string]struct {
		plan    string
		measure func(string) map[string]any
		runs    int
		look    bool
	}{
		"passes at once":        {twoLooks, noisy(0, 0.001), 12, false},
		"fails at once":         {twoLooks, noisy(0.05, 0.001), 12, false},
		"undecided, none given": {strings.Replace(twoLooks, "second_look_pairs = 6", "", 1), borderline, 12, false},
		"undecided":             {twoLooks, func(run string) map[string]any { return orderEffect(run) }, 24, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.measure = c.measure
				cfg := w.campaign(c.plan)
				w.must(cfg)
				s := stand(t, cfg.Dir)
				if len(w.starts) != c.runs || s.SecondLook != c.look || s.State != progress.Finished {
					t.Errorf("%d runs, second look %t, %s %s", len(w.starts), s.SecondLook, s.State, s.Verdict)
				}
				if r, err := Report(cfg.Dir); err != nil || r.Verdict != s.Verdict {
					t.Errorf("the report says %s and the standing %s (%v)", r.Verdict, s.Verdict, err)
				}
			})
		})
	}
}

// orderEffect makes whatever runs second in a pair slower by 5 %, which leaves a campaign undecided.
func orderEffect(run string) map[string]any {
	f := 1.0
	if strings.Contains(run, "-2-") {
		f = 1.05
	}
	return result(map[string]any{"output_throughput": 100 / f, "p50_ttft_ms": 10 * f, "p95_ttft_ms": 20 * f, "p50_tpot_ms": 3 * f, "p95_tpot_ms": 4 * f})
}

func TestOnAnotherMachineTheCellIsWarmedUpAgainAndPairsStayWhole(t *testing.T) {
	for name, other := range map[string]Machine{
		"another host": {Host: "two", BootID: "other", Devices: []Device{{UUID: "GPU-9", Name: "H20"}}},
		"a restart":    {Host: "one", BootID: "after", Devices: []Device{{UUID: "GPU-1", Name: "H20"}}},
		"another GPU":  {Host: "one", BootID: "boot", Devices: []Device{{UUID: "GPU-2", Name: "H20"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				c := w.campaign(whole)
				ctx, cancel := context.WithTimeout(context.Background(), 400*time.Second) // within the on run of the first pair
				if err := Run(ctx, c); err != nil {
					t.Fatal(err)
				}
				cancel()
				before := len(w.starts)
				w.machine = other
				w.must(c)
				var ids []string
				for _, dir := range w.starts[before:] {
					ids = append(ids, strings.TrimPrefix(w.name(dir), "tp1-default-a-"))
				}
				want := []string{"warm-up-1-off-again-2", "warm-up-1-on-again-2", "p001-1-off-again-2", "p001-2-on-again-2", "p002-1-on", "p002-2-off", "windows-1-on", "experts-1-on"}
				if !slices.Equal(ids, want) {
					t.Errorf("%v", ids)
				}
				h, err := readHistory(c.Dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, id := range []string{"tp1-default-a-p001-1-off", "tp1-default-a-p001-2-on"} {
					if m := h.last(id).outcome.Machine; !m.same(other) {
						t.Errorf("%s: %+v", id, m)
					}
				}
			})
		})
	}
}

func TestAnUnpatchedArmDecidesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.campaign("[campaign]\npairs = 1\narms = ['off', 'on', 'unpatched']\nwarm_up_runs = 0\n[campaign.load.a]\n")
		w.exit["tp1-default-a-p001-3-unpatched"] = 1
		w.must(c)
		s := stand(t, c.Dir)
		if len(w.starts) != 3 || s.Cells[0].Counted != 1 || s.Cells[0].Runs[2].State != progress.Failed {
			t.Errorf("%+v", s.Cells[0])
		}
	})
}

// A runner that was killed left a server and a load: whoever settles the campaign ends both.
func TestSettlingEndsWhatAKilledRunnerLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.campaign(pairsOnly)
		kill := c
		over := make(chan struct{})
		kill.appended = goexitAt(eventState)
		go func() {
			defer close(over)
			_ = Run(context.Background(), kill)
		}()
		<-over
		if len(w.running) != 1 {
			t.Fatalf("%v run", w.running)
		}
		c.Settle = true
		w.must(c)
		s := stand(t, c.Dir)
		if s.State != progress.Paused || len(w.starts) != 1 || len(w.killed) != 1 || s.Cells[0].Runs[0].State != progress.Pending {
			t.Errorf("%s, starts %v, killed %v", s.State, w.starts, w.killed)
		}
	})
}

func TestEveryRunOfAPlanHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.campaign("[campaign]\npairs = 2\ntensor_parallel = [1, 2]\ngraph_modes = ['default', 'eager']\nwindows = 1\n[campaign.load.b]\n[campaign.load.a]\n")
		w.must(c)
		s := stand(t, c.Dir)
		p, err := plan.Read(c.Dir + "/" + SourceName)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(p.Runs(false)); len(w.starts) != n || len(s.Cells) != 8 || s.State != progress.Finished {
			t.Errorf("%d of %d runs, %d cells", len(w.starts), n, len(s.Cells))
		}
	})
}
