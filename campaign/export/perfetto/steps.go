package perfetto

import (
	"fmt"
	"math"
	"strconv"

	"opprof/engine/record"
	"opprof/engine/store"
)

// Tracks of an engine's process. Those in flight come behind.
const (
	tidPeriod int64 = 1 + iota
	tidPreemptions
	tidStalls
	tidGaps
	tidProfiler
	tidFlight
)

// maxFlight bounds the lanes of steps in flight: there are two with async scheduling, more under pipeline parallelism.
const maxFlight = 64

// engine is the process of an engine in the trace. Its time only goes forward: an engine that begins again is another process.
type engine struct {
	pid       int64
	atNS      int64     // submission of its newest step
	endNS     int64     // completion of its newest step
	flight    []int64   // by lane: when its last step completed
	profileNS int64     // newest mark of the profiler, wall clock
	counted   [4]string // last values of the counters
}

// moment is a step on the time axis.
type moment struct {
	submitNS, completeNS int64
	wallNS               int64 // submission by the wall clock
}

func momentOf(s *record.Step, p store.Place) moment {
	return moment{submitNS: p.TimeNS - s.SubmitToCompleteNS(), completeNS: p.TimeNS, wallNS: s.SubmitWallNS}
}

// step writes one step.
func (t *trace) step(e *engine, s *record.Step, p store.Place) {
	m := momentOf(s, p)
	arguments := func() { t.composition(s, p) }
	name := nameOf(s)
	if p.PeriodNS != store.UnknownNS {
		t.out.slice(track{e.pid, tidPeriod}, name, "step", m.completeNS-p.PeriodNS, p.PeriodNS, arguments)
	}
	index := func() { t.out.integer("step_index", s.StepIndex) }
	if tid, ok := t.lane(e, m); ok {
		t.out.slice(track{e.pid, tid}, strconv.FormatInt(s.StepIndex, 10), "in flight", m.submitNS, m.completeNS-m.submitNS, index)
	}
	if s.Preemptions > 0 {
		t.out.instant(track{e.pid, tidPreemptions}, fmt.Sprintf("%d preempted", s.Preemptions), m.submitNS, index)
	}
	if p.Stalls() {
		t.out.instant(track{e.pid, tidStalls}, "stall", m.completeNS, index)
	}
	if p.Gap {
		t.out.instant(track{e.pid, tidGaps}, "steps missing before", m.completeNS, func() {
			index()
			t.out.integer("dropped_records_before", s.DroppedBefore)
		})
	}
	t.counters(e, s, m.submitNS)
	e.atNS, e.endNS = m.submitNS, max(e.endNS, m.completeNS)
}

// nameOf is the composition in two words.
func nameOf(s *record.Step) string {
	switch {
	case s.PrefillTokens > 0 && s.DecodeBatchSize > 0:
		return fmt.Sprintf("decode %d + prefill %d", s.DecodeBatchSize, s.PrefillTokens)
	case s.PrefillTokens > 0:
		return fmt.Sprintf("prefill %d", s.PrefillTokens)
	case s.DecodeBatchSize > 0:
		return fmt.Sprintf("decode %d", s.DecodeBatchSize)
	}
	return "no tokens"
}

func (t *trace) composition(s *record.Step, p store.Place) {
	o := t.out
	o.integer("step_index", s.StepIndex)
	o.integer("scheduled_requests", s.ScheduledRequests)
	o.integer("decode_batch_size", s.DecodeBatchSize)
	o.integer("decode_tokens", s.DecodeTokens)
	o.integer("prefill_requests", s.PrefillRequests)
	o.integer("prefill_tokens", s.PrefillTokens)
	if s.Known(record.HasRecompute) {
		o.integer("recompute_tokens", s.RecomputeTokens)
	}
	if s.Known(record.HasGraph) {
		o.text("cudagraph_mode", s.Graph.Mode.String())
		o.integer("bucket_tokens", s.Graph.BucketTokens)
		o.integer("padding_tokens", s.Graph.PaddingTokens)
	}
	o.integer("period_ns", p.PeriodNS)
	o.integer("submit_to_complete_ns", s.SubmitToCompleteNS())
}

// lane is the track for a step in flight: the first on which the last one has completed. ok is false when all are taken.
func (t *trace) lane(e *engine, m moment) (tid int64, ok bool) {
	for i, endNS := range e.flight {
		if endNS <= m.submitNS {
			e.flight[i] = m.completeNS
			return tidFlight + int64(i), true
		}
	}
	if len(e.flight) == maxFlight {
		return 0, false
	}
	e.flight = append(e.flight, m.completeNS)
	tid = tidFlight + int64(len(e.flight)-1)
	t.out.name(track{e.pid, tid}, "thread", fmt.Sprintf("in flight %d (submit to complete)", len(e.flight)), tid)
	return tid, true
}

// counters writes those that have changed.
func (t *trace) counters(e *engine, s *record.Step, atNS int64) {
	usage := s.KV.Usage
	if math.IsNaN(usage) || math.IsInf(usage, 0) {
		usage = 0
	}
	count := strconv.FormatInt
	for i, c := range [...]struct{ name, values string }{
		{"KV usage", `"used":` + strconv.FormatFloat(usage, 'f', -1, 64)},
		{"requests", `"running":` + count(s.Queues.Running, 10) + `,"waiting":` + count(s.Queues.Waiting, 10) + `,"deferred":` + count(s.Queues.Deferred, 10)},
		{"decode batch", `"requests":` + count(s.DecodeBatchSize, 10)},
		{"prefill tokens", `"tokens":` + count(s.PrefillTokens, 10)},
	} {
		if e.counted[i] == c.values {
			continue
		}
		e.counted[i] = c.values
		t.out.begin('C', c.name, track{e.pid, 0})
		t.out.at(atNS)
		t.out.arguments(func() { t.out.buf = append(append(t.out.buf, ','), c.values...) })
		t.out.end()
	}
}
