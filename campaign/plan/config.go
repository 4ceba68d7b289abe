package plan

import (
	"strings"
	"time"

	"opprof/campaign/gate"
	"opprof/engine/serverconf"
)

// Campaign is the [campaign] section.
type Campaign struct {
	Name            string                `toml:"name"`
	Arms            []string              `toml:"arms"`
	Pairs           int                   `toml:"pairs"`
	SecondLookPairs int                   `toml:"second_look_pairs"`
	Order           string                `toml:"order"`
	LimitPct        float64               `toml:"limit_pct"`
	WarmUpRuns      int                   `toml:"warm_up_runs"`
	Cooldown        serverconf.Duration   `toml:"cooldown"`
	Seed            int64                 `toml:"seed"`
	TensorParallel  []int                 `toml:"tensor_parallel"`
	GraphModes      []string              `toml:"graph_modes"`
	Loads           []string              `toml:"loads"`
	MinRequests     int                   `toml:"min_requests"`
	StartEstimate   serverconf.Duration   `toml:"start_estimate"`
	Windows         int                   `toml:"windows"`
	ExpertRequests  int                   `toml:"expert_requests"`
	Load            map[string]Generator  `toml:"load"`
	Metric          map[string]MetricSpec `toml:"metric"`
}

// Generator is a [campaign.load.NAME]: one way to load the server.
type Generator struct {
	Prompts        int                 `toml:"prompts"`
	WarmUpPrompts  int                 `toml:"warm_up_prompts"`
	InputTokens    int                 `toml:"input_tokens"`
	OutputTokens   int                 `toml:"output_tokens"`
	RangeRatio     float64             `toml:"range_ratio"`
	RequestRate    float64             `toml:"request_rate"`
	MaxConcurrency int                 `toml:"max_concurrency"`
	Args           []string            `toml:"args"`
	Command        []string            `toml:"command"`
	Format         string              `toml:"format"`
	Estimate       serverconf.Duration `toml:"estimate"`
}

// MetricSpec is a [campaign.metric.NAME]: a primary metric.
type MetricSpec struct {
	Field  string `toml:"field"`
	Better string `toml:"better"`
}

// Arms of a pair.
const (
	Off       = "off"       // the patched server with its recorder off
	On        = "on"        // the same server, recording
	Unpatched = "unpatched" // the server as it was installed
)

// Orders of a pair's arms.
const (
	ABBA = "ABBA" // off first in odd pairs, on first in even ones
	BAAB = "BAAB" // the other way round
)

// Formats of results.
const (
	FormatVLLM          = "vllm"
	FormatGuideLLM      = "guidellm"
	FormatAIPerf        = "aiperf"
	FormatInferencePerf = "inference-perf"
)

// Graph modes of a cell: the server's arguments as they are, no compilation and no graphs, or a mode by vLLM's name.
const (
	GraphDefault = "default"
	GraphEager   = "eager"
)

// Defaults are the values of keys that a file leaves out.
func Defaults() Campaign {
	return Campaign{Arms: []string{Off, On}, Pairs: gate.WarnPairs, Order: ABBA, LimitPct: 100 * gate.DefaultLimit, WarmUpRuns: 1,
		Cooldown: serverconf.Duration(30 * time.Second), GraphModes: []string{GraphDefault}, MinRequests: 100,
		StartEstimate: serverconf.Duration(3 * time.Minute)}
}

// generatorDefaults are those of a load.
func generatorDefaults() Generator {
	return Generator{Prompts: 200, InputTokens: 1024, OutputTokens: 128, Format: FormatVLLM, Estimate: serverconf.Duration(2 * time.Minute)}
}

// DefaultMetrics are the primary metrics of the overhead gate: throughput, and the median and 95th percentile of the time to the first token
// and of the time per output token. Fields have the names of `vllm bench serve`.
func DefaultMetrics() []Metric {
	return []Metric{
		{"throughput", "output_throughput", true},
		{"ttft_p50", "p50_ttft_ms", false},
		{"ttft_p95", "p95_ttft_ms", false},
		{"tpot_p50", "p50_tpot_ms", false},
		{"tpot_p95", "p95_tpot_ms", false},
	}
}

// Metric is a primary metric: a field of a run's results, and which way is better.
type Metric struct {
	Name   string
	Field  string
	Higher bool
}

// Unit is the metric's unit, as its field's name tells it; "" where it does not.
func (m Metric) Unit() string {
	switch {
	case strings.HasSuffix(m.Field, "_ms"):
		return "ms"
	case m.Field == "request_throughput":
		return "requests/s"
	case strings.HasSuffix(m.Field, "throughput"):
		return "tokens/s"
	case m.Field == "duration", strings.HasSuffix(m.Field, "_s"):
		return "s"
	}
	return ""
}

// BetweenTokens reports whether the metric is of the time between the tokens of an answer, which one token alone has none of.
func (m Metric) BetweenTokens() bool {
	return strings.Contains(m.Field, "tpot") || strings.Contains(m.Field, "itl")
}

// Units are those of metrics by name; a metric whose unit is not known is not in it.
func Units(metrics []Metric) map[string]string {
	out := map[string]string{}
	for _, m := range metrics {
		if u := m.Unit(); u != "" {
			out[m.Name] = u
		}
	}
	return out
}
