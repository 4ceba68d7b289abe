package bench

import (
	"crypto/sha256"
	"fmt"
	"math"
	"regexp"
	"strconv"

	"opprof/campaign/stat"
	"opprof/engine/unit"
)

// Result is what one run of a load generator measured.
type Result struct {
	Generator    string // vllm, guidellm, aiperf or inference-perf
	Version      string // of the generator; "" when the file does not say
	Model        string
	Completed    *int64 // requests; nil when unknown, as below
	Failed       *int64
	InputTokens  *int64
	OutputTokens *int64
	DurationS    *float64
	Requests     []Request // nil when the file has sums only
	Warnings     []string

	fields map[string]float64 // as reported
}

// Request is one request. Times are in seconds.
type Request struct {
	InputTokens  int64
	OutputTokens int64
	StartS       *float64 // on the generator's own clock
	TTFTS        *float64 // to the first token
	LatencyS     *float64 // to the last token
	GapsS        []float64
	Error        string             // "" for a request that finished
	Text         *[sha256.Size]byte // digest of the generated text
}

// TPOTS is the time per output token without the first, in seconds: (latency - ttft)/(tokens - 1). It is unknown for fewer than two tokens.
func (r *Request) TPOTS() (float64, bool) {
	if r.TTFTS == nil || r.LatencyS == nil || r.OutputTokens < 2 {
		return 0, false
	}
	return (*r.LatencyS - *r.TTFTS) / float64(r.OutputTokens-1), true
}

// timeField is a statistic of a time: p95_ttft_ms, p99.9_itl_ms, median_tpot_ms, mean_e2el_ms.
var timeField = regexp.MustCompile(`^(mean|median|std|p(\d+(?:\.\d+)?))_(ttft|tpot|itl|e2el)_ms$`)

// Field is a measured quantity by vLLM's name, false when it is not known. Statistics of times are calculated from the requests where the file
// lists them (percentiles by linear interpolation, type 7), and taken as reported otherwise.
func (r *Result) Field(name string) (float64, bool) {
	if m := timeField.FindStringSubmatch(name); m != nil {
		if values := r.timesMS(m[3]); len(values) > 0 {
			v := statistic(values, m[1], m[2])
			return v, finite(v)
		}
		if v, ok := r.fields[name]; ok {
			return v, finite(v)
		}
		if same := alias(m); same != "" {
			v, ok := r.fields[same]
			return v, ok && finite(v)
		}
		return 0, false
	}
	v, ok := r.fields[name]
	return v, ok && finite(v)
}

// alias is the other name of a median.
func alias(m []string) string {
	switch m[1] {
	case "median":
		return "p50_" + m[3] + "_ms"
	case "p50":
		return "median_" + m[3] + "_ms"
	}
	return ""
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func statistic(values []float64, name, percentile string) float64 {
	switch name {
	case "mean":
		return stat.Mean(values)
	case "median":
		return stat.Quantile7(values, 0.5)
	case "std":
		n := float64(len(values))
		if len(values) == 1 {
			return 0
		}
		return stat.SD(values) * math.Sqrt((n-1)/n) // the population's, as NumPy's default
	}
	p, err := strconv.ParseFloat(percentile, 64)
	if err != nil || p > 100 {
		return math.NaN()
	}
	return stat.Quantile7(values, p/100)
}

// timesMS are the times of all finished requests, in milliseconds.
func (r *Result) timesMS(of string) []float64 {
	var out []float64
	for i := range r.Requests {
		q := &r.Requests[i]
		if q.Error != "" {
			continue
		}
		switch of {
		case "ttft":
			out = appendKnown(out, q.TTFTS)
		case "e2el":
			out = appendKnown(out, q.LatencyS)
		case "itl":
			for _, gap := range q.GapsS {
				out = append(out, 1000*gap)
			}
		case "tpot":
			if v, ok := q.TPOTS(); ok {
				out = append(out, 1000*v)
			}
		}
	}
	return out
}

func appendKnown(to []float64, s *float64) []float64 {
	if s == nil {
		return to
	}
	return append(to, 1000**s)
}

func (r *Result) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

func (r *Result) set(name string, v float64) {
	if r.fields == nil {
		r.fields = map[string]float64{}
	}
	if finite(v) {
		r.fields[name] = v
	}
}

// Problems lists why a run must not be compared with another: failed requests, too few finished ones, numbers that are not there. least is
// how many requests a 95th percentile must rest on; fields are those that will be compared.
func (r *Result) Problems(least int, fields []string) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case r.Failed == nil:
		say("the results do not say how many requests failed")
	case *r.Failed > 0:
		say("%s failed", unit.Counted(*r.Failed, "request"))
	}
	switch {
	case r.Completed == nil:
		say("the results do not say how many requests finished")
	case *r.Completed < int64(least):
		say("%s finished: expected at least %d", unit.Counted(*r.Completed, "request"), least)
	}
	for _, name := range fields {
		if v, ok := r.Field(name); !ok {
			say("the results have no %s", name)
		} else if v <= 0 {
			say("%s is %v: expected more than 0", name, v)
		}
	}
	return out
}

// Differences lists how the work of two runs differs: a pair must have done the same.
func Differences(a, b *Result) []string {
	var out []string
	for _, c := range []struct {
		what string
		x, y *int64
	}{{"requests", a.Completed, b.Completed}, {"input tokens", a.InputTokens, b.InputTokens}, {"output tokens", a.OutputTokens, b.OutputTokens}} {
		switch {
		case c.x == nil || c.y == nil:
			out = append(out, c.what+" are not known of both runs")
		case *c.x != *c.y:
			out = append(out, fmt.Sprintf("%d and %d %s", *c.x, *c.y, c.what))
		}
	}
	return out
}

// SameTexts compares the generated texts of two runs, request by request. known is false when a run has none, or their requests differ in
// number.
func SameTexts(a, b *Result) (same int, of int, known bool) {
	if len(a.Requests) == 0 || len(a.Requests) != len(b.Requests) {
		return 0, 0, false
	}
	for i := range a.Requests {
		x, y := a.Requests[i].Text, b.Requests[i].Text
		if x == nil || y == nil {
			return 0, 0, false
		}
		if *x == *y {
			same++
		}
	}
	return same, len(a.Requests), true
}
