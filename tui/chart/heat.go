package chart

import "opprof/tui/theme"

// Heat is a histogram over time: a line per bin, lowest at the bottom, a column per time bucket, newest at the right, shaded by the share of the
// largest cell. Unknown is blank and zero is a dot.
type Heat struct {
	Labels []string  // upper edge of each bin, lowest first
	Rows   [][]Value // values by bin and time
	Max    float64   // value of the darkest cell; 0 takes the largest that is shown
	LabelW int       // columns for labels, 0 is 5
}

// Draw fills g and returns where the cells are.
func (h Heat) Draw(g *Grid) Plot {
	p := Series{LabelW: h.LabelW}.PlotOf(g.W())
	n := min(len(h.Labels), len(h.Rows))
	top := h.Max
	for _, r := range h.Rows[:n] {
		if t, ok := highest(tail(r, p.W)); h.Max <= 0 && ok {
			top = max(top, t)
		}
	}
	for i := range min(n, g.H()) {
		y := g.H() - 1 - i
		g.TextRight(0, y, p.X-1, h.Labels[i], theme.RoleAxis)
		values := tail(h.Rows[i], p.W)
		for x, v := range values {
			if v.Known {
				level := heatLevel(v.V, top)
				g.Set(p.X+p.W-len(values)+x, y, g.Glyphs.Heat[level], heatRole(level))
			}
		}
	}
	return p
}

const heatLevels = 5

// heatLevel is 0 for nothing, else 1 to 5: any value above zero is visible.
func heatLevel(v, top float64) int {
	if v <= 0 || top <= 0 {
		return 0
	}
	return max(1, min(heatLevels, 1+int(v/top*heatLevels-1e-9)))
}

func heatRole(level int) theme.Role {
	if level <= 0 {
		return theme.RoleDim
	}
	return theme.RoleHeat1 + theme.Role(min(level, heatLevels)-1)
}
