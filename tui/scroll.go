package tui

import (
	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/panel"
)

// scroll is a box of rows that may be longer than the screen.
type scroll struct {
	top   int
	rows  int // visible at the last drawing
	total int
}

// press moves, and reports whether the key was one that moves.
func (s *scroll) press(id keys.ID) bool {
	switch id {
	case keys.Down:
		s.top++
	case keys.Up:
		s.top--
	case keys.PageDown:
		s.top += max(1, s.rows-1)
	case keys.PageUp:
		s.top -= max(1, s.rows-1)
	case keys.Top:
		s.top = 0
	case keys.Bottom:
		s.top = s.total
	default:
		return false
	}
	s.top = max(0, min(s.top, s.total-s.rows))
	return true
}

// draw fills g with a box. The border says how much lies below.
func (s *scroll) draw(g *chart.Grid, title, right string, focus bool, rows []panel.Row) {
	w := g.W() - 4
	s.rows, s.total = max(0, g.H()-2), panel.RowsHeight(rows, w)
	s.top = max(0, min(s.top, s.total-s.rows))
	if below := s.total - s.rows - s.top; s.total > s.rows {
		right = panel.Below(below)
	}
	inside := g.Box(title, right, focus)
	panel.DrawRows(inside.Sub(chart.Rect{X: 1, W: w, H: inside.H()}), rows, s.top)
}
