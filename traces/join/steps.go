package join

import (
	"cmp"
	"fmt"
	"slices"

	"opprof/engine/record"
	"opprof/engine/unit"
	"opprof/traces/rank"
)

// Step is what the join needs of a Layer-1 step.
type Step struct {
	Index              int64
	PrefillRequests    int64
	PrefillTokens      int64
	DecodeRequests     int64
	DecodeTokens       int64
	SubmitNS           int64  // wall clock, ns since 1970
	PeriodNS           *int64 // nil when unknown
	SubmitToCompleteNS int64
	Graph              string                    // CUDA-graph mode; "" when unknown
	BucketTokens       int64                     // valid with Graph
	ContextHist        [record.ContextBins]int64 // scheduled requests by context length; all 0 when not known
}

// Marker is a start of the profiler as the engine recorded it: the window's first step is the one after AfterStep.
type Marker struct {
	AfterStep int64
	WallNS    int64
}

// Methods of a join.
const (
	ByMarker = "marker" // the k-th label is step after_step + k, and every label equals its step
	ByLabels = "labels" // the sequence of labels fits the steps in one place only
	ByTime   = "time"   // the sequence fits in several places, one of which agrees with the clocks
)

// Joined says which step each iteration of a window was. Method is "" when the join was refused, and Reason says why.
type Joined struct {
	Method    string
	Reason    string
	AfterStep int64
	Steps     []Step // by iteration
	Behind    *Step  // the step behind the last of them; nil where it is not known
}

// markerSlackNS is how much earlier than its marker a first label may seem to start: clocks of two threads, rounded.
const markerSlackNS = 5_000_000

// Steps joins the labelled iterations of one rank with the steps of its engine. steps are sorted by index; markers are sorted by time.
func Steps(iterations []rank.Iteration, steps []Step, markers []Marker) Joined {
	if len(iterations) == 0 {
		return Joined{Reason: "the trace has no labelled iterations"}
	}
	if len(steps) == 0 {
		return Joined{Reason: "no Layer-1 steps to join with"}
	}
	j, why := byMarker(iterations, steps, markers)
	if j.Method != "" {
		return j
	}
	j = bySequence(iterations, steps)
	j.Reason = why + j.Reason
	return j
}

// byMarker joins with the steps after the profiler's start, or says why it cannot.
func byMarker(iterations []rank.Iteration, steps []Step, markers []Marker) (Joined, string) {
	m, ok := markerBefore(markers, iterations[0].LabelNS.Start)
	if !ok {
		return Joined{}, ""
	}
	first := m.AfterStep + 1
	if n := iterations[0].ProfilerStep; n > 1 {
		first = m.AfterStep + n // a schedule warms up for the steps before
	}
	at, found := indexOf(steps, first)
	if !found {
		return Joined{}, fmt.Sprintf("step %d after the marker is not in the file; ", first)
	}
	if bad := mismatch(iterations, steps[at:]); bad >= 0 {
		return Joined{}, fmt.Sprintf("label %d after the marker at step %d does not equal step %d; ", bad+1, m.AfterStep, first+int64(bad))
	}
	delay := medianDelay(iterations, steps[at:])
	if delay < -markerSlackNS {
		return Joined{}, fmt.Sprintf("labels after the marker at step %d start %.1f ms before their steps; ", m.AfterStep, float64(-delay)/1e6)
	}
	if later, ok := delayed(iterations, steps, at, delay); ok {
		return Joined{Method: ByTime, AfterStep: steps[later].Index - 1, Steps: steps[later : later+len(iterations)],
			Reason: fmt.Sprintf("the profiler began %s after its marker", unit.Counted(steps[later].Index-first, "step"))}, ""
	}
	return Joined{Method: ByMarker, AfterStep: first - 1, Steps: steps[at : at+len(iterations)]}, ""
}

// delayed finds the place of labels that begin some steps after their marker, as with delay_iterations: they fit there as well, and the clocks
// are off by more than a step and a half here and by less than half a step there. Two steps are in flight, so one step more is no sign.
func delayed(iterations []rank.Iteration, steps []Step, at int, delay int64) (int, bool) {
	if len(iterations) < 2 {
		return 0, false
	}
	spacing := (steps[at+len(iterations)-1].SubmitNS - steps[at].SubmitNS) / int64(len(iterations)-1)
	if delay <= spacing+spacing/2 {
		return 0, false
	}
	for later := at + 1; later+len(iterations) <= len(steps); later++ {
		d := medianDelay(iterations, steps[later:])
		if d < 0 {
			break
		}
		if d < spacing/2 && mismatch(iterations, steps[later:]) < 0 {
			return later, true
		}
	}
	return 0, false
}

// medianDelay is how long after the submission of its step a label starts, in the median.
func medianDelay(iterations []rank.Iteration, steps []Step) int64 {
	d := make([]int64, len(iterations))
	for i, it := range iterations {
		d[i] = it.LabelNS.Start - steps[i].SubmitNS
	}
	slices.Sort(d)
	return d[len(d)/2]
}

func markerBefore(markers []Marker, first int64) (Marker, bool) {
	for _, m := range slices.Backward(markers) {
		if m.WallNS <= first+markerSlackNS {
			return m, true
		}
	}
	return Marker{}, false
}

func indexOf(steps []Step, index int64) (int, bool) {
	return slices.BinarySearchFunc(steps, index, func(s Step, i int64) int { return cmp.Compare(s.Index, i) })
}

// mismatch is the first iteration whose label does not equal its step; -1 when all do. Labels of an unknown grammar equal any step.
func mismatch(iterations []rank.Iteration, steps []Step) int {
	for i, it := range iterations {
		if i >= len(steps) || (i > 0 && steps[i].Index != steps[i-1].Index+1) || !equal(it.Label, steps[i]) {
			return i
		}
	}
	return -1
}

func equal(l rank.Label, s Step) bool {
	return !l.Known || l.PrefillRequests == s.PrefillRequests && l.PrefillTokens == s.PrefillTokens &&
		l.DecodeRequests == s.DecodeRequests && l.DecodeTokens == s.DecodeTokens
}

// bySequence slides the labels over the steps. Equal decode steps fit in many places: then the clocks decide, if they do so clearly.
func bySequence(iterations []rank.Iteration, steps []Step) Joined {
	if !slices.ContainsFunc(iterations, func(it rank.Iteration) bool { return it.Label.Known }) {
		return Joined{Reason: "the labels carry no composition and no marker fits"}
	}
	var fits []int
	for at := 0; at+len(iterations) <= len(steps); at++ {
		if mismatch(iterations, steps[at:]) < 0 {
			fits = append(fits, at)
		}
	}
	switch len(fits) {
	case 0:
		return Joined{Reason: "the sequence of labels fits no run of steps"}
	case 1:
		return Joined{Method: ByLabels, AfterStep: steps[fits[0]].Index - 1, Steps: steps[fits[0] : fits[0]+len(iterations)]}
	}
	return byTime(iterations, steps, fits)
}

// byTime takes the fit whose submit times lie closest before the labels. It refuses when the runner-up is nearly as close: two steps are
// in flight, so a distance of one period says nothing.
func byTime(iterations []rank.Iteration, steps []Step, fits []int) Joined {
	distance := func(at int) int64 { return medianDelay(iterations, steps[at:]) }
	slices.SortStableFunc(fits, func(a, b int) int { return cmp.Compare(magnitude(distance(a)), magnitude(distance(b))) })
	best, second := magnitude(distance(fits[0])), magnitude(distance(fits[1]))
	if best > maxLabelDelayNS || second < ambiguous*best || second-best < minSeparationNS {
		return Joined{Reason: fmt.Sprintf("the sequence of labels fits %d runs of steps, and times do not tell them apart (nearest %.1f ms and %.1f ms from their labels)",
			len(fits), float64(best)/1e6, float64(second)/1e6)}
	}
	return Joined{Method: ByTime, AfterStep: steps[fits[0]].Index - 1, Steps: steps[fits[0] : fits[0]+len(iterations)]}
}

const (
	// maxLabelDelayNS bounds how far a label starts from its step's submission: some tenths of a second behind a busy worker.
	maxLabelDelayNS = 1_000_000_000
	// ambiguous is how many times farther the runner-up must be, and minSeparationNS by how much at least.
	ambiguous       = 3
	minSeparationNS = 1_000_000
)

// magnitude is a distance; a label before its step's submission is worse than one after it, since work is launched after it is submitted.
func magnitude(d int64) int64 {
	if d < 0 {
		return -2 * d
	}
	return d
}
