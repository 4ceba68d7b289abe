package capture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/traces/kineto"
	"opprof/traces/rank"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func defaults(t testing.TB) *family.Rules {
	t.Helper()
	r, err := family.Default()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func recorded(t testing.TB, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "traces", folder, "*.zst"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces of %s: %v", folder, err)
	}
	return files
}

func stream(folder string) string {
	return filepath.Join("..", "..", "testdata", "records", folder+".jsonl.zst")
}

// BenchmarkLoad reads and analyses whole folders. Throughput counts the packed bytes.
func BenchmarkLoad(b *testing.B) {
	for _, folder := range []string{"h200-tp1-experts", "h200-tp1", "h200-tp2"} {
		b.Run(folder, func(b *testing.B) {
			files := recorded(b, folder)
			var size int64
			for _, f := range files {
				s, err := os.Stat(f)
				if err != nil {
					b.Fatal(err)
				}
				size += s.Size()
			}
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Load(context.Background(), Input{Traces: files, Streams: []string{stream(folder)}, Rules: defaults(b)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func load(t *testing.T, in Input) *Capture {
	t.Helper()
	in.Rules = defaults(t)
	c, err := Load(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRecordedWindows: every window of the recordings joins with its steps by the marker, which the recorder wrote for it.
func TestRecordedWindows(t *testing.T) {
	for folder, want := range map[string]struct {
		first []int64
		ranks int
		mode  []rank.Mode
	}{
		"h200-tp1": {[]int64{246, 918, 1236, 1311, 1418, 1845, 2265}, 1, []rank.Mode{rank.ModeGraphs, rank.ModeGraphs, rank.ModeCompiled, rank.ModeGraphs,
			rank.ModeGraphs, rank.ModeGraphs, rank.ModeGraphs}},
		"h200-tp2":         {[]int64{388, 1119, 1651}, 2, []rank.Mode{rank.ModeGraphs, rank.ModeGraphs, rank.ModeGraphs}},
		"h200-tp2-eager":   {[]int64{35}, 2, []rank.Mode{rank.ModeEager}},
		"h200-tp1-experts": {[]int64{44}, 1, []rank.Mode{rank.ModeCompiled}},
		"h200-tp1-literal": {[]int64{358}, 1, []rank.Mode{rank.ModeGraphs}},
	} {
		t.Run(folder, func(t *testing.T) {
			c := load(t, Input{Traces: recorded(t, folder), Streams: []string{stream(folder)}})
			if len(c.Windows) != len(want.first) || len(c.Failed) != 0 {
				t.Fatalf("%d windows, failed %v", len(c.Windows), c.Failed)
			}
			for i := range c.Windows {
				w := &c.Windows[i]
				state, why := w.State()
				if state != join.Verified || w.Join.Method != join.ByMarker || w.Join.AfterStep+1 != want.first[i] || len(w.Ranks) != want.ranks || w.Mode() != want.mode[i] {
					t.Errorf("window %d: %s (%s), by %q from step %d, %d ranks, %s", i, state, why, w.Join.Method, w.Join.AfterStep+1, len(w.Ranks), w.Mode())
				}
				checkParts(t, w)
			}
		})
	}
}

// checkParts holds a joined window's figures against one another.
func checkParts(t *testing.T, w *join.Window) {
	t.Helper()
	for i := range w.Iterations {
		it := &w.Iterations[i]
		if it.Step == nil {
			t.Errorf("iteration %d has no step", i)
			continue
		}
		if it.Step.PeriodNS != nil {
			parts := *it.ResidualNS - it.OverlapNS()
			for f := range family.Count {
				parts += it.Ranks[it.Critical].Families[f].UnionNS
			}
			if parts != *it.Step.PeriodNS {
				t.Errorf("iteration %d: its parts make %d ns, its period is %d", i, parts, *it.Step.PeriodNS)
			}
		}
		for k, r := range it.Ranks {
			if r.Total.UnionNS > it.CriticalNS || it.Waits[k] < 0 || it.Waits[k] > r.Families[family.Collective].SumNS {
				t.Errorf("iteration %d rank %d: union %d of %d, waits %d of %d", i, k, r.Total.UnionNS, it.CriticalNS, it.Waits[k], r.Families[family.Collective].SumNS)
			}
		}
		if len(w.Ranks) > 1 && it.WaitBy != join.WaitByClocks {
			t.Errorf("iteration %d: waits by %s, and yet both ranks ran on one host", i, it.WaitBy)
		}
	}
}

func TestMissingRanksAreNamed(t *testing.T) {
	files := recorded(t, "h200-tp2")
	for _, lost := range []int64{0, 1} {
		var left []string
		for _, f := range files {
			if r := kineto.RankOf(filepath.Base(f)); r.Global != lost || !strings.Contains(f, ".1796003851") {
				left = append(left, f)
			}
		}
		c := load(t, Input{Traces: left, Streams: []string{stream("h200-tp2")}})
		missing := 0
		for i := range c.Windows {
			w := &c.Windows[i]
			if len(w.Missing) == 0 {
				continue
			}
			missing++
			state, why := w.State()
			if state != join.Incomplete || !slices.Equal(w.Missing, []int64{lost}) || w.Iterations[0].WaitNS != -1 {
				t.Errorf("lost rank %d: %s (%s), missing %v, waits %d", lost, state, why, w.Missing, w.Iterations[0].WaitNS)
			}
		}
		if missing == 0 || missing == len(c.Windows) {
			t.Errorf("%d of %d windows lack rank %d", missing, len(c.Windows), lost)
		}
	}
}

// written writes a small trace and returns its path.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestForeignFilesAreNamed(t *testing.T) {
	var launches []string
	for i := range 400 {
		launches = append(launches, fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":1,"args":{"correlation":%d}}`, i+1, i+1))
	}
	launches = append(launches, `{"ph":"X","cat":"cuda_runtime","name":"cudaStreamBeginCapture","pid":1,"tid":1,"ts":1,"dur":1,"args":{"correlation":999}}`)
	for name, c := range map[string]struct{ file, text, want string }{
		"a graph capture": {"rank0.1.pt.trace.json", `{"traceEvents":[` + strings.Join(launches, ",") + `]}`, "graph capture"},
		"the API server":  {"host_1.async_llm.1.pt.trace.json", `{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"x","ts":1,"dur":1}]}`, "API server"},
		"another kind":    {"rank0.1.pt.trace.json", `{"rows":[]}`, "not a Kineto trace"},
		"nothing in it":   {"rank0.1.pt.trace.json", `{"traceEvents":[]}`, "no events"},
		"no such file":    {"", "", "cannot open"},
	} {
		path := filepath.Join(t.TempDir(), "none.pt.trace.json")
		if c.file != "" {
			path = written(t, c.file, c.text)
		}
		got := load(t, Input{Traces: []string{path}})
		if len(got.Windows) != 0 || len(got.Failed) != 1 || got.Failed[0].Path != path || !strings.Contains(got.Failed[0].Err.Error(), c.want) {
			t.Errorf("%s: %d windows, %+v", name, len(got.Windows), got.Failed)
		} else if why := got.Failed[0].Why(); strings.Contains(why, path) || !strings.HasSuffix(got.Failed[0].Err.Error(), why) || why == "" {
			t.Errorf("%s: beside the path it says %q", name, why)
		}
	}
}

// stepLine is a decode step as the recorder writes it: index, times, requests.
const stepLine = `{"schema":1,"engine_id":"dp0-pid1","step_index":%d,"submit_wall_ns":%d,"submit_mono_ns":%d,"complete_mono_ns":%d,"model_executed":true,` +
	`"scheduled_requests":%[5]d,"decode_batch_size":%[5]d,"prefill_requests":0,"prefill_tokens":0,"decode_tokens":%[5]d,"resumed_requests":0,"recompute_tokens":0,` +
	`"chunked_prefill":{"first":0,"middle":0,"final":0,"unsplit":0,"tokens":0,"chunk_size_hist":[0,0,0,0,0,0,0,0,0]},"context_length_hist":[%[5]d,0,0,0,0,0,0,0,0,0,0,0],` +
	`"preemptions":0,"queues":{"running":%[5]d,"waiting":0,"deferred":0},"kv":{"total_blocks":10,"free_blocks":5,"used_blocks":5,"usage":0.5},` +
	`"prefix":{"local":null,"external":null},"cudagraph":null,"moe_expert_load":null,"dropped_records_before":0}`

// The trace of a server without a device: labels and operators only. Its labels are those of steps 3 to 5 of a small stream.
func TestWindowWithoutDevice(t *testing.T) {
	var events, steps []string
	for i := range 8 {
		steps = append(steps, fmt.Sprintf(stepLine, i+1, int64(i)*50_000_000+1_790_857_026_000_000_000, i*50_000_000+1000, i*50_000_000+40_000_000, i+1))
	}
	for i := 2; i < 5; i++ {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":"user_annotation","name":"execute_context_0(0)_generation_%d(%[1]d)","pid":1,"tid":1,"ts":%d,"dur":30000}`, i+1, i*50_000+200),
			fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":%d,"dur":3000}`, i*50_000+300))
	}
	trace := written(t, "1-rank-0.1790857026500000000.pt.trace.json", `{"baseTimeNanoseconds":1790857026000000000,"traceEvents":[`+strings.Join(events, ",")+`]}`)
	layer1 := written(t, "s.jsonl", strings.Join(steps, "\n")+"\n")
	c := load(t, Input{Traces: []string{trace}, Streams: []string{layer1}})
	if len(c.Windows) != 1 {
		t.Fatalf("%d windows, failed %v", len(c.Windows), c.Failed)
	}
	w := &c.Windows[0]
	if state, why := w.State(); state != join.Verified || w.Join.AfterStep != 2 || w.Mode() != rank.ModeCPU {
		t.Errorf("%s (%s), after step %d, mode %s", state, why, w.Join.AfterStep, w.Mode())
	}
	r := c.Report(0)
	if it := r.Windows[0].Iterations[0]; it.CriticalPathNS != nil || it.SumOfRanksNS != nil || it.PeriodNS == nil || it.LabelNS == nil || *it.LabelNS != 30_000_000 {
		t.Errorf("iteration %+v", it)
	}
	if !strings.Contains(strings.Join(r.Windows[0].Ranks[0].Remarks, "\n"), "without device work") {
		t.Errorf("remarks %q", r.Windows[0].Ranks[0].Remarks)
	}
}

// TestEnginesWithoutNames: the files of a dense model carry no data-parallel rank, and both engines of a server call theirs rank 0.
func TestEnginesWithoutNames(t *testing.T) {
	label := func(requests, us int) string {
		return fmt.Sprintf(`{"ph":"X","cat":"user_annotation","name":"execute_context_0(0)_generation_%d(%[1]d)","pid":1,"tid":1,"ts":%d,"dur":30000}`, requests, us)
	}
	engine := func(name string, requests ...int) string {
		var lines []string
		for i, n := range requests {
			lines = append(lines, strings.Replace(fmt.Sprintf(stepLine, i+1, int64(i)*50_000_000+1_790_857_026_000_000_000, i*50_000_000+1000, i*50_000_000+40_000_000, n), "dp0-pid1", name, 1))
		}
		return written(t, name+".jsonl", strings.Join(lines, "\n")+"\n")
	}
	window := func(requests ...int) string {
		var events []string
		for i, n := range requests {
			events = append(events, label(n, (i+1)*50_000+200))
		}
		return written(t, "rank0.1.pt.trace.json", `{"baseTimeNanoseconds":1790857026000000000,"traceEvents":[`+strings.Join(events, ",")+`]}`)
	}
	streams := []string{engine("dp0-pid1", 1, 2, 3, 4, 5), engine("dp1-pid2", 9, 8, 7, 6, 5)}
	c := load(t, Input{Traces: []string{window(2, 3, 4), window(8, 7, 6)}, Streams: streams})
	if len(c.Windows) != 2 {
		t.Fatalf("%d windows, failed %v", len(c.Windows), c.Failed)
	}
	for i := range c.Windows {
		if w := &c.Windows[i]; w.Join.Method == "" || w.Join.AfterStep != 1 || len(w.Ranks) != 1 {
			t.Errorf("window %d: by %q after step %d, %s", i, w.Join.Method, w.Join.AfterStep, w.Join.Reason)
		}
	}
	same := []string{engine("dp0-pid1", 1, 2, 3, 4, 5), engine("dp1-pid2", 1, 2, 3, 4, 5)}
	c = load(t, Input{Traces: []string{window(2, 3, 4)}, Streams: same})
	if w := &c.Windows[0]; w.Join.Method != "" || !strings.Contains(w.Join.Reason, "2 engines") {
		t.Errorf("steps of two engines fit, and yet the window is joined by %q (%s)", w.Join.Method, w.Join.Reason)
	}
}
