package tables

import (
	"opprof/campaign/export/columnar"
	"opprof/engine/record"
	"opprof/engine/store"
)

// Step is a row of the steps table.
type Step struct {
	record.Step
	Place store.Place
	Line  int64 // number in its file, 1-based
}

type stepColumn = columnar.Column[Step]

// Steps is one row a scheduler step, in the order of the engine's stream.
func Steps() *columnar.Table[Step] {
	t := &columnar.Table[Step]{Name: "steps", Doc: "One row for each scheduler step, in the order of the engine's stream."}
	for _, group := range [][]stepColumn{timeColumns(), batchColumns(), chunkColumns(), stateColumns(),
		prefixColumns("prefix_local", "local prefix cache", record.HasPrefixLocal, func(s *Step) *record.Prefix { return &s.Local }),
		prefixColumns("prefix_external", "external prefix cache", record.HasPrefixExternal, func(s *Step) *record.Prefix { return &s.External }),
		graphColumns(), lossColumns()} {
		t.Columns = append(t.Columns, group...)
	}
	return t
}

func timeColumns() []stepColumn {
	return []stepColumn{
		columnar.Int("step_index", "", "Scheduler.current_step; the first is 1", func(s *Step) int64 { return s.StepIndex }),
		columnar.MaybeInt("time_ns", "ns since 1970", "completion on the time axis: the monotonic clock plus the difference of the two clocks at the engine's first step; null where the clocks make no sense",
			func(s *Step) (int64, bool) { return s.Place.TimeNS, !s.Place.OffAxis }),
		columnar.MaybeInt("period_ns", "ns", "step period: complete[n] - max(complete[n-1], submit[n]); null after a gap, a drop or a restart",
			func(s *Step) (int64, bool) { return s.Place.PeriodNS, s.Place.PeriodNS != store.UnknownNS }),
		columnar.Int("submit_to_complete_ns", "ns", "complete_mono_ns - submit_mono_ns; two batches are in flight, so it spans about two periods",
			func(s *Step) int64 { return s.SubmitToCompleteNS() }),
		columnar.Bool("gap", "steps are missing before it, or the server restarted", func(s *Step) bool { return s.Place.Gap }),
		columnar.Int("submit_wall_ns", "ns since 1970", "submission, wall clock", func(s *Step) int64 { return s.SubmitWallNS }),
		columnar.Int("submit_mono_ns", "ns", "submission, monotonic clock", func(s *Step) int64 { return s.SubmitMonoNS }),
		columnar.Int("complete_mono_ns", "ns", "completion, monotonic clock", func(s *Step) int64 { return s.CompleteMonoNS }),
	}
}

func batchColumns() []stepColumn {
	return []stepColumn{
		columnar.Bool("model_executed", "the model ran: the step had tokens", func(s *Step) bool { return s.ModelExecuted }),
		columnar.Int("scheduled_requests", "requests", "requests in the batch", func(s *Step) int64 { return s.ScheduledRequests }),
		columnar.Int("decode_batch_size", "requests", "requests in decode", func(s *Step) int64 { return s.DecodeBatchSize }),
		columnar.Int("prefill_requests", "requests", "requests in prefill", func(s *Step) int64 { return s.PrefillRequests }),
		columnar.Int("prefill_tokens", "tokens", "prompt tokens computed", func(s *Step) int64 { return s.PrefillTokens }),
		columnar.Int("decode_tokens", "tokens", "generation tokens computed, those computed again after a preemption included", func(s *Step) int64 { return s.DecodeTokens }),
		columnar.MaybeInt("resumed_requests", "requests", "requests resumed after a preemption",
			func(s *Step) (int64, bool) { return s.ResumedRequests, s.Known(record.HasResumed) }),
		columnar.MaybeInt("recompute_tokens", "tokens", "of decode_tokens, those computed before a preemption already",
			func(s *Step) (int64, bool) { return s.RecomputeTokens, s.Known(record.HasRecompute) }),
	}
}

func chunkColumns() []stepColumn {
	return []stepColumn{
		columnar.Int("chunk_first", "requests", "first chunks of a prompt", func(s *Step) int64 { return s.Chunks.First }),
		columnar.Int("chunk_middle", "requests", "middle chunks", func(s *Step) int64 { return s.Chunks.Middle }),
		columnar.Int("chunk_final", "requests", "last chunks", func(s *Step) int64 { return s.Chunks.Final }),
		columnar.Int("chunk_unsplit", "requests", "prompts computed in one step", func(s *Step) int64 { return s.Chunks.Unsplit }),
		columnar.Int("chunk_tokens", "tokens", "tokens of all four kinds", func(s *Step) int64 { return s.Chunks.Tokens }),
		columnar.MaybeInt("chunk_unsplit_tokens", "tokens", "of chunk_tokens, those of unsplit prompts",
			func(s *Step) (int64, bool) { return s.Chunks.UnsplitTokens, s.Known(record.HasUnsplitTokens) }),
		columnar.List("chunk_size_hist", "requests", "prefill requests by chunk size; upper edges in opprof.chunk_edges, the last bin is open", record.ChunkBins,
			func(s *Step) []int64 { return s.Chunks.SizeHist[:] }),
		columnar.MaybeList("chunk_tail_hist", "requests", "the last bin of chunk_size_hist split; upper edges in opprof.chunk_tail_edges", record.ChunkTailBins,
			func(s *Step) []int64 {
				if !s.Known(record.HasChunkTail) {
					return nil
				}
				return s.Chunks.TailHist[:]
			}),
		columnar.List("context_length_hist", "requests", "scheduled requests by context length; upper edges in opprof.context_edges, the last bin is open", record.ContextBins,
			func(s *Step) []int64 { return s.ContextHist[:] }),
	}
}

func stateColumns() []stepColumn {
	return []stepColumn{
		columnar.Int("preemptions", "requests", "requests preempted by this schedule call", func(s *Step) int64 { return s.Preemptions }),
		columnar.Int("queue_running", "requests", "running after scheduling", func(s *Step) int64 { return s.Queues.Running }),
		columnar.Int("queue_waiting", "requests", "waiting for capacity", func(s *Step) int64 { return s.Queues.Waiting }),
		columnar.Int("queue_deferred", "requests", "waiting for something else: a grammar, remote KV", func(s *Step) int64 { return s.Queues.Deferred }),
		columnar.Int("kv_total_blocks", "blocks", "KV blocks of the pool, without the null block", func(s *Step) int64 { return s.KV.TotalBlocks }),
		columnar.Int("kv_free_blocks", "blocks", "free ones", func(s *Step) int64 { return s.KV.FreeBlocks }),
		columnar.Int("kv_used_blocks", "blocks", "used ones", func(s *Step) int64 { return s.KV.UsedBlocks }),
		columnar.Float("kv_usage", "0 to 1", "used share of the pool", func(s *Step) float64 { return s.KV.Usage }),
	}
}

func prefixColumns(prefix, of string, has record.Presence, get func(*Step) *record.Prefix) []stepColumn {
	column := func(name, unit, doc string, value func(*record.Prefix) int64) stepColumn {
		return columnar.MaybeInt(prefix+"_"+name, unit, of+": "+doc, func(s *Step) (int64, bool) { return value(get(s)), s.Known(has) })
	}
	return []stepColumn{
		column("requests", "requests", "requests looked up", func(p *record.Prefix) int64 { return p.Requests }),
		column("queries", "tokens", "tokens looked up", func(p *record.Prefix) int64 { return p.Queries }),
		column("hits", "tokens", "tokens found", func(p *record.Prefix) int64 { return p.Hits }),
		column("preempted_requests", "requests", "requests looked up after a preemption", func(p *record.Prefix) int64 { return p.PreemptedRequests }),
		column("preempted_queries", "tokens", "tokens of those looked up", func(p *record.Prefix) int64 { return p.PreemptedQueries }),
		column("preempted_hits", "tokens", "tokens of those found", func(p *record.Prefix) int64 { return p.PreemptedHits }),
	}
}

func graphColumns() []stepColumn {
	column := func(name, unit, doc string, value func(*record.Graph) int64) stepColumn {
		return columnar.MaybeInt("cudagraph_"+name, unit, doc, func(s *Step) (int64, bool) { return value(&s.Graph), s.Known(record.HasGraph) })
	}
	words := make([]string, record.GraphModes)
	for m := range record.GraphModes {
		words[m] = m.String()
	}
	return []stepColumn{
		columnar.MaybeBool("cudagraph_hit", "a CUDA graph was replayed; null for a zero-token step and for a runner that does not report",
			func(s *Step) (bool, bool) { return s.Graph.Hit, s.Known(record.HasGraph) }),
		columnar.Word("cudagraph_mode", "FULL, PIECEWISE, NONE, or other for a mode of a newer server", words, func(s *Step) int {
			if !s.Known(record.HasGraph) {
				return -1
			}
			return int(s.Graph.Mode)
		}),
		column("unpadded_tokens", "tokens", "tokens of the batch", func(g *record.Graph) int64 { return g.UnpaddedTokens }),
		column("bucket_tokens", "tokens", "tokens that the graph was captured for", func(g *record.Graph) int64 { return g.BucketTokens }),
		column("padding_tokens", "tokens", "bucket - unpadded", func(g *record.Graph) int64 { return g.PaddingTokens }),
	}
}

func lossColumns() []stepColumn {
	return []stepColumn{
		columnar.Int("dropped_records_before", "records", "records that the recorder dropped before this one", func(s *Step) int64 { return s.DroppedBefore }),
		columnar.Int("line", "", "line of the stream's file, 1-based", func(s *Step) int64 { return s.Line }),
	}
}
