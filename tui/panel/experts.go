package panel

import (
	"cmp"
	"slices"
	"strconv"

	"opprof/engine/unit"
	"opprof/traces/experts"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// ExpertLayers is the table of a model's layers: how evenly their experts were chosen, and a heat row over the experts of each.
type ExpertLayers struct {
	Report *experts.Report
	Sort   int  // column that layers are sorted by; ExpertByLayer is their own order
	Down   bool // smallest first
	Layer  int  // the selected one, by its index
	Top    int  // first row shown; Draw moves it
	Focus  bool
}

// Columns of the table. Layers stand in their own order at first.
const (
	ExpertByLayer = iota
	expertHeat
	expertEntropy
	expertMax
	expertCV
	expertTop
	expertUnused
	expertRankMax
	expertRankCV
	expertWait
	expertTokens
	expertColumns
)

const (
	heatLeast = 16  // columns of a heat row
	heatMost  = 256 // beyond, a row is too long to be looked at
)

// heatWidth is what heat rows of n experts get of a table of w columns: about half, in whole cells of few experts.
func heatWidth(n, w int) int {
	each := 1
	for (n+each-1)/each > max(heatLeast, w*4/7) {
		each *= 2
	}
	return max(heatLeast, (n+each-1)/each)
}

// NextExpertSort is the column after another that layers can be sorted by; those of ranks only where there are any.
func NextExpertSort(column int, ranks bool) int {
	for {
		column = (column + 1) % expertColumns
		if column != expertHeat && (ranks || column < expertRankMax || column > expertWait) {
			return column
		}
	}
}

// ExpertSort names a column that layers are sorted by; "" for their own order.
func ExpertSort(column int) string {
	if column == ExpertByLayer {
		return ""
	}
	return expertHeads(0)[column]
}

func expertHeads(k int) []string {
	top := "top-k"
	if k > 0 {
		top = "top-" + strconv.Itoa(k)
	}
	return []string{"layer", "", "entropy", "max/mean", "CV", top, "unused", "rank max", "rank CV", "waits", "tokens"}
}

// value is a figure of a layer for sorting; ok is false where it is not known.
func expertValue(l *experts.LayerReport, column int) (v float64, ok bool) {
	of := func(p *float64) (float64, bool) {
		if p == nil {
			return 0, false
		}
		return *p, true
	}
	ep := l.EP
	if ep == nil {
		ep = &experts.Imbalance{}
	}
	switch column {
	case expertEntropy:
		return of(l.Evenness)
	case expertMax:
		return of(l.MaxOverMean)
	case expertCV:
		return of(l.CV)
	case expertTop:
		return of(l.TopShare)
	case expertUnused:
		return float64(l.Unused), l.Choices > 0
	case expertRankMax:
		return of(ep.MaxOverMean)
	case expertRankCV:
		return of(ep.CV)
	case expertWait:
		return of(ep.Lost)
	case expertTokens:
		return float64(l.Tokens), true
	}
	return float64(l.Layer), true
}

// Order are the layers by their index, as the table lists them. What is not known comes last.
func (p *ExpertLayers) Order() []int {
	order := make([]int, len(p.Report.Layer))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, okX := expertValue(&p.Report.Layer[a], p.Sort)
		y, okY := expertValue(&p.Report.Layer[b], p.Sort)
		switch {
		case okX != okY:
			if okX {
				return -1
			}
			return 1
		case (p.Sort == ExpertByLayer) != p.Down:
			return cmp.Compare(x, y)
		}
		return cmp.Compare(y, x)
	})
	return order
}

// sheet is the table of w columns without its heat rows.
func (p *ExpertLayers) sheet(w int) *Sheet {
	r := p.Report
	heads := expertHeads(r.TopK)
	s := &Sheet{Cursor: -1, Sort: p.Sort, Top: p.Top, Focus: p.Focus, Empty: "no routed experts were read", Columns: []SheetColumn{
		{Head: heads[0], Right: true}, {Head: heads[1], Flex: true, Least: heatWidth(r.Experts, w)}, {Head: heads[2], Right: true}, {Head: heads[3], Right: true, Weight: 9}, {Head: heads[4], Right: true, Weight: 4},
		{Head: heads[5], Right: true, Weight: 8}, {Head: heads[6], Right: true, Weight: 3}, {Head: heads[7], Right: true, Weight: 9}, {Head: heads[8], Right: true, Weight: 2}, {Head: heads[9], Right: true, Weight: 5},
		{Head: heads[10], Right: true, Weight: 1},
	}}
	if r.EPRanks == 0 {
		s.Columns = slices.Delete(s.Columns, expertRankMax, expertTokens)
	}
	for row, i := range p.Order() {
		s.Rows = append(s.Rows, p.cells(&r.Layer[i], theme.RoleText))
		if i == p.Layer {
			s.Cursor = row
		}
	}
	if len(s.Rows) > 0 {
		s.Total = p.cells(&r.All, theme.RoleTitle)
	}
	if s.Sort >= len(s.Columns) {
		s.Sort = -1
	}
	return s
}

// cells are the figures of a layer, or of all.
func (p *ExpertLayers) cells(l *experts.LayerReport, role theme.Role) []Cell {
	attr := theme.Attr(0)
	if l.Layer < 0 {
		attr = theme.Bold
	}
	cell := func(text string) Cell {
		if text == unit.Unknown {
			return Cell{Text: text, Role: theme.RoleDim}
		}
		return Cell{Text: text, Role: role, Attr: attr}
	}
	unused := unit.Unknown
	if l.Choices > 0 {
		unused = strconv.Itoa(l.Unused)
	}
	out := []Cell{cell(layerName(l.Layer)), {}, cell(unit.Known(l.Evenness, unit.Percent)), cell(unit.Known(l.MaxOverMean, unit.Number)), cell(unit.Known(l.CV, unit.Number)),
		cell(unit.Known(l.TopShare, unit.Percent)), cell(unused)}
	if p.Report.EPRanks > 0 {
		out = append(out, cell(unit.Known(l.EP.MaxOverMean, unit.Number)), cell(unit.Known(l.EP.CV, unit.Number)), cell(unit.Known(l.EP.Lost, unit.Percent)))
	}
	return append(out, cell(unit.Count(l.Tokens)))
}

func layerName(layer int) string {
	if layer < 0 {
		return "all"
	}
	return strconv.Itoa(layer)
}

// legendLeast is from how many lines on the shades are explained.
const legendLeast = 5

// Place says in a border which of the layers is selected, where h lines do not show all of them.
func (p *ExpertLayers) Place(h int) string {
	if h >= legendLeast {
		h--
	}
	return p.sheet(0).Place(h)
}

// Draw fills g: the table, a heat row in each line, and what the shades mean below.
func (p *ExpertLayers) Draw(g *chart.Grid) {
	s := p.sheet(g.W() - gutter)
	if len(s.Rows) == 0 {
		s.Draw(g)
		return
	}
	body := g
	if g.H() >= legendLeast {
		body = g.Sub(chart.Rect{W: g.W(), H: g.H() - 1})
		p.legend(g.Row(g.H() - 1))
	}
	s.Draw(body)
	p.Top = s.Top
	inner := body.Sub(chart.Rect{X: gutter, W: body.W() - gutter, H: body.H()})
	widths := s.widths(inner.W())
	heat := inner.Sub(chart.Rect{X: widths[0] + s.gap(0, widths), W: widths[expertHeat], H: inner.H()})
	cells := NewExpertCells(p.Report.Experts, heat.W())
	heat.Text(0, 0, heat.W(), cells.Head(heat.W()), theme.RoleDim)
	order := p.Order()
	for y := range SheetRows(body.H(), true) {
		if s.Top+y < len(order) {
			cells.draw(heat.Row(y+1), p.Report.Layer[order[s.Top+y]].Counts)
		}
	}
	cells.draw(heat.Row(body.H()-1), p.Report.All.Counts)
}

func (p *ExpertLayers) legend(g *chart.Grid) {
	const whole = 57
	x := 0
	if g.W() >= whole {
		x = g.Text(0, 0, g.W(), "of mean", theme.RoleDim) + 2
	}
	for level, text := range []string{"0", "to 0.5", "to 1.25", "to 2", "to 4", "more"} {
		r, role := expertShade(&g.Glyphs, level)
		g.Set(x, 0, r, role)
		x += 2 + g.Text(x+2, 0, g.W()-x-2, text, theme.RoleDim) + 2
	}
}

// expertShade is the glyph of a level, each of its own, so that no two are told by their colour alone.
func expertShade(gl *theme.Glyphs, level int) (rune, theme.Role) {
	r := gl.Heat[level]
	if level == 5 && r == gl.Heat[4] {
		r = gl.Triangle
	}
	return r, [...]theme.Role{theme.RoleDim, theme.RoleHeat1, theme.RoleHeat2, theme.RoleHeat3, theme.RoleHeat4, theme.RoleHeat5}[level]
}

// expertLevel is 0 for no choice, else how a load compares with the mean of its layer.
func expertLevel(count int64, mean float64) int {
	if count == 0 || mean <= 0 {
		return 0
	}
	level := 1
	for _, edge := range []float64{0.5, 1.25, 2, 4} {
		if float64(count) > edge*mean {
			level++
		}
	}
	return level
}

// ExpertCells are the cells of a heat row. Each stands for so many neighbouring experts, all for the same number but the last.
type ExpertCells struct{ Experts, Each int }

// NewExpertCells shares experts out to at most so many columns.
func NewExpertCells(n, columns int) ExpertCells {
	columns = min(columns, heatMost)
	if n < 1 || columns < 1 {
		return ExpertCells{n, max(1, n)}
	}
	each := (n + columns - 1) / columns
	for d := each; d < 2*each; d++ { // the same number in every cell, where that costs few cells
		if n%d == 0 {
			each = d
			break
		}
	}
	return ExpertCells{n, each}
}

// Count is how many cells there are.
func (c ExpertCells) Count() int { return (c.Experts + c.Each - 1) / c.Each }

// Head says what a cell is, in at most w columns.
func (c ExpertCells) Head(w int) string {
	if c.Experts == 0 {
		return "experts"
	}
	last := strconv.Itoa(c.Experts - 1)
	texts := []string{"experts 0 to " + last, "0 to " + last}
	if c.Each > 1 {
		each := strconv.Itoa(c.Each)
		texts = []string{"experts 0 to " + last + ", " + each + " a cell, the largest of them", each + " experts a cell, the largest of them", each + " a cell, the largest of them", each + " a cell, the largest", each + " a cell"}
	}
	for _, t := range texts {
		if len(t) <= w {
			return t
		}
	}
	return texts[len(texts)-1]
}

// Loads are the largest counts of each cell.
func (c ExpertCells) Loads(counts []int64) []int64 {
	out := make([]int64, 0, c.Count())
	for group := range slices.Chunk(counts, c.Each) {
		out = append(out, slices.Max(group))
	}
	return out
}

func (c ExpertCells) draw(g *chart.Grid, counts []int64) {
	var sum int64
	for _, v := range counts {
		sum += v
	}
	if sum == 0 {
		g.Text(0, 0, g.W(), fit([]string{"nothing was routed here", "nothing routed", "nothing"}, g.W()), theme.RoleDim)
		return
	}
	mean := float64(sum) / float64(len(counts))
	for x, v := range c.Loads(counts) {
		r, role := expertShade(&g.Glyphs, expertLevel(v, mean))
		g.Set(x, 0, r, role)
	}
}
