// Package stall says how long the export of a profiler window held serving up.
//
// A worker ends its profiler when it is given the first step behind the labelled ones, and writes its traces before it runs that step
// (vllm/profiler/wrapper.py). The step completes when every rank has run it, so the whole export lies between its submission and its
// completion: also where a step that was in flight completes meanwhile and cuts the wait into two periods, and however the ranks follow one
// another. A profiler that was not given such a step before it was stopped writes its traces within the call that stops it.
package stall

import "slices"

// Step is one step of an engine.
type Step struct {
	Index  int64
	SpanNS int64 // from its submission to its completion; not above 0 when unknown
}

// Stop is the call that stopped the profiler, as the engine recorded it.
type Stop struct {
	AfterStep int64 // newest step that was submitted before it
	HeldNS    int64 // how long it took; not above 0 when unknown
}

// Export is by how much the step behind the labelled ones took longer, from its submission to its completion, than the labelled ones did in the
// median; 0 where it took no longer. The last labelled one is in flight beside it, and is in no median. Where no step was submitted between
// the labelled ones and the stop, it is the whole call. ok is false where one of these is not known: labelled has fewer than two steps, behind is
// nil or another step.
func Export(labelled []Step, behind *Step, stop *Stop) (ns int64, ok bool) {
	n := len(labelled)
	if n == 0 {
		return 0, false
	}
	last := labelled[n-1].Index
	if stop != nil && stop.AfterStep <= last {
		return max(stop.HeldNS, 0), stop.HeldNS > 0
	}
	usual, ok := median(labelled[:n-1])
	if !ok || behind == nil || behind.Index != last+1 || behind.SpanNS <= 0 {
		return 0, false
	}
	return max(0, behind.SpanNS-usual), true
}

// median is that of the spans that are known, the lower one of two.
func median(steps []Step) (ns int64, ok bool) {
	var spans []int64
	for _, s := range steps {
		if s.SpanNS > 0 {
			spans = append(spans, s.SpanNS)
		}
	}
	if len(spans) == 0 {
		return 0, false
	}
	slices.Sort(spans)
	return spans[(len(spans)-1)/2], true
}
