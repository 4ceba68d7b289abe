package store

import "opprof/engine/record"

// marks are the events and flags of a packed step; those of a block are the union over its steps.
type marks uint8

const (
	markExecuted marks = 1 << iota
	markHit
	markGap
	markPreemption
	markMiss
	markStall
	markWide // a number does not fit: the block keeps the whole step in its wide list
)

// packed is a step in the ring, without its time and period, which the block keeps in their own arrays. Numbers that do not fit are
// never cut: such a step is kept whole beside the block.
type packed struct {
	submitWallNS, submitMonoNS, completeMonoNS, stepIndex, pauseNS int64

	usage                                                                float64
	prefillTokens, decodeTokens, recomputeTokens                         uint32
	chunkTokens, unsplitTokens                                           uint32
	totalBlocks, freeBlocks, usedBlocks                                  uint32
	local, external                                                      packedPrefix
	unpadded, bucket, padding                                            uint32
	running, waiting, deferred                                           uint32
	dropped                                                              uint32
	scheduled, decodeBatch, prefillRequests, resumed                     uint16
	firstChunks, middleChunks, finalChunks, unsplitRequests, preemptions uint16

	context [record.ContextBins]uint16
	chunk   [record.ChunkBins]uint16
	tail    [record.ChunkTailBins]uint16
	has     record.Presence
	mode    record.GraphMode
	marks   marks
}

type packedPrefix struct {
	requests, queries, hits, preemptedRequests, preemptedQueries, preemptedHits uint32
}

// fit gathers the bits of all numbers that were narrowed, so that one test at the end tells whether all fitted.
type fit struct{ bits16, bits32 uint64 }

func (f *fit) u16(n int64) uint16 {
	f.bits16 |= uint64(n)
	return uint16(n)
}

func (f *fit) u32(n int64) uint32 {
	f.bits32 |= uint64(n)
	return uint32(n)
}

func (f *fit) prefix(p *record.Prefix) packedPrefix {
	return packedPrefix{
		f.u32(p.Requests), f.u32(p.Queries), f.u32(p.Hits),
		f.u32(p.PreemptedRequests), f.u32(p.PreemptedQueries), f.u32(p.PreemptedHits),
	}
}

func (f *fit) ok() bool { return f.bits16>>16 == 0 && f.bits32>>32 == 0 }

// pack fills p and reports whether every number fitted.
func (p *packed) pack(s *record.Step, at Place) bool {
	var f fit
	p.submitWallNS, p.submitMonoNS, p.completeMonoNS, p.stepIndex = s.SubmitWallNS, s.SubmitMonoNS, s.CompleteMonoNS, s.StepIndex
	p.usage = s.KV.Usage
	p.prefillTokens, p.decodeTokens, p.recomputeTokens = f.u32(s.PrefillTokens), f.u32(s.DecodeTokens), f.u32(s.RecomputeTokens)
	p.chunkTokens, p.unsplitTokens = f.u32(s.Chunks.Tokens), f.u32(s.Chunks.UnsplitTokens)
	p.totalBlocks, p.freeBlocks, p.usedBlocks = f.u32(s.KV.TotalBlocks), f.u32(s.KV.FreeBlocks), f.u32(s.KV.UsedBlocks)
	p.local, p.external = f.prefix(&s.Local), f.prefix(&s.External)
	p.unpadded, p.bucket, p.padding = f.u32(s.Graph.UnpaddedTokens), f.u32(s.Graph.BucketTokens), f.u32(s.Graph.PaddingTokens)
	p.running, p.waiting, p.deferred = f.u32(s.Queues.Running), f.u32(s.Queues.Waiting), f.u32(s.Queues.Deferred)
	p.dropped = f.u32(s.DroppedBefore)
	p.scheduled, p.decodeBatch = f.u16(s.ScheduledRequests), f.u16(s.DecodeBatchSize)
	p.prefillRequests, p.resumed = f.u16(s.PrefillRequests), f.u16(s.ResumedRequests)
	p.firstChunks, p.middleChunks = f.u16(s.Chunks.First), f.u16(s.Chunks.Middle)
	p.finalChunks, p.unsplitRequests = f.u16(s.Chunks.Final), f.u16(s.Chunks.Unsplit)
	p.preemptions = f.u16(s.Preemptions)
	for i, n := range &s.ContextHist {
		p.context[i] = f.u16(n)
	}
	for i, n := range &s.Chunks.SizeHist {
		p.chunk[i] = f.u16(n)
	}
	for i, n := range &s.Chunks.TailHist {
		p.tail[i] = f.u16(n)
	}
	p.has, p.mode = s.Has, s.Graph.Mode
	p.pauseNS, p.marks = at.PauseNS, marksOf(s, at)
	if !f.ok() {
		p.marks |= markWide
		return false
	}
	return true
}

func marksOf(s *record.Step, at Place) marks {
	var m marks
	if s.ModelExecuted {
		m |= markExecuted
	}
	if s.Graph.Hit {
		m |= markHit
	}
	if at.Gap {
		m |= markGap
	}
	if s.Preemptions > 0 {
		m |= markPreemption
	}
	if graphMode(s) == record.GraphNone {
		m |= markMiss
	}
	if at.Stalls() {
		m |= markStall
	}
	return m
}

// unpack restores every field of the step but its engine.
func (p *packed) unpack(s *record.Step) {
	*s = record.Step{
		StepIndex:         p.stepIndex,
		SubmitWallNS:      p.submitWallNS,
		SubmitMonoNS:      p.submitMonoNS,
		CompleteMonoNS:    p.completeMonoNS,
		ModelExecuted:     p.marks&markExecuted != 0,
		ScheduledRequests: int64(p.scheduled),
		DecodeBatchSize:   int64(p.decodeBatch),
		PrefillRequests:   int64(p.prefillRequests),
		PrefillTokens:     int64(p.prefillTokens),
		DecodeTokens:      int64(p.decodeTokens),
		ResumedRequests:   int64(p.resumed),
		RecomputeTokens:   int64(p.recomputeTokens),
		Preemptions:       int64(p.preemptions),
		Queues:            record.Queues{Running: int64(p.running), Waiting: int64(p.waiting), Deferred: int64(p.deferred)},
		KV: record.KV{
			TotalBlocks: int64(p.totalBlocks), FreeBlocks: int64(p.freeBlocks), UsedBlocks: int64(p.usedBlocks), Usage: p.usage,
		},
		Local:    p.local.unpack(),
		External: p.external.unpack(),
		Graph: record.Graph{
			Hit: p.marks&markHit != 0, Mode: p.mode,
			UnpaddedTokens: int64(p.unpadded), BucketTokens: int64(p.bucket), PaddingTokens: int64(p.padding),
		},
		DroppedBefore: int64(p.dropped),
		Has:           p.has,
	}
	c := &s.Chunks
	c.First, c.Middle, c.Final, c.Unsplit = int64(p.firstChunks), int64(p.middleChunks), int64(p.finalChunks), int64(p.unsplitRequests)
	c.Tokens, c.UnsplitTokens = int64(p.chunkTokens), int64(p.unsplitTokens)
	for i, n := range &p.context {
		s.ContextHist[i] = int64(n)
	}
	for i, n := range &p.chunk {
		c.SizeHist[i] = int64(n)
	}
	for i, n := range &p.tail {
		c.TailHist[i] = int64(n)
	}
}

func (p *packedPrefix) unpack() record.Prefix {
	return record.Prefix{
		Requests: int64(p.requests), Queries: int64(p.queries), Hits: int64(p.hits),
		PreemptedRequests: int64(p.preemptedRequests), PreemptedQueries: int64(p.preemptedQueries), PreemptedHits: int64(p.preemptedHits),
	}
}
