package capture

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"opprof/traces/family"
	"opprof/traces/interval"
	"opprof/traces/join"
	"opprof/traces/tracetest"
)

// union is how long at least one of the spans lasts, by looking at every stretch between two of their ends.
func union(spans []interval.Span) (ns int64) {
	var ends []int64
	for _, s := range spans {
		ends = append(ends, s.Start, s.End)
	}
	slices.Sort(ends)
	for i := 1; i < len(ends); i++ {
		if slices.ContainsFunc(spans, func(s interval.Span) bool { return s.Start <= ends[i-1] && s.End >= ends[i] }) {
			ns += ends[i] - ends[i-1]
		}
	}
	return ns
}

// truth is what a rank did in a step, from the kernels that were made up.
type truth struct{ sum, union, work, collective, wait, launches int64 }

func truthOf(r *tracetest.Rank, step int) truth {
	var all, work, collective []interval.Span
	t := truth{wait: r.WaitNS[step]}
	for _, k := range r.Kernels {
		if k.Step != step {
			continue
		}
		s := interval.Span{Start: k.StartNS, End: k.StartNS + k.DurNS}
		all = append(all, s)
		t.launches++
		t.sum += k.DurNS
		if k.Collective {
			collective = append(collective, s)
		} else {
			work = append(work, s)
		}
	}
	t.union, t.work, t.collective = union(all), union(work), union(collective)
	return t
}

// loadJob writes a job's window into a folder, changes it there, and loads what is left.
func loadJob(t *testing.T, j tracetest.Job, change func(traces []string)) (*tracetest.Window, *Capture, []string) {
	t.Helper()
	dir := t.TempDir()
	made := j.Window()
	traces, err := made.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(traces)
	}
	left, err := filepath.Glob(filepath.Join(dir, "kineto", "*"))
	if err != nil {
		t.Fatal(err)
	}
	streams, err := filepath.Glob(filepath.Join(dir, "layer1", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return made, load(t, Input{Traces: left, Streams: streams}), traces
}

// holds compares a window with what one engine did. ranks are those whose files are whole.
func holds(t *testing.T, w *join.Window, e *tracetest.Engine, ranks []int, waitBy string) {
	t.Helper()
	if len(w.Ranks) != len(ranks) || len(w.Iterations) != len(e.SubmitNS) {
		t.Fatalf("%d ranks, %d iterations", len(w.Ranks), len(w.Iterations))
	}
	for i := range w.Iterations {
		it := &w.Iterations[i]
		var most, work, least, wait, sum int64
		least = 1 << 60
		slowest := 0
		for k, r := range ranks {
			want := truthOf(&e.Ranks[r], i)
			got := it.Ranks[k]
			is := truth{got.Total.SumNS, got.Total.UnionNS, got.NonCollective.UnionNS, got.Families[family.Collective].UnionNS, it.Waits[k], got.Total.Launches}
			if waitBy == "" {
				want.wait = -1
			}
			if waitBy == join.WaitByEnds && abs(is.wait-want.wait) < want.collective/10 {
				is.wait = want.wait // ends are a little apart, and so are clocks that were set by them
			}
			if is != want {
				t.Errorf("iteration %d rank %d is %+v, want %+v", i, r, is, want)
			}
			most, wait, least = max(most, want.union), max(wait, want.wait), min(least, want.work)
			sum += want.sum
			if want.work > work {
				work, slowest = want.work, k
			}
		}
		if it.CriticalNS != most || it.NonCollectiveNS != work || it.SpreadNS != work-least || it.Slowest != slowest || it.WaitBy != waitBy {
			t.Errorf("iteration %d: critical %d, work %d of index %d, spread %d, waits by %q; want %d, %d of %d, %d, %q", i, it.CriticalNS, it.NonCollectiveNS, it.Slowest,
				it.SpreadNS, it.WaitBy, most, work, slowest, work-least, waitBy)
		}
		if it.SumNS() != sum {
			t.Errorf("iteration %d: the ranks together worked %d, want %d", i, it.SumNS(), sum)
		}
		if waitBy == join.WaitByClocks && it.WaitNS != wait || waitBy == "" && it.WaitNS != -1 {
			t.Errorf("iteration %d waits %d, want %d", i, it.WaitNS, wait)
		}
		if it.Step == nil || it.Step.PeriodNS == nil || *it.Step.PeriodNS != e.PeriodNS[i] || *it.ResidualNS != e.PeriodNS[i]-most {
			t.Errorf("iteration %d: no step with a period of %d", i, e.PeriodNS[i])
		}
	}
}

func abs(v int64) int64 { return max(v, -v) }

func allRanks(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestRanksAgainstWhatTheyDid(t *testing.T) {
	small := tracetest.Job{Ranks: 4, Layers: 6, Steps: 10, FirstStep: 41}
	with := func(change func(*tracetest.Job)) tracetest.Job {
		j := small
		change(&j)
		return j
	}
	for name, c := range map[string]struct {
		job tracetest.Job
		by  string
	}{
		"four ranks":            {small, join.WaitByClocks},
		"one is slow":           {with(func(j *tracetest.Job) { j.SlowNS = map[int]int64{2: 25_000} }), join.WaitByClocks},
		"NCCL":                  {with(func(j *tracetest.Job) { j.Collective, j.SlowNS = tracetest.NCCLAllReduce, map[int]int64{0: 60_000} }), join.WaitByClocks},
		"eight ranks":           {with(func(j *tracetest.Job) { j.Ranks, j.SlowNS = 8, map[int]int64{7: 9_000, 3: 8_000} }), join.WaitByClocks},
		"two engines of four":   {with(func(j *tracetest.Job) { j.Engines, j.SlowNS = 2, map[int]int64{1: 9_000, 6: 30_000} }), join.WaitByClocks},
		"clocks a little apart": {with(func(j *tracetest.Job) { j.OffsetNS = map[int]int64{1: 90_000, 3: -120_000} }), join.WaitByEnds},
		"clocks apart": {with(func(j *tracetest.Job) {
			j.OffsetNS, j.SlowNS = map[int]int64{2: 7_000_000, 3: 7_001_000}, map[int]int64{1: 30_000}
		}), join.WaitByEnds},
	} {
		t.Run(name, func(t *testing.T) {
			c.job.Seed = 7
			made, got, _ := loadJob(t, c.job, nil)
			if len(got.Windows) != len(made.Members) || len(got.Failed) != 0 {
				t.Fatalf("%d windows, failed %v", len(got.Windows), got.Failed)
			}
			slices.SortFunc(got.Windows, func(a, b join.Window) int { return cmp.Compare(a.DP(), b.DP()) })
			for e := range made.Members {
				w := &got.Windows[e]
				if state, why := w.State(); state != join.Verified || w.Join.Method != join.ByMarker || w.Join.AfterStep != 40 {
					t.Errorf("engine %d: %s (%s), by %q after step %d", e, state, why, w.Join.Method, w.Join.AfterStep)
				}
				holds(t, w, &made.Members[e], allRanks(c.job.Ranks), c.by)
			}
		})
	}
}

// What is missing is named, and what is there is right all the same.
func TestRanksThatAreMissing(t *testing.T) {
	for name, c := range map[string]struct {
		engines int
		lost    []int
		engine  int
		missing []int64
	}{
		"one of four":                      {1, []int{2}, 0, []int64{2}},
		"the last of four":                 {1, []int{3}, 0, []int64{3}},
		"one of an engine of two":          {2, []int{1}, 0, []int64{1}},
		"the last of the second engine":    {2, []int{7}, 1, []int64{3}},
		"the last of both engines":         {2, []int{3, 7}, 1, []int64{3}},
		"all of the other engine":          {2, []int{0, 1, 2, 3}, 1, nil},
		"all of the engine behind":         {2, []int{4, 5, 6, 7}, 0, nil},
		"all of the other, one of its own": {2, []int{0, 1, 2, 3, 5}, 1, []int64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			job := tracetest.Job{Engines: c.engines, Ranks: 4, Layers: 3, Steps: 6, Seed: 3}
			made, got, _ := loadJob(t, job, func(traces []string) {
				for _, r := range c.lost {
					if err := os.Remove(traces[r]); err != nil {
						t.Fatal(err)
					}
				}
			})
			at := slices.IndexFunc(got.Windows, func(w join.Window) bool { return w.DP() == int64(c.engine) })
			if at < 0 {
				t.Fatalf("%d windows", len(got.Windows))
			}
			w := &got.Windows[at]
			if !slices.Equal(w.Missing, c.missing) {
				t.Errorf("missing %v, want %v", w.Missing, c.missing)
			}
			state, why := w.State()
			if len(c.missing) == 0 {
				if state != join.Verified {
					t.Errorf("%s: %s", state, why)
				}
				holds(t, w, &made.Members[c.engine], allRanks(4), join.WaitByClocks)
				return
			}
			left := slices.DeleteFunc(allRanks(4), func(r int) bool { return slices.Contains(c.missing, int64(r)) })
			if state != join.Incomplete || !strings.Contains(why, "no file of rank "+strconv.FormatInt(c.missing[0], 10)) {
				t.Errorf("%s: %s", state, why)
			}
			holds(t, w, &made.Members[c.engine], left, "")
		})
	}
}

// A torn file gives the iterations that it holds whole; those of the other ranks are not touched.
func TestRankWithATornFile(t *testing.T) {
	job := tracetest.Job{Ranks: 4, Layers: 3, Steps: 8, Seed: 5, SlowNS: map[int]int64{1: 20_000}}
	for _, percent := range []int64{0, 1, 40, 75, 99} {
		made, got, traces := loadJob(t, job, func(traces []string) {
			st, err := os.Stat(traces[2])
			if err == nil {
				err = os.Truncate(traces[2], st.Size()*percent/100)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		var w *join.Window
		for i := range got.Windows {
			if len(got.Windows[i].Ranks) >= 3 {
				w = &got.Windows[i]
			}
		}
		if w == nil {
			t.Fatalf("%d %%: %d windows, failed %v", percent, len(got.Windows), got.Failed)
		}
		state, why := w.State()
		if state != join.Incomplete {
			t.Errorf("%d %%: %s", percent, state)
		}
		if named := strings.Contains(why, "rank 2") || strings.Contains(why, filepath.Base(traces[2])); !named {
			t.Errorf("%d %%: %q does not say which rank", percent, why)
		}
		for i := range w.Iterations {
			for k, r := range w.Iterations[i].Ranks {
				if n := int(w.Ranks[k].Rank.Global); n != 2 {
					if want := truthOf(&made.Members[0].Ranks[n], i); r.Total.UnionNS != want.union || r.NonCollective.UnionNS != want.work {
						t.Errorf("%d %%: iteration %d rank %d: %d, want %+v", percent, i, n, r.Total.UnionNS, want)
					}
				}
			}
		}
	}
}

// Both engines of a dense model name their files by rank alone, and the labels tell whose they are.
func TestEnginesOfRanksWithoutNames(t *testing.T) {
	job := tracetest.Job{Engines: 2, Ranks: 4, Layers: 3, Steps: 6, Seed: 11}
	made, got, _ := loadJob(t, job, func(traces []string) {
		for i, path := range traces {
			name := filepath.Base(path)
			name = name[strings.LastIndex(name, "_")+1:]
			if err := os.Rename(path, filepath.Join(filepath.Dir(path), strings.Replace(name, ".", "."+strconv.Itoa(17+i), 1))); err != nil {
				t.Fatal(err)
			}
		}
	})
	if len(got.Windows) != 2 {
		t.Fatalf("%d windows", len(got.Windows))
	}
	for i := range got.Windows {
		w := &got.Windows[i]
		if state, why := w.State(); state != join.Verified {
			t.Errorf("window %d: %s: %s", i, state, why)
			continue
		}
		for e := range made.Members {
			if made.Members[e].SubmitNS[0] == w.Iterations[0].Step.SubmitNS {
				holds(t, w, &made.Members[e], allRanks(4), join.WaitByClocks)
			}
		}
	}
}

func TestRanksOfACancelledLoad(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	traces, err := tracetest.Job{Ranks: 8, Layers: 2, Steps: 3}.Window().Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load(ctx, Input{Traces: traces, Rules: defaults(t)}); err == nil {
		t.Error("a load that was cancelled gave a capture")
	}
}
