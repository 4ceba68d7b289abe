package meter

import (
	"math"
	"strings"
	"testing"

	"opprof/engine/vllm"
)

// Whatever a server says, what is shown of it is a count, a share or unknown, and prints.
func FuzzReading(f *testing.F) {
	f.Add(said(3, 1), said(9, 2))
	f.Add("vllm:x 1e308\nvllm:generation_tokens_total 9007199254740993\n", "vllm:generation_tokens_total -0\n")
	f.Add("vllm:time_to_first_token_seconds_bucket{le=\"-Inf\"} 1\nvllm:time_to_first_token_seconds_bucket{le=\"+Inf\"} 1e300\n", "vllm:kv_cache_usage_perc NaN\n")
	f.Fuzz(func(t *testing.T, before, now string) {
		m := &Meter{state: Answers}
		for i, text := range []string{before, now} {
			metrics, err := vllm.ReadMetrics(strings.NewReader(text))
			if err != nil {
				return
			}
			m.samples = append(m.samples, newSample(int64(i+1)*1e9, &metrics))
		}
		r := m.Reading()
		for _, c := range []Counter{r.Prompt, r.Generated, r.Steps, r.Finished, r.Preempted, r.Lookups, r.Hits} {
			if c.Total != nil && *c.Total < 0 || c.PerS != nil && (*c.PerS < 0 || math.IsInf(*c.PerS, 0) || math.IsNaN(*c.PerS)) {
				t.Errorf("%+v", c)
			}
		}
		if r.KVUsage != nil && (*r.KVUsage < 0 || *r.KVUsage > 1) {
			t.Errorf("KV usage %g", *r.KVUsage)
		}
		for _, l := range r.Latencies {
			for _, b := range []*Bucket{l.Recent.P50, l.Recent.P99, l.Whole.P50, l.Whole.P90, l.Whole.P99} {
				if b != nil && (b.AboveNS < 0 || b.ToNS != nil && *b.ToNS < b.AboveNS) {
					t.Errorf("%s: bucket %+v", l.Name, b)
				}
			}
		}
		if len(r.Rows()) == 0 || len(r.LatencyRows()) != len(r.Latencies) {
			t.Error("rows are missing")
		}
	})
}
