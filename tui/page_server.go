package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/audit"
	"opprof/engine/rundir"
	"opprof/engine/serverlog"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/engine/vllm"
	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/layout"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

// serverPage tells what was run, how its server started, and whether the server's own counts agree with the records.
type serverPage struct {
	now  func() time.Time
	zone *time.Location
	live bool

	width, height int
	facts         panel.Server
	log           *serverlog.View
	metrics       *vllm.Metrics // as they lay in the folder at the last look
	asked         int           // wants since the folder was looked at
	read          bool          // the whole run had been read when the last picture was made
	whole         bool          // the frame is of the whole run: asked for when that had been read
	focus         section
	texts         [sections]scroll
}

// section is one box of the page.
type section int

const (
	sectionAudit section = iota
	sectionRun
	sectionStart
	sectionFiles
	sections
)

const (
	serverBeside = 120 // least width of two columns
	lookEvery    = 8   // pulls between two looks at the folder
)

func newServerPage(live bool, opt Options) *serverPage {
	return &serverPage{now: opt.Now, zone: opt.Zone, live: live, facts: panel.Server{Zone: opt.Zone}, focus: sectionRun}
}

func (p *serverPage) name() string       { return "server" }
func (p *serverPage) keys() keys.Context { return keys.ContextServer }

// stands takes the supervisor's word.
func (p *serverPage) stands(s *panel.Supervised) { p.facts.Server = s }

func (p *serverPage) resize(width, height int) { p.width, p.height = width, height }

// want asks for the whole run and the start of the log, and now and then for the folder.
func (p *serverPage) want() want {
	w := want{main: &store.Query{Columns: 1}, log: &serverlog.Query{}}
	if p.live {
		w.main.NowNS = p.now().UnixNano()
		w.head = headQuery(p.now())
	}
	w.server = p.facts.Contents == nil || p.asked >= lookEvery
	p.asked++
	if !p.live && p.settled() {
		return want{}
	}
	return w
}

// settled reports whether all of a finished run is known.
func (p *serverPage) settled() bool {
	if p.facts.Contents == nil || !p.whole || p.log == nil {
		return false
	}
	return !p.log.State.Found || p.log.State.Read == p.log.State.Size
}

func (p *serverPage) take(w want, pic picture) {
	p.facts.Run = pic.run
	if pic.main != nil && w.main != nil && w.main.Columns == 1 {
		p.facts.Frame, p.whole = pic.main, p.read
	}
	p.read = readWhole(&pic.run)
	if pic.log != nil {
		p.log = pic.log
	}
	if pic.contents != nil {
		p.asked = 0
		p.facts.Contents = pic.contents
	}
	if w.server {
		p.metrics = pic.metrics
	}
	p.facts.Audit = nil
	if p.metrics != nil && p.facts.Frame != nil {
		p.facts.Audit = audit.Compare(p.metrics, p.facts.Frame)
	}
}

// readWhole reports whether a run's streams had been read to their ends when it was described.
func readWhole(run *rundir.Description) bool {
	for _, s := range run.Streams {
		if s.ReadBytes < s.Bytes {
			return false
		}
	}
	return true
}

func (p *serverPage) press(b keys.Binding) tea.Cmd {
	switch b.ID {
	case keys.FocusNext:
		p.focus = (p.focus + 1) % sections
	case keys.FocusPrev:
		p.focus = (p.focus + sections - 1) % sections
	default:
		p.texts[p.focus].press(b.ID)
	}
	return nil
}

func (p *serverPage) seek(string) (tea.Cmd, error) { return nil, errNoTimeLine }
func (p *serverPage) receive(tea.Msg) tea.Cmd      { return nil }
func (p *serverPage) needs() keys.Need {
	if p.live {
		return keys.NeedLive
	}
	return 0
}
func (p *serverPage) position() panel.Position { return panel.Position{} }
func (p *serverPage) explain() (string, []panel.Definition) {
	if p.focus == sectionStart {
		return "explain: start-up", panel.LogDefinitions()
	}
	return "explain: server", panel.ServerDefinitions()
}

// areas are the rectangles of the sections. Where there is no room for all, the one that has the focus is shown alone.
func (p *serverPage) areas() [sections]chart.Rect {
	var at [sections]chart.Rect
	body := chart.Rect{Y: 2, W: p.width, H: p.height - 3}
	switch {
	case !layout.Fits(p.width, p.height):
	case p.width < serverBeside:
		at[p.focus] = body
	default:
		left := p.width / 2
		auditH := min(body.H*3/5, max(4, panel.AuditHeight(&p.facts)+3+p.reasonLines(left-4)))
		at[sectionAudit] = chart.Rect{Y: 2, W: left, H: auditH}
		at[sectionFiles] = chart.Rect{Y: 2 + auditH, W: left, H: body.H - auditH}
		runH := body.H / 2
		at[sectionRun] = chart.Rect{X: left, Y: 2, W: p.width - left, H: runH}
		at[sectionStart] = chart.Rect{X: left, Y: 2 + runH, W: p.width - left, H: body.H - runH}
	}
	return at
}

func (p *serverPage) reasonLines(w int) int { return panel.RowsHeight(panel.AuditReasons(&p.facts), w) }

func (s section) title() string {
	return [...]string{"metrics beside Layer 1", "run", "start-up", "files"}[s]
}

func (p *serverPage) rows(s section) []panel.Row {
	switch s {
	case sectionRun:
		return panel.RunRows(&p.facts)
	case sectionStart:
		if p.log == nil || !p.log.State.Found {
			return []panel.Row{{Name: "no " + rundir.ServerLogName + " in the run's folder"}}
		}
		return panel.StartupRows(p.log, p.zone)
	case sectionFiles:
		return panel.FileRows(p.facts.Contents, p.zone)
	}
	return panel.AuditReasons(&p.facts)
}

// right is what the border of a section says.
func (p *serverPage) right(s section) string {
	switch c := p.facts.Contents; {
	case p.width < serverBeside:
		return unit.Count(int64(s)+1) + " of " + unit.Count(int64(sections)) + "  tab next"
	case s == sectionFiles && c != nil:
		return unit.Counted(len(c.Files), "file") + "  " + unit.Bytes(c.Bytes)
	}
	return ""
}

func (p *serverPage) draw(g *chart.Grid) {
	for s, r := range p.areas() {
		if r.Empty() {
			continue
		}
		s, box := section(s), g.Sub(r)
		if s == sectionAudit {
			p.drawAudit(box)
			continue
		}
		p.texts[s].draw(box, s.title(), p.right(s), s == p.focus, p.rows(s))
	}
}

// drawAudit draws the table, and the reasons below it.
func (p *serverPage) drawAudit(g *chart.Grid) {
	h := panel.AuditHeight(&p.facts) + 1
	reasons := p.rows(sectionAudit)
	title := sectionAudit.title()
	if p.facts.Audit == nil || len(reasons) == 0 || g.H()-2 <= h {
		inside := g.Box(title, p.right(sectionAudit), p.focus == sectionAudit)
		panel.DrawAudit(inside.Sub(chart.Rect{X: 1, W: inside.W() - 2, H: inside.H()}), &p.facts)
		return
	}
	text := &p.texts[sectionAudit]
	text.draw(g.Sub(chart.Rect{Y: h, W: g.W(), H: g.H() - h}), "", "", p.focus == sectionAudit, reasons)
	right := p.right(sectionAudit)
	if text.total > text.rows {
		right = panel.Below(text.total - text.rows - text.top)
	}
	inside := g.Sub(chart.Rect{W: g.W(), H: h + 1}).Box(title, right, p.focus == sectionAudit)
	panel.DrawAudit(inside.Sub(chart.Rect{X: 1, W: inside.W() - 2, H: inside.H()}), &p.facts)
	border := theme.RoleBorder
	if p.focus == sectionAudit {
		border = theme.RoleFocus
	}
	g.Set(0, h, g.Glyphs.TeeLeft, border)
	g.Set(g.W()-1, h, g.Glyphs.TeeRight, border)
}

// text is the section that has the focus.
func (p *serverPage) copied() []string {
	g := chart.NewGrid(120, panel.RowsHeight(p.rows(p.focus), 120), theme.UnicodeGlyphs())
	panel.DrawRows(g, p.rows(p.focus), 0)
	lines := []string{p.focus.title() + "  " + p.facts.Run.ID}
	if p.focus == sectionAudit {
		table := chart.NewGrid(120, panel.AuditHeight(&p.facts), theme.UnicodeGlyphs())
		panel.DrawAudit(table, &p.facts)
		lines = append(lines, strings.Split(table.Plain(), "\n")...)
	}
	return append(lines, strings.Split(g.Plain(), "\n")...)
}
