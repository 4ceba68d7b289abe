package tui

import (
	"fmt"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/layout"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

// View returns the screen. It is the same string as long as nothing changed, so that nothing is written to the terminal, and as long as the
// terminal is still busy with an earlier one.
func (m *Model) View() tea.View {
	if m.above != nil {
		return m.above.View()
	}
	if m.stale && !m.opt.behind() {
		m.stale = false
		m.view = tea.NewView(m.draw())
		m.view.AltScreen = true
		if m.mouse {
			m.view.MouseMode = tea.MouseModeCellMotion
		}
		m.view.WindowTitle = "opprof " + chart.Sanitize(m.run.Run.ID)
	}
	return m.view
}

func (m *Model) draw() string {
	if m.width <= 0 || m.height <= 0 {
		return ""
	}
	if m.grid == nil {
		m.grid = chart.NewGrid(m.width, m.height, m.theme.Glyphs)
	}
	g := m.grid
	g.Clear()
	if !layout.Fits(m.width, m.height) {
		drawTooSmall(g)
		return g.Render(m.theme)
	}
	if m.launching() {
		m.drawLaunch(g)
	} else {
		m.page().draw(g)
	}
	if p, ok := m.page().(headed); ok {
		p.header(g.Row(0), m.status())
	} else {
		panel.Header(g.Row(0), m.status())
	}
	panel.Tabs(g.Row(1), m.position())
	m.footer(g.Row(m.height - 1))
	if m.overlay != nil {
		m.overlay.draw(g.Sub(chart.Rect{Y: bodyTop, W: m.width, H: m.height - bodyTop - 1}))
	}
	if m.dialog != nil {
		m.dialog.draw(g.Sub(chart.Rect{Y: bodyTop, W: m.width, H: m.height - bodyTop - 1}))
	}
	return g.Render(m.theme)
}

// drawTooSmall says what there is and what is needed.
func drawTooSmall(g *chart.Grid) {
	lines := []string{
		"terminal too small",
		fmt.Sprintf("have %d x %d", g.W(), g.H()),
		fmt.Sprintf("need %d x %d", layout.MinWidth, layout.MinHeight),
		"q quits",
	}
	top := max(0, (g.H()-len(lines))/2)
	for i, l := range lines {
		x := max(0, (g.W()-utf8.RuneCountInString(l))/2)
		g.Text(x, top+i, g.W()-x, l, theme.RoleText)
	}
}

func (m *Model) status() panel.Status {
	s := m.run
	s.Newest, s.Server = m.newest, m.standing()
	s.Warnings, s.Active = warned(m.warnings)
	s.AgeNS = m.feed.ageNS(m.opt.Now())
	if m.feed.err != nil {
		s.Problem = m.feed.err.Error()
	}
	p := m.page().position()
	s.Frozen, s.BehindNS, s.Past = p.Frozen, p.BehindNS, p.Mode == "past" || p.Mode == "frozen"
	return s
}

func (m *Model) position() panel.Position {
	p := m.page().position()
	p.Visible = m.visible
	for _, other := range m.pages {
		p.Pages = append(p.Pages, other.name())
	}
	return p
}

// footer draws the prompt, a message, or the keys that are of use now, as many as fit whole.
func (m *Model) footer(g *chart.Grid) {
	if m.prompt != nil {
		m.prompt.draw(g)
		return
	}
	if m.fade > 0 && m.notice != "" {
		const apart = 4
		used := 1 + g.Text(1, 0, g.W()-2, m.notice, theme.RoleAccent) + apart
		if used >= g.W() {
			return
		}
		g = g.Sub(chart.Rect{X: used, W: g.W() - used, H: 1})
	}
	context := m.page().keys()
	if m.overlay != nil {
		context = keys.ContextHelp
	}
	if m.dialog != nil {
		context = m.dialog.context()
	}
	var hints []hint
	for _, b := range m.opt.Keys.Footer(context, m.needs()) {
		h := hint{b.Label(), b.Help}
		if b.ID == keys.Quit && m.leaving != bottom && m.overlay == nil {
			h.help = "back"
		}
		hints = append(hints, h)
	}
	drawHints(g, hints)
}

type hint struct{ key, help string }

// drawHints writes the hints that fit. The last two, help and quit, come first when there is too little room.
func drawHints(g *chart.Grid, hints []hint) {
	const gap = 3
	width := func(h hint) int { return utf8.RuneCountInString(h.key) + 1 + utf8.RuneCountInString(h.help) }
	reserved := 0
	tail := hints[max(0, len(hints)-2):]
	for _, h := range tail {
		reserved += width(h) + gap
	}
	x := 1
	put := func(h hint) {
		x += g.Text(x, 0, g.W()-x, h.key, theme.RoleKey)
		x += 1 + g.Text(x+1, 0, g.W()-x-1, h.help, theme.RoleDim)
		x += gap
	}
	for _, h := range hints[:len(hints)-len(tail)] {
		if x+width(h)+gap+reserved > g.W() {
			break
		}
		put(h)
	}
	for _, h := range tail {
		if x+width(h) < g.W() {
			put(h)
		}
	}
}
