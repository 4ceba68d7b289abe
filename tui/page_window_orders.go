package tui

import (
	"cmp"
	"slices"
	"strconv"

	"opprof/engine/control"
	"opprof/traces/catalog"
	"opprof/tui/panel"
)

// stands takes the supervisor's word: windows that wait or failed have rows too, and each has the number that it was armed under.
func (p *windowsPage) stands(s *panel.Supervised) {
	p.stood = s
	p.combine()
}

// combine makes the rows of what the traces and the supervisor say.
func (p *windowsPage) combine() {
	if p.seen == nil {
		return
	}
	if p.stood == nil {
		p.list, p.orders = p.seen, nil
		return
	}
	p.list, p.orders = withOrders(p.seen, p.stood)
}

// order is the selected window as the supervisor has it; nil when it has not.
func (p *windowsPage) order() *control.Window {
	if w := p.window(); w != nil {
		return p.orders[w.Key]
	}
	return nil
}

// newestRow is the newest window that has more to show than that it waits.
func (p *windowsPage) newestRow() int {
	for i := len(p.list.Windows) - 1; i >= 0; i-- {
		if o := p.orders[p.list.Windows[i].Key]; o == nil || o.State != control.WindowArmed && o.State != control.WindowCancelled {
			return i
		}
	}
	return len(p.list.Windows) - 1
}

// withOrders joins the windows of the records and traces with those of the supervisor. What nobody armed has no number.
func withOrders(seen *catalog.List, s *panel.Supervised) (*catalog.List, map[string]*control.Window) {
	orders := map[string]*control.Window{}
	list := *seen
	list.Windows = slices.Clone(seen.Windows)
	rows := make([]ordered, 0, len(list.Windows)+len(s.Windows))
	of := assign(list.Windows, s.Windows)
	for i := range list.Windows {
		w := list.Windows[i]
		if !w.Ordered {
			w.Number = 0
		}
		row := ordered{atNS: w.TimeNS}
		if k := of[i]; k >= 0 {
			o := &s.Windows[k]
			orders[w.Key] = o
			tell(&w, o, s)
		}
		row.window = w
		rows = append(rows, row)
	}
	for k := range s.Windows {
		if slices.Contains(of, k) {
			continue
		}
		o := &s.Windows[k]
		w := catalog.Window{Key: "order" + strconv.Itoa(o.N), Expected: s.Cost.Ranks}
		tell(&w, o, s)
		orders[w.Key] = o
		rows = append(rows, ordered{atNS: o.ArmedNS, waits: o.State == control.WindowArmed, window: w})
	}
	slices.SortStableFunc(rows, func(a, b ordered) int {
		if a.waits != b.waits {
			if a.waits {
				return 1
			}
			return -1
		}
		if a.waits {
			return a.window.Number - b.window.Number
		}
		return cmp.Compare(a.atNS, b.atNS)
	})
	list.Windows = list.Windows[:0]
	for _, r := range rows {
		list.Windows = append(list.Windows, r.window)
	}
	return &list, orders
}

// ordered is a row with its place in time.
type ordered struct {
	atNS   int64
	waits  bool // it has not started: such rows are the last
	window catalog.Window
}

// tell puts the supervisor's word on a window. Where the traces were read and say less good, theirs stays. What it has read itself it knows before
// anybody reads the traces here.
func tell(w *catalog.Window, o *control.Window, s *panel.Supervised) {
	w.Number, w.Stray = o.N, 0
	if o.State == control.WindowVerified && (w.State == catalog.Incomplete || w.State == catalog.Unjoined || w.State == catalog.Failed) {
		return
	}
	w.State, w.Reason = catalog.State(o.State), s.WindowReason(o)
	if w.Detail != nil {
		return
	}
	switch o.State {
	case control.WindowVerified:
		w.Ranks = max(w.Ranks, w.Expected)
	case control.WindowIncomplete, control.WindowFailed:
	default:
		return
	}
	switch {
	case o.First == nil || o.Last == nil: // which steps it recorded is not known
		w.FirstStep, w.LastStep, w.Steps, w.StallNS = 0, 0, nil, nil
	case w.Marker == nil || covers(w, *o.First):
		w.FirstStep, w.LastStep, w.StallNS = *o.First, *o.Last, o.StallNS
	}
}

// togetherNS is how far apart the markers of one window may lie on several engines.
const togetherNS = 2_000_000_000

// assign finds for each window of the records the order that it came from, -1 for none: by its number where the run's folder tells that. Else a
// finished order is known by its first step; the one that goes on is the newest window since it was armed. Markers of other engines at the same
// time belong to the same order.
func assign(windows []catalog.Window, orders []control.Window) []int {
	of := slices.Repeat([]int{-1}, len(windows))
	for i := range windows {
		if w := &windows[i]; w.Ordered && w.Number > 0 {
			of[i] = slices.IndexFunc(orders, func(o control.Window) bool { return o.N == w.Number })
		}
	}
	for k := range orders {
		o := &orders[k]
		if o.First == nil || slices.Contains(of, k) {
			continue
		}
		for i := range windows {
			w := &windows[i]
			if of[i] < 0 && w.TimeNS+togetherNS >= o.ArmedNS && covers(w, *o.First) {
				of[i] = k
				break
			}
		}
	}
	for k := range orders {
		o := &orders[k]
		if !panel.OpenWindow(o.State) || o.State == control.WindowArmed || slices.Contains(of, k) {
			continue
		}
		if i := len(windows) - 1; i >= 0 && of[i] < 0 && windows[i].TimeNS >= o.ArmedNS {
			of[i] = k
		}
	}
	together(windows, of)
	return of
}

// covers reports whether a step is one of a window's, or lies between its markers where its steps are not known.
func covers(w *catalog.Window, step int64) bool {
	first, last := w.FirstStep, w.LastStep
	if first == 0 && w.Marker != nil {
		first, last = w.Marker.AfterStep+1, w.Marker.StopAfterStep
	}
	return first > 0 && first <= step && (last == 0 || step <= last)
}

// together gives the markers of further engines to the order of a marker beside them.
func together(windows []catalog.Window, of []int) {
	for i := range windows {
		for j := range windows {
			a, b := windows[i].Marker, windows[j].Marker
			if of[i] < 0 && of[j] >= 0 && a != nil && b != nil && a.Engine != b.Engine && abs(a.StartNS-b.StartNS) < togetherNS {
				of[i] = of[j]
			}
		}
	}
}

func abs(n int64) int64 { return max(n, -n) }
