package query

import "opprof/engine/record"

// Field is a name that an expression may use.
type Field struct {
	Name string
	Unit string
	Text string // what it is
	May  bool   // may be unknown; a comparison with it is then neither true nor false
}

// Fields are all names, in the order in which help lists them.
func Fields() []Field {
	return []Field{
		{Name: "step_index", Text: "index of the step"},
		{Name: "scheduled_requests", Unit: "requests", Text: "requests in the batch"},
		{Name: "decode_batch_size", Unit: "requests", Text: "requests in decode"},
		{Name: "prefill_requests", Unit: "requests", Text: "requests in prefill"},
		{Name: "prefill_tokens", Unit: "tokens", Text: "tokens scheduled for prefill"},
		{Name: "decode_tokens", Unit: "tokens", Text: "tokens scheduled for decode, recomputed ones included"},
		{Name: "resumed_requests", Unit: "requests", Text: "requests that came back after a preemption", May: true},
		{Name: "recompute_tokens", Unit: "tokens", Text: "tokens computed again after a preemption", May: true},
		{Name: "preemptions", Unit: "requests", Text: "requests preempted in this step"},
		{Name: "model_executed", Text: "true unless the step had no tokens"},
		{Name: "running", Unit: "requests", Text: "requests running after scheduling"},
		{Name: "waiting", Unit: "requests", Text: "requests waiting for capacity"},
		{Name: "deferred", Unit: "requests", Text: "requests waiting for something else"},
		{Name: "kv.usage", Unit: "0 to 1", Text: "share of KV blocks in use"},
		{Name: "kv.used", Unit: "blocks", Text: "KV blocks in use"},
		{Name: "kv.free", Unit: "blocks", Text: "KV blocks free"},
		{Name: "kv.total", Unit: "blocks", Text: "KV blocks"},
		{Name: "chunk.first", Unit: "requests", Text: "first chunks"},
		{Name: "chunk.middle", Unit: "requests", Text: "middle chunks"},
		{Name: "chunk.final", Unit: "requests", Text: "final chunks"},
		{Name: "chunk.unsplit", Unit: "requests", Text: "prompts prefilled in one step"},
		{Name: "context_max", Unit: "tokens", Text: "upper edge of the highest context-length bin in use; 0 for an empty batch"},
		{Name: "graph.mode", Text: `"FULL", "PIECEWISE" or "NONE"`, May: true},
		{Name: "graph.bucket", Unit: "tokens", Text: "CUDA-graph bucket", May: true},
		{Name: "graph.padding", Unit: "tokens", Text: "padding up to the bucket", May: true},
		{Name: "prefix.queries", Unit: "tokens", Text: "tokens looked up in the prefix cache", May: true},
		{Name: "prefix.hits", Unit: "tokens", Text: "tokens found there", May: true},
		{Name: "period_ms", Unit: "ms", Text: "step period", May: true},
		{Name: "submit_to_complete_ms", Unit: "ms", Text: "from submission to completion, about two periods with async scheduling"},
		{Name: "dropped", Unit: "records", Text: "records lost before this one"},
	}
}

// recordNames are the names that fields have in a record (docs/records.md) where Fields calls them shorter. Both are understood.
func recordNames() map[string]string {
	return map[string]string{
		"queues.running": "running", "queues.waiting": "waiting", "queues.deferred": "deferred",
		"kv.used_blocks": "kv.used", "kv.free_blocks": "kv.free", "kv.total_blocks": "kv.total",
		"chunked_prefill.first": "chunk.first", "chunked_prefill.middle": "chunk.middle", "chunked_prefill.final": "chunk.final",
		"chunked_prefill.unsplit": "chunk.unsplit", "cudagraph.runtime_mode": "graph.mode", "cudagraph.bucket_tokens": "graph.bucket",
		"cudagraph.padding_tokens": "graph.padding", "prefix.local.queries": "prefix.queries", "prefix.local.hits": "prefix.hits",
		"dropped_records_before": "dropped",
	}
}

// environment is what an expression sees. Values that may be unknown are of type any and nil when they are: comparing nil fails, which
// is how an answer becomes Unknown.
type environment struct {
	StepIndex         int64   `expr:"step_index"`
	ScheduledRequests int64   `expr:"scheduled_requests"`
	DecodeBatchSize   int64   `expr:"decode_batch_size"`
	PrefillRequests   int64   `expr:"prefill_requests"`
	PrefillTokens     int64   `expr:"prefill_tokens"`
	DecodeTokens      int64   `expr:"decode_tokens"`
	ResumedRequests   any     `expr:"resumed_requests"`
	RecomputeTokens   any     `expr:"recompute_tokens"`
	Preemptions       int64   `expr:"preemptions"`
	ModelExecuted     bool    `expr:"model_executed"`
	Running           int64   `expr:"running"`
	Waiting           int64   `expr:"waiting"`
	Deferred          int64   `expr:"deferred"`
	KV                kv      `expr:"kv"`
	Chunk             chunk   `expr:"chunk"`
	ContextMax        int64   `expr:"context_max"`
	Graph             graph   `expr:"graph"`
	Prefix            prefix  `expr:"prefix"`
	PeriodMS          any     `expr:"period_ms"`
	SubmitToComplete  float64 `expr:"submit_to_complete_ms"`
	Dropped           int64   `expr:"dropped"`
}

type kv struct {
	Usage float64 `expr:"usage"`
	Used  int64   `expr:"used"`
	Free  int64   `expr:"free"`
	Total int64   `expr:"total"`
}

type chunk struct {
	First   int64 `expr:"first"`
	Middle  int64 `expr:"middle"`
	Final   int64 `expr:"final"`
	Unsplit int64 `expr:"unsplit"`
}

type graph struct {
	Mode    any `expr:"mode"`
	Bucket  any `expr:"bucket"`
	Padding any `expr:"padding"`
}

type prefix struct {
	Queries any `expr:"queries"`
	Hits    any `expr:"hits"`
}

func (e *environment) set(s *record.Step, periodNS *int64) {
	*e = environment{StepIndex: s.StepIndex, ScheduledRequests: s.ScheduledRequests, DecodeBatchSize: s.DecodeBatchSize,
		PrefillRequests: s.PrefillRequests, PrefillTokens: s.PrefillTokens, DecodeTokens: s.DecodeTokens, Preemptions: s.Preemptions,
		ModelExecuted: s.ModelExecuted, Running: s.Queues.Running, Waiting: s.Queues.Waiting, Deferred: s.Queues.Deferred,
		KV:         kv{s.KV.Usage, s.KV.UsedBlocks, s.KV.FreeBlocks, s.KV.TotalBlocks},
		Chunk:      chunk{s.Chunks.First, s.Chunks.Middle, s.Chunks.Final, s.Chunks.Unsplit},
		ContextMax: contextMax(s), SubmitToComplete: float64(s.SubmitToCompleteNS()) / 1e6, Dropped: s.DroppedBefore}
	if s.Known(record.HasResumed) {
		e.ResumedRequests = s.ResumedRequests
	}
	if s.Known(record.HasRecompute) {
		e.RecomputeTokens = s.RecomputeTokens
	}
	if s.Known(record.HasGraph) {
		e.Graph = graph{s.Graph.Mode.String(), s.Graph.BucketTokens, s.Graph.PaddingTokens}
	}
	if s.Known(record.HasPrefixLocal) {
		e.Prefix = prefix{s.Local.Queries, s.Local.Hits}
	}
	if periodNS != nil {
		e.PeriodMS = float64(*periodNS) / 1e6
	}
}

// contextMax is the upper edge of the highest bin in use. The open bin stands one beyond the last edge.
func contextMax(s *record.Step) int64 {
	edges := record.ContextEdges()
	for i := record.ContextBins - 1; i >= 0; i-- {
		if s.ContextHist[i] > 0 {
			if i == len(edges) {
				return edges[i-1] + 1
			}
			return edges[i]
		}
	}
	return 0
}
