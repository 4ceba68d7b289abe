package catalog

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"opprof/engine/armed"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/traces/join"
	"opprof/traces/kineto"
	"opprof/traces/rank"
)

// known is all that windows are made of.
type known struct {
	markers []store.Window // by time
	windows []join.Window  // by time
	files   []*file
	ranks   int   // of an engine; 0 when unknown
	nowNS   int64 // 0 when nothing is written any more
	note    string
	armed   string // what an armed window waits for; "" when none is armed
	orders  *armed.List
}

// markerSlackNS is how much earlier than its marker a window may seem to start: clocks of two processes.
const markerSlackNS = 5_000_000

// patienceNS is how long after its stop a window's files are expected at any moment.
const patienceNS = 30_000_000_000

// merge makes the list of windows.
func merge(k known) []Window {
	out := make([]Window, 0, len(k.markers))
	for i := range k.markers {
		m := &k.markers[i]
		out = append(out, Window{Key: MarkerKey(m), Marker: m, TimeNS: m.StartNS, Expected: k.ranks})
	}
	for i := range k.windows {
		out = k.placeWindow(out, &k.windows[i])
	}
	for _, f := range k.files {
		if f.part.Breakdown == nil {
			out = k.placeFile(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b Window) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
	for i := range out {
		out[i].State, out[i].Reason = k.judge(&out[i])
		out[i].place()
	}
	names := k.orders.Names(seen(out))
	for i := range out {
		out[i].Number, out[i].Stray, out[i].Ordered = names[i].Number, names[i].Stray, k.orders != nil
	}
	if k.armed != "" {
		w := Window{Key: "armed", State: Armed, Reason: k.armed, Expected: k.ranks, Ordered: k.orders != nil}
		if !w.Ordered {
			w.Number = len(out) + 1
		}
		out = append(out, w)
	}
	return out
}

// place says which steps the window is of.
func (w *Window) place() {
	if w.Detail != nil {
		if n := len(w.Detail.Join.Steps); n > 0 {
			w.FirstStep, w.LastStep = w.Detail.Join.Steps[0].Index, w.Detail.Join.Steps[n-1].Index
		}
		return
	}
	if m := w.Marker; m != nil && w.State != Failed && !m.Empty() {
		w.FirstStep, w.LastStep = m.AfterStep+1, m.StopAfterStep
	}
}

// seen is what the windows are known by.
func seen(windows []Window) []armed.Seen {
	out := make([]armed.Seen, len(windows))
	for i := range windows {
		w := &windows[i]
		s := armed.Seen{DP: -1, AfterStep: -1, StartNS: w.TimeNS}
		for _, f := range w.Files {
			s.Files = append(s.Files, f.Path)
		}
		if w.Detail != nil {
			s.DP = w.Detail.DP()
		}
		switch {
		case w.Marker != nil:
			s.Engine, s.AfterStep, s.StartNS = w.Marker.Engine, w.Marker.AfterStep, wallNS(w.Marker)
		case w.Detail != nil && w.Detail.Join.Method != "":
			s.AfterStep = w.Detail.Join.AfterStep
		}
		out[i] = s
	}
	return out
}

// MarkerKey is the key of the window of a marker.
func MarkerKey(m *store.Window) string { return "m" + strconv.FormatInt(m.StartNS, 10) + m.Engine }

// wallNS is when a window began by the clock that traces and journals have.
func wallNS(m *store.Window) int64 { return cmp.Or(m.StartWallNS, m.StartNS) }

// placeWindow gives a window of traces to its marker, or a line of its own.
func (k *known) placeWindow(out []Window, d *join.Window) []Window {
	first := cmp.Or(startNS(d), writtenNS(k.files, d.Ranks[0]))
	at := -1
	for i := range out {
		m := out[i].Marker
		switch {
		case m == nil || out[i].Detail != nil || !sameEngine(m.Engine, d.DP()):
		case d.Join.Method != "" && begins(m, d.Join.AfterStep) && wallNS(m) <= first+markerSlackNS:
			at = i
		case d.Join.Method == "" && wallNS(m) <= first+markerSlackNS:
			at = i
		}
	}
	if at < 0 {
		out = append(out, Window{Key: "t" + d.Ranks[0].File, TimeNS: first, Expected: k.ranks})
		at = len(out) - 1
	}
	w := &out[at]
	w.Detail = d
	w.Ranks = len(d.Ranks)
	w.Expected = max(w.Expected, len(d.Ranks)+len(d.Missing))
	w.Timelines = make([]*rank.Timeline, len(d.Ranks))
	for i, b := range d.Ranks {
		for _, f := range k.files {
			if f.part.Breakdown == b {
				w.Files = append(w.Files, f.view())
				w.Timelines[i] = f.part.Timeline
			}
		}
	}
	return out
}

// begins reports whether labels behind a step may be those of a marker's window: they begin at the marker or, with a schedule that warms up
// or a delay, some steps later, but before its stop.
func begins(m *store.Window, after int64) bool {
	return after == m.AfterStep || after > m.AfterStep && (m.StopNS == 0 || after < m.StopAfterStep)
}

// placeFile gives a file that was not read to the window whose traces were being written at its export time, or a line of its own.
func (k *known) placeFile(out []Window, f *file) []Window {
	at := -1
	dp := kineto.RankOf(filepath.Base(f.path)).DP
	for i := range out {
		if m := out[i].Marker; m != nil && f.exportNS != 0 && wallNS(m) <= f.exportNS && sameEngine(m.Engine, dp) {
			at = i
		}
	}
	if at < 0 {
		out = append(out, Window{Key: "f" + f.path, TimeNS: f.exportNS, Expected: k.ranks})
		at = len(out) - 1
	}
	out[at].Files = append(out[at].Files, f.view())
	return out
}

// startNS is when the first labelled iteration of a window began, or its device work; 0 where it has neither.
func startNS(w *join.Window) int64 {
	first := w.Ranks[0].Span.Start
	for _, b := range w.Ranks {
		if len(b.Iterations) > 0 {
			return b.Iterations[0].LabelNS.Start
		}
		first = min(first, b.Span.Start)
	}
	return first
}

// sameEngine reports whether files of a data-parallel rank can be of an engine. Names without a rank can be of any.
func sameEngine(engine string, dp int64) bool {
	var of int64
	if _, err := fmt.Sscanf(engine, "dp%d-", &of); err != nil || dp < 0 {
		return true
	}
	return of == dp
}

// judge says how far a window has come.
func (k *known) judge(w *Window) (State, string) {
	count := [FileFailed + 1]int{}
	for _, f := range w.Files {
		count[f.State]++
	}
	expected := max(w.Expected, 1)
	switch {
	case count[FilePending] > 0:
		return Flushing, fmt.Sprintf("%d of %d trace files are complete", len(w.Files)-count[FilePending], max(expected, len(w.Files)))
	case count[FileWaiting] > 0:
		return Reading, ""
	case w.Detail != nil:
		return k.judgeRead(w)
	case count[FileFailed] > 0:
		return Failed, w.Files[0].Why
	case w.Marker == nil:
		return Recorded, k.note
	case w.Marker.StopNS == 0 && k.nowNS != 0:
		return Recording, ""
	case k.nowNS != 0 && k.note == "" && k.nowNS-w.Marker.StopNS < patienceNS:
		return Flushing, "no trace file yet"
	}
	return Recorded, cmp.Or(k.note, "no trace file in the run's folder")
}

// judgeRead judges a window whose files were read.
func (k *known) judgeRead(w *Window) (State, string) {
	state, why := w.Detail.State()
	if m := w.Marker; w.Ranks < w.Expected && m != nil && k.nowNS != 0 && k.nowNS-cmp.Or(m.StopNS, m.StartNS) < patienceNS {
		return Flushing, fmt.Sprintf("%d of %d ranks have written their file", w.Ranks, w.Expected)
	}
	if w.Ranks+len(w.Detail.Missing) < w.Expected { // no file tells how many there should be
		if why != "" {
			why += "; "
		}
		return Incomplete, why + fmt.Sprintf("%s of %s ranks have a file", unit.Count(int64(w.Ranks)), unit.Count(int64(w.Expected)))
	}
	return State(state), why
}
