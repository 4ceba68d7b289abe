package panel

import (
	"unicode/utf8"

	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// tableColumn is a column of a table: a heading, and how its cells are aligned.
type tableColumn struct {
	head  string
	right bool
}

// cell is one value of a table.
type cell struct {
	text string
	role theme.Role
}

// table draws a heading line and rows, each column as wide as its widest cell; columns that do not fit are left out from the right. When
// there are more rows than lines, the last rows are shown and the heading says how many are above, shorter where there is little room.
func table(g *chart.Grid, columns []tableColumn, rows [][]cell, more string) {
	if g.H() == 0 {
		return
	}
	hidden := max(0, len(rows)-(g.H()-1))
	rows = rows[hidden:]
	x := 0
	for i, c := range columns {
		w := utf8.RuneCountInString(c.head)
		for _, r := range rows {
			w = max(w, utf8.RuneCountInString(r[i].text))
		}
		if x+w > g.W() {
			if x > 0 {
				break
			}
			w = g.W()
		}
		tableCells(g, x, w, i, c, rows)
		x += w + 2
	}
	if hidden > 0 && more != "" {
		text := fit([]string{more, "+" + unit.Count(int64(hidden))}, g.W()-x)
		g.TextRight(x, 0, g.W()-x, text, theme.RoleDim)
	}
}

func tableCells(g *chart.Grid, x, w, i int, c tableColumn, rows [][]cell) {
	put := g.Text
	if c.right {
		put = g.TextRight
	}
	put(x, 0, w, c.head, theme.RoleDim)
	for y, r := range rows {
		put(x, y+1, w, r[i].text, r[i].role)
	}
}
