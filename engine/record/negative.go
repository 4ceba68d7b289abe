package record

// firstNegative returns the name and value of the first negative number of a step, in the writer's order.
func firstNegative(s *Step) (name string, v int64) {
	x, q, kv, g := &s.Chunks, &s.Queues, &s.KV, &s.Graph
	for _, f := range []struct {
		name   string
		values []int64
	}{
		{"step_index", []int64{s.StepIndex}},
		{"submit_wall_ns", []int64{s.SubmitWallNS}},
		{"submit_mono_ns", []int64{s.SubmitMonoNS}},
		{"complete_mono_ns", []int64{s.CompleteMonoNS}},
		{"scheduled_requests", []int64{s.ScheduledRequests}},
		{"decode_batch_size", []int64{s.DecodeBatchSize}},
		{"prefill_requests", []int64{s.PrefillRequests}},
		{"prefill_tokens", []int64{s.PrefillTokens}},
		{"decode_tokens", []int64{s.DecodeTokens}},
		{"resumed_requests", []int64{s.ResumedRequests}},
		{"recompute_tokens", []int64{s.RecomputeTokens}},
		{"chunked_prefill (a count)", []int64{x.First, x.Middle, x.Final, x.Unsplit, x.Tokens, x.UnsplitTokens}},
		{"chunk_size_hist (a bin)", x.SizeHist[:]},
		{"chunk_tail_hist (a bin)", x.TailHist[:]},
		{"context_length_hist (a bin)", s.ContextHist[:]},
		{"preemptions", []int64{s.Preemptions}},
		{"queues (a length)", []int64{q.Running, q.Waiting, q.Deferred}},
		{"kv (a number of blocks)", []int64{kv.TotalBlocks, kv.FreeBlocks, kv.UsedBlocks}},
		{"prefix.local (a count)", prefixValues(&s.Local)},
		{"prefix.external (a count)", prefixValues(&s.External)},
		{"cudagraph (a number of tokens)", []int64{g.UnpaddedTokens, g.BucketTokens, g.PaddingTokens}},
		{"dropped_records_before", []int64{s.DroppedBefore}},
	} {
		for _, v := range f.values {
			if v < 0 {
				return f.name, v
			}
		}
	}
	return "", 0
}

func prefixValues(p *Prefix) []int64 {
	return []int64{p.Requests, p.Queries, p.Hits, p.PreemptedRequests, p.PreemptedQueries, p.PreemptedHits}
}
