package record

import "fmt"

// Fields of a step line and its objects, in the writer's order (docs/records.md). The additive ones, resumed_requests, recompute_tokens,
// chunk_tail_hist and unsplit_tokens, may be missing or null; all others are required.
var (
	stepFields = []string{
		"schema", "engine_id", "step_index", "submit_wall_ns", "submit_mono_ns", "complete_mono_ns", "model_executed",
		"scheduled_requests", "decode_batch_size", "prefill_requests", "prefill_tokens", "decode_tokens", "resumed_requests",
		"recompute_tokens", "chunked_prefill", "context_length_hist", "preemptions", "queues", "kv", "prefix", "cudagraph",
		"moe_expert_load", "dropped_records_before", "type",
	}
	chunkFields  = []string{"first", "middle", "final", "unsplit", "tokens", "chunk_size_hist", "chunk_tail_hist", "unsplit_tokens"}
	queueFields  = []string{"running", "waiting", "deferred"}
	kvFields     = []string{"total_blocks", "free_blocks", "used_blocks", "usage"}
	cacheFields  = []string{"local", "external"}
	prefixFields = []string{"requests", "queries", "hits", "preempted_requests", "preempted_queries", "preempted_hits"}
	graphFields  = []string{"hit", "runtime_mode", "unpadded_tokens", "bucket_tokens", "padding_tokens"}
)

// Positions in stepFields.
const (
	atSchema = iota
	atEngine
	atStepIndex
	atSubmitWall
	atSubmitMono
	atCompleteMono
	atExecuted
	atScheduled
	atDecodeBatch
	atPrefillRequests
	atPrefillTokens
	atDecodeTokens
	atResumed
	atRecompute
	atChunks
	atContextHist
	atPreemptions
	atQueues
	atKV
	atPrefix
	atGraph
	atExperts
	atDropped
	atType
	stepFieldCount

	stepNeeds = 1<<stepFieldCount - 1 - 1<<atResumed - 1<<atRecompute - 1<<atType
)

// step reads a step line of any layout. A line that turns out to have a type fails.
func (p *scanner) step(s *Step, engines *interner) {
	*s = Step{}
	integers := [stepFieldCount]*int64{
		atStepIndex: &s.StepIndex, atSubmitWall: &s.SubmitWallNS, atSubmitMono: &s.SubmitMonoNS, atCompleteMono: &s.CompleteMonoNS,
		atScheduled: &s.ScheduledRequests, atDecodeBatch: &s.DecodeBatchSize, atPrefillRequests: &s.PrefillRequests,
		atPrefillTokens: &s.PrefillTokens, atDecodeTokens: &s.DecodeTokens, atPreemptions: &s.Preemptions, atDropped: &s.DroppedBefore,
	}
	o := object{fields: stepFields, need: stepNeeds}
	for p.next(&o) {
		if v := integers[o.at]; v != nil {
			*v = p.integer(&o)
			continue
		}
		switch o.at {
		case atSchema:
			p.schema(&o)
		case atEngine:
			s.EngineID = engines.intern(p.str(&o))
		case atExecuted:
			s.ModelExecuted = p.boolean(&o)
		case atResumed:
			s.ResumedRequests = p.additive(&o, s, HasResumed)
		case atRecompute:
			s.RecomputeTokens = p.additive(&o, s, HasRecompute)
		case atChunks:
			p.chunks(s)
		case atContextHist:
			p.array(&o, s.ContextHist[:])
		case atQueues:
			p.integers("queues.", queueFields, &s.Queues.Running, &s.Queues.Waiting, &s.Queues.Deferred)
		case atKV:
			p.kv(&s.KV)
		case atPrefix:
			p.prefixes(s)
		case atGraph:
			p.graph(s)
		case atExperts:
			if !p.word("null") {
				s.Has |= HasExpertLoad
				p.skip()
			}
		case atType:
			p.wrong(&o, "no type")
		}
	}
}

// schema refuses lines of another schema.
func (p *scanner) schema(o *object) {
	start := p.i
	if v := p.integer(o); v != Schema && !p.failed {
		p.fail(start, schemaReason(v))
	}
}

func schemaReason(v int64) string {
	if v > Schema {
		return fmt.Sprintf("expected schema %d, found schema %d of a newer recorder: read it with a newer opprof", Schema, v)
	}
	return fmt.Sprintf("expected schema %d, found schema %d, which no recorder wrote", Schema, v)
}

// additive reads an integer that an older writer leaves out.
func (p *scanner) additive(o *object, s *Step, has Presence) int64 {
	v, known := p.count(o)
	if known {
		s.Has |= has
	}
	return v
}

// integers reads an object that holds nothing but required integers.
func (p *scanner) integers(path string, fields []string, into ...*int64) {
	o := object{path: path, fields: fields, need: all(len(fields))}
	for p.next(&o) {
		*into[o.at] = p.integer(&o)
	}
}

func (p *scanner) chunks(s *Step) {
	c := &s.Chunks
	kinds := [...]*int64{&c.First, &c.Middle, &c.Final, &c.Unsplit, &c.Tokens}
	o := object{path: "chunked_prefill.", fields: chunkFields, need: all(len(kinds) + 1)}
	for p.next(&o) {
		switch k := o.at; k {
		case len(kinds):
			p.array(&o, c.SizeHist[:])
		case len(kinds) + 1:
			if !p.word("null") {
				s.Has |= HasChunkTail
				p.array(&o, c.TailHist[:])
			}
		case len(kinds) + 2:
			c.UnsplitTokens = p.additive(&o, s, HasUnsplitTokens)
		default:
			*kinds[k] = p.integer(&o)
		}
	}
}

func (p *scanner) kv(kv *KV) {
	blocks := [...]*int64{&kv.TotalBlocks, &kv.FreeBlocks, &kv.UsedBlocks}
	o := object{path: "kv.", fields: kvFields, need: all(len(kvFields))}
	for p.next(&o) {
		if o.at < len(blocks) {
			*blocks[o.at] = p.integer(&o)
		} else {
			kv.Usage = p.float(&o)
		}
	}
}

func (p *scanner) prefixes(s *Step) {
	o := object{path: "prefix.", fields: cacheFields, need: all(len(cacheFields))}
	for p.next(&o) {
		switch {
		case p.word("null"):
		case o.at == 0:
			s.Has |= HasPrefixLocal
			p.prefix("prefix.local.", &s.Local)
		default:
			s.Has |= HasPrefixExternal
			p.prefix("prefix.external.", &s.External)
		}
	}
}

func (p *scanner) prefix(path string, x *Prefix) {
	p.integers(path, prefixFields,
		&x.Requests, &x.Queries, &x.Hits, &x.PreemptedRequests, &x.PreemptedQueries, &x.PreemptedHits)
}

func (p *scanner) graph(s *Step) {
	if p.word("null") {
		return
	}
	s.Has |= HasGraph
	g := &s.Graph
	o := object{path: "cudagraph.", fields: graphFields, need: all(len(graphFields))}
	for p.next(&o) {
		switch o.at {
		case 0:
			g.Hit = p.boolean(&o)
		case 1:
			g.Mode = graphMode(p.str(&o))
		case 2:
			g.UnpaddedTokens = p.integer(&o)
		case 3:
			g.BucketTokens = p.integer(&o)
		case 4:
			g.PaddingTokens = p.integer(&o)
		}
	}
}

func graphMode(name []byte) GraphMode {
	for m := GraphNone; m < GraphOther; m++ {
		if graphNames[m] == string(name) {
			return m
		}
	}
	return GraphOther
}
