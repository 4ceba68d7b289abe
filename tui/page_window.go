package tui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/control"
	"opprof/engine/store"
	"opprof/traces/catalog"
	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/tui/keys"
	"opprof/tui/panel"
)

// windowsPage shows the run's profiler windows, and of the selected one how busy its ranks were, its iterations, the kernels of its families
// and one iteration over time. The panes look at one window, one rank and one iteration, which the cursors of the panes select.
type windowsPage struct {
	ctx    context.Context
	source StepSource
	now    func() time.Time
	zone   *time.Location
	live   bool

	width, height int
	list          *catalog.List              // nil before the first answer
	seen          *catalog.List              // what the records and traces say; list is that with the supervisor's word
	stood         *panel.Supervised          // nil without a supervisor
	orders        map[string]*control.Window // of the list's windows by key, where a supervisor knows them
	asked         windowQuery                // that list answers
	same          int                        // answers in a row that told nothing new
	err           error                      // why there is no newer one
	pane          windowPane
	at            place  // what is selected
	marked        *place // what the selection is compared with; nil is nothing
	tops          [windowPanes]int
	sort          int // column of the iterations; -1 is the order of time
	down          bool
	slowest       bool // iterations show the families of their critical rank, not of the selected one
	depth         depth
	family        family.Family // whose kernels are listed
	familyAt      int           // cursor in the families; family.Count is all of them
	kernel        kernelKey     // whose launches are listed
	kernelAt      int           // cursor in the kernels
	launchAt      int
	zoom          int
	shift         float64 // left edge of the strip, as a share of the iteration
}

// place is one iteration of one rank of one window.
type place struct {
	key       string // "" is the newest window
	rank      int
	iteration int
}

// depth is how far the reader has gone down from the families.
type depth uint8

const (
	depthFamilies depth = iota
	depthKernels
	depthLaunches
)

// kernelKey names a kernel whatever window is looked at.
type kernelKey struct{ name, role string }

func newWindowsPage(ctx context.Context, source StepSource, live bool, opt Options) *windowsPage {
	return &windowsPage{ctx: ctx, source: source, now: opt.Now, zone: opt.Zone, live: live, sort: -1, slowest: true, at: place{iteration: -1}}
}

func (p *windowsPage) name() string       { return "windows" }
func (p *windowsPage) keys() keys.Context { return keys.ContextWindows }

func (p *windowsPage) resize(width, height int) { p.width, p.height = width, height }

// windowQuery says which windows are looked at: the selected one and the marked one.
type windowQuery struct{ open [2]string }

func (q *windowQuery) keys() []string {
	var out []string
	for _, k := range q.open {
		if k != "" {
			out = append(out, k)
		}
	}
	return out
}

func (p *windowsPage) want() want {
	q := &windowQuery{}
	if w := p.window(); w != nil {
		q.open[0] = w.Key
	}
	if p.marked != nil {
		q.open[1] = p.marked.key
	}
	if p.settled(q) {
		return want{}
	}
	w := want{windows: q}
	if p.live {
		w.head = headQuery(p.now())
	} else if p.list == nil {
		w.head = &store.Query{SpanNS: int64(time.Second), Columns: 1}
	}
	return w
}

func (p *windowsPage) take(w want, pic picture) {
	if w.windows == nil {
		return
	}
	p.err = pic.windowsErr
	if pic.windows == nil {
		return
	}
	p.same++
	if p.list == nil || p.list.Version != pic.windows.Version || p.asked != *w.windows {
		p.same = 0
	}
	p.seen, p.asked = pic.windows, *w.windows
	p.combine()
}

// settledAfter is how many answers without news end the questions about a finished run: ten seconds, in which the events of any window are read.
const settledAfter = 40

// settled reports whether all of a finished run is known.
func (p *windowsPage) settled(q *windowQuery) bool {
	return !p.live && p.list != nil && p.list.Done == p.list.Of && *q == p.asked && p.same >= settledAfter
}

// index is the place of the selected window in the list; -1 without one.
func (p *windowsPage) index() int {
	if p.list == nil {
		return -1
	}
	for i := range p.list.Windows {
		if p.list.Windows[i].Key == p.at.key {
			return i
		}
	}
	return p.newestRow()
}

// window is the selected one; nil when there is none.
func (p *windowsPage) window() *catalog.Window {
	if i := p.index(); i >= 0 {
		return &p.list.Windows[i]
	}
	return nil
}

// detail is what the selected window's traces say; nil before they were read.
func (p *windowsPage) detail() *join.Window {
	if w := p.window(); w != nil {
		return w.Detail
	}
	return nil
}

// side is the selected rank of the selected window.
func (p *windowsPage) side() (panel.Side, bool) {
	w := p.window()
	if w == nil || w.Detail == nil {
		return panel.Side{}, false
	}
	return panel.Side{Window: w, Rank: max(0, min(p.at.rank, len(w.Detail.Ranks)-1))}, true
}

// other is what is compared with: the marked rank; ok is false without one.
func (p *windowsPage) other() (panel.Side, bool) {
	if p.marked == nil {
		return panel.Side{}, false
	}
	w := p.list.Find(p.marked.key)
	if w == nil || w.Detail == nil {
		return panel.Side{}, false
	}
	return panel.Side{Window: w, Rank: min(p.marked.rank, len(w.Detail.Ranks)-1)}, true
}

// iteration is the selected one by its index in the window: the first active one until the reader chooses.
func (p *windowsPage) iteration() int {
	d := p.detail()
	if d == nil || len(d.Iterations) == 0 {
		return 0
	}
	if p.at.iteration < 0 {
		return len(d.Iterations) - len(catalog.Active(d))
	}
	return min(p.at.iteration, len(d.Iterations)-1)
}

// iterations is the table of iterations.
func (p *windowsPage) iterations() panel.Iterations {
	k := p.at.rank
	if p.slowest {
		k = -1
	}
	return panel.Iterations{Window: p.detail(), Rank: k, Sort: p.sort, Down: p.down}
}

func (p *windowsPage) needs() keys.Need {
	var n keys.Need
	if p.live {
		n |= keys.NeedLive
	}
	if d := p.detail(); d != nil {
		n |= keys.NeedTraces
		if len(d.Ranks) > 1 {
			n |= keys.NeedRanks
		}
	}
	if o := p.order(); o != nil && o.State == control.WindowArmed {
		n |= keys.NeedArmed
	}
	return n
}

func (p *windowsPage) position() panel.Position { return panel.Position{} }

func (p *windowsPage) explain() (string, []panel.Definition) {
	return "explain: profiler windows", panel.WindowDefinitions()
}

var errNoTimeAxis = errors.New("the windows page has no time axis: o goes to a step")

func (p *windowsPage) seek(string) (tea.Cmd, error) { return nil, errNoTimeAxis }
func (p *windowsPage) receive(tea.Msg) tea.Cmd      { return nil }

// show selects the window that was open at a moment, or the last one before it, and the iteration of that moment.
func (p *windowsPage) show(step int64, atNS int64) {
	if p.list == nil {
		return
	}
	for i := range p.list.Windows {
		w := &p.list.Windows[i]
		if w.TimeNS > atNS && (w.FirstStep == 0 || w.FirstStep > step) {
			break
		}
		p.at = place{key: w.Key, rank: p.at.rank, iteration: -1}
		if d := w.Detail; d != nil {
			for k := range d.Iterations {
				if s := d.Iterations[k].Step; s != nil && s.Index == step {
					p.at.iteration = k
				}
			}
		}
	}
}
