package llmd

import (
	"opprof/campaign/bench"
	"opprof/campaign/stat"
)

// performance is what the load generator measured.
func performance(r *bench.Result) *RequestPerformance {
	var a Aggregate
	if r.Completed != nil {
		a.Requests = &Requests{Total: *r.Completed, Failures: r.Failed,
			InputLength:  lengths(r, r.InputTokens, func(q *bench.Request) int64 { return q.InputTokens }),
			OutputLength: lengths(r, r.OutputTokens, func(q *bench.Request) int64 { return q.OutputTokens })}
		if r.Failed != nil {
			a.Requests.Total += *r.Failed
		}
	}
	a.Latency = &Latency{TTFT: latency(r, "ttft", "ms"), TPOT: latency(r, "tpot", "ms/token"), ITL: latency(r, "itl", "ms/token"), Request: latency(r, "e2el", "ms")}
	if *a.Latency == (Latency{}) {
		a.Latency = nil
	}
	a.Throughput = &Throughput{Output: rate(r, "output_throughput", "tokens/s"), Total: rate(r, "total_token_throughput", "tokens/s"), Request: rate(r, "request_throughput", "queries/s")}
	if r.InputTokens != nil && r.DurationS != nil && *r.DurationS > 0 {
		a.Throughput.Input = &Statistics{Units: "tokens/s", Mean: float64(*r.InputTokens) / *r.DurationS}
	}
	if *a.Throughput == (Throughput{}) {
		a.Throughput = nil
	}
	return &RequestPerformance{Aggregate: a}
}

// latency is the statistics of a time, nil where its mean is not known.
func latency(r *bench.Result, of, units string) *Statistics {
	mean, ok := r.Field("mean_" + of + "_ms")
	if !ok {
		return nil
	}
	p := func(name string) *float64 { return field(r, name+"_"+of+"_ms") }
	return &Statistics{Units: units, Mean: mean, StdDev: p("std"), P1: p("p1"), P5: p("p5"), P10: p("p10"), P25: p("p25"), P50: p("p50"), P75: p("p75"), P90: p("p90"), P95: p("p95"),
		P99: p("p99"), P99P9: p("p99.9"), Min: p("p0"), Max: p("p100")}
}

func rate(r *bench.Result, name, units string) *Statistics {
	v, ok := r.Field(name)
	if !ok {
		return nil
	}
	return &Statistics{Units: units, Mean: v}
}

// lengths are token counts of the finished requests: all statistics where each request is listed, the mean otherwise.
func lengths(r *bench.Result, total *int64, of func(*bench.Request) int64) *Statistics {
	var values []float64
	for i := range r.Requests {
		if r.Requests[i].Error == "" {
			values = append(values, float64(of(&r.Requests[i])))
		}
	}
	if len(values) == 0 {
		if total == nil || r.Completed == nil || *r.Completed == 0 {
			return nil
		}
		return &Statistics{Units: "count", Mean: float64(*total) / float64(*r.Completed)}
	}
	q := func(p float64) *float64 { v := stat.Quantile7(values, p); return &v }
	return &Statistics{Units: "count", Mean: stat.Mean(values), Min: q(0), P1: q(.01), P5: q(.05), P10: q(.1), P25: q(.25), P50: q(.5), P75: q(.75), P90: q(.9), P95: q(.95), P99: q(.99), P99P9: q(.999), Max: q(1)}
}
