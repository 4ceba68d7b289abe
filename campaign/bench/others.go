package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
)

// readAIPerf reads AIPerf's profile_export_aiperf.json: an object a metric, with its unit. Its inter-token latency is the time per output
// token of a request.
func readAIPerf(v map[string]json.RawMessage) (*Result, error) {
	r := &Result{Generator: "aiperf", Version: text(v["aiperf_version"])}
	metrics := map[string]map[string]json.RawMessage{}
	for name, raw := range v {
		var m map[string]json.RawMessage
		if json.Unmarshal(raw, &m) == nil && m["unit"] != nil {
			metrics[name] = m
		}
	}
	for _, t := range []struct{ theirs, ours string }{{"time_to_first_token", "ttft"}, {"inter_token_latency", "tpot"}, {"request_latency", "e2el"}} {
		m := metrics[t.theirs]
		if m == nil {
			continue
		}
		factor, ok := milliseconds(text(m["unit"]))
		if !ok {
			r.warn("%s is in %q: expected a unit of time", t.theirs, text(m["unit"]))
			continue
		}
		r.statistics(t.ours, m, factor, map[string]string{"avg": "mean", "std": "std"})
	}
	average := func(name string) *float64 { return number(metrics[name]["avg"]) }
	for theirs, ours := range map[string]string{"output_token_throughput": "output_throughput", "request_throughput": "request_throughput", "total_token_throughput": "total_token_throughput"} {
		if n := average(theirs); n != nil {
			r.set(ours, *n)
		}
	}
	whole := func(name string) *int64 { return count(metrics[name]["avg"]) }
	r.Completed, r.Failed, r.InputTokens, r.OutputTokens = whole("request_count"), whole("error_request_count"), whole("total_isl"), whole("total_osl")
	if r.Failed == nil && r.Completed != nil {
		r.Failed = new(int64) // the metric is left out where no request failed
	}
	if d := average("benchmark_duration"); d != nil {
		if factor, ok := milliseconds(text(metrics["benchmark_duration"]["unit"])); ok {
			s := *d * factor / 1000
			r.DurationS = &s
		}
	}
	if len(r.fields) == 0 {
		return nil, errors.New("no metric of an AIPerf export")
	}
	return r, nil
}

// milliseconds is what one of a unit is in milliseconds.
func milliseconds(unit string) (float64, bool) {
	switch unit {
	case "ms", "milliseconds":
		return 1, true
	case "s", "sec", "seconds":
		return 1e3, true
	case "us", "microseconds":
		return 1e-3, true
	case "ns", "nanoseconds":
		return 1e-6, true
	}
	return 0, false
}

var percentileKey = regexp.MustCompile(`^p(\d+(?:\.\d+)?)$`)

// statistics takes the statistics of one time: percentiles by their own name, others as named.
func (r *Result) statistics(of string, from map[string]json.RawMessage, factor float64, names map[string]string) {
	for key, raw := range from {
		n := number(raw)
		if n == nil {
			continue
		}
		name := names[key]
		if percentileKey.MatchString(key) {
			name = key
		}
		if name != "" {
			r.set(name+"_"+of+"_ms", *n*factor)
		}
	}
}

// readInferencePerf reads inference-perf's summary_lifecycle_metrics.json, or that of a stage. Its times are in seconds.
func readInferencePerf(v map[string]json.RawMessage) (*Result, error) {
	var successes struct {
		Count      json.RawMessage
		Latency    map[string]map[string]json.RawMessage
		Throughput map[string]json.RawMessage
		PromptLen  map[string]json.RawMessage `json:"prompt_len"`
		OutputLen  map[string]json.RawMessage `json:"output_len"`
	}
	if err := json.Unmarshal(v["successes"], &successes); err != nil {
		return nil, fmt.Errorf("successes: expected the metrics of an inference-perf report: %w", err)
	}
	var failures struct{ Count json.RawMessage }
	if err := json.Unmarshal(v["failures"], &failures); err != nil {
		failures.Count = nil
	}
	r := &Result{Generator: "inference-perf", Completed: count(successes.Count), Failed: count(failures.Count)}
	for theirs, ours := range map[string]string{"time_to_first_token": "ttft", "time_per_output_token": "tpot", "inter_token_latency": "itl", "request_latency": "e2el"} {
		r.statistics(ours, successes.Latency[theirs], 1000, map[string]string{"mean": "mean", "median": "median"})
	}
	for theirs, ours := range map[string]string{"output_tokens_per_sec": "output_throughput", "requests_per_sec": "request_throughput", "total_tokens_per_sec": "total_token_throughput"} {
		if n := number(successes.Throughput[theirs]); n != nil {
			r.set(ours, *n)
		}
	}
	r.InputTokens, r.OutputTokens = r.total(successes.PromptLen), r.total(successes.OutputLen)
	if r.Completed != nil && r.fields["request_throughput"] > 0 {
		s := float64(*r.Completed) / r.fields["request_throughput"]
		r.DurationS = &s
	}
	if len(r.fields) == 0 {
		return nil, errors.New("no metric of an inference-perf report")
	}
	return r, nil
}

// total is the sum of lengths, of which the report has the mean only.
func (r *Result) total(lengths map[string]json.RawMessage) *int64 {
	mean := number(lengths["mean"])
	if mean == nil || r.Completed == nil || *mean < 0 || *mean > 1<<40 {
		return nil
	}
	n := int64(math.Round(*mean * float64(*r.Completed)))
	return &n
}
