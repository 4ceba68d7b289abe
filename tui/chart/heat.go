package chart

import "opprof/tui/theme"

// Heat is a histogram over time: a line per bin, lowest at the bottom, a column per time bucket, newest at the right, shaded by the share
// of the largest cell. Unknown is blank and zero is a dot. With fewer lines than bins, neighbours are added up into one line.
type Heat struct {
	Labels []string  // upper edge of each bin, lowest first; the last bin is open
	Rows   [][]Value // values by bin and time; the newest of all rows belong together
	Max    float64   // value of the darkest cell; 0 takes the largest that is shown
	LabelW int       // columns for labels, 0 is 5
	Cursor int       // columns from the right, 1 is the newest; 0 has no cursor
}

// PlotOf returns the columns that cells get in a grid of w columns.
func (h Heat) PlotOf(w int) Plot { return plotOf(w, h.LabelW, 0) }

// Draw fills g and returns where the cells are.
func (h Heat) Draw(g *Grid) Plot {
	p := h.PlotOf(g.W())
	if p.W == 0 || g.H() == 0 {
		return p
	}
	rows, labels := h.fold(p.W, g.H())
	top := h.Max
	for _, r := range rows {
		if t, ok := highest(r); h.Max <= 0 && ok {
			top = max(top, t)
		}
	}
	for i, r := range rows {
		y := g.H() - 1 - i
		g.TextRight(0, y, p.X-1, labels[i], theme.RoleAxis)
		g.Set(p.X-1, y, g.Glyphs.Vertical, theme.RoleAxis)
		for x, v := range r {
			if v.Known {
				level := heatLevel(v.V, top)
				g.Set(p.X+p.W-len(r)+x, y, g.Glyphs.Heat[level], heatRole(level))
			}
		}
	}
	drawCursor(g.Sub(Rect{X: p.X, Y: g.H() - len(rows), W: p.W, H: len(rows)}), h.Cursor)
	return p
}

// fold returns the newest w values of at most h rows, lowest first.
func (h Heat) fold(w, height int) ([][]Value, []string) {
	n := min(len(h.Labels), len(h.Rows))
	groups := foldRanges(n, height)
	rows := make([][]Value, len(groups))
	for i, r := range groups {
		group := h.Rows[r[0]:r[1]]
		length := 0
		for _, row := range group {
			length = max(length, len(row))
		}
		length = min(length, w)
		rows[i] = make([]Value, length)
		for x := range length {
			rows[i][x] = sum(group, x, length)
		}
	}
	return rows, foldLabels(h.Labels[:n], groups)
}

const heatLevels = 5

// heatLevel is 0 for nothing, else the fifth of top that v lies in, 1 to 5, edges included: any value above zero is visible.
func heatLevel(v, top float64) int {
	if v <= 0 || top <= 0 {
		return 0
	}
	for level := 1; level < heatLevels; level++ {
		if v*heatLevels <= top*float64(level) {
			return level
		}
	}
	return heatLevels
}

// heatRole gives neighbouring levels one colour where their shades differ: a picture that moves on is written cell by cell, and half of its bytes would
// be changes of colour.
func heatRole(level int) theme.Role {
	switch {
	case level <= 2:
		return theme.RoleHeat1
	case level <= 4:
		return theme.RoleHeat3
	}
	return theme.RoleHeat5
}
