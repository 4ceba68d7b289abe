package meter

import (
	"math"

	"opprof/engine/vllm"
)

// figure names a counter.
type figure int

const (
	prompt figure = iota
	generated
	steps
	finished
	preempted
	lookups
	hits
	figures
)

// metric is the name of a counter on the wire.
func (f figure) metric() string {
	return [figures]string{"vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:iteration_tokens_total_count",
		"vllm:request_success_total", "vllm:num_preemptions_total", "vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total"}[f]
}

// latency is a histogram of seconds.
type latency struct{ name, metric string }

func latencies() []latency {
	return []latency{
		{"first token", "vllm:time_to_first_token_seconds"},
		{"between tokens", "vllm:inter_token_latency_seconds"},
		{"whole request", "vllm:e2e_request_latency_seconds"},
		{"queue", "vllm:request_queue_time_seconds"},
	}
}

// sample is one answer to /metrics.
type sample struct {
	atNS             int64
	known            bool // there was an answer
	engines          *int64
	running, waiting *int64
	kvUsage          *float64
	counts           [figures]*int64
	histograms       []*vllm.Histogram // as latencies; nil unknown
}

func newSample(atNS int64, m *vllm.Metrics) sample {
	s := sample{atNS: atNS, known: true, running: total(m, "vllm:num_requests_running"), waiting: total(m, "vllm:num_requests_waiting")}
	engines := map[string]bool{}
	for _, one := range m.Samples {
		if one.Name != "vllm:kv_cache_usage_perc" {
			continue
		}
		engines[one.Labels["engine"]] = true
		if v := one.Value; v >= 0 && v <= 1 && (s.kvUsage == nil || v > *s.kvUsage) {
			s.kvUsage = &v
		}
	}
	if n := int64(len(engines)); n > 0 {
		s.engines = &n
	}
	for f := range figures {
		s.counts[f] = total(m, f.metric())
	}
	for _, l := range latencies() {
		var known *vllm.Histogram
		if h, ok := m.Histogram(l.metric); ok {
			known = &h
		}
		s.histograms = append(s.histograms, known)
	}
	return s
}

// total is a sum over all label sets; nil where it is none, or no number that a count can be.
func total(m *vllm.Metrics, name string) *int64 {
	const most = 1 << 53 // beyond it a float64 skips whole numbers
	v, ok := m.Sum(name)
	if !ok || v < 0 || v > most || math.IsNaN(v) {
		return nil
	}
	n := int64(v)
	return &n
}

// perS is how fast a counter grew from an earlier sample to s; nil when either does not know, or when it fell, as after a restart.
func (s *sample) perS(f figure, before *sample) *float64 {
	a, b := before.counts[f], s.counts[f]
	if a == nil || b == nil || *b < *a || s.atNS <= before.atNS {
		return nil
	}
	v := float64(*b-*a) / (float64(s.atNS-before.atNS) / 1e9)
	return &v
}

// restarted reports whether s is of a server that was started after an earlier sample: a counter that only grows has fallen.
func (s *sample) restarted(before *sample) bool {
	for f := range figures {
		if a, b := before.counts[f], s.counts[f]; a != nil && b != nil && *b < *a {
			return true
		}
	}
	return false
}

func percentiles(h *vllm.Histogram) Percentiles {
	if h == nil {
		return Percentiles{}
	}
	n := int64(h.Count())
	q := Percentiles{Count: &n}
	for _, one := range []struct {
		q    float64
		into **Bucket
	}{{0.5, &q.P50}, {0.9, &q.P90}, {0.99, &q.P99}} {
		above, to, ok := h.Bucket(one.q)
		if !ok {
			continue
		}
		b := Bucket{AboveNS: nanoseconds(above)}
		if !math.IsInf(to, 1) {
			ns := nanoseconds(to)
			b.ToNS = &ns
		}
		*one.into = &b
	}
	return q
}

func nanoseconds(seconds float64) int64 {
	return int64(math.Round(min(max(seconds, 0), math.MaxInt64/2e9) * 1e9))
}
