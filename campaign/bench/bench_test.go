package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"opprof/campaign/plan"
	"opprof/campaign/stat"
	"opprof/engine/serverconf"
)

// detailed is a result of vllm bench serve with three finished requests and one that failed.
const detailed = `{"date": "20261130-040000", "endpoint_type": "openai", "backend": "openai", "label": null, "model_id": "m", "tokenizer_id": "m",
"num_prompts": 4, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": null, "duration": 2.0, "completed": 3, "failed": 1,
"total_input_tokens": 30, "total_output_tokens": 8, "request_throughput": 1.5, "request_goodput": null, "output_throughput": 4.0,
"total_token_throughput": 19.0, "mean_ttft_ms": 200.0, "median_ttft_ms": 200.0, "std_ttft_ms": NaN, "p50_ttft_ms": 200.0, "p95_ttft_ms": 290.0,
"input_lens": [10, 10, 10, 0], "output_lens": [3, 4, 1, 0], "ttfts": [0.1, 0.2, 0.3, 0.0], "itls": [[0.01, 0.03], [0.02, 0.02, 0.05], [], []],
"start_times": [1.0, 1.1, 1.2, 1.3], "generated_texts": ["a", "NaN \"b", "c", ""], "errors": ["", "", "", "Traceback: x"]}`

func read(t *testing.T, text string) *Result {
	t.Helper()
	r, err := Read(strings.NewReader(text), "r.json", "")
	if err != nil || len(r) != 1 {
		t.Fatalf("%d results, %v", len(r), err)
	}
	return r[0]
}

func wants(t *testing.T, r *Result, want map[string]float64) {
	t.Helper()
	for name, v := range want {
		got, ok := r.Field(name)
		if ok == math.IsNaN(v) || ok && math.Abs(got-v) > 1e-9*math.Max(1, v) {
			t.Errorf("%s: %s is %v, %t; want %v", r.Generator, name, got, ok, v)
		}
	}
}

func TestDetailedResults(t *testing.T) {
	r := read(t, detailed)
	nan := math.NaN() // unknown
	wants(t, r, map[string]float64{
		"output_throughput": 4, "request_throughput": 1.5, "total_token_throughput": 19,
		"p50_ttft_ms": 200, "median_ttft_ms": 200, "mean_ttft_ms": 200, "p95_ttft_ms": 290, "p99.9_ttft_ms": 299.8, "p100_ttft_ms": 300, "p0_ttft_ms": 100,
		"std_ttft_ms": 1000 * math.Sqrt(0.02/3),
		// tpot of the first is 40/2, of the second 90/3; the third has one token.
		"p50_tpot_ms": 25, "p95_tpot_ms": 29.5, "mean_tpot_ms": 25,
		"median_itl_ms": 20, "p50_e2el_ms": 290, "p100_e2el_ms": 300,
		"p101_ttft_ms": nan, "p50_queue_ms": nan, "request_goodput": nan, "request_rate": nan, "p50_ttft": nan, "model_id": nan,
	})
	if r.Model != "m" || *r.Completed != 3 || *r.Failed != 1 || *r.InputTokens != 30 || *r.OutputTokens != 8 || *r.DurationS != 2 || len(r.Warnings) != 0 {
		t.Errorf("%+v", r)
	}
	if q := r.Requests[3]; q.Error == "" || q.TTFTS != nil || q.Text != nil {
		t.Errorf("the failed request: %+v", q)
	}
	if q := r.Requests[1]; *q.StartS != 1.1 || math.Abs(*q.LatencyS-0.29) > 1e-12 || q.OutputTokens != 4 || q.Text == nil {
		t.Errorf("%+v", q)
	}
	if p := r.Problems(2, []string{"p50_ttft_ms"}); !slices.Equal(p, []string{"1 request failed"}) {
		t.Errorf("%q", p)
	}
}

// edit changes a member of the detailed result; a nil value removes it.
func edit(t *testing.T, changes map[string]any) string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(plainJSON([]byte(detailed)), &v); err != nil {
		t.Fatal(err)
	}
	for name, value := range changes {
		if value == nil {
			delete(v, name)
		} else {
			v[name] = value
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSumsOnly(t *testing.T) {
	r := read(t, edit(t, map[string]any{"ttfts": nil, "itls": nil, "input_lens": nil, "output_lens": nil, "errors": nil, "p50_ttft_ms": nil, "p99_tpot_ms": 7.0}))
	wants(t, r, map[string]float64{"p50_ttft_ms": 200, "median_ttft_ms": 200, "p95_ttft_ms": 290, "p99_tpot_ms": 7, "p50_tpot_ms": math.NaN(), "std_ttft_ms": math.NaN()})
	if r.Requests != nil || len(r.Warnings) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestDamagedLists(t *testing.T) {
	for name, c := range map[string]struct {
		changes map[string]any
		warning string
	}{
		"shorter":            {map[string]any{"output_lens": []int{1}}, "output_lens has 1 entries, ttfts has 4"},
		"missing":            {map[string]any{"itls": nil}, "itls: expected a list"},
		"of another type":    {map[string]any{"itls": "x"}, "itls: expected a list"},
		"other statistics":   {map[string]any{"p95_ttft_ms": 280.0}, "p95_ttft_ms is reported as 280, the requests give 290"},
		"other counts":       {map[string]any{"completed": 4}, "completed is 4, and 3 requests"},
		"failures uncounted": {map[string]any{"failed": nil}, ""},
		"no errors":          {map[string]any{"errors": nil}, ""},
		"no texts, no times": {map[string]any{"generated_texts": nil, "start_times": nil}, ""},
	} {
		r := read(t, edit(t, c.changes))
		if got := strings.Join(r.Warnings, "|"); !strings.Contains(got, c.warning) || (c.warning == "") != (got == "") {
			t.Errorf("%s: %q, want %q", name, got, c.warning)
		}
		if v, ok := r.Field("output_throughput"); !ok || v != 4 {
			t.Errorf("%s: the sums are lost", name)
		}
		if r.Failed == nil || *r.Failed != 1 {
			t.Errorf("%s: failed %v", name, r.Failed)
		}
	}
}

func TestAppendedResults(t *testing.T) {
	r, err := Read(strings.NewReader(detailed+"\n"+edit(t, map[string]any{"model_id": "n"})+"\n"), "r.json", "vllm")
	if err != nil || len(r) != 2 || r[0].Model != "m" || r[1].Model != "n" {
		t.Errorf("%d, %v", len(r), err)
	}
}

func TestWhatIsNoResult(t *testing.T) {
	for name, c := range map[string]struct{ text, format, want string }{
		"empty":             {"", "", "r.json is empty"},
		"not JSON":          {"completed=3", "", "byte "},
		"cut off":           {detailed[:400], "", "JSON object"},
		"a list":            {"[1]", "", "JSON object"},
		"another object":    {`{"a": 1}`, "", "not a result of"},
		"unknown format":    {detailed, "x", `"x" is no format`},
		"no field of vllm":  {`{"a": "b"}`, "vllm", "no field"},
		"no metric":         {`{"request_throughput": {"unit": "x"}}`, "", "no metric of an AIPerf"},
		"no benchmarks":     {`{"benchmarks": []}`, "", "no loads"},
		"benchmarks object": {`{"benchmarks": {}}`, "", "expected the loads"},
		"empty load":        {`{"benchmarks": [{}]}`, "", "load 1 has no metric"},
		"empty successes":   {`{"successes": {}, "load_summary": {}}`, "", "no metric of an inference-perf"},
		"successes a list":  {`{"successes": [], "load_summary": {}}`, "", "successes: expected"},
	} {
		if _, err := Read(strings.NewReader(c.text), "r.json", c.format); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestPythonsNumbers(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": NaN, "b": [Infinity, -Infinity, 1]}`: `{"a": null, "b": [null, null, 1]}`,
		`{"NaN": "x \" NaN", "b": NaN}`:             `{"NaN": "x \" NaN", "b": null}`,
		`{"a\\": NaN}`:                              `{"a\\": null}`,
		`{"a": 1}`:                                  `{"a": 1}`,
		`"NaN\`:                                     `"NaN\`,
	} {
		if got := string(plainJSON([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestAIPerf(t *testing.T) {
	r := read(t, `{"request_throughput": {"unit": "requests/sec", "avg": 1.5}, "request_latency": {"unit": "sec", "avg": 0.29, "p50": 0.28, "p95": 0.3},
"request_count": {"unit": "requests", "avg": 150}, "time_to_first_token": {"unit": "ms", "avg": 18.26, "p50": 18, "p95": 20.5, "p99": 21, "std": 1, "min": 9},
"inter_token_latency": {"unit": "us", "avg": 11230, "p50": 11000}, "output_token_throughput": {"unit": "tokens/sec", "avg": 400.5},
"benchmark_duration": {"unit": "ms", "avg": 2500}, "total_osl": {"unit": "tokens", "avg": 5000}, "total_isl": {"unit": "tokens", "avg": 7000},
"output_token_throughput_per_user": {"unit": "tokens/sec/user", "avg": 9}, "was_cancelled": false, "input_config": {"unit": 3}}`)
	wants(t, r, map[string]float64{"request_throughput": 1.5, "output_throughput": 400.5, "p50_ttft_ms": 18, "median_ttft_ms": 18, "mean_ttft_ms": 18.26, "p95_ttft_ms": 20.5,
		"p50_tpot_ms": 11, "mean_tpot_ms": 11.23, "p95_tpot_ms": math.NaN(), "p95_e2el_ms": 300, "p50_itl_ms": math.NaN()})
	if r.Generator != "aiperf" || *r.Completed != 150 || *r.Failed != 0 || *r.OutputTokens != 5000 || *r.InputTokens != 7000 || *r.DurationS != 2.5 {
		t.Errorf("%+v", r)
	}
	odd := read(t, `{"request_throughput": {"unit": "x", "avg": 1}, "time_to_first_token": {"unit": "fortnights", "p50": 1}}`)
	if _, ok := odd.Field("p50_ttft_ms"); ok || len(odd.Warnings) != 1 || odd.Failed != nil {
		t.Errorf("%+v", odd)
	}
}

func TestInferencePerf(t *testing.T) {
	r := read(t, `{"load_summary": {"count": 120}, "successes": {"count": 118, "latency": {"request_latency": {"mean": 3.0, "median": 3.7, "p95": 4.3},
"time_per_output_token": {"mean": 0.011, "median": 0.0126, "p95": 0.0129}, "time_to_first_token": {"mean": 1.5, "median": 2.1, "p95": 2.6, "p99.9": 2.7},
"inter_token_latency": null}, "throughput": {"input_tokens_per_sec": 100.0, "output_tokens_per_sec": 4646.5, "total_tokens_per_sec": 4746.5, "requests_per_sec": 59.0},
"prompt_len": {"mean": 200.5}, "output_len": {"mean": 62.0}}, "failures": {"count": 2, "request_latency": null}}`)
	wants(t, r, map[string]float64{"output_throughput": 4646.5, "request_throughput": 59, "p50_ttft_ms": 2100, "p95_ttft_ms": 2600, "p99.9_ttft_ms": 2700,
		"p50_tpot_ms": 12.6, "p95_tpot_ms": 12.9, "p50_itl_ms": math.NaN(), "median_e2el_ms": 3700})
	if *r.Completed != 118 || *r.Failed != 2 || *r.InputTokens != 23659 || *r.OutputTokens != 7316 || *r.DurationS != 2 {
		t.Errorf("%+v", r)
	}
}

const guideMetrics = `"metrics": {"request_totals": {"successful": 2, "incomplete": 1, "errored": 0, "total": 3},
"requests_per_second": {"successful": {"mean": 1.5}}, "output_tokens_per_second": {"successful": {"mean": 90.5}}, "prompt_token_count": {"successful": {"total_sum": 20.0}},
"output_token_count": {"successful": {"total_sum": 14.0}}, "time_to_first_token_ms": {"successful": {"mean": 12.0, "median": 10.0, "std_dev": 2.0, "percentiles": {"p50": 10.0, "p95": 14.0}}},
"inter_token_latency_ms": {"successful": {"median": 5.0, "percentiles": {"p95": 6.0}}, "errored": null}, "request_latency": {"successful": {"median": 0.5}}}`

func TestGuideLLM(t *testing.T) {
	sums := read(t, `{"metadata": {"version": 2, "guidellm_version": "0.7.3"}, "benchmarks": [{"duration": 20.5, `+guideMetrics+`}]}`)
	wants(t, sums, map[string]float64{"output_throughput": 90.5, "request_throughput": 1.5, "p50_ttft_ms": 10, "p95_ttft_ms": 14, "p95_tpot_ms": 6, "p50_tpot_ms": 5, "median_e2el_ms": 500})
	if sums.Version != "0.7.3" || *sums.Completed != 2 || *sums.Failed != 0 || *sums.OutputTokens != 14 || *sums.InputTokens != 20 || *sums.DurationS != 20.5 || len(sums.Warnings) != 2 {
		t.Errorf("%+v", sums)
	}
	listed, err := Read(strings.NewReader(`{"metadata": {"version": 3}, "benchmarks": [{`+guideMetrics+`, "requests": {"successful": [
{"prompt_tokens": 10, "output_tokens": 11, "request_latency": 0.3, "time_to_first_token_ms": 10.0, "inter_token_latency_ms": 5.0},
{"prompt_tokens": 10, "output_tokens": 3, "request_latency": 0.4, "time_to_first_token_ms": 14.0, "inter_token_latency_ms": 9.0}]}}, {`+guideMetrics+`}]}`), "r", "guidellm")
	if err != nil || len(listed) != 2 {
		t.Fatalf("%d, %v", len(listed), err)
	}
	wants(t, listed[0], map[string]float64{"p50_ttft_ms": 12, "p50_tpot_ms": 7, "p95_ttft_ms": 13.8})
	if !strings.Contains(strings.Join(listed[0].Warnings, "|"), "report version 3") {
		t.Errorf("%q", listed[0].Warnings)
	}
}

func TestProblems(t *testing.T) {
	r := read(t, edit(t, map[string]any{"failed": 0, "p99_e2el_ms": 0}))
	for _, c := range []struct {
		least  int
		fields []string
		want   string
	}{
		{3, []string{"p50_tpot_ms"}, ""},
		{4, nil, "3 requests finished: expected at least 4"},
		{1, []string{"p50_x_ms"}, "the results have no p50_x_ms"},
		{1, []string{"failed"}, "failed is 0: expected more"},
	} {
		if got := strings.Join(r.Problems(c.least, c.fields), "|"); got != c.want && !strings.Contains(got, c.want+" than 0") {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	empty := &Result{}
	if p := empty.Problems(1, nil); len(p) != 2 {
		t.Errorf("%q", p)
	}
}

func TestPairsOfTheSameWork(t *testing.T) {
	a, b := read(t, detailed), read(t, detailed)
	if d := Differences(a, b); len(d) != 0 {
		t.Errorf("%q", d)
	}
	if _, _, known := SameTexts(a, b); known {
		t.Error("the failed request has no text, and all are said to be known")
	}
	whole := map[string]any{"errors": []string{"", "", "", ""}, "ttfts": []float64{.1, .1, .1, .1}}
	a, b = read(t, edit(t, whole)), read(t, edit(t, map[string]any{"errors": whole["errors"], "ttfts": whole["ttfts"], "generated_texts": []string{"a", "x", "c", ""}}))
	if same, of, known := SameTexts(a, b); same != 3 || of != 4 || !known {
		t.Errorf("%d of %d, %t", same, of, known)
	}
	b = read(t, edit(t, map[string]any{"total_output_tokens": 9, "total_input_tokens": "x"}))
	if d := Differences(a, b); !slices.Equal(d, []string{"input tokens are not known of both runs", "8 and 9 output tokens"}) {
		t.Errorf("%q", d)
	}
}

func TestArgv(t *testing.T) {
	s := serverconf.Defaults()
	s.Model, s.Python, s.Port = "/m x", "py", 9
	load := plan.Load{Name: "a", Generator: plan.Generator{Prompts: 7, InputTokens: 3, OutputTokens: 4, RangeRatio: 0.5, RequestRate: 2.5, MaxConcurrency: 6, Args: []string{"--burstiness", "2"}}}
	got, err := Argv(load, Target{Server: s, Seed: 11, Result: "/r/bench/a.json"})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields("py -m vllm.entrypoints.cli.main bench serve --backend openai --base-url http://127.0.0.1:9 --endpoint /v1/completions --model MODEL " +
		"--dataset-name random --random-input-len 3 --random-output-len 4 --random-range-ratio 0.5 --num-prompts 7 --num-warmups 0 --request-rate 2.5 " +
		"--max-concurrency 6 --seed 11 --temperature 0 --ignore-eos --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 50,95,99 --save-result --save-detailed " +
		"--result-dir /r/bench --result-filename a.json --disable-tqdm --burstiness 2")
	want[slices.Index(want, "MODEL")] = "/m x"
	if !slices.Equal(got, want) {
		t.Errorf("%q\n%q", got, want)
	}
	load.RequestRate, load.MaxConcurrency, s.ServedName = 0, 0, "served"
	got, _ = Argv(load, Target{Server: s})
	if i := slices.Index(got, "--request-rate"); got[i+1] != "inf" || slices.Contains(got, "--max-concurrency") || !slices.Contains(got, "served") {
		t.Errorf("%q", got)
	}
	load.Command = []string{"guidellm", "--target={url}", "{served_model} {model}", "{seed}{prompts}", "{result}", "{other}"}
	got, _ = Argv(load, Target{Server: s, Seed: 1, Result: "{url}"})
	if want := []string{"guidellm", "--target=http://127.0.0.1:9", "served /m x", "17", "{url}", "{other}"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	s.UDS = "/x"
	if _, err := Argv(load, Target{Server: s}); err == nil || !strings.Contains(err.Error(), "Unix socket") {
		t.Error(err)
	}
}

// Statistics of the lists are those that a straight calculation gives, failed requests left out.
func TestStatisticsOfAnyRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		in, out, ttfts, complaints, gaps := make([]int, n), make([]int, n), make([]float64, n), make([]string, n), make([][]float64, n)
		var finished, tpots []float64
		for i := range n {
			in[i], out[i] = 5, rapid.IntRange(1, 4).Draw(t, "tokens")
			ttfts[i] = rapid.Float64Range(0.001, 3).Draw(t, "ttft")
			gaps[i] = rapid.SliceOfN(rapid.Float64Range(0, 1), out[i]-1, out[i]-1).Draw(t, "gaps")
			if complaints[i] = rapid.SampledFrom([]string{"", "", "x"}).Draw(t, "error"); complaints[i] != "" {
				continue
			}
			finished = append(finished, 1000*ttfts[i])
			if out[i] > 1 {
				tpots = append(tpots, 1000*stat.Mean(gaps[i]))
			}
		}
		text, err := json.Marshal(map[string]any{"completed": len(finished), "duration": 1, "input_lens": in, "output_lens": out, "ttfts": ttfts, "itls": gaps, "errors": complaints})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Read(strings.NewReader(string(text)), "r", "")
		if err != nil || len(r[0].Warnings) != 0 {
			t.Fatal(err, r)
		}
		p := rapid.IntRange(0, 100).Draw(t, "p")
		for of, values := range map[string][]float64{"ttft": finished, "tpot": tpots} {
			got, ok := r[0].Field(fmt.Sprintf("p%d_%s_ms", p, of))
			if want := stat.Quantile7(values, float64(p)/100); ok != (len(values) > 0) || ok && math.Abs(got-want) > 1e-6 {
				t.Fatalf("p%d of %s is %v, want %v", p, of, got, want)
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(detailed, "")
	f.Add(`{"benchmarks": [{`+guideMetrics+`}]}`, "guidellm")
	f.Add(`{"request_throughput": {"unit": "ms", "avg": NaN}}`, "aiperf")
	f.Add(`{"successes": {"count": 1e99, "prompt_len": {"mean": -1}}, "load_summary": {}}`, "")
	f.Fuzz(func(t *testing.T, text, format string) {
		results, err := Read(strings.NewReader(text), "f", format)
		if err == nil && len(results) == 0 {
			t.Fatal("neither a result nor an error")
		}
		for _, r := range results {
			for _, m := range plan.DefaultMetrics() {
				if v, ok := r.Field(m.Field); ok && !finite(v) {
					t.Fatalf("%s is %v", m.Field, v)
				}
			}
			r.Problems(100, nil)
			for _, d := range Differences(r, r) {
				if !strings.Contains(d, "not known") {
					t.Fatalf("a result differs from itself: %s", d)
				}
			}
		}
	})
}
