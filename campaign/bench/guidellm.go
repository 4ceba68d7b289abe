package bench

import (
	"encoding/json"
	"errors"
	"fmt"

	"opprof/engine/unit"
)

// guideBenchmark is one load of a GuideLLM report.
type guideBenchmark struct {
	Duration json.RawMessage
	Metrics  map[string]json.RawMessage
	Requests struct {
		Successful []guideRequest
		Errored    []json.RawMessage
		Incomplete []json.RawMessage
	}
}

type guideRequest struct {
	PromptTokens *int64   `json:"prompt_tokens"`
	OutputTokens *int64   `json:"output_tokens"`
	Start        *float64 `json:"request_start_time"` // s since 1970
	Latency      *float64 `json:"request_latency"`    // s
	TTFT         *float64 `json:"time_to_first_token_ms"`
	TPOT         *float64 `json:"inter_token_latency_ms"` // of the request, without its first token
}

// guideSummary is a distribution of the finished requests.
type guideSummary struct {
	Successful *struct {
		Mean        json.RawMessage
		Median      json.RawMessage
		SD          json.RawMessage            `json:"std_dev"`
		Sum         json.RawMessage            `json:"total_sum"`
		Percentiles map[string]json.RawMessage // p001, p01, p05 … p999
	}
}

// readGuideLLM reads a GuideLLM report, one result for each of its loads.
func readGuideLLM(v map[string]json.RawMessage) ([]*Result, error) {
	var metadata struct {
		Version int
		GuideLL string `json:"guidellm_version"`
	}
	if raw, ok := v["metadata"]; ok {
		if err := json.Unmarshal(raw, &metadata); err != nil {
			return nil, fmt.Errorf("metadata: %w", err)
		}
	}
	var loads []guideBenchmark
	if err := json.Unmarshal(v["benchmarks"], &loads); err != nil {
		return nil, fmt.Errorf("benchmarks: expected the loads of a GuideLLM report: %w", err)
	}
	var out []*Result
	for i := range loads {
		r := &Result{Generator: "guidellm", Version: metadata.GuideLL, DurationS: number(loads[i].Duration)}
		if metadata.Version > 2 {
			r.warn("report version %d: versions 1 and 2 are known", metadata.Version)
		}
		r.guide(&loads[i])
		if len(r.fields) == 0 {
			return nil, fmt.Errorf("load %d has no metric of a GuideLLM report", i+1)
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, errors.New("the GuideLLM report has no loads")
	}
	return out, nil
}

func (r *Result) guide(b *guideBenchmark) {
	var totals struct{ Successful, Errored, Incomplete json.RawMessage }
	if json.Unmarshal(b.Metrics["request_totals"], &totals) == nil {
		r.Completed, r.Failed = count(totals.Successful), count(totals.Errored)
		if n := count(totals.Incomplete); n != nil && *n > 0 {
			r.warn("not finished when the time was up: %s", unit.Counted(*n, "request"))
		}
	}
	summary := func(name string) (s guideSummary) {
		if json.Unmarshal(b.Metrics[name], &s) != nil {
			return guideSummary{}
		}
		return s
	}
	for theirs, ours := range map[string]string{"output_tokens_per_second": "output_throughput", "requests_per_second": "request_throughput", "tokens_per_second": "total_token_throughput"} {
		if s := summary(theirs).Successful; s != nil {
			if n := number(s.Mean); n != nil {
				r.set(ours, *n)
			}
		}
	}
	for theirs, into := range map[string]**int64{"prompt_token_count": &r.InputTokens, "output_token_count": &r.OutputTokens} {
		if s := summary(theirs).Successful; s != nil {
			*into = count(s.Sum)
		}
	}
	r.guideTime("ttft", summary("time_to_first_token_ms"), 1)
	r.guideTime("tpot", summary("inter_token_latency_ms"), 1)
	r.guideTime("e2el", summary("request_latency"), 1000)
	r.guideRequests(b)
}

// guidePercentiles are the names of its percentiles.
func guidePercentiles() map[string]string {
	return map[string]string{"p001": "p0.1", "p01": "p1", "p05": "p5", "p10": "p10", "p25": "p25", "p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p999": "p99.9"}
}

func (r *Result) guideTime(of string, s guideSummary, factor float64) {
	if s.Successful == nil {
		return
	}
	for name, raw := range map[string]json.RawMessage{"mean": s.Successful.Mean, "median": s.Successful.Median, "std": s.Successful.SD} {
		if n := number(raw); n != nil {
			r.set(name+"_"+of+"_ms", *n*factor)
		}
	}
	for theirs, ours := range guidePercentiles() {
		if n := number(s.Successful.Percentiles[theirs]); n != nil {
			r.set(ours+"_"+of+"_ms", *n*factor)
		}
	}
}

// guideRequests takes the requests themselves where the report lists all of them: its own percentiles are not interpolated, and those of the
// inter-token latency count every token.
func (r *Result) guideRequests(b *guideBenchmark) {
	listed := b.Requests.Successful
	if r.Completed == nil || int64(len(listed)) != *r.Completed || len(listed) == 0 {
		r.warn("the requests are not listed: percentiles are GuideLLM's own, not interpolated, and a time per token counts every token")
		return
	}
	for _, q := range listed {
		one := Request{StartS: q.Start, LatencyS: q.Latency}
		if q.PromptTokens != nil {
			one.InputTokens = *q.PromptTokens
		}
		if q.OutputTokens != nil {
			one.OutputTokens = *q.OutputTokens
		}
		if q.TTFT != nil {
			s := *q.TTFT / 1000
			one.TTFTS = &s
			if q.TPOT != nil && one.OutputTokens > 1 {
				// Its latency ends with the response; the time per token ends with the last token.
				latency := s + *q.TPOT/1000*float64(one.OutputTokens-1)
				one.LatencyS = &latency
			}
		}
		r.Requests = append(r.Requests, one)
	}
}
