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
	long := make([]bool, len(t.Streams)+1) // streams with an event that lasts long enough to be a runaway
	for i := range t.Events.Len() {
		e := t.Events.At(i)
		switch {
		case e.StartNS <= 0, e.DurNS < 0, e.EndNS() < e.StartNS, t.EndNS > 0 && e.EndNS() > t.EndNS+endSlackNS:
			flag(e)
		case e.DurNS >= runawayNS:
			long[min(int(e.Stream), len(t.Streams))] = true
		}
	}
	for stream, is := range long {
		if !is {
			continue
		}
		order := t.ofStream(stream)
		for k, i := range order {
			e := t.Events.At(int(i))
			if e.DurNS >= runawayNS && k+runawayStarts < len(order) && t.Events.At(int(order[k+runawayStarts])).StartNS < e.EndNS() {
				flag(e)
			}
		}
	}
}

// ofStream are the events of a stream that are not suspect, by start.
func (t *Trace) ofStream(stream int) []int32 {
	var order []int32
	for i := range t.Events.Len() {
		if e := t.Events.At(i); min(int(e.Stream), len(t.Streams)) == stream && !e.Suspect {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(t.Events.At(int(a)).StartNS, t.Events.At(int(b)).StartNS) })
	return order
}
