package record

import (
	"fmt"
	"math"
)

// Violation says how often an invariant does not hold, and where first. FirstStep is the step index of the first place, or of the last
// step before it where the line is no step. Detail is a sentence about it, with its numbers.
type Violation struct {
	Count     int64  `json:"count"`
	FirstStep int64  `json:"first_step"`
	Detail    string `json:"detail"`
}

// Check is what a Checker found in one stream. Path is the caller's to fill in.
type Check struct {
	Path          string               `json:"path"`
	EngineID      string               `json:"engine_id"`
	Steps         int64                `json:"steps"`
	BadLines      int64                `json:"bad_lines"`
	TornTail      bool                 `json:"torn_tail"`      // the last line is cut off: the recorder was killed, or is still writing
	Dropped       int64                `json:"dropped"`        // records that the server dropped
	MissingFooter bool                 `json:"missing_footer"` // a warning: the recorder was killed, or is still writing
	WallJumps     int64                `json:"wall_jumps"`     // a warning: the wall clock moved by over a second against the monotonic one
	Violations    map[string]Violation `json:"violations"`
}

// OK reports whether every invariant holds.
func (c Check) OK() bool { return len(c.Violations) == 0 }

// invariant is one of the rules that `opprof check` names.
type invariant int

const (
	indexGap invariant = iota
	splitRequests
	splitTokens
	contextHistSum
	chunkKindSum
	chunkHistSum
	chunkTokens
	kvSum
	kvUsage
	graphBucket
	graphModeHit
	negative
	clock
	footerCounts
	headerCount
	invariants
)

var invariantNames = [invariants]string{
	"index_gap", "split_requests", "split_tokens", "context_hist_sum", "chunk_kind_sum", "chunk_hist_sum", "chunk_tokens", "kv_sum",
	"kv_usage", "graph_bucket", "graph_mode", "negative", "clock", "footer_counts", "header_count",
}

// wallJumpNS is how far the wall clock may move against the monotonic clock between two steps; slewing stays far below.
const wallJumpNS = 1_000_000_000

// Checker holds the invariants inside and between the lines of one stream, which have to come in file order. A header begins anew: a
// server that was restarted into the same file counts its steps from 1 again.
type Checker struct {
	result Check
	found  [invariants]Violation

	lines   int64 // since the header, it included
	headers int64
	patched bool // the header names the patch, whose chunk tokens hold the unsplit ones
	dropped int64
	footer  *Footer

	begun bool // a step came since the header
	last  stepClock
	step  int64 // index of the last step
}

// stepClock is what the next step is compared with.
type stepClock struct {
	index, submitWall, submitMono, completeMono int64
}

// NewChecker returns a Checker for one stream.
func NewChecker() *Checker { return &Checker{} }

// Add takes the stream's next line. It keeps nothing of it.
func (c *Checker) Add(l *Line) {
	switch l.Kind {
	case KindBlank:
		return
	case KindBad:
		if l.Err != nil && l.Err.TornTail {
			c.result.TornTail = true
			return
		}
		c.result.BadLines++
	case KindHeader:
		c.header(&l.Header)
	}
	if c.footer != nil && l.Kind != KindFooter {
		c.violate(footerCounts, "line %d stands behind the footer", l.Number)
	}
	switch l.Kind {
	case KindStep:
		c.addStep(&l.Step)
	case KindProfile:
		if p := &l.Profile; p.ReturnMonoNS < p.MonoNS {
			c.violate(clock, "profile %s returned at %d ns, before its call at %d ns", p.Action, p.ReturnMonoNS, p.MonoNS)
		}
	case KindFooter:
		c.addFooter(&l.Footer)
	}
	c.lines++
}

// Result returns what was found so far.
func (c *Checker) Result() Check {
	r := c.result
	r.MissingFooter = c.footer == nil
	r.Violations = make(map[string]Violation)
	for k, v := range c.found {
		if v.Count > 0 {
			r.Violations[invariantNames[k]] = v
		}
	}
	return r
}

// violate counts one violation. The sentence is made for the first only.
func (c *Checker) violate(k invariant, format string, args ...any) {
	v := &c.found[k]
	if v.Count++; v.Count == 1 {
		v.FirstStep = c.step
		v.Detail = fmt.Sprintf(format, args...)
	}
}

func (c *Checker) header(h *Header) {
	if c.headers++; c.headers > 1 {
		c.violate(headerCount, "header %d stands in the middle of the stream, after step %d: the server was restarted into the same file",
			c.headers, c.step)
	}
	c.result.EngineID = h.EngineID
	c.patched = h.PatchHash != ""
	c.begun, c.footer, c.lines, c.dropped = false, nil, 0, 0
}

func (c *Checker) addFooter(f *Footer) {
	if c.footer != nil {
		c.violate(footerCounts, "a second footer stands after step %d", c.step)
		return
	}
	c.footer = new(Footer)
	*c.footer = *f
	if c.result.EngineID == "" {
		c.result.EngineID = f.EngineID
	}
	switch {
	case f.Encoded < 0 || f.Written < 0 || f.Dropped < 0 || f.QueueHighWatermark < 0:
		c.violate(negative, "the footer counts %d encoded, %d written, %d dropped, queue at most %d",
			f.Encoded, f.Written, f.Dropped, f.QueueHighWatermark)
	case f.Encoded != f.Written+f.Dropped:
		c.violate(footerCounts, "the footer counts %d encoded lines, but %d written and %d dropped", f.Encoded, f.Written, f.Dropped)
	case f.Written != c.lines:
		c.violate(footerCounts, "the footer counts %d written lines, but %d stand before it", f.Written, c.lines)
	case f.Dropped < c.dropped:
		c.violate(footerCounts, "the footer counts %d dropped records, but the steps report %d", f.Dropped, c.dropped)
	}
	if more := f.Dropped - c.dropped; more > 0 {
		c.result.Dropped += more // lost after the last step
	}
}

func (c *Checker) addStep(s *Step) {
	r := &c.result
	r.Steps++
	if r.EngineID == "" {
		r.EngineID = s.EngineID
	}
	c.step = s.StepIndex
	c.sequence(s)
	c.signs(s)
	c.composition(s)
	c.chunks(s)
	c.resources(s)
	if s.DroppedBefore > 0 {
		c.dropped += s.DroppedBefore
		r.Dropped += s.DroppedBefore
	}
}

// sequence compares a step with the one before: its index and its clocks.
func (c *Checker) sequence(s *Step) {
	now := stepClock{s.StepIndex, s.SubmitWallNS, s.SubmitMonoNS, s.CompleteMonoNS}
	if s.CompleteMonoNS < s.SubmitMonoNS {
		c.violate(clock, "step %d completed at %d ns, before its submission at %d ns", s.StepIndex, s.CompleteMonoNS, s.SubmitMonoNS)
	}
	before := c.last
	c.last = now
	if !c.begun {
		c.begun = true
		return
	}
	switch missing := now.index - before.index - 1; {
	case missing < 0:
		c.violate(indexGap, "step_index went back from %d to %d without a new header", before.index, now.index)
	case missing > s.DroppedBefore:
		c.violate(indexGap, "step_index went from %d to %d: %d steps are missing, %d of them reported as dropped",
			before.index, now.index, missing, max(s.DroppedBefore, 0))
	}
	if now.submitMono < before.submitMono || now.completeMono < before.completeMono {
		c.violate(clock, "the monotonic clock went back at step %d: submitted at %d ns after %d ns, completed at %d ns after %d ns",
			now.index, now.submitMono, before.submitMono, now.completeMono, before.completeMono)
	}
	jump := float64(now.submitWall-before.submitWall) - float64(now.submitMono-before.submitMono)
	if math.Abs(jump) > wallJumpNS {
		c.result.WallJumps++
	}
}

// signs holds that no number is negative.
func (c *Checker) signs(s *Step) {
	x, g := &s.Chunks, &s.Graph
	all := s.StepIndex | s.SubmitWallNS | s.SubmitMonoNS | s.CompleteMonoNS | s.ScheduledRequests | s.DecodeBatchSize | s.PrefillRequests |
		s.PrefillTokens | s.DecodeTokens | s.ResumedRequests | s.RecomputeTokens | x.First | x.Middle | x.Final | x.Unsplit | x.Tokens |
		x.UnsplitTokens | s.Preemptions | s.Queues.Running | s.Queues.Waiting | s.Queues.Deferred | s.KV.TotalBlocks | s.KV.FreeBlocks |
		s.KV.UsedBlocks | signsOf(&s.Local) | signsOf(&s.External) | g.UnpaddedTokens | g.BucketTokens | g.PaddingTokens | s.DroppedBefore
	for _, n := range x.SizeHist {
		all |= n
	}
	for _, n := range x.TailHist {
		all |= n
	}
	for _, n := range s.ContextHist {
		all |= n
	}
	if all < 0 {
		name, v := firstNegative(s)
		c.violate(negative, "step %d has %s %d", s.StepIndex, name, v)
	}
}

func signsOf(p *Prefix) int64 {
	return p.Requests | p.Queries | p.Hits | p.PreemptedRequests | p.PreemptedQueries | p.PreemptedHits
}

// composition holds the sums over the scheduled requests.
func (c *Checker) composition(s *Step) {
	if s.DecodeBatchSize+s.PrefillRequests != s.ScheduledRequests {
		c.violate(splitRequests, "step %d has decode_batch_size %d and prefill_requests %d, but scheduled_requests %d",
			s.StepIndex, s.DecodeBatchSize, s.PrefillRequests, s.ScheduledRequests)
	}
	if s.Known(HasGraph) && s.PrefillTokens+s.DecodeTokens != s.Graph.UnpaddedTokens {
		c.violate(splitTokens, "step %d has prefill_tokens %d and decode_tokens %d, but cudagraph.unpadded_tokens %d",
			s.StepIndex, s.PrefillTokens, s.DecodeTokens, s.Graph.UnpaddedTokens)
	}
	if n := sum(s.ContextHist[:]); n != s.ScheduledRequests {
		c.violate(contextHistSum, "step %d has %d requests in context_length_hist, but scheduled_requests %d",
			s.StepIndex, n, s.ScheduledRequests)
	}
}

// chunks holds the sums over the prefill requests.
func (c *Checker) chunks(s *Step) {
	x := &s.Chunks
	if n := x.First + x.Middle + x.Final + x.Unsplit; n != s.PrefillRequests {
		c.violate(chunkKindSum, "step %d has %d requests as first, middle, final and unsplit, but prefill_requests %d",
			s.StepIndex, n, s.PrefillRequests)
	}
	if n := sum(x.SizeHist[:]); n != s.PrefillRequests {
		c.violate(chunkHistSum, "step %d has %d requests in chunk_size_hist, but prefill_requests %d", s.StepIndex, n, s.PrefillRequests)
	} else if n := sum(x.TailHist[:]); s.Known(HasChunkTail) && n != x.SizeHist[ChunkBins-1] {
		c.violate(chunkHistSum, "step %d has %d requests in chunk_tail_hist, but %d in the last bin of chunk_size_hist",
			s.StepIndex, n, x.SizeHist[ChunkBins-1])
	}
	switch {
	case c.tokensHold(s):
	case s.Known(HasUnsplitTokens) && x.Tokens == s.PrefillTokens:
		c.violate(chunkTokens, "step %d has %d unsplit requests with unsplit_tokens %d of chunked_prefill.tokens %d",
			s.StepIndex, x.Unsplit, x.UnsplitTokens, x.Tokens)
	default:
		c.violate(chunkTokens, "step %d has chunked_prefill.tokens %d, but prefill_tokens %d", s.StepIndex, x.Tokens, s.PrefillTokens)
	}
}

// tokensHold compares chunked_prefill.tokens with prefill_tokens. A prototype of the recorder, whose header names no patch, left the
// tokens of unsplit requests out.
func (c *Checker) tokensHold(s *Step) bool {
	x := &s.Chunks
	if s.Known(HasUnsplitTokens) {
		return x.Tokens == s.PrefillTokens && x.UnsplitTokens <= x.Tokens && (x.Unsplit > 0 || x.UnsplitTokens == 0)
	}
	return x.Tokens == s.PrefillTokens || !c.patched && x.Unsplit > 0 && x.Tokens < s.PrefillTokens
}

// resources holds the sums over the block pool and the graph's batch.
func (c *Checker) resources(s *Step) {
	if kv := &s.KV; kv.UsedBlocks+kv.FreeBlocks != kv.TotalBlocks {
		c.violate(kvSum, "step %d has kv.used_blocks %d and free_blocks %d, but total_blocks %d",
			s.StepIndex, kv.UsedBlocks, kv.FreeBlocks, kv.TotalBlocks)
	}
	if !(s.KV.Usage >= 0 && s.KV.Usage <= 1) {
		c.violate(kvUsage, "step %d has kv.usage %v, which is not in [0,1]", s.StepIndex, s.KV.Usage)
	}
	if !s.Known(HasGraph) {
		return
	}
	g := &s.Graph
	if g.BucketTokens < g.UnpaddedTokens || g.PaddingTokens != g.BucketTokens-g.UnpaddedTokens {
		c.violate(graphBucket, "step %d has cudagraph.bucket_tokens %d and padding_tokens %d for unpadded_tokens %d",
			s.StepIndex, g.BucketTokens, g.PaddingTokens, g.UnpaddedTokens)
	}
	if g.Hit == (g.Mode == GraphNone) {
		c.violate(graphModeHit, "step %d has cudagraph.hit %t with runtime_mode %s", s.StepIndex, g.Hit, g.Mode)
	}
}

func sum(bins []int64) int64 {
	var n int64
	for _, v := range bins {
		n += v
	}
	return n
}
