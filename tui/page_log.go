package tui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/serverlog"
	"opprof/engine/store"
	"opprof/engine/vllm"
	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/layout"
	"opprof/tui/panel"
)

// logPage shows the server's log, newest line at the bottom. It follows the log until the reader moves away from the newest line. Moves
// within the lines that were fetched around the cursor need no answer; what lies beyond is asked for.
type logPage struct {
	raised

	ctx    context.Context
	source LogSource
	now    func() time.Time
	zone   *time.Location
	live   bool

	width, height int
	filter        serverlog.Filter
	around        bool // show all lines and mark matches
	wrap          bool
	shift         int       // columns that messages are scrolled by
	facts         factsMode // whether the start-up facts are shown
	factsText     scroll
	onFacts       bool           // they have the focus
	goal          serverlog.Goto // where to stand, as soon as it is known; zero follows
	came          comeFrom

	view   *serverlog.View
	asked  serverlog.Query // that view answers
	err    error           // why there is no newer view
	cursor int             // index into view.Lines
	top    int             // index of the first line on the screen
	prompt *prompt         // the filter's, while it is open
}

// comeFrom is the step that a reader came from, and the line that it led to: from there the way back is to the same step.
type comeFrom struct {
	cursorNS int64
	line     int64 // 0 while it is not known
}

// factsMode says whether the start-up facts are shown.
type factsMode uint8

const (
	factsByWidth factsMode = iota
	factsShown
	factsHidden
)

const (
	factsWidth   = 52  // of the facts beside the lines
	factsBeside  = 100 // least width for both
	factsOffered = 170 // width from which both are shown unasked
)

func newLogPage(ctx context.Context, source LogSource, live bool, opt Options) *logPage {
	return &logPage{ctx: ctx, source: source, now: opt.Now, zone: opt.Zone, live: live}
}

func (p *logPage) name() string       { return "log" }
func (p *logPage) keys() keys.Context { return keys.ContextLog }

func (p *logPage) resize(width, height int) {
	p.width, p.height = width, height
	p.settle()
}

// areas are the rectangles of the lines and of the facts, borders included; an empty one is not shown.
func (p *logPage) areas() (lines, facts chart.Rect) {
	if !layout.Fits(p.width, p.height) {
		return chart.Rect{}, chart.Rect{}
	}
	lines = chart.Rect{Y: 2, W: p.width, H: p.height - 3}
	switch {
	case p.facts == factsHidden || p.facts == factsByWidth && p.width < factsOffered:
	case p.width < factsBeside:
		lines, facts = chart.Rect{}, lines
	default:
		facts = chart.Rect{X: p.width - factsWidth, Y: 2, W: factsWidth, H: lines.H}
		lines.W -= factsWidth
	}
	return lines, facts
}

// rows is the number of lines that fit on the screen.
func (p *logPage) rows() int { return max(1, p.height-5) }

func (p *logPage) query() serverlog.Query {
	n := 2 * p.rows()
	return serverlog.Query{Filter: p.filter, Context: p.around, Goto: p.goal, Before: n, After: n}
}

func (p *logPage) want() want {
	var w want
	if p.live {
		w.head = headQuery(p.now())
	}
	if q := p.query(); !p.settled(q) {
		w.log = &q
	}
	return w
}

// headQuery asks for what the header says.
func headQuery(now time.Time) *store.Query {
	return &store.Query{SpanNS: int64(time.Second), Columns: 1, NowNS: now.UnixNano()}
}

// settled reports whether the answer to a question cannot be another one than before: the log of a finished run was read whole.
func (p *logPage) settled(q serverlog.Query) bool {
	if p.view == nil || p.live || q != p.asked || !p.view.Done {
		return false
	}
	s := p.view.State
	return s.Found && s.Read == s.Size
}

func (p *logPage) take(w want, pic picture) {
	if w.log != nil {
		p.err = pic.logErr
	}
	if pic.log == nil || w.log == nil {
		return
	}
	q := *w.log
	if q.Filter != p.filter || q.Context != p.around {
		return // an answer that nobody waits for any more
	}
	p.hint(pic.log)
	if q.Goto != p.goal && p.view != nil {
		return
	}
	topNumber := int64(0)
	if p.view != nil && p.top < len(p.view.Lines) {
		topNumber = p.view.Lines[p.top].Number
	}
	p.view, p.asked, p.cursor = pic.log, q, pic.log.Cursor
	if q.Goto != (serverlog.Goto{}) && p.cursor >= 0 {
		if q.Goto.AtNS != 0 && q.Goto.AtNS == p.came.cursorNS {
			p.came.line = p.view.Lines[p.cursor].Number
		}
		p.goal = serverlog.Goto{Line: p.view.Lines[p.cursor].Number}
		p.asked.Goto = p.goal
	}
	p.top = p.indexOf(topNumber)
	p.settle()
}

// indexOf is the index of the first fetched line with a number or a later one; far away from it, a place that puts the cursor in the upper
// part of the screen.
func (p *logPage) indexOf(number int64) int {
	for i := range p.view.Lines {
		if p.view.Lines[i].Number >= number {
			if p.cursor-i >= 0 && p.cursor-i < p.rows() {
				return i
			}
			break
		}
	}
	return p.cursor - p.rows()/3
}

// settle moves the top of the screen so that the cursor is visible and no row is wasted.
func (p *logPage) settle() {
	if p.view == nil || len(p.view.Lines) == 0 {
		p.top = 0
		return
	}
	area, _ := p.areas()
	room := area.H - 2
	lines := p.lines()
	used := 0
	last := len(p.view.Lines) - 1
	for i := last; i >= 0 && used < room; i-- { // the lowest top that leaves no row empty
		if used += lines.Height(&p.view.Lines[i], area.W-2); used <= room {
			last = i
		}
	}
	p.top = max(0, min(p.top, last, p.cursor))
	if p.following() {
		p.top = last
	}
	used = 0
	for i := p.cursor; i >= p.top && i >= 0; i-- {
		used += lines.Height(&p.view.Lines[i], area.W-2)
		if used > room && i < p.cursor {
			p.top = i + 1
			break
		}
	}
}

// following reports whether the newest line is shown as it comes.
func (p *logPage) following() bool { return p.goal == serverlog.Goto{} }

// line is the one under the cursor; nil when there is none.
func (p *logPage) line() *serverlog.Line {
	if p.view == nil || p.cursor < 0 || p.cursor >= len(p.view.Lines) {
		return nil
	}
	return &p.view.Lines[p.cursor]
}

func (p *logPage) needs() keys.Need {
	if p.live {
		return keys.NeedLive
	}
	return 0
}

func (p *logPage) position() panel.Position { return panel.Position{} }

func (p *logPage) explain() (string, []panel.Definition) {
	return "explain: server log", panel.LogDefinitions()
}

func (p *logPage) copied() []string {
	l := p.line()
	if l == nil {
		return nil
	}
	at := ""
	if l.WallNS != 0 {
		at = time.Unix(0, l.WallNS).In(p.zone).Format(time.RFC3339) + " "
	}
	level := l.Severity.String()
	if level != "" {
		level += " "
	}
	return []string{at + level + l.Process + " " + l.Message}
}

var errNoTimeLine = errors.New("the log page has no time axis: / filters")

func (p *logPage) seek(string) (tea.Cmd, error) { return nil, errNoTimeLine }

// at goes to the line that was said at a moment.
func (p *logPage) at(ns int64) { p.goal = serverlog.Goto{AtNS: ns} }

// levels are what the level key walks through.
func nextLevel(l vllm.Level) vllm.Level {
	switch l {
	case vllm.LevelNone:
		return vllm.LevelInfo
	case vllm.LevelInfo:
		return vllm.LevelWarning
	case vllm.LevelWarning:
		return vllm.LevelError
	}
	return vllm.LevelNone
}
