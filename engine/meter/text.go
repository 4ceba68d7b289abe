package meter

import (
	"strings"

	"opprof/engine/unit"
)

// Source says where all figures come from and what they lack; Remedy how to get it.
const (
	Source = "from the server's own /metrics; there are no per-step records, so what each step held is not known"
	Remedy = "for those, start the server with the patch and VLLM_OPPROF_DIR=FOLDER (opprof patch --help), then opprof attach FOLDER --url URL"
)

// Row is a figure as it is printed. Unknown is "-".
type Row struct {
	Name   string
	Metric string // of vLLM
	Now    string // a gauge, or a rate over Reading.RateNS
	Total  string // since the server's start; "" for a gauge
	Trend  func(*Point) *float64
}

// Rows are the figures in the order of the screen.
func (r *Reading) Rows() []Row {
	count := func(n *int64) string { return unit.Known(n, unit.Count) }
	rate := func(c Counter, per string) string {
		return unit.Known(c.PerS, func(v float64) string { return unit.Rate(v, per) })
	}
	return []Row{
		{"running", "vllm:num_requests_running", count(r.Running), "", func(p *Point) *float64 { return p.Running }},
		{"waiting", "vllm:num_requests_waiting", count(r.Waiting), "", func(p *Point) *float64 { return p.Waiting }},
		{"KV cache used", "vllm:kv_cache_usage_perc", unit.Known(r.KVUsage, unit.Percent), "", func(p *Point) *float64 { return p.KVUsage }},
		{"prompt tokens", prompt.metric(), rate(r.Prompt, "tok/s"), count(r.Prompt.Total), func(p *Point) *float64 { return p.PromptPerS }},
		{"generated tokens", generated.metric(), rate(r.Generated, "tok/s"), count(r.Generated.Total), func(p *Point) *float64 { return p.GeneratedPerS }},
		{"steps", steps.metric(), rate(r.Steps, "/s"), count(r.Steps.Total), func(p *Point) *float64 { return p.StepsPerS }},
		{"finished requests", finished.metric(), rate(r.Finished, "/s"), count(r.Finished.Total), nil},
		{"preemptions", preempted.metric(), rate(r.Preempted, "/s"), count(r.Preempted.Total), func(p *Point) *float64 { return p.PreemptionsPerS }},
		{"prefix hits", hits.metric(), share(r.Hits.PerS, r.Lookups.PerS), share(float(r.Hits.Total), float(r.Lookups.Total)), nil},
	}
}

// share is part of all; "-" when one is not known or all is nothing.
func share(part, all *float64) string {
	if part == nil || all == nil || *all <= 0 {
		return unit.Unknown
	}
	return unit.Percent(*part / *all)
}

// LatencyRow is a histogram as it is printed: of each quantile the bucket that holds it.
type LatencyRow struct {
	Name, Metric string
	Recent       [4]string // count, p50, p90, p99 over Reading.RecentNS
	Whole        [4]string // since the server's start
}

// LatencyRows are the histograms in the order of the screen.
func (r *Reading) LatencyRows() []LatencyRow {
	var out []LatencyRow
	for _, l := range r.Latencies {
		out = append(out, LatencyRow{Name: l.Name, Metric: l.Metric, Recent: l.Recent.texts(), Whole: l.Whole.texts()})
	}
	return out
}

func (q Percentiles) texts() [4]string {
	return [4]string{unit.Known(q.Count, unit.Count), q.P50.String(), q.P90.String(), q.P99.String()}
}

// String is the bucket as a range; nil is unknown.
func (b *Bucket) String() string {
	switch {
	case b == nil:
		return unit.Unknown
	case b.ToNS == nil:
		return "over " + unit.Duration(b.AboveNS)
	case b.AboveNS == 0:
		return "to " + unit.Duration(*b.ToNS)
	}
	above, to := unit.Duration(b.AboveNS), unit.Duration(*b.ToNS)
	if figure, of, _ := strings.Cut(above, " "); strings.HasSuffix(to, " "+of) {
		above = figure // 40.0 to 60.0 ms
	}
	return above + " to " + to
}
