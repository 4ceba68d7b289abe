package perfetto

import (
	"context"
	"fmt"
	"strconv"

	"opprof/campaign/export/windows"
	"opprof/traces/join"
	"opprof/traces/rank"
)

// firstRank is the process of the first rank of a window; the processes of engines come before.
const firstRank = 10_000

// window writes the ranks of a window; place is its own among those that are written.
func (t *trace) window(ctx context.Context, place int, w *windows.Window) error {
	if w.Detail == nil {
		t.summary.Problems = append(t.summary.Problems, fmt.Sprintf("window %s has no traces that could be read", w.Name()))
		return nil
	}
	shift := t.shift(w)
	for k := range w.Detail.Ranks {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if k >= len(w.Timelines) || w.Timelines[k] == nil {
			t.summary.Problems = append(t.summary.Problems, fmt.Sprintf("window %s: the kernels of %s could not be read, or are too many", w.Name(), w.Detail.Ranks[k].File))
			continue
		}
		t.rank(w, k, shift, firstRank+int64(place)*1000+int64(k))
		if err := t.failed(); err != nil {
			return err
		}
	}
	return nil
}

// shift is what the wall clock of the traces is ahead of the time axis: both are the same until the wall clock is set. It is 0 for a window that
// is tied to no step.
func (t *trace) shift(w *windows.Window) int64 {
	for i := range w.Detail.Iterations {
		if s := w.Detail.Iterations[i].Step; s != nil {
			if m := t.wanted[place{w.Engine, s.Index}]; m != (moment{}) {
				return m.wallNS - m.submitNS
			}
		}
	}
	return 0
}

// rank writes the labelled iterations and the kernels of a rank.
func (t *trace) rank(w *windows.Window, k int, shiftNS, pid int64) {
	b := w.Detail.Ranks[k]
	name := fmt.Sprintf("rank %d", b.Rank.Global)
	if b.Rank.Global < 0 {
		name = b.File
	}
	t.out.name(track{pid, 0}, "process", fmt.Sprintf("window %s, %s, %s", w.Name(), name, w.State), pid)
	iterations := t.labels(w, k, pid, shiftNS)
	lanes := &lanes{t: t, pid: pid, streams: w.Timelines[k]}
	for i := range w.Timelines[k].Events {
		e := &w.Timelines[k].Events[i]
		kernel := &b.Kernel[e.Kernel]
		it := (*join.Iteration)(nil)
		if e.Iteration >= 0 && int(e.Iteration) < len(b.Iterations) {
			it = iterations[&b.Iterations[e.Iteration]]
		}
		t.out.slice(lanes.of(e), kernel.Name, e.Family.String(), e.StartNS-shiftNS, e.DurNS, func() {
			t.out.text("family", e.Family.String())
			if role := kernel.Role.String(); role != "" {
				t.out.text("role", role)
			}
			if it != nil {
				t.out.text("label", it.Label.Text)
				if it.Step != nil {
					t.out.integer("step_index", it.Step.Index)
				}
			}
			graph := int64(0)
			if e.Graph {
				graph = 1
			}
			t.out.integer("by_graph", graph)
		})
		t.summary.Kernels++
	}
}

// labels writes the CPU ranges of a rank's iterations and gives the iteration of each.
func (t *trace) labels(w *windows.Window, k int, pid, shiftNS int64) map[*rank.Iteration]*join.Iteration {
	of := map[*rank.Iteration]*join.Iteration{}
	own := track{pid, 1}
	t.out.name(own, "thread", "labels (CPU)", 1)
	for i := range w.Detail.Iterations {
		it := &w.Detail.Iterations[i]
		r := it.Ranks[k]
		if r == nil {
			continue
		}
		of[r] = it
		t.out.slice(own, r.Label.Text, "label", r.LabelNS.Start-shiftNS, r.LabelNS.Len(), func() {
			if it.Step != nil {
				t.out.integer("step_index", it.Step.Index)
			}
			t.out.integer("union_ns", r.Total.UnionNS)
		})
	}
	return of
}

// lanes are the tracks of a rank's device streams. Kernels of one stream may overlap a little; what does goes to a lane below.
type lanes struct {
	t       *trace
	pid     int64
	streams *rank.Timeline
	lanes   []lane
}

type lane struct {
	stream uint16
	endNS  int64
}

// firstLane is behind the labels.
const firstLane = 2

func (l *lanes) of(e *rank.Event) track {
	same := 0
	for i := range l.lanes {
		if l.lanes[i].stream != e.Stream {
			continue
		}
		if same++; l.lanes[i].endNS <= e.StartNS {
			l.lanes[i].endNS = e.EndNS()
			return track{l.pid, firstLane + int64(i)}
		}
	}
	l.lanes = append(l.lanes, lane{e.Stream, e.EndNS()})
	at := track{l.pid, firstLane + int64(len(l.lanes)-1)}
	name := "stream"
	if int(e.Stream) < len(l.streams.Streams) {
		s := l.streams.Streams[e.Stream]
		name = "device " + strconv.FormatInt(s.Device, 10) + " stream " + strconv.FormatInt(s.Stream, 10)
	}
	if same > 0 {
		name += ", overlapping"
	}
	l.t.out.name(at, "thread", name, firstLane+int64(e.Stream)*8+int64(same))
	return at
}
