package rank

import (
	"cmp"
	"slices"
	"strings"

	"opprof/traces/kineto"
)

// attribute finds the iteration of each event: the last whose range was open, or had been, when the work was launched.
func (a *analysis) attribute() {
	launched := make([]int32, len(a.t.Launches)) // device events by launch
	for i := range a.t.Events.Len() {
		if l, ok := a.t.Launches.Find(a.t.Events.At(i).Correlation); ok {
			launched[l]++
		}
	}
	graphNames := make([]bool, len(a.t.Names))
	for i, name := range a.t.Names {
		graphNames[i] = isGraphLaunch(name)
	}
	ordered := isOrdered(a.t.Launches)
	for i := range a.t.Events.Len() {
		e := a.t.Events.At(i)
		if l, ok := a.t.Launches.Find(e.Correlation); ok {
			a.iter[i] = a.lastLabel(a.t.Launches[l].StartNS)
			a.graph[i] = graphNames[a.t.Launches[l].Name] || launched[l] > graphEvents
			continue
		}
		a.out.Unlaunched++
		a.iter[i] = a.placed(e, ordered)
	}
}

// graphEvents is how many device events one correlation must stand for to be a graph launch where the launch's name does not tell.
const graphEvents = 4

func isGraphLaunch(name string) bool {
	for _, prefix := range []string{"cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// lastLabel is the iteration whose range was the last to open at or before a time; -1 before the first.
func (a *analysis) lastLabel(at int64) int32 { return last(a.labels, at) }

// placed is the iteration of work whose launch is not in the trace. Correlations count launches, so its own says between which known launches
// it was launched; work older than all of them belongs to a step before the window, although it runs within its first label. Without launches
// to compare with, the device-side ranges bound iterations better than those of the CPU.
func (a *analysis) placed(e *kineto.DeviceEvent, ordered bool) int32 {
	if ordered && e.Correlation != 0 {
		i, _ := slices.BinarySearchFunc(a.t.Launches, e.Correlation, func(v kineto.Launch, c uint32) int { return cmp.Compare(v.Correlation, c) })
		if i == 0 {
			return -1
		}
		return a.lastLabel(a.t.Launches[i-1].StartNS)
	}
	if len(a.twins) == len(a.labels) {
		return last(a.twins, e.StartNS)
	}
	return a.lastLabel(e.StartNS)
}

// isOrdered reports whether correlations grow with time, but for a few launches of threads side by side.
func isOrdered(l kineto.Launches) bool {
	back := 0
	for i := 1; i < len(l); i++ {
		if l[i].StartNS < l[i-1].StartNS {
			back++
		}
	}
	return len(l) > 0 && back*100 <= len(l)
}

// last is the last label that starts at or before a time; -1 before the first.
func last(labels []label, at int64) int32 {
	i, found := slices.BinarySearchFunc(labels, at, func(l label, at int64) int { return cmp.Compare(l.span.Start, at) })
	if !found {
		i--
	}
	return int32(i)
}
