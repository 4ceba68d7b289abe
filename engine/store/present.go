package store

import (
	"slices"

	"opprof/engine/record"
)

func sortWindows(list []Window) {
	slices.SortStableFunc(list, func(a, b Window) int { return compare(a.StartNS, b.StartNS) })
}

// present fills the state, the engine rows, the composition and the rates: what holds at the right edge.
func (sn *Snapshot) present(f *Frame, q Query, a *axis, sel []int) {
	f.State.Name = "unknown"
	f.Engines = make([]Engine, len(sn.engines))
	for i, v := range sn.engines {
		row := &f.Engines[i]
		*row = v.row
		edge := v.edge(q, a)
		var s record.Step
		b, at := v.at(edge)
		if b != nil {
			b.step(at, &s)
			row.Now = instant(&s, b.times[at], b.periods[at])
		}
		row.State = v.state(q, edge, sn.endedNS[i], &row.Now)
		row.Rates = v.rates(edge)
	}
	for _, i := range sel {
		row := &f.Engines[i]
		f.State.merge(&row.State)
		if sn.endedNS[i] > sn.engines[i].edge(q, a) {
			f.Now.merge(&row.Now)
		}
		f.Rates.add(&row.Rates)
	}
}

// edge is the moment that an engine's row shows.
func (v *engineView) edge(q Query, a *axis) int64 {
	if q.AtNS != 0 || q.NowNS == 0 {
		return a.edgeNS
	}
	return max(a.edgeNS, v.onAxis(q.NowNS))
}

func (v *engineView) state(q Query, edge, endedNS int64, now *Instant) State {
	s := State{Name: "unknown"}
	if now.Known {
		s.SinceNS = now.TimeNS
	}
	age := edge - now.TimeNS
	queued := now.Queues.Running + now.Queues.Waiting + now.Queues.Deferred
	switch {
	case v.row.Footer != nil && edge >= v.newestNS(), endedNS <= edge:
		s.Name = "finished"
	case !now.Known:
	case queued == 0:
		s.Name = "idle"
	case age > StalledAfterNS && (q.NowNS != 0 || q.AtNS != 0):
		s.Name, s.StalledNS = "stalled", age
	default:
		s.Name = "busy"
	}
	return s
}

// severity orders the states: the merged state is the worst.
func (s *State) severity() int {
	return slices.Index([]string{"unknown", "finished", "idle", "busy", "stalled"}, s.Name)
}

func (s *State) merge(o *State) {
	if o.severity() > s.severity() {
		s.Name = o.Name
	}
	s.SinceNS = max(s.SinceNS, o.SinceNS)
	s.StalledNS = max(s.StalledNS, o.StalledNS)
}

func instant(s *record.Step, timeNS, periodNS int64) Instant {
	n := Instant{
		Known: true, TimeNS: timeNS, StepIndex: s.StepIndex,
		ScheduledRequests: s.ScheduledRequests, DecodeBatchSize: s.DecodeBatchSize, PrefillRequests: s.PrefillRequests,
		PrefillTokens: s.PrefillTokens, DecodeTokens: s.DecodeTokens,
		Chunks: s.Chunks, ChunkTail: s.Known(record.HasChunkTail), ContextHist: s.ContextHist, Preemptions: s.Preemptions,
		Queues: s.Queues, KV: s.KV, Dropped: s.DroppedBefore,
	}
	n.KV.Usage = finite(n.KV.Usage)
	if periodNS >= 0 {
		n.PeriodNS = &periodNS
	}
	n.ResumedRequests = known(s, record.HasResumed, s.ResumedRequests)
	n.RecomputeTokens = known(s, record.HasRecompute, s.RecomputeTokens)
	n.Local = known(s, record.HasPrefixLocal, s.Local)
	n.External = known(s, record.HasPrefixExternal, s.External)
	n.Graph = known(s, record.HasGraph, s.Graph)
	return n
}

// known is the value if the step holds the part, and nil otherwise.
func known[T any](s *record.Step, part record.Presence, value T) *T {
	if !s.Known(part) {
		return nil
	}
	return &value
}

// merge adds the composition of another engine at the same moment.
func (n *Instant) merge(o *Instant) {
	if !o.Known {
		return
	}
	if !n.Known {
		*n = *o
		n.ResumedRequests, n.RecomputeTokens = clonePtr(o.ResumedRequests), clonePtr(o.RecomputeTokens)
		n.Local, n.External = clonePtr(o.Local), clonePtr(o.External)
		return
	}
	if o.TimeNS > n.TimeNS {
		n.TimeNS, n.StepIndex, n.PeriodNS, n.Graph = o.TimeNS, o.StepIndex, o.PeriodNS, o.Graph
	}
	n.ScheduledRequests += o.ScheduledRequests
	n.DecodeBatchSize += o.DecodeBatchSize
	n.PrefillRequests += o.PrefillRequests
	n.PrefillTokens += o.PrefillTokens
	n.DecodeTokens += o.DecodeTokens
	n.ResumedRequests = addPtr(n.ResumedRequests, o.ResumedRequests)
	n.RecomputeTokens = addPtr(n.RecomputeTokens, o.RecomputeTokens)
	addChunks(&n.Chunks, &o.Chunks)
	n.ChunkTail = n.ChunkTail && o.ChunkTail
	for i := range o.ContextHist {
		n.ContextHist[i] += o.ContextHist[i]
	}
	n.Preemptions += o.Preemptions
	n.Dropped += o.Dropped
	n.Queues.Running += o.Queues.Running
	n.Queues.Waiting += o.Queues.Waiting
	n.Queues.Deferred += o.Queues.Deferred
	mergeKV(&n.KV, &o.KV)
	n.Local, n.External = addPrefixPtr(n.Local, o.Local), addPrefixPtr(n.External, o.External)
}

func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// addPtr adds what is known; the sum is unknown only if both are.
func addPtr(p, o *int64) *int64 {
	switch {
	case o == nil:
		return p
	case p == nil:
		return clonePtr(o)
	}
	*p += *o
	return p
}

func addPrefixPtr(p, o *record.Prefix) *record.Prefix {
	switch {
	case o == nil:
		return p
	case p == nil:
		return clonePtr(o)
	}
	addPrefix(p, o)
	return p
}

// mergeKV adds the block pools of two engines.
func mergeKV(k, o *record.KV) {
	k.TotalBlocks += o.TotalBlocks
	k.FreeBlocks += o.FreeBlocks
	k.UsedBlocks += o.UsedBlocks
	k.Usage = 0
	if k.TotalBlocks > 0 {
		k.Usage = float64(k.UsedBlocks) / float64(k.TotalBlocks)
	}
}
