// Package audit lays what a server counts itself, its Prometheus metrics, beside the sums of the Layer-1 records: two witnesses of the same
// run, which must agree or have a reason not to.
package audit

import (
	"math"
	"strconv"

	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/engine/vllm"
)

// Verdict says how two figures stand to each other.
type Verdict uint8

const (
	Unknown   Verdict = iota // one of the two is not known
	Same                     // equal
	Near                     // as near as the two can be
	Explained                // different, for a reason that the records themselves show
	Differs                  // different, and the records show no reason
)

// String is the verdict in a word.
func (v Verdict) String() string {
	return [...]string{"unknown", "same", "near", "explained", "differs"}[min(v, Differs)]
}

// Row is one figure as both tell it.
type Row struct {
	Name    string
	Unit    string
	Metric  string   // of the server
	Layer1  *float64 // nil when not known
	Server  *float64
	Verdict Verdict
	Why     string // in a sentence, where the two are not the same
}

// Compare lays a snapshot of /metrics beside a frame over the whole run with all engines.
func Compare(m *vllm.Metrics, f *store.Frame) []Row {
	c := comparison{metrics: m, frame: f, lacks: lacking(f)}
	n := &f.Run.Counts
	c.counter("steps that ran the model", "steps", n.Steps-n.ZeroToken, 0, "vllm:iteration_tokens_total_count")
	c.promptTokens()
	c.generationTokens()
	c.counter("preemptions", "requests", n.Preemptions, 0, "vllm:num_preemptions_total")
	c.prefix("prefix lookups", "prefix hits", n.Local, n.LocalSteps, "vllm:prefix_cache")
	if n.ExternalSteps > 0 {
		c.prefix("external lookups", "external hits", n.External, n.ExternalSteps, "vllm:external_prefix_cache")
	}
	c.blocks()
	now := &f.Now
	c.gauge("running", "requests", float64(now.Queues.Running), "vllm:num_requests_running")
	c.gauge("waiting and deferred", "requests", float64(now.Queues.Waiting+now.Queues.Deferred), "vllm:num_requests_waiting")
	c.judgeSteps()
	return c.rows
}

type comparison struct {
	metrics *vllm.Metrics
	frame   *store.Frame
	lacks   string // why Layer 1 may have less than the server; "" when it is whole
	rows    []Row
}

// lacking says in words what the records do not hold.
func lacking(f *store.Frame) string {
	l := &f.Loss
	for _, e := range f.Engines {
		if e.FirstStep > 1 {
			return "the records begin with step " + unit.Count(e.FirstStep)
		}
	}
	switch {
	case l.Gaps > 0:
		return "the recorder was off or lost steps " + times(l.Gaps)
	case l.Dropped > 0:
		return "the server dropped " + unit.Counted(l.Dropped, "record")
	case l.BadLines > 0:
		return unit.Counted(l.BadLines, "line") + " of the records could not be read"
	}
	return ""
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return unit.Count(n) + " times"
}

func (c *comparison) sum(metric string, pairs ...string) *float64 {
	if v, ok := c.metrics.Sum(metric, pairs...); ok {
		return &v
	}
	return nil
}

// counter compares two counts that grow. They may differ by slack for a reason that lies in the records.
func (c *comparison) counter(name, unitName string, layer1, slack int64, metric string, pairs ...string) {
	c.add(Row{Name: name, Unit: unitName, Metric: metric, Layer1: known(layer1, c.frame.Run.Counts.Steps > 0), Server: c.sum(metric, pairs...)}, slack)
}

// judgeSteps explains other counts of steps where the tokens agree. The server counts a message with output of a step, in each of its API
// servers that gets one (vllm/v1/engine/async_llm.py): a step that computed only parts of prompts, or tokens of requests that had ended by
// then, has none, and zero-token steps never have.
func (c *comparison) judgeSteps() {
	steps, tokens := c.row("steps that ran the model"), c.row("generated tokens")
	if steps == nil || tokens == nil || steps.Verdict != Differs || (tokens.Verdict != Same && tokens.Verdict != Near) {
		return
	}
	n := unit.Count(int64(math.Abs(*steps.Layer1 - *steps.Server)))
	steps.Verdict, steps.Why = Explained, n+" steps gave no token: the server counts only steps with output, and the tokens agree"
	if *steps.Server > *steps.Layer1 {
		steps.Why = "the tokens agree; a step whose output goes to several API servers counts in each, " + n + " times"
	}
}

func (c *comparison) row(name string) *Row {
	for i := range c.rows {
		if c.rows[i].Name == name {
			return &c.rows[i]
		}
	}
	return nil
}

func known(n int64, ok bool) *float64 {
	if !ok {
		return nil
	}
	v := float64(n)
	return &v
}

func (c *comparison) add(r Row, slack int64) {
	switch {
	case r.Layer1 == nil || r.Server == nil:
		r.Why = missing(&r)
	case *r.Layer1 == *r.Server:
		r.Verdict = Same
	case math.Abs(*r.Layer1-*r.Server) <= float64(slack):
		r.Verdict, r.Why = Near, "each of "+unit.Count(slack)+" resumed requests may count one token more or less"
	case *r.Layer1 < *r.Server:
		r.Verdict, r.Why = Differs, "Layer 1 has less and shows no gap: is the snapshot newer than the last step that was read?"
		if c.lacks != "" {
			r.Verdict, r.Why = Explained, "Layer 1 has less: "+c.lacks
		}
	default:
		r.Verdict, r.Why = Differs, "Layer 1 has more: is the snapshot older than the last steps?"
		if later := c.frame.Now.TimeNS - c.metrics.SavedNS; c.metrics.SavedNS > 0 && c.frame.Now.Known && later > 0 {
			r.Verdict, r.Why = Explained, "Layer 1 has more: the snapshot is "+unit.Duration(later)+" older than the last step"
		}
	}
	c.rows = append(c.rows, r)
}

func missing(r *Row) string {
	if r.Server == nil {
		return "the snapshot has no " + r.Metric
	}
	return "the records do not tell it"
}

// Share is what Layer 1 has of the server's count, as a share of it; ok is false where that makes no sense.
func (r *Row) Share() (share float64, ok bool) {
	if r.Layer1 == nil || r.Server == nil || *r.Server <= 0 {
		return 0, false
	}
	return *r.Layer1 / *r.Server, true
}

// promptTokens are those that were computed, not found in a cache.
func (c *comparison) promptTokens() {
	r := Row{Name: "prompt tokens computed", Unit: "tokens", Metric: "vllm:prompt_tokens_by_source_total local_compute",
		Layer1: known(c.frame.Run.Counts.PrefillTokens, c.frame.Run.Counts.Steps > 0), Server: c.sum("vllm:prompt_tokens_by_source_total", "source", "local_compute")}
	if all := c.sum("vllm:prompt_tokens_total"); r.Server == nil && all != nil {
		if cached := c.sum("vllm:prompt_tokens_cached_total"); cached != nil {
			*all -= *cached
		}
		r.Server, r.Metric = all, "vllm:prompt_tokens_total less cached"
	}
	c.add(r, 0)
}

// generationTokens are what came out: one for each decode token that was not computed again, and one at the end of each prompt.
func (c *comparison) generationTokens() {
	n := &c.frame.Run.Counts
	known := n.Steps > 0 && (n.RecomputeSteps == n.Steps || n.Preemptions == 0)
	r := Row{Name: "generated tokens", Unit: "tokens", Metric: "vllm:generation_tokens_total", Server: c.sum("vllm:generation_tokens_total")}
	if known {
		v := float64(n.DecodeTokens - n.RecomputeTokens + n.Chunks.Final + n.Chunks.Unsplit)
		r.Layer1 = &v
	}
	c.add(r, n.ResumedRequests)
}

func (c *comparison) prefix(queries, hits string, p record.Prefix, steps int64, metric string) {
	for _, part := range []struct {
		name, suffix string
		n            int64
	}{{queries, "_queries_total", p.Queries}, {hits, "_hits_total", p.Hits}} {
		c.add(Row{Name: part.name, Unit: "tokens", Metric: metric + part.suffix, Layer1: known(part.n, steps > 0), Server: c.sum(metric + part.suffix)}, 0)
	}
}

// blocks compares the size of the KV cache: vLLM counts its null block, which no request can have.
func (c *comparison) blocks() {
	r := Row{Name: "KV blocks", Unit: "blocks", Metric: "vllm:cache_config_info num_gpu_blocks", Layer1: known(c.frame.Now.KV.TotalBlocks, c.frame.Now.Known)}
	perEngine, ok := c.metrics.Label("vllm:cache_config_info", "num_gpu_blocks")
	n, err := strconv.ParseInt(perEngine, 10, 64)
	engines := int64(max(1, len(c.frame.Engines)))
	if !ok || err != nil {
		r.Why = "the snapshot has no " + r.Metric
		c.rows = append(c.rows, r)
		return
	}
	v := float64(n * engines)
	r.Server = &v
	switch {
	case r.Layer1 == nil:
		r.Why = missing(&r)
	case *r.Layer1 == v-float64(engines):
		r.Verdict, r.Why = Near, "vLLM counts the null block of each engine, which no request can have"
	case *r.Layer1 == v:
		r.Verdict = Same
	default:
		r.Verdict, r.Why = Differs, "the server says another size of the KV cache than its scheduler uses"
	}
	c.rows = append(c.rows, r)
}

// gauge compares values of one moment: that of the snapshot and that of the newest step.
func (c *comparison) gauge(name, unitName string, layer1 float64, metric string) {
	r := Row{Name: name, Unit: unitName, Metric: metric, Server: c.sum(metric)}
	if c.frame.Now.Known {
		r.Layer1 = &layer1
	}
	switch {
	case r.Layer1 == nil || r.Server == nil:
		r.Why = missing(&r)
	case layer1 == *r.Server:
		r.Verdict = Same
	default:
		r.Verdict, r.Why = Near, "two moments: the snapshot and the newest step; vLLM's gauge stands still while it is idle"
	}
	c.rows = append(c.rows, r)
}
