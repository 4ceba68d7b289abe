package query

import (
	"cmp"

	"opprof/engine/record"
)

// number is a value of a field or a constant. As in the language, two integers are compared exactly, and anything else as floats.
type number struct {
	i       int64
	f       float64
	isFloat bool
}

func whole(i int64) number     { return number{i: i, f: float64(i)} }
func broken(f float64) number  { return number{f: f, isFloat: true} }
func (a number) exact() bool   { return a.isFloat || a.i >= -exactMax && a.i <= exactMax }
func (a number) minus() number { return number{-a.i, -a.f, a.isFloat} }

// exactMax is the largest integer up to which all are floats, too.
const exactMax = 1 << 53

// holds reports whether a stands in the relation to b. NaN stands in none but "!=".
func (a number) holds(op string, b number) bool {
	if a.isFloat || b.isFloat {
		return holds(op, a.f, b.f)
	}
	return holds(op, a.i, b.i)
}

func holds[T cmp.Ordered](op string, a, b T) bool {
	switch op {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "==":
		return a == b
	}
	return a != b
}

// reader reads a field of a step; ok is false where the step does not tell.
type reader func(s *record.Step, periodNS *int64) (v number, ok bool)

// readers are the fields that are numbers.
func readers() map[string]reader {
	always := func(get func(*record.Step) int64) reader {
		return func(s *record.Step, _ *int64) (number, bool) { return whole(get(s)), true }
	}
	with := func(has func(*record.Step) bool, get func(*record.Step) int64) reader {
		return func(s *record.Step, _ *int64) (number, bool) {
			if !has(s) {
				return number{}, false
			}
			return whole(get(s)), true
		}
	}
	graph := func(s *record.Step) bool { return s.Known(record.HasGraph) }
	prefix := func(s *record.Step) bool { return s.Known(record.HasPrefixLocal) }
	return map[string]reader{
		"step_index":         always(func(s *record.Step) int64 { return s.StepIndex }),
		"scheduled_requests": always(func(s *record.Step) int64 { return s.ScheduledRequests }),
		"decode_batch_size":  always(func(s *record.Step) int64 { return s.DecodeBatchSize }),
		"prefill_requests":   always(func(s *record.Step) int64 { return s.PrefillRequests }),
		"prefill_tokens":     always(func(s *record.Step) int64 { return s.PrefillTokens }),
		"decode_tokens":      always(func(s *record.Step) int64 { return s.DecodeTokens }),
		"preemptions":        always(func(s *record.Step) int64 { return s.Preemptions }),
		"running":            always(func(s *record.Step) int64 { return s.Queues.Running }),
		"waiting":            always(func(s *record.Step) int64 { return s.Queues.Waiting }),
		"deferred":           always(func(s *record.Step) int64 { return s.Queues.Deferred }),
		"kv.used":            always(func(s *record.Step) int64 { return s.KV.UsedBlocks }),
		"kv.free":            always(func(s *record.Step) int64 { return s.KV.FreeBlocks }),
		"kv.total":           always(func(s *record.Step) int64 { return s.KV.TotalBlocks }),
		"chunk.first":        always(func(s *record.Step) int64 { return s.Chunks.First }),
		"chunk.middle":       always(func(s *record.Step) int64 { return s.Chunks.Middle }),
		"chunk.final":        always(func(s *record.Step) int64 { return s.Chunks.Final }),
		"chunk.unsplit":      always(func(s *record.Step) int64 { return s.Chunks.Unsplit }),
		"context_max":        always(contextMax),
		"dropped":            always(func(s *record.Step) int64 { return s.DroppedBefore }),
		"resumed_requests":   with(func(s *record.Step) bool { return s.Known(record.HasResumed) }, func(s *record.Step) int64 { return s.ResumedRequests }),
		"recompute_tokens":   with(func(s *record.Step) bool { return s.Known(record.HasRecompute) }, func(s *record.Step) int64 { return s.RecomputeTokens }),
		"graph.bucket":       with(graph, func(s *record.Step) int64 { return s.Graph.BucketTokens }),
		"graph.padding":      with(graph, func(s *record.Step) int64 { return s.Graph.PaddingTokens }),
		"prefix.queries":     with(prefix, func(s *record.Step) int64 { return s.Local.Queries }),
		"prefix.hits":        with(prefix, func(s *record.Step) int64 { return s.Local.Hits }),
		"kv.usage":           func(s *record.Step, _ *int64) (number, bool) { return broken(s.KV.Usage), true },
		"submit_to_complete_ms": func(s *record.Step, _ *int64) (number, bool) {
			return broken(float64(s.SubmitToCompleteNS()) / 1e6), true
		},
		"period_ms": func(_ *record.Step, periodNS *int64) (number, bool) {
			if periodNS == nil {
				return number{}, false
			}
			return broken(float64(*periodNS) / 1e6), true
		},
	}
}
