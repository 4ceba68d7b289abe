package tui

import (
	"strconv"
	"strings"

	"opprof/tui/chart"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

// comparedKinds is how many kinds of steps a comparison on the screen lists.
const comparedKinds = 60

// header tells of the folder in the first line.
func (p *runsPage) header(g *chart.Grid, s panel.Status) { panel.RunsHeader(g, s, p.roster) }

func (p *runsPage) draw(g *chart.Grid) {
	body := g.Sub(chart.Rect{Y: bodyTop, W: p.width, H: p.height - bodyTop - 1})
	switch {
	case p.comparing != nil:
		p.comparing.draw(body)
	case p.roster == nil:
		body.Box("runs", "", true).Text(1, 0, p.width-4, "listing the folder", theme.RoleDim)
	default:
		p.drawList(body)
	}
}

// drawList draws the table and what is to say about the selected run below it.
func (p *runsPage) drawList(g *chart.Grid) {
	inside := within(g)
	table := p.drawRemarks(inside)
	s := panel.RunsTable(&g.Glyphs, p.view, p.rows, p.marked, p.zone)
	s.Cursor, s.Focus, s.Top = p.at(), true, p.top
	switch {
	case len(p.roster.Runs) > 0 && len(p.rows) == 0:
		s.Empty = "no run holds " + strconv.Quote(p.view.Filter) + ": esc shows all"
	case p.roster.Problem != "":
		s.Empty = p.roster.Problem
	case len(p.rows) == 0:
		s.Empty = "no run in this folder: opprof launch makes one"
	}
	right := p.right()
	if n := s.Below(table.H()); n > 0 {
		right = panel.Below(n) + "  " + right
	}
	g.Box("runs", right, true)
	s.Draw(table)
	p.top = s.Top
	p.list = chart.Rect{X: 0, Y: bodyTop + 2, W: p.width, H: panel.SheetRows(table.H(), false)}
}

// right says how the list is filtered and sorted.
func (p *runsPage) right() string {
	text := strconv.Itoa(len(p.rows)) + " of " + strconv.Itoa(len(p.roster.Runs))
	if p.view.Filter != "" {
		text += "  with " + strconv.Quote(p.view.Filter)
	}
	if p.view.Sort != "" {
		text += "  by " + p.view.Sort
		if p.view.Turned {
			text += ", largest first"
		}
	}
	return text
}

// drawRemarks writes about the selected run at the foot of g, and returns what is left for the table.
func (p *runsPage) drawRemarks(g *chart.Grid) *chart.Grid {
	const least, most = 9, 4
	at := p.at()
	if at < 0 || g.H() < least {
		return g
	}
	texts, role := panel.RunRemarks(&p.rows[at])
	var lines []string
	for _, t := range texts {
		lines = append(lines, wrap(t, g.W())...)
	}
	lines = clipped(lines, most, g.W(), g.Glyphs.Ellipsis)
	y := g.H() - len(lines)
	for i, l := range lines {
		r := role
		if i == 0 {
			r = theme.RoleDim
		}
		g.Text(0, y+i, g.W(), l, r)
	}
	return g.Sub(chart.Rect{W: g.W(), H: y - 1})
}

func (c *comparing) draw(g *chart.Grid) {
	inside := within(g)
	c.rows = inside.H()
	if c.shown != nil {
		c.total = c.shown.Height(inside.W())
	}
	c.top = max(0, min(c.top, c.total-c.rows))
	right := "esc back"
	if below := c.total - c.rows - c.top; below > 0 {
		right = panel.Below(below) + "  esc back"
	}
	g.Box(fitting([]string{"comparison of a " + c.a + " and b " + c.b, "comparison of a and b"}, right, g.W()), right, true)
	switch {
	case c.err != nil:
		why := c.err.Error()
		if !strings.HasPrefix(why, "cannot ") {
			why = "cannot compare: " + why
		}
		for y, l := range wrap(why, inside.W()) {
			inside.Text(0, y, inside.W(), l, theme.RoleBad)
		}
	case c.shown == nil:
		inside.Text(0, 0, inside.W(), "reading both runs; esc goes back and stops it", theme.RoleDim)
	default:
		c.shown.Draw(inside, c.top)
	}
}

// within is what a box around g leaves to text, with a blank at either side.
func within(g *chart.Grid) *chart.Grid {
	return g.Sub(chart.Rect{X: 2, Y: 1, W: g.W() - 4, H: g.H() - 2})
}
