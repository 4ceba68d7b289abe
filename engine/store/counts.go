package store

import (
	"math"

	"opprof/engine/record"
)

// UnknownNS stands for a period that is not known.
const UnknownNS = -1

// Place is where a step lies on the time axis, as a Sequence tells it.
type Place struct {
	TimeNS   int64 // completion, ns since 1970
	PeriodNS int64 // UnknownNS when not known
	PauseNS  int64 // from the completion of the step before to the submission, while requests that the step goes on with were there; 0 when unknown
	Gap      bool  // steps are missing before it, or the server restarted
	Missing  bool  // step_index jumped by more than the drops explain
	Backward bool  // step_index went back
	OffAxis  bool  // its clock reads before 1970 or after 2116: TimeNS means nothing
}

// Stalls reports whether the step held its requests up: its period, or the pause before it, is of at least StallNS. A pause is in no period.
func (p Place) Stalls() bool { return p.PeriodNS >= StallNS || p.PauseNS >= StallNS }

// Add counts one step.
func (c *Counts) Add(s *record.Step, p Place) {
	if c.Steps == 0 || p.TimeNS < c.FirstNS {
		c.FirstNS = p.TimeNS
	}
	c.LastNS = max(c.LastNS, p.TimeNS)
	c.Steps++
	if s.PrefillTokens == 0 && s.DecodeTokens == 0 {
		c.ZeroToken++
	}
	if p.PeriodNS > 0 {
		c.PeriodSumNS += p.PeriodNS
	}
	if p.Stalls() {
		c.Stalls++
	}
	if p.Gap {
		c.Gaps++
	}
	c.Dropped += s.DroppedBefore
	c.addWork(s, p.TimeNS)
	c.addQueues(s, p.TimeNS)
	c.addGraph(s)
	if s.Has&record.HasPrefixLocal != 0 {
		c.LocalSteps++
		addPrefix(&c.Local, &s.Local)
	}
	if s.Has&record.HasPrefixExternal != 0 {
		c.ExternalSteps++
		addPrefix(&c.External, &s.External)
	}
}

func (c *Counts) addWork(s *record.Step, timeNS int64) {
	c.ScheduledRequests += s.ScheduledRequests
	c.DecodeRequests += s.DecodeBatchSize
	c.DecodeBatchMax = max(c.DecodeBatchMax, s.DecodeBatchSize)
	c.DecodeTokens += s.DecodeTokens
	c.PrefillTokens += s.PrefillTokens
	c.ResumedRequests += s.ResumedRequests
	c.RecomputeTokens += s.RecomputeTokens
	if s.Preemptions != 0 {
		c.Preemptions += s.Preemptions
		c.LastPreemptionNS = max(c.LastPreemptionNS, timeNS)
	}
	c.PrefillRequests += s.PrefillRequests
	if s.Chunks != (record.Chunks{}) {
		addChunks(&c.Chunks, &s.Chunks)
	}
	c.ResumedSteps += one(s.Has & record.HasResumed)
	c.RecomputeSteps += one(s.Has & record.HasRecompute)
	c.UnsplitTokensSteps += one(s.Has & record.HasUnsplitTokens)
	c.ChunkTailSteps += one(s.Has & record.HasChunkTail)
	for i := range s.ContextHist {
		c.ContextHist[i] += s.ContextHist[i]
	}
}

func (c *Counts) addQueues(s *record.Step, timeNS int64) {
	c.RunningMax = max(c.RunningMax, s.Queues.Running)
	c.WaitingMax = max(c.WaitingMax, s.Queues.Waiting)
	c.DeferredMax = max(c.DeferredMax, s.Queues.Deferred)
	c.RunningSum += s.Queues.Running
	c.WaitingSum += s.Queues.Waiting
	if usage := finite(s.KV.Usage); usage > 0 {
		c.KVUsageSum += exactUsage(usage)
		c.maxUsage(usage, timeNS)
	}
}

// maxUsage keeps the largest share, and the latest time that had it.
func (c *Counts) maxUsage(usage float64, timeNS int64) {
	if usage > c.KVUsageMax || (usage == c.KVUsageMax && timeNS > c.KVUsageMaxNS) {
		c.KVUsageMax, c.KVUsageMaxNS = usage, timeNS
	}
}

// exactUsage rounds a share to a multiple of 2^-24, so that sums of half a billion of them do not depend on the order of adding.
func exactUsage(usage float64) float64 {
	const unit = 1 << 24
	return float64(int64(usage*unit+0.5)) / unit
}

func (c *Counts) addGraph(s *record.Step) {
	mode := graphMode(s)
	c.Graph[mode]++
	if mode != record.GraphUnknown {
		c.GraphBucket += s.Graph.BucketTokens
		c.GraphPadding += s.Graph.PaddingTokens
	}
}

// one is 1 when the part is present.
func one(has record.Presence) int64 {
	if has != 0 {
		return 1
	}
	return 0
}

// graphMode is the step's mode as it is counted: unknown where the line holds no descriptor.
func graphMode(s *record.Step) record.GraphMode {
	switch {
	case s.Has&record.HasGraph == 0:
		return record.GraphUnknown
	case s.Graph.Mode >= record.GraphModes:
		return record.GraphOther
	}
	return s.Graph.Mode
}

// usageLimit is far beyond any share: a damaged number must not make a sum infinite, which JSON cannot hold.
const usageLimit = 1e9

// finite keeps damaged numbers out of every sum.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.Abs(f) > usageLimit {
		return 0
	}
	return f
}

// NewDecodeTokens are the decode tokens that were not computed before a preemption; told is false where some step does not say.
func (c *Counts) NewDecodeTokens() (n int64, told bool) {
	return max(0, c.DecodeTokens-c.RecomputeTokens), c.RecomputeSteps == c.Steps
}

// Merge adds the counts of another stretch of time or another engine.
func (c *Counts) Merge(o *Counts) {
	if o.Steps == 0 {
		return
	}
	if c.Steps == 0 || o.FirstNS < c.FirstNS {
		c.FirstNS = o.FirstNS
	}
	c.LastNS = max(c.LastNS, o.LastNS)
	c.Steps += o.Steps
	c.ZeroToken += o.ZeroToken
	c.PeriodSumNS += o.PeriodSumNS
	c.ScheduledRequests += o.ScheduledRequests
	c.DecodeRequests += o.DecodeRequests
	c.PrefillRequests += o.PrefillRequests
	c.PrefillTokens += o.PrefillTokens
	c.DecodeTokens += o.DecodeTokens
	c.ResumedRequests += o.ResumedRequests
	c.RecomputeTokens += o.RecomputeTokens
	c.Preemptions += o.Preemptions
	c.LastPreemptionNS = max(c.LastPreemptionNS, o.LastPreemptionNS)
	c.DecodeBatchMax = max(c.DecodeBatchMax, o.DecodeBatchMax)
	c.ResumedSteps += o.ResumedSteps
	c.RecomputeSteps += o.RecomputeSteps
	c.UnsplitTokensSteps += o.UnsplitTokensSteps
	c.ChunkTailSteps += o.ChunkTailSteps
	addChunks(&c.Chunks, &o.Chunks)
	for i := range o.ContextHist {
		c.ContextHist[i] += o.ContextHist[i]
	}
	c.mergeQueues(o)
	for i := range o.Graph {
		c.Graph[i] += o.Graph[i]
	}
	c.GraphBucket += o.GraphBucket
	c.GraphPadding += o.GraphPadding
	c.LocalSteps += o.LocalSteps
	addPrefix(&c.Local, &o.Local)
	c.ExternalSteps += o.ExternalSteps
	addPrefix(&c.External, &o.External)
	c.Dropped += o.Dropped
	c.Gaps += o.Gaps
	c.Stalls += o.Stalls
}

func (c *Counts) mergeQueues(o *Counts) {
	c.RunningMax = max(c.RunningMax, o.RunningMax)
	c.WaitingMax = max(c.WaitingMax, o.WaitingMax)
	c.DeferredMax = max(c.DeferredMax, o.DeferredMax)
	c.WaitingSum += o.WaitingSum
	c.RunningSum += o.RunningSum
	c.KVUsageSum += o.KVUsageSum
	if o.KVUsageMax > 0 {
		c.maxUsage(o.KVUsageMax, o.KVUsageMaxNS)
	}
}

func addChunks(c, o *record.Chunks) {
	c.First += o.First
	c.Middle += o.Middle
	c.Final += o.Final
	c.Unsplit += o.Unsplit
	c.Tokens += o.Tokens
	c.UnsplitTokens += o.UnsplitTokens
	for i := range o.SizeHist {
		c.SizeHist[i] += o.SizeHist[i]
	}
	for i := range o.TailHist {
		c.TailHist[i] += o.TailHist[i]
	}
}

func addPrefix(p, o *record.Prefix) {
	p.Requests += o.Requests
	p.Queries += o.Queries
	p.Hits += o.Hits
	p.PreemptedRequests += o.PreemptedRequests
	p.PreemptedQueries += o.PreemptedQueries
	p.PreemptedHits += o.PreemptedHits
}
