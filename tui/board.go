package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/rundir"
	"opprof/engine/serverlog"
	"opprof/engine/store"
	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/layout"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

// board is the page of a run's steps: the live page while the run goes on, the review page with a scrubber when it does not, or when
// the reader has left the newest step.
type board struct {
	raised

	ctx    context.Context
	source StepSource
	now    func() time.Time
	zone   *time.Location
	live   bool // the run may grow
	panels map[layout.ID]panel.Panel

	width, height int
	time          timeline
	opened        bool // the first picture has set the cursor
	engine        string
	frozen        bool

	shown    shown // what is on the screen
	newest   *store.Frame
	overview *store.Frame
	said     *serverlog.Line // last line of the server log before the cursor; nil when there is none
	spread   int             // width of the screen that the overview was asked for
	answered want            // of the picture that is shown
	hunt     hunt            // the search for steps
	remarks  remarks         // bookmarks and notes
	asked    int             // wants so far

	focus     layout.ID
	maximised bool
	whole     bool      // the overview has the whole page
	before    layout.ID // the focus that the step's detail comes back to; "" when it is not shown
	density   layout.Density
	preset    layout.Preset
	boxes     []layout.Box

	canvas  *chart.Grid // nil when it must be drawn anew
	glyphs  theme.Glyphs
	drawn   map[layout.ID]drawnAs
	serial  uint64 // of what is shown; panels drawn at an older one are drawn again
	renders map[layout.ID]int
}

// shown is one picture with the question that it answers.
type shown struct {
	main, cursor *store.Frame
	cursorNS     int64
	engine       string
	run          rundir.Description
}

// drawnAs says what a panel's cells on the canvas were drawn from.
type drawnAs struct {
	serial uint64
	rect   chart.Rect
}

func newBoard(ctx context.Context, source StepSource, run rundir.Description, opt Options) *board {
	b := &board{
		ctx: ctx, source: source, now: opt.Now, zone: opt.Zone, live: run.Kind != "finished", panels: panel.All(), focus: layout.Period,
		drawn: map[layout.ID]drawnAs{}, renders: map[layout.ID]int{},
	}
	b.shown.run = run
	b.time.spanNS = opt.SpanNS
	if opt.SpanNS == 0 && b.live {
		b.time.spanNS = int64(time.Minute)
	}
	return b
}

func (b *board) name() string {
	if b.live {
		return "live"
	}
	return "review"
}

func (b *board) keys() keys.Context { return keys.ContextCharts }

// seldom is how many wants pass between two looks at what hardly changes: the overview of a run, and all of a finished run.
const seldom = 8

// want asks for the visible stretch of time, for the moment under the cursor where that is another one, and for what the scrubber and the
// header need.
func (b *board) want() want {
	var w want
	now := int64(0)
	if b.live {
		now = b.now().UnixNano()
	}
	if !b.frozen {
		w.main = &store.Query{Engine: b.engine, AtNS: b.time.edge(), SpanNS: b.time.spanNS, Columns: b.columns(), NowNS: now}
	}
	if !b.frozen && b.time.cursorNS != 0 {
		w.cursor = &store.Query{Engine: b.engine, AtNS: b.time.cursorNS, SpanNS: int64(time.Second), Columns: 1, NowNS: now}
		w.log = &serverlog.Query{Goto: serverlog.Goto{AtNS: b.time.cursorNS}}
	}
	if b.live && (b.frozen || !b.time.following()) {
		w.head = &store.Query{SpanNS: int64(time.Second), Columns: 1, NowNS: now}
	}
	b.asked++
	again := b.asked%seldom == 0
	w.search = b.wantSearch()
	w.notes = again || b.remarks.list == nil
	if b.settled(w) && b.foundAll(w.search) && !again && !w.notes {
		return want{}
	}
	if b.scrubbing() && (again || b.overview == nil || b.spread != b.width || b.engine != b.shown.engine) {
		b.spread = b.width
		w.overview = &store.Query{Engine: b.engine, Columns: max(1, b.width-2)}
	}
	return w
}

// settled reports whether the picture already answers w for good: the run does not change, and it was computed from all of it.
func (b *board) settled(w want) bool {
	return !b.live && b.shown.main != nil && !b.shown.main.Sampled && b.overview != nil && !b.overview.Sampled && b.spread == b.width &&
		sameQuery(w.main, b.answered.main) && sameQuery(w.cursor, b.answered.cursor)
}

func sameQuery(a, b *store.Query) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// columns is how many time buckets fit: those of the widest chart over time.
func (b *board) columns() int {
	width := 0
	if b.whole {
		width = b.width
	}
	for _, box := range b.boxes {
		if box.ID == layout.Period {
			width = box.Rect.W
			break
		}
		if len(layout.Focusable([]layout.Box{box})) > 0 {
			width = max(width, box.Rect.W)
		}
	}
	return max(1, width-panel.AxisWidth-2)
}

// scrubbing reports whether the line over the whole run stands above the panels.
func (b *board) scrubbing() bool {
	return !b.live || b.whole || (!b.time.following() && !b.frozen) || b.hunt.expr != ""
}

// view is the extent of what is shown.
func (b *board) view() view {
	f := b.shown.main
	if f == nil {
		return view{}
	}
	v := view{fromNS: f.FromNS, toNS: f.ToNS, bucketNS: f.BucketNS, firstNS: f.Run.Counts.FirstNS, lastNS: f.Run.Counts.LastNS}
	if n := b.newest; n != nil {
		v.lastNS = max(v.lastNS, n.Run.Counts.LastNS)
	}
	return v
}

func (b *board) take(w want, p picture) {
	switch {
	case p.head != nil:
		b.newest = p.head
	case p.main != nil && b.engine == "":
		b.newest = p.main
	}
	if p.overview != nil {
		b.overview = p.overview
	}
	if w.log != nil {
		b.said = lineAt(p.log)
	}
	b.takeFound(p.found)
	b.takeNotes(w, p)
	if p.main != nil && !b.frozen {
		b.show(w, p)
		b.answered = w
	}
	b.arrange()
}

// show puts a picture on the screen, unless it is the one that is there.
func (b *board) show(w want, p picture) {
	next := shown{main: p.main, cursor: p.cursor, engine: w.main.Engine, run: p.run}
	if w.cursor != nil {
		next.cursorNS = w.cursor.AtNS
	}
	if b.shown.main == nil || next.differs(b.shown) {
		b.serial++
	}
	b.shown = next
	if !b.opened && p.main.Run.Counts.Steps > 0 {
		b.opened = true
		b.openReview()
	}
}

// openReview begins a finished run with its first step: the last one often is an idle one.
func (b *board) openReview() {
	if !b.live && b.time.following() {
		b.time.home(b.view())
	}
}

// behind reports whether the picture is not yet that of the cursor.
func (b *board) behind() bool {
	return b.shown.main != nil && !b.frozen && b.shown.cursorNS != b.time.cursorNS
}

// differs reports whether panels would be drawn otherwise.
func (s shown) differs(o shown) bool {
	return s.engine != o.engine || s.cursorNS != o.cursorNS || frameDiffers(s.main, o.main) || frameDiffers(s.cursor, o.cursor)
}

func frameDiffers(a, b *store.Frame) bool {
	if a == nil || b == nil {
		return a != b
	}
	return a.Version != b.Version || a.FromNS != b.FromNS || a.ToNS != b.ToNS || a.BucketNS != b.BucketNS || a.Live != b.Live ||
		a.Sampled != b.Sampled || a.State.Name != b.State.Name || a.Now.TimeNS != b.Now.TimeNS || a.Now.StepIndex != b.Now.StepIndex || len(a.Columns) != len(b.Columns)
}

// input is what the panels draw; nil before the first picture.
func (b *board) input() *panel.Input {
	if b.shown.main == nil {
		return nil
	}
	in := &panel.Input{Frame: b.shown.main, Now: b.shown.main.Now, Rates: b.shown.main.Rates, Run: b.shown.run, Zone: b.zone, Engine: b.shown.engine,
		Live: b.live && b.shown.main.Live}
	if f := b.hunt.found; f != nil && len(f.marks) == len(b.shown.main.Columns) {
		in.Matches = f.marks
	}
	in.Notes = b.remarks.times()
	if b.shown.cursor != nil {
		in.Now, in.Rates, in.CursorNS = b.shown.cursor.Now, b.shown.cursor.Rates, b.shown.cursorNS
	}
	return in
}

func (b *board) position() panel.Position {
	p := panel.Position{In: b.input(), Live: b.live && b.time.following() && !b.frozen, Frozen: b.frozen, Mode: "live"}
	switch {
	case b.frozen:
		p.Mode = "frozen"
		p.BehindNS = b.behindNS()
	case !b.live:
		p.Mode = "review"
	case !b.time.following():
		p.Mode = "past"
	}
	return p
}

// behindNS is the time between the step on the screen and the newest one.
func (b *board) behindNS() int64 {
	if b.shown.main == nil || b.newest == nil {
		return 0
	}
	return max(0, b.newest.Now.TimeNS-b.shown.main.Now.TimeNS)
}

func (b *board) needs() keys.Need {
	var n keys.Need
	if b.shown.main == nil {
		return n
	}
	if b.shown.main.Run.Counts.Steps > 0 {
		n |= keys.NeedSteps
	}
	if b.live {
		n |= keys.NeedLive
	}
	if b.frozen || !b.time.following() {
		n |= keys.NeedPast
	}
	if len(b.shown.main.Engines) > 1 {
		n |= keys.NeedEngines
	}
	return n
}

func (b *board) explain() (string, []panel.Definition) {
	p := b.panels[b.focus]
	definitions := panel.Explain(b.focus)
	if b.focus == layout.Period {
		definitions = append(definitions, panel.Explain(layout.Header)...)
	}
	return "explain: " + p.Title(), definitions
}

// receive takes the answer to a jump.
func (b *board) receive(msg tea.Msg) tea.Cmd {
	if cmd, ok := b.receiveNote(msg); ok {
		return cmd
	}
	found, ok := msg.(foundMsg)
	if !ok {
		return nil
	}
	if found.ok {
		b.unfreeze()
		b.time.put(found.atNS, b.view())
	}
	return notice(found.text)
}

// foundMsg is where a jump leads, and what is said about it.
type foundMsg struct {
	atNS int64
	ok   bool // there is a place to go to
	text string
}
