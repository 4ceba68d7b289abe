package bench

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// readVLLM reads a result of `vllm bench serve --save-result`, with --save-detailed or without. Its lists are in seconds, its statistics in
// milliseconds.
func readVLLM(v map[string]json.RawMessage) (*Result, error) {
	r := &Result{Generator: "vllm", Model: text(v["model_id"]), Completed: count(v["completed"]), Failed: count(v["failed"]),
		InputTokens: count(v["total_input_tokens"]), OutputTokens: count(v["total_output_tokens"]), DurationS: number(v["duration"])}
	for name, raw := range v {
		if n := number(raw); n != nil {
			r.set(name, *n)
		}
	}
	if r.Completed == nil && len(r.fields) == 0 {
		return nil, errors.New("no field of a vllm result")
	}
	if err := r.vllmRequests(v); err != nil {
		r.Requests = nil
		r.warn("the lists of requests are left out: %v", err)
		return r, nil
	}
	r.compare()
	return r, nil
}

// vllmLists are the lists of --save-detailed, one entry a request. Failed requests stay in them, with zeros.
type vllmLists struct {
	in, out           []int64
	ttfts, starts     []float64
	gaps              [][]float64
	texts, complaints []string
}

func (r *Result) vllmRequests(v map[string]json.RawMessage) error {
	var l vllmLists
	n := -1
	for _, list := range []struct {
		name string
		into any
		size func() int
		must bool
	}{
		{"ttfts", &l.ttfts, func() int { return len(l.ttfts) }, true},
		{"input_lens", &l.in, func() int { return len(l.in) }, true},
		{"output_lens", &l.out, func() int { return len(l.out) }, true},
		{"itls", &l.gaps, func() int { return len(l.gaps) }, true},
		{"start_times", &l.starts, func() int { return len(l.starts) }, false},
		{"generated_texts", &l.texts, func() int { return len(l.texts) }, false},
		{"errors", &l.complaints, func() int { return len(l.complaints) }, false},
	} {
		raw, ok := v[list.name]
		if !ok && list.name == "ttfts" {
			return nil // without --save-detailed
		}
		if !ok && !list.must {
			continue
		}
		if err := json.Unmarshal(raw, list.into); err != nil {
			return fmt.Errorf("%s: expected a list, one entry a request", list.name)
		}
		if n < 0 {
			n = list.size()
		}
		if list.size() != n {
			return fmt.Errorf("%s has %d entries, ttfts has %d", list.name, list.size(), n)
		}
	}
	for i := range n {
		r.Requests = append(r.Requests, l.request(i))
	}
	return nil
}

// errUnfinished stands for the error of a request without one, which produced nothing.
const errUnfinished = "no token"

func (l *vllmLists) request(i int) Request {
	q := Request{InputTokens: l.in[i], OutputTokens: l.out[i]}
	if l.starts != nil {
		q.StartS = &l.starts[i]
	}
	if l.complaints != nil {
		q.Error = l.complaints[i]
	}
	if q.Error == "" && l.ttfts[i] == 0 && l.out[i] == 0 {
		q.Error = errUnfinished
	}
	if q.Error != "" {
		return q
	}
	latency := l.ttfts[i]
	for _, g := range l.gaps[i] {
		latency += g
	}
	q.TTFTS, q.GapsS, q.LatencyS = &l.ttfts[i], l.gaps[i], &latency
	if l.texts != nil {
		sum := sha256.Sum256([]byte(l.texts[i]))
		q.Text = &sum
	}
	return q
}

// disagree is the relative difference beyond which a reported statistic is not the one of the requests: the latency that vLLM measures differs
// from the sum of its parts by rounding only.
const disagree = 0.01

// compare warns where reported statistics and counts are not those of the requests.
func (r *Result) compare() {
	if r.Requests == nil {
		return
	}
	var done, failed int64
	for i := range r.Requests {
		if r.Requests[i].Error == "" {
			done++
		} else {
			failed++
		}
	}
	if r.Completed != nil && *r.Completed != done {
		r.warn("completed is %d, and %d requests of the lists have no error", *r.Completed, done)
	}
	if r.Failed == nil {
		r.Failed = &failed
	}
	for _, name := range []string{"median_ttft_ms", "p95_ttft_ms", "median_tpot_ms", "p95_tpot_ms"} {
		reported, ok := r.fields[name]
		if v, known := r.Field(name); ok && known && math.Abs(v-reported) > disagree*math.Max(v, reported) {
			r.warn("%s is reported as %.4g, the requests give %.4g", name, reported, v)
		}
	}
}
