package chart

import (
	"opprof/engine/unit"
	"opprof/tui/theme"
)

// Hist is a histogram as horizontal bars, one line per bin from the lowest: label, bar, count, and the share of the total where there is
// room. With fewer lines than bins, neighbours are drawn as one bin, so that the counts on screen always add up to the total.
type Hist struct {
	Labels  []string // upper edge of each bin; the last bin is open
	Counts  []int64
	Unknown bool // the counts are not known: labels with "-"
	Role    theme.Role
	Max     int64 // count of a full bar; 0 takes the largest count
}

const (
	shareW    = 6 // "99.9 %"
	minShareW = 8 // columns of bar that the share column must leave
)

// Draw fills g.
func (h Hist) Draw(g *Grid) {
	n := min(len(h.Labels), len(h.Counts))
	groups := foldRanges(n, g.H())
	labels := foldLabels(h.Labels[:n], groups)
	counts := make([]int64, len(groups))
	var total int64
	top := h.Max
	for i, r := range groups {
		for _, c := range h.Counts[r[0]:r[1]] {
			counts[i] += c
		}
		total += counts[i]
		if h.Max <= 0 {
			top = max(top, counts[i])
		}
	}
	p := h.place(g.W(), labels, counts)
	for y, c := range counts {
		g.TextRight(0, y, p.labelW, labels[y], theme.RoleAxis)
		text, part, role := unit.Count(c), unit.Share(c, total), h.Role
		if h.Unknown {
			text, part, c = unit.Unknown, unit.Unknown, 0
		}
		if c == 0 {
			role = theme.RoleDim
		}
		bar(g, Rect{X: p.labelW + 1, Y: y, W: p.barW, H: 1}, ratio(c, top), h.Role)
		g.TextRight(p.countX, y, p.countW, text, role)
		if p.share {
			g.TextRight(p.countX+p.countW+1, y, shareW, part, theme.RoleDim)
		}
	}
}

// histPlace is where the columns of a histogram are.
type histPlace struct {
	labelW, barW, countX, countW int
	share                        bool
}

// place gives labels and counts what they need, then the share its column, and the bars the rest. In a narrow grid the bars go first, then
// the labels: the count is what a reader came for.
func (h Hist) place(w int, labels []string, counts []int64) histPlace {
	p := histPlace{countW: 1}
	for i, l := range labels {
		p.labelW = max(p.labelW, columns(l))
		p.countW = max(p.countW, columns(unit.Count(counts[i])))
	}
	p.countW = min(p.countW, w)
	p.labelW = max(0, min(p.labelW, w-p.countW-1))
	p.barW = w - p.labelW - 2 - p.countW
	if p.share = p.barW-shareW-1 >= minShareW; p.share {
		p.barW -= shareW + 1
	}
	p.countX = p.labelW + 1
	if p.barW > 0 {
		p.countX += p.barW + 1
	}
	return p
}
