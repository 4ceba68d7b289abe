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

// Draw fills g.
func (h Hist) Draw(g *Grid) {
	bins := h.bins()
	labels, counts := Fold(bins, h.Counts[:len(bins)], g.H())
	var total, top int64
	for _, c := range counts {
		total += c
		top = max(top, c)
	}
	if h.Max > 0 {
		top = h.Max
	}
	labelW, countW := 0, 1
	for i, l := range labels {
		labelW = max(labelW, columns(l))
		countW = max(countW, columns(unit.Count(counts[i])))
	}
	const shareW = 6
	barX := labelW + 1
	barW := g.W() - barX - 1 - countW
	share := barW-shareW-1 >= 8
	if share {
		barW -= shareW + 1
	}
	for y, c := range counts {
		g.TextRight(0, y, labelW, labels[y], theme.RoleAxis)
		text, part, role := unit.Count(c), unit.Share(c, total), h.Role
		if h.Unknown {
			text, part, c = unit.Unknown, unit.Unknown, 0
		}
		if c == 0 {
			role = theme.RoleDim
		}
		if barW > 0 {
			bar(g, Rect{X: barX, Y: y, W: barW, H: 1}, ratio(c, top), h.Role)
		}
		g.TextRight(barX+barW+1, y, countW, text, role)
		if share {
			g.TextRight(barX+barW+1+countW+1, y, shareW, part, theme.RoleDim)
		}
	}
}

func (h Hist) bins() []string {
	return h.Labels[:min(len(h.Labels), len(h.Counts))]
}

// Fold merges neighbouring bins until there are at most rows of them. Labels are upper edges: a merged bin has that of its last one, and
// the open last bin, merged, starts where the bin before it ends.
func Fold(labels []string, counts []int64, rows int) ([]string, []int64) {
	n := min(len(labels), len(counts))
	if rows <= 0 {
		return nil, nil
	}
	if n <= rows {
		return labels[:n], counts[:n]
	}
	outL, outC := make([]string, rows), make([]int64, rows)
	for i := range rows {
		from, to := i*n/rows, (i+1)*n/rows
		for _, c := range counts[from:to] {
			outC[i] += c
		}
		outL[i] = labels[to-1]
		if i == rows-1 && to-from > 1 && from > 0 {
			outL[i] = ">" + labels[from-1]
		}
	}
	return outL, outC
}
