package rank

import (
	"opprof/traces/family"
	"opprof/traces/kineto"
)

// Timeline is every device event of a rank that counts, by start: what a reader sees who looks into one iteration. It takes 40 bytes an
// event and is kept for the windows that are looked at only.
type Timeline struct {
	Streams []kineto.Stream // by Event.Stream
	Events  []Event
}

// Event is one kernel, copy or set. Times are ns since 1970.
type Event struct {
	StartNS   int64
	DurNS     int64
	Kernel    int32 // index into Breakdown.Kernel
	Iteration int32 // -1 when no iteration launched it
	Stream    uint16
	Family    family.Family
	Graph     bool // launched by a graph
}

// EndNS is where the event ends.
func (e *Event) EndNS() int64 { return e.StartNS + e.DurNS }

// AnalyseTimeline is Analyse with the events themselves. A trace of more than most events gives no timeline.
func AnalyseTimeline(t *kineto.Trace, rules *family.Rules, taxonomy Taxonomy, most int) (*Breakdown, *Timeline) {
	a := analyse(t, rules, taxonomy)
	if len(a.sorted) > most {
		return a.out, nil
	}
	return a.out, a.timeline()
}

func (a *analysis) timeline() *Timeline {
	type key struct {
		name string
		role Role
	}
	index := make(map[key]int32, len(a.out.Kernel))
	for i := range a.out.Kernel {
		k := &a.out.Kernel[i]
		index[key{k.Name, k.Role}] = int32(i)
	}
	out := &Timeline{Streams: a.t.Streams, Events: make([]Event, len(a.sorted))}
	for n, i := range a.sorted {
		e := a.t.Events.At(int(i))
		out.Events[n] = Event{StartNS: e.StartNS + a.t.BaseNS, DurNS: e.DurNS, Kernel: index[key{a.t.Names[e.Name], a.role[i]}],
			Iteration: a.iter[i], Stream: e.Stream, Family: a.fam[i], Graph: a.graph[i]}
	}
	return out
}
