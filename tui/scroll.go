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
	to, ok := shifted(id, s.top, max(0, s.total-s.rows), s.rows)
	s.top = to
	return ok
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

// shifted is where a key takes a position among 0 to last by single steps, pages and ends. ok is false for any other key, and where there is
// no position.
func shifted(id keys.ID, at, last, page int) (to int, ok bool) {
	switch id {
	case keys.Down:
		at++
	case keys.Up:
		at--
	case keys.PageDown:
		at += max(1, page-1)
	case keys.PageUp:
		at -= max(1, page-1)
	case keys.Top:
		at = 0
	case keys.Bottom:
		at = last
	default:
		return at, false
	}
	return max(0, min(at, last)), last >= 0
}

// wheeled turns the wheel into presses of an arrow.
func wheeled(up bool, press func(keys.ID)) {
	id := keys.Down
	if up {
		id = keys.Up
	}
	for range wheelLines {
		press(id)
	}
}
