// Package meter watches a server from outside by what it says itself: /health, /version, /v1/models and /metrics, asked once a second. It
// knows no step, only counters and gauges; the figures are vLLM's own (vllm/v1/metrics/loggers.py).
package meter

import "opprof/engine/vllm"

// States of a server.
const (
	Asking  = "asking"  // no answer yet
	Answers = "answers" // the last question was answered
	Silent  = "silent"  // it was not
	Other   = "other"   // what answers is no vLLM server, or one that tells no figures
)

// Reading is what is known of a server at a moment. Unknown is nil, and everything is unknown while the server is silent: old figures are
// not shown as new ones.
type Reading struct {
	Addr    string             `json:"addr"`
	AtNS    int64              `json:"at_ns"` // when the figures were answered, ns since 1970; 0 never
	State   string             `json:"state"`
	Problem string             `json:"problem"` // why there are no figures, in a sentence; "" when there are
	Notes   []string           `json:"notes"`   // what else is worth knowing, in sentences
	Healthy *bool              `json:"healthy"` // by /health, which says nothing of a hung engine
	Version *string            `json:"version"`
	Models  []vllm.ServedModel `json:"models"`  // null unknown
	Profile *bool              `json:"profile"` // the profile endpoints are mounted

	Engines   *int64    `json:"engines"` // that report figures
	Running   *int64    `json:"requests_running"`
	Waiting   *int64    `json:"requests_waiting"`
	KVUsage   *float64  `json:"kv_cache_usage"` // of the fullest engine, 0 to 1
	RateNS    int64     `json:"rate_ns"`        // time that the rates cover
	Prompt    Counter   `json:"prompt_tokens"`
	Generated Counter   `json:"generated_tokens"`
	Steps     Counter   `json:"steps"` // that scheduled tokens
	Finished  Counter   `json:"requests_finished"`
	Preempted Counter   `json:"preemptions"`
	Lookups   Counter   `json:"prefix_lookup_tokens"`
	Hits      Counter   `json:"prefix_hit_tokens"`
	RecentNS  int64     `json:"recent_ns"` // time that the recent quantiles cover
	Latencies []Latency `json:"latencies"`

	BadLines int64  `json:"bad_lines"` // of the last /metrics
	FirstBad string `json:"first_bad"`

	History []Point `json:"-"` // oldest first
}

// Counter is a count since the server's start, and how fast it grows.
type Counter struct {
	Total *int64   `json:"total"`
	PerS  *float64 `json:"per_s"` // over Reading.RateNS
}

// Latency is a histogram of times.
type Latency struct {
	Name   string      `json:"name"`
	Metric string      `json:"metric"`
	Recent Percentiles `json:"recent"` // over Reading.RecentNS
	Whole  Percentiles `json:"since_start"`
}

// Percentiles of observations. A histogram tells of each only the bucket that it lies in.
type Percentiles struct {
	Count *int64  `json:"count"`
	P50   *Bucket `json:"p50"`
	P90   *Bucket `json:"p90"`
	P99   *Bucket `json:"p99"`
}

// Bucket is a range of a histogram, in ns.
type Bucket struct {
	AboveNS int64  `json:"above_ns"`
	ToNS    *int64 `json:"to_ns"` // nil is without end
}

// Point is a moment of the past. A nil value is a gap.
type Point struct {
	AtNS                       int64
	Running, Waiting, KVUsage  *float64
	PromptPerS, GeneratedPerS  *float64
	StepsPerS, PreemptionsPerS *float64
}
