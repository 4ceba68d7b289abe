package record

import "strconv"

// Append appends the line as the recorder writes it, without its newline, and returns the extended slice: this field order, no spaces.
// Optional parts that the line does not hold are left out, so that a step of an older layout keeps that layout. What a Line cannot
// say is written as its nearest: moe_expert_load as null and a graph mode of a newer server as "other". A line without a record
// (KindUnknown, KindBad, KindBlank) appends nothing.
func Append(dst []byte, l *Line) []byte {
	w := writer{dst}
	switch l.Kind {
	case KindStep:
		w.step(&l.Step)
	case KindHeader:
		w.header(&l.Header)
	case KindProfile:
		w.profile(&l.Profile)
	case KindDummyStep:
		w.dummy(&l.Dummy)
	case KindFooter:
		w.footer(&l.Footer)
	}
	return w.b
}

// writer appends pieces of a line. Each key is given with the punctuation before it and the colon after it.
type writer struct {
	b []byte
}

func (w *writer) raw(s string) { w.b = append(w.b, s...) }

func (w *writer) int(key string, v int64) {
	w.raw(key)
	w.b = strconv.AppendInt(w.b, v, 10)
}

func (w *writer) bool(key string, v bool) {
	w.raw(key)
	w.b = strconv.AppendBool(w.b, v)
}

// float writes the shortest decimal that reads back as v, in the form of Python's repr: a fraction always, an exponent below 1e-4 and
// from 1e16 on.
func (w *writer) float(key string, v float64) {
	w.raw(key)
	start := len(w.b)
	format := byte('f')
	if v != 0 && (v < 1e-4 && v > -1e-4 || v >= 1e16 || v <= -1e16) {
		format = 'e'
	}
	w.b = strconv.AppendFloat(w.b, v, format, -1, 64)
	for _, c := range w.b[start:] {
		if c == '.' || c == 'e' {
			return
		}
	}
	w.raw(".0")
}

// string writes s with the escapes that JSON requires and no others.
func (w *writer) string(key, s string) {
	const hex = "0123456789abcdef"
	w.raw(key)
	w.b = append(w.b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			w.b = append(w.b, '\\', c)
		case '\b':
			w.raw(`\b`)
		case '\f':
			w.raw(`\f`)
		case '\n':
			w.raw(`\n`)
		case '\r':
			w.raw(`\r`)
		case '\t':
			w.raw(`\t`)
		default:
			if c < ' ' {
				w.b = append(w.b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
				continue
			}
			w.b = append(w.b, c)
		}
	}
	w.b = append(w.b, '"')
}

// words writes s, or null when it is empty.
func (w *writer) words(key, s string) {
	if s == "" {
		w.raw(key)
		w.raw("null")
		return
	}
	w.string(key, s)
}

func (w *writer) ints(key string, values []int64) {
	w.raw(key)
	w.b = append(w.b, '[')
	for i, v := range values {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = strconv.AppendInt(w.b, v, 10)
	}
	w.b = append(w.b, ']')
}

func (w *writer) step(s *Step) {
	w.string(`{"schema":1,"engine_id":`, s.EngineID)
	w.int(`,"step_index":`, s.StepIndex)
	w.int(`,"submit_wall_ns":`, s.SubmitWallNS)
	w.int(`,"submit_mono_ns":`, s.SubmitMonoNS)
	w.int(`,"complete_mono_ns":`, s.CompleteMonoNS)
	w.bool(`,"model_executed":`, s.ModelExecuted)
	w.int(`,"scheduled_requests":`, s.ScheduledRequests)
	w.int(`,"decode_batch_size":`, s.DecodeBatchSize)
	w.int(`,"prefill_requests":`, s.PrefillRequests)
	w.int(`,"prefill_tokens":`, s.PrefillTokens)
	w.int(`,"decode_tokens":`, s.DecodeTokens)
	if s.Known(HasResumed) {
		w.int(`,"resumed_requests":`, s.ResumedRequests)
	}
	if s.Known(HasRecompute) {
		w.int(`,"recompute_tokens":`, s.RecomputeTokens)
	}
	w.chunks(s)
	w.ints(`,"context_length_hist":`, s.ContextHist[:])
	w.int(`,"preemptions":`, s.Preemptions)
	w.int(`,"queues":{"running":`, s.Queues.Running)
	w.int(`,"waiting":`, s.Queues.Waiting)
	w.int(`,"deferred":`, s.Queues.Deferred)
	w.int(`},"kv":{"total_blocks":`, s.KV.TotalBlocks)
	w.int(`,"free_blocks":`, s.KV.FreeBlocks)
	w.int(`,"used_blocks":`, s.KV.UsedBlocks)
	w.float(`,"usage":`, s.KV.Usage)
	w.prefix(`},"prefix":{"local":`, &s.Local, s.Known(HasPrefixLocal))
	w.prefix(`,"external":`, &s.External, s.Known(HasPrefixExternal))
	w.graph(`},"cudagraph":`, &s.Graph, s.Known(HasGraph))
	w.int(`,"moe_expert_load":null,"dropped_records_before":`, s.DroppedBefore)
	w.raw(`}`)
}

func (w *writer) chunks(s *Step) {
	c := &s.Chunks
	w.int(`,"chunked_prefill":{"first":`, c.First)
	w.int(`,"middle":`, c.Middle)
	w.int(`,"final":`, c.Final)
	w.int(`,"unsplit":`, c.Unsplit)
	w.int(`,"tokens":`, c.Tokens)
	w.ints(`,"chunk_size_hist":`, c.SizeHist[:])
	if s.Known(HasChunkTail) {
		w.ints(`,"chunk_tail_hist":`, c.TailHist[:])
	}
	if s.Known(HasUnsplitTokens) {
		w.int(`,"unsplit_tokens":`, c.UnsplitTokens)
	}
	w.raw(`}`)
}

func (w *writer) prefix(key string, p *Prefix, known bool) {
	w.raw(key)
	if !known {
		w.raw("null")
		return
	}
	w.int(`{"requests":`, p.Requests)
	w.int(`,"queries":`, p.Queries)
	w.int(`,"hits":`, p.Hits)
	w.int(`,"preempted_requests":`, p.PreemptedRequests)
	w.int(`,"preempted_queries":`, p.PreemptedQueries)
	w.int(`,"preempted_hits":`, p.PreemptedHits)
	w.raw(`}`)
}

func (w *writer) graph(key string, g *Graph, known bool) {
	w.raw(key)
	if !known {
		w.raw("null")
		return
	}
	w.bool(`{"hit":`, g.Hit)
	w.string(`,"runtime_mode":`, g.Mode.String())
	w.int(`,"unpadded_tokens":`, g.UnpaddedTokens)
	w.int(`,"bucket_tokens":`, g.BucketTokens)
	w.int(`,"padding_tokens":`, g.PaddingTokens)
	w.raw(`}`)
}

// header writes the fields of the patch only where the header has one of them.
func (w *writer) header(h *Header) {
	w.string(`{"type":"header","schema":1,"engine_id":`, h.EngineID)
	w.int(`,"start_wall_ns":`, h.StartWallNS)
	w.int(`,"start_mono_ns":`, h.StartMonoNS)
	w.string(`,"vllm_version":`, h.VLLMVersion)
	w.string(`,"model":`, h.Model)
	w.string(`,"dtype":`, h.DType)
	w.int(`,"tensor_parallel_size":`, h.TensorParallel)
	w.int(`,"data_parallel_size":`, h.DataParallel)
	w.int(`,"pipeline_parallel_size":`, h.PipelineParallel)
	w.bool(`,"expert_parallel":`, h.ExpertParallel)
	w.int(`,"max_num_batched_tokens":`, h.MaxNumBatchedTokens)
	w.int(`,"max_num_seqs":`, h.MaxNumSeqs)
	w.bool(`,"async_scheduling":`, h.AsyncScheduling)
	w.bool(`,"prefix_caching":`, h.PrefixCaching)
	w.string(`,"cudagraph_mode":`, h.GraphMode)
	w.int(`,"block_size":`, h.BlockSize)
	w.ints(`,"context_edges":`, contextEdges[:])
	w.ints(`,"chunk_edges":`, chunkEdges[:])
	if h.ChunkTailEdges != nil || h.Runner != "" || h.TorchVersion != "" || h.PatchHash != "" {
		w.ints(`,"chunk_tail_edges":`, chunkTailEdges[:])
		w.words(`,"runner":`, h.Runner)
		w.words(`,"cudagraph_null_reason":`, h.GraphNullReason)
		w.words(`,"torch_version":`, h.TorchVersion)
		w.words(`,"quantization":`, h.Quantization)
		w.words(`,"patch_hash":`, h.PatchHash)
	}
	w.raw(`}`)
}

func (w *writer) profile(p *Profile) {
	w.string(`{"type":"profile","schema":1,"engine_id":`, p.EngineID)
	w.string(`,"action":`, p.Action)
	w.int(`,"wall_ns":`, p.WallNS)
	w.int(`,"mono_ns":`, p.MonoNS)
	w.int(`,"return_mono_ns":`, p.ReturnMonoNS)
	w.int(`,"after_step":`, p.AfterStep)
	if p.OK != nil {
		w.bool(`,"ok":`, *p.OK)
		w.words(`,"error":`, p.Error)
	}
	w.raw(`}`)
}

func (w *writer) dummy(s *DummyStep) {
	w.string(`{"type":"dummy_step","schema":1,"engine_id":`, s.EngineID)
	w.int(`,"after_step":`, s.AfterStep)
	w.int(`,"wall_ns":`, s.WallNS)
	w.int(`,"mono_ns":`, s.MonoNS)
	w.raw(`}`)
}

func (w *writer) footer(f *Footer) {
	w.string(`{"type":"footer","schema":1,"engine_id":`, f.EngineID)
	w.int(`,"encoded":`, f.Encoded)
	w.int(`,"written":`, f.Written)
	w.int(`,"dropped":`, f.Dropped)
	w.int(`,"queue_high_watermark":`, f.QueueHighWatermark)
	w.int(`,"end_wall_ns":`, f.EndWallNS)
	w.int(`,"foreground_ns":{"n":`, f.ForegroundNS.N)
	for _, v := range []struct {
		key string
		ns  int64
	}{
		{`,"p50":`, f.ForegroundNS.P50}, {`,"p95":`, f.ForegroundNS.P95}, {`,"p99":`, f.ForegroundNS.P99},
		{`,"max":`, f.ForegroundNS.Max}, {`,"mean":`, f.ForegroundNS.Mean},
	} {
		if f.ForegroundNS.N == 0 {
			w.raw(v.key + "null")
			continue
		}
		w.int(v.key, v.ns)
	}
	w.raw(`}}`)
}
