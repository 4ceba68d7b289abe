package llmd

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"opprof/campaign/bench"
	"opprof/campaign/export/feed"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/testdata"
)

// vllmResult is what vllm bench serve writes with --save-detailed.
const vllmResult = `{"model_id":"m","backend":"vllm","request_rate":12.0,"max_concurrency":4,"completed":3,"failed":1,"total_input_tokens":60,"total_output_tokens":9,"duration":2.0,
"request_throughput":1.5,"output_throughput":4.5,"total_token_throughput":34.5,"mean_ttft_ms":20.0,"median_ttft_ms":20.0,"std_ttft_ms":8.16496580927726,"p99_ttft_ms":29.8,
"input_lens":[10,20,30,5],"output_lens":[3,3,3,0],"ttfts":[0.01,0.02,0.03,0],"itls":[[0.1,0.1],[0.1,0.1],[0.1,0.1],[]],"errors":["","","","connection lost"],"generated_texts":["a","b","c",""]}`

func steps(t testing.TB, name string) *Steps {
	t.Helper()
	data, err := testdata.Recording(name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := feed.Open([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	s := &Steps{}
	if _, err := in.Each(context.Background(), func(it *feed.Item) error { s.Add(it); return nil }, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

func full(t testing.TB) Report {
	t.Helper()
	results, err := bench.Read(strings.NewReader(vllmResult), "result.json", "")
	if err != nil {
		t.Fatal(err)
	}
	m := &rundir.Manifest{Argv: []string{"vllm", "serve", "m"}, Env: map[string]string{"VLLM_USE_V1": "1"}, GPUs: []rundir.GPU{{Name: "NVIDIA H200"}, {Name: "NVIDIA H200"}}}
	return Build(Input{Campaign: "c", Run: "r", Path: "/r", Manifest: m, Result: results[0], Stage: 1, Steps: steps(t, "h200-tp2")})
}

func text(t testing.TB, r Report) map[string]any {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// at looks a path up; numbers are indexes.
func at(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			v = x[name[0]-'0']
		default:
			return nil
		}
	}
	return v
}

func TestAReportSaysWhatWasMeasured(t *testing.T) {
	v := text(t, full(t))
	for path, want := range map[string]any{
		"version": "0.2.1", "run.eid": "c",
		"scenario.stack.0.standardized.kind": "inference_engine", "scenario.stack.0.standardized.tool": "vllm", "scenario.stack.0.standardized.tool_version": "0.24.0",
		"scenario.stack.0.standardized.role": "replica", "scenario.stack.0.standardized.model.name": "Qwen3-30B-A3B", "scenario.stack.0.standardized.accelerator.model": "NVIDIA H200",
		"scenario.stack.0.standardized.accelerator.count": 2.0, "scenario.stack.0.standardized.accelerator.parallelism.tp": 2.0, "scenario.stack.0.native.args.argv.1": "serve",
		"scenario.load.standardized.tool": "vllm", "scenario.load.standardized.stage": 1.0, "scenario.load.standardized.rate_qps": 12.0, "scenario.load.standardized.concurrency": 4.0,
		"scenario.load.standardized.input_seq_len.value": 20.0, "scenario.load.standardized.input_seq_len.min": 10.0, "scenario.load.standardized.output_seq_len.max": 3.0,
		"results.request_performance.aggregate.requests.total": 4.0, "results.request_performance.aggregate.requests.failures": 1.0,
		"results.request_performance.aggregate.requests.input_length.mean":         20.0,
		"results.request_performance.aggregate.latency.time_to_first_token.units":  "ms",
		"results.request_performance.aggregate.latency.time_to_first_token.mean":   20.0,
		"results.request_performance.aggregate.latency.time_to_first_token.p50":    20.0,
		"results.request_performance.aggregate.latency.time_to_first_token.max":    30.0,
		"results.request_performance.aggregate.latency.time_per_output_token.mean": 100.0,
		"results.request_performance.aggregate.throughput.output_token_rate.mean":  4.5,
		"results.request_performance.aggregate.throughput.input_token_rate.mean":   30.0,
		"results.request_performance.aggregate.throughput.request_rate.units":      "queries/s",
		"results.observability.components.0.aggregate.kv_cache_usage.max":          100.0,
		"results.observability.components.0.aggregate.preemptions.mean":            19.0,
		"results.observability.components.0.component_label":                       "vllm",
		"results.profiling.steps": 7083.0,
	} {
		got := at(v, path)
		if f, ok := got.(float64); ok {
			if w, ok := want.(float64); ok && math.Abs(f-w) < 1e-9 {
				continue
			}
		}
		if got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if at(v, "scenario.stack.0.metadata.label") != at(v, "results.observability.components.0.component_label") {
		t.Error("the records are not of the component of the stack")
	}
	for path, form := range map[string]string{"run.uid": `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, "run.time.duration": `^PT[0-9.]+S$`, "run.time.start": `^2026-11-30T01:57:23\.498658889Z$`} {
		if got, _ := at(v, path).(string); !regexp.MustCompile(form).MatchString(got) {
			t.Errorf("%s is %q, want %s", path, got, form)
		}
	}
}

func TestWhatIsNotKnownIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		name   string
		in     Input
		absent []string
	}{
		{"nothing", Input{Run: "r"}, []string{"scenario", "results.request_performance", "results.observability", "results.profiling", "run.time", "run.eid"}},
		{"records without a header", Input{Run: "r", Steps: &Steps{}}, []string{"scenario", "results.observability"}},
		{"a load of unknown lengths", Input{Run: "r", Result: &bench.Result{Generator: "vllm"}}, []string{"scenario", "results.request_performance.aggregate.requests", "results.request_performance.aggregate.latency"}},
	} {
		v := text(t, Build(c.in))
		for _, path := range c.absent {
			if got := at(v, path); got != nil {
				t.Errorf("%s: %s is %v", c.name, path, got)
			}
		}
		if at(v, "run.uid") == nil || at(v, "results") == nil || at(v, "version") != Version {
			t.Errorf("%s: a required part is missing in %v", c.name, v)
		}
	}
}

func TestReportsAreToldApart(t *testing.T) {
	seen := map[string]string{}
	for name, in := range map[string]Input{"a": {Run: "a"}, "b": {Run: "b"}, "a of c": {Campaign: "c", Run: "a"}, "a, stage 1": {Run: "a", Stage: 1}} {
		id := Build(in).Run.UID
		if before, ok := seen[id]; ok {
			t.Errorf("%s and %s are both %s", before, name, id)
		}
		if seen[id] = name; Build(in).Run.UID != id {
			t.Errorf("%s is another each time", name)
		}
	}
}

func TestDamagedNumbersAreNoReason(t *testing.T) {
	s := &Steps{}
	l := &record.Line{Kind: record.KindStep, Step: record.Step{EngineID: "e", KV: record.KV{Usage: math.Inf(1)}}}
	s.Add(&feed.Item{Line: l})
	if _, err := json.Marshal(Build(Input{Run: "r", Steps: s})); err != nil {
		t.Error(err)
	}
}

// pythonEnv names an interpreter with llm-d's own package for the format, llmd-benchmark-report.
const pythonEnv = "OPPROF_ANALYTICS_PYTHON"

func TestLLMDReadsIt(t *testing.T) {
	python := os.Getenv(pythonEnv)
	if python == "" {
		t.Skipf("%s names no interpreter with llmd_benchmark_report", pythonEnv)
	}
	for name, r := range map[string]Report{"full": full(t), "bare": Build(Input{Run: "r"}), "records": Build(Input{Run: "r", Steps: steps(t, "h200-tp1")})} {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(python, "-c", `import json, sys
from llmd_benchmark_report.schema_v0_2_1 import BenchmarkReportV021
said = json.load(sys.stdin)
print(BenchmarkReportV021(**said).version)`)
		c.Stdin = bytes.NewReader(b)
		if out, err := c.CombinedOutput(); err != nil || string(out) != Version+"\n" {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
