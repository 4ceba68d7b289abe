package kineto

import (
	"cmp"
	"slices"
)

const (
	// runawayNS and runawayStarts bound what one stream can do: kernels of one queue may overlap their neighbour by a few microseconds
	// (programmatic launches), but one that outlasts this long and this many later starts of its own queue has a broken end.
	runawayNS     = 5_000_000
	runawayStarts = 16
	// endSlackNS is how far past the profiler's end marker an event may end: the device is synchronised before the marker is written.
	endSlackNS = 1_000_000
)

// markSuspect flags device events whose time cannot be right.
func (t *Trace) markSuspect() {
	flag := func(e *DeviceEvent) {
		if !e.Suspect {
			e.Suspect = true
			t.Suspect++
		}
	}
	byStream := make([][]int32, len(t.Streams))
	for i := range t.Events.Len() {
		e := t.Events.At(i)
		switch {
		case e.StartNS <= 0, e.DurNS < 0, e.EndNS() < e.StartNS, t.EndNS > 0 && e.EndNS() > t.EndNS+endSlackNS:
			flag(e)
		case int(e.Stream) < len(byStream):
			byStream[e.Stream] = append(byStream[e.Stream], int32(i))
		}
	}
	for _, order := range byStream {
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(t.Events.At(int(a)).StartNS, t.Events.At(int(b)).StartNS) })
		for k, i := range order {
			e := t.Events.At(int(i))
			if e.DurNS >= runawayNS && k+runawayStarts < len(order) && t.Events.At(int(order[k+runawayStarts])).StartNS < e.EndNS() {
				flag(e)
			}
		}
	}
}
