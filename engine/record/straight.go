package record

import "encoding/binary"

// straight reads a step line as the recorder writes it: this field order, no spaces, no escapes. It returns the position after the
// closing brace, or miss at the first surprise; then s holds nothing of use and the line is for the scanner. b may go on behind the line.
//
// Pieces that are optional: resumed_requests with recompute_tokens, chunk_tail_hist with unsplit_tokens, which other recorders leave out, and
// every part that may be null.
func (d *Decoder) straight(b []byte, s *Step) int {
	i := d.opening(b, s)
	if i == miss {
		return miss
	}
	s.Has = 0
	s.StepIndex, i = field(b, i, `,"step_index":`)
	s.SubmitWallNS, i = field(b, i, `,"submit_wall_ns":`)
	s.SubmitMonoNS, i = field(b, i, `,"submit_mono_ns":`)
	s.CompleteMonoNS, i = field(b, i, `,"complete_mono_ns":`)
	s.ModelExecuted, i = boolField(b, i, `,"model_executed":`)
	s.ScheduledRequests, i = field(b, i, `,"scheduled_requests":`)
	s.DecodeBatchSize, i = field(b, i, `,"decode_batch_size":`)
	s.PrefillRequests, i = field(b, i, `,"prefill_requests":`)
	s.PrefillTokens, i = field(b, i, `,"prefill_tokens":`)
	s.DecodeTokens, i = field(b, i, `,"decode_tokens":`)
	s.ResumedRequests, s.RecomputeTokens = 0, 0
	if at(b, i, `,"resumed_requests":`) {
		s.ResumedRequests, i = field(b, i, `,"resumed_requests":`)
		s.RecomputeTokens, i = field(b, i, `,"recompute_tokens":`)
		s.Has |= HasResumed | HasRecompute
	}
	i = straightChunks(b, i, s)
	i = counts(b, i, `,"context_length_hist":[`, s.ContextHist[:])
	s.Preemptions, i = field(b, i, `,"preemptions":`)
	s.Queues.Running, i = field(b, i, `,"queues":{"running":`)
	s.Queues.Waiting, i = field(b, i, `,"waiting":`)
	s.Queues.Deferred, i = field(b, i, `,"deferred":`)
	s.KV.TotalBlocks, i = field(b, i, `},"kv":{"total_blocks":`)
	s.KV.FreeBlocks, i = field(b, i, `,"free_blocks":`)
	s.KV.UsedBlocks, i = field(b, i, `,"used_blocks":`)
	if i = literal(b, i, `,"usage":`); i == miss {
		return miss
	}
	s.KV.Usage, i = decimal(b, i)
	i = straightPrefixes(b, i, s)
	i = straightGraph(b, i, s)
	s.DroppedBefore, i = field(b, i, `,"moe_expert_load":null,"dropped_records_before":`)
	return literal(b, i, `}`)
}

// opening reads the start of a step line up to the engine id's closing quote. All lines of a stream share it, so that one comparison
// with the last line's is nearly always enough.
func (d *Decoder) opening(b []byte, s *Step) int {
	n := len(d.lastOpening)
	if n > 0 && len(b) > n && string(b[:n]) == string(d.lastOpening) {
		s.EngineID = d.lastEngine
		return n
	}
	const start = `{"schema":1,"engine_id":"`
	i := literal(b, 0, start)
	if i == miss {
		return miss
	}
	for ; i < len(b) && b[i] != '"'; i++ {
		if c := b[i]; c < ' ' || c == '\\' || c > '~' {
			return miss
		}
	}
	if i >= len(b) || i > len(start)+maxIDBytes {
		return miss
	}
	d.lastEngine = d.engines.intern(b[len(start):i])
	d.lastOpening = append(d.lastOpening[:0], b[:i+1]...)
	s.EngineID = d.lastEngine
	return i + 1
}

// straightChunks reads chunked_prefill. A step without prefill, the most frequent one, is a single comparison.
func straightChunks(b []byte, i int, s *Step) int {
	const (
		none     = `,"chunked_prefill":{"first":0,"middle":0,"final":0,"unsplit":0,"tokens":0,"chunk_size_hist":[0,0,0,0,0,0,0,0,0]`
		noneTail = `,"chunk_tail_hist":[0,0,0,0],"unsplit_tokens":0}`
	)
	c := &s.Chunks
	if j := literal(b, i, none); j != miss {
		*c = Chunks{}
		i = j
	} else {
		c.First, i = field(b, i, `,"chunked_prefill":{"first":`)
		c.Middle, i = field(b, i, `,"middle":`)
		c.Final, i = field(b, i, `,"final":`)
		c.Unsplit, i = field(b, i, `,"unsplit":`)
		c.Tokens, i = field(b, i, `,"tokens":`)
		i = counts(b, i, `,"chunk_size_hist":[`, c.SizeHist[:])
		c.TailHist, c.UnsplitTokens = [ChunkTailBins]int64{}, 0
	}
	if at(b, i, `}`) {
		return i + 1
	}
	s.Has |= HasChunkTail | HasUnsplitTokens
	if j := literal(b, i, noneTail); j != miss {
		c.TailHist, c.UnsplitTokens = [ChunkTailBins]int64{}, 0
		return j
	}
	i = counts(b, i, `,"chunk_tail_hist":[`, c.TailHist[:])
	c.UnsplitTokens, i = field(b, i, `,"unsplit_tokens":`)
	return literal(b, i, `}`)
}

// straightPrefixes reads prefix, and the closing brace of kv before it.
func straightPrefixes(b []byte, i int, s *Step) int {
	const none = `},"prefix":{"local":{"requests":0,"queries":0,"hits":0,` +
		`"preempted_requests":0,"preempted_queries":0,"preempted_hits":0},"external":null}`
	s.External = Prefix{}
	if j := literal(b, i, none); j != miss {
		s.Local = Prefix{}
		s.Has |= HasPrefixLocal
		return j
	}
	i = straightPrefix(b, i, s, `},"prefix":{"local":`, &s.Local, HasPrefixLocal)
	i = straightPrefix(b, i, s, `,"external":`, &s.External, HasPrefixExternal)
	return literal(b, i, `}`)
}

func straightPrefix(b []byte, i int, s *Step, key string, p *Prefix, has Presence) int {
	i = literal(b, i, key)
	if at(b, i, `null`) {
		*p = Prefix{}
		return i + len(`null`)
	}
	s.Has |= has
	p.Requests, i = field(b, i, `{"requests":`)
	p.Queries, i = field(b, i, `,"queries":`)
	p.Hits, i = field(b, i, `,"hits":`)
	p.PreemptedRequests, i = field(b, i, `,"preempted_requests":`)
	p.PreemptedQueries, i = field(b, i, `,"preempted_queries":`)
	p.PreemptedHits, i = field(b, i, `,"preempted_hits":`)
	return literal(b, i, `}`)
}

// straightGraph reads cudagraph.
func straightGraph(b []byte, i int, s *Step) int {
	g := &s.Graph
	if i = literal(b, i, `,"cudagraph":`); at(b, i, `null`) {
		*g = Graph{}
		return i + len(`null`)
	}
	s.Has |= HasGraph
	g.Hit, i = boolField(b, i, `{"hit":`)
	switch i = literal(b, i, `,"runtime_mode":"`); {
	case at(b, i, `FULL"`):
		g.Mode, i = GraphFull, i+len(`FULL"`)
	case at(b, i, `PIECEWISE"`):
		g.Mode, i = GraphPiecewise, i+len(`PIECEWISE"`)
	case at(b, i, `NONE"`):
		g.Mode, i = GraphNone, i+len(`NONE"`)
	default:
		return miss
	}
	g.UnpaddedTokens, i = field(b, i, `,"unpadded_tokens":`)
	g.BucketTokens, i = field(b, i, `,"bucket_tokens":`)
	g.PaddingTokens, i = field(b, i, `,"padding_tokens":`)
	return literal(b, i, `}`)
}

// at reports whether b holds text at position i.
func at(b []byte, i int, text string) bool {
	return i <= len(b)-len(text) && string(b[i:i+len(text)]) == text
}

// literal returns the position behind text, or miss when b does not hold it at i.
func literal(b []byte, i int, text string) int {
	if at(b, i, text) {
		return i + len(text)
	}
	return miss
}

// field reads key, which ends with its colon, and a non-negative integer.
func field(b []byte, i int, key string) (int64, int) {
	j := i + len(key)
	if j >= len(b) || string(b[i:j]) != key {
		return 0, miss
	}
	return number(b, j)
}

// boolField reads key and true or false.
func boolField(b []byte, i int, key string) (bool, int) {
	i = literal(b, i, key)
	if at(b, i, `true`) {
		return true, i + len(`true`)
	}
	return false, literal(b, i, `false`)
}

// counts reads key, which ends with the opening bracket, and exactly len(into) non-negative integers.
func counts(b []byte, i int, key string, into []int64) int {
	i = literal(b, i, key)
	for k := 0; k < len(into); {
		if i <= len(b)-8 && k+4 < len(into) {
			if quad := binary.LittleEndian.Uint64(b[i:]) ^ fourZeros; onlyDigits(quad) {
				into[k], into[k+1] = int64(quad&0xff), int64(quad>>16&0xff)
				into[k+2], into[k+3] = int64(quad>>32&0xff), int64(quad>>48&0xff)
				i, k = i+8, k+4
				continue
			}
		}
		into[k], i = number(b, i)
		if k++; k < len(into) {
			i = literal(b, i, `,`)
		}
	}
	return literal(b, i, `]`)
}

// fourZeros is "0,0,0,0," as a little-endian load gives it: most bins of a histogram hold one digit.
const fourZeros = 0x2c302c302c302c30

// onlyDigits reports whether v, eight bytes without fourZeros, was four digits with a comma after each.
func onlyDigits(v uint64) bool {
	return v&0xfff0fff0fff0fff0 == 0 && (v+0x0006000600060006)&0x0010001000100010 == 0
}
