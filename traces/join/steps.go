package join

import (
	"cmp"
	"fmt"
	"slices"

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
	Graph              string // CUDA-graph mode; "" when unknown
	BucketTokens       int64  // valid with Graph
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
	first := iterations[0].LabelNS.Start
	why := ""
	if m, ok := markerBefore(markers, first); ok {
		at, found := indexOf(steps, m.AfterStep+1)
		bad := 0
		if found {
			bad = mismatch(iterations, steps[at:])
		}
		switch {
		case found && bad < 0:
			return Joined{Method: ByMarker, AfterStep: m.AfterStep, Steps: steps[at : at+len(iterations)]}
		case found:
			why = fmt.Sprintf("label %d after the marker at step %d does not equal step %d; ", bad+1, m.AfterStep, m.AfterStep+1+int64(bad))
		default:
			why = fmt.Sprintf("step %d after the marker is not in the file; ", m.AfterStep+1)
		}
	}
	j := bySequence(iterations, steps)
	j.Reason = why + j.Reason
	return j
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
	distance := func(at int) int64 {
		d := make([]int64, len(iterations))
		for i, it := range iterations {
			d[i] = it.LabelNS.Start - steps[at+i].SubmitNS
		}
		slices.Sort(d)
		return d[len(d)/2]
	}
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
