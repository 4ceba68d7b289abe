package tui

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

// areas are the rectangles of the panes; each shares its upper border with the one above.
func (p *expertsPage) areas() [expertPanes]chart.Rect {
	var at [expertPanes]chart.Rect
	if !layout.Fits(p.width, p.height) {
		return at
	}
	const top, footer, frame, head = 2, 1, 1, 1 // a pane shares its upper border
	left := p.height - top - footer
	problems := 0
	if rows := len(p.problems().Rows); p.pane == paneProblems || p.report == nil && rows > 0 {
		problems = min(frame+head+max(1, rows), left/2)
	} else if rows > 0 {
		problems = min(frame+head+rows, max(frame+head+2, left/6))
	}
	extremes := 0
	if p.report != nil && left-problems >= 16 {
		extremes = max(frame+head+3, min(frame+head+p.extremeRows(), (left-problems)/3))
	}
	if p.pane == paneExtremes && extremes == 0 && p.report != nil {
		extremes, problems = left/2, 0
	}
	y := top
	for pane, h := range [expertPanes]int{left - extremes - problems, extremes, problems} {
		if h > 0 {
			if pane > 0 {
				y--
				h++
			}
			at[pane] = chart.Rect{Y: y, W: p.width, H: h}
			y += h
		}
	}
	return at
}

// extremeRows is how many rows the extremes may use: half of the experts stand on either side, but there are more ranks perhaps.
func (p *expertsPage) extremeRows() int {
	const most = 16
	return min(most, max(p.report.EPRanks, (p.report.Experts+1)/2))
}

// visible is how many rows of a pane are seen.
func (p *expertsPage) visible(pane expertPane) int {
	h := p.areas()[pane].H - 2
	if pane == paneLayers {
		return panel.SheetRows(h-1, true) // without the legend
	}
	return panel.SheetRows(h, false)
}

func (p *expertsPage) draw(g *chart.Grid) {
	if p.list == nil {
		text := "looking for routed experts"
		if p.err != nil {
			text = p.err.Error()
		}
		g.Text(2, 3, g.W()-4, text, theme.RoleDim)
		return
	}
	areas := p.areas()
	for pane, r := range areas {
		if !r.Empty() {
			p.drawPane(g.Sub(r), expertPane(pane))
		}
	}
	tees(g, areas[:])
}

// tees joins the borders of boxes that stand below each other.
func tees(g *chart.Grid, boxes []chart.Rect) {
	for _, r := range boxes {
		if !r.Empty() && r.Y > bodyTop {
			role := g.Role(r.X, r.Y)
			g.Set(r.X, r.Y, g.Glyphs.TeeLeft, role)
			g.Set(r.X+r.W-1, r.Y, g.Glyphs.TeeRight, role)
		}
	}
}

func (p *expertsPage) drawPane(g *chart.Grid, pane expertPane) {
	titles, right := p.heading(pane)
	right = placed(titles, right, p.place(pane, g.H()-2), g.W())
	box := g.Box(fitting(titles, right, g.W()), right, pane == p.pane)
	inside := box.Sub(chart.Rect{X: 1, W: box.W() - 2, H: box.H()})
	switch {
	case pane == paneProblems:
		s := p.problems()
		s.Draw(inside)
		p.problemsTop = s.Top
	case p.report == nil:
		inside.Text(0, 0, inside.W(), p.nothing(), theme.RoleDim)
	case pane == paneExtremes:
		panel.ExpertExtremes(&p.report.Layer[p.layer], panel.SheetRows(inside.H(), false)).Draw(inside)
	default:
		table := p.layers()
		table.Draw(inside)
		p.top = table.Top
	}
}

// place is what a pane of h lines shows of its table, where that is not all.
func (p *expertsPage) place(pane expertPane, h int) string {
	switch {
	case pane == paneProblems:
		return p.problems().Place(h)
	case pane == paneLayers && p.report != nil:
		return p.layers().Place(h)
	}
	return "" // the extremes are cut off in the middle, where nothing is extreme
}

// placed is the text at the right of a border with the place in a table behind it; where there is no room for both, the place alone.
func placed(titles []string, right, place string, w int) string {
	switch both := right + "  " + place; {
	case place == "":
		return right
	case right == "", !roomy(titles[len(titles)-1:], both, w):
		return place
	default:
		return both
	}
}

// fitting is the first of some titles, best first, that leaves room for the text at the right.
func fitting(titles []string, right string, w int) string {
	for i, t := range titles {
		if roomy(titles[i:i+1], right, w) {
			return t
		}
	}
	return titles[len(titles)-1]
}

// roomy reports whether a border of w columns has room for one of some titles and the text at the right.
func roomy(titles []string, right string, w int) bool {
	const pads = 8
	return slices.ContainsFunc(titles, func(t string) bool { return utf8.RuneCountInString(t)+utf8.RuneCountInString(right)+pads < w })
}

// nothing says why there is no table.
func (p *expertsPage) nothing() string {
	if p.list.Done < p.list.Of {
		return "reading"
	}
	return "no routed experts could be read: the problems say why"
}

// heading are the titles of a pane, best first, and the text at the right of its border.
func (p *expertsPage) heading(pane expertPane) (titles []string, right string) {
	r := p.report
	switch {
	case pane == paneProblems:
		n := 0
		for _, f := range p.list.Files {
			n += len(f.Problems)
		}
		return []string{"problems and remarks"}, unit.Counted(n, "problem") + " in " + unit.Counted(len(p.list.Files), "file")
	case r == nil:
		return []string{"routed experts"}, p.progress()
	case pane == paneExtremes:
		l := &r.Layer[p.layer]
		name := "layer " + strconv.Itoa(p.layer)
		right := unit.Counted(l.Choices, "choice")
		if r.EPRanks > 0 {
			right += "  " + unit.Counted(r.EPRanks, "rank") + ", " + r.Placement
		}
		return []string{name + "  its busiest and least busy experts", name}, right
	}
	model, short := unit.Counted(r.Layers, "layer")+" of "+unit.Counted(r.Experts, "expert")+", "+strconv.Itoa(r.TopK)+" a token", strconv.Itoa(r.Layers)+" x "+strconv.Itoa(r.Experts)
	switch {
	case r.Experts == 0: // no id was seen
		model, short = unit.Counted(r.Layers, "layer")+", "+unit.Counted(r.TopK, "expert")+" a token", unit.Counted(r.Layers, "layer")
	case r.ExpertsFrom != "given":
		model = unit.Counted(r.Layers, "layer") + " of " + unit.Counted(r.Experts, "expert") + " (largest id), " + strconv.Itoa(r.TopK) + " a token"
	}
	return []string{"routed experts  " + model, "experts  " + model, "experts  " + short, "experts"}, p.progress()
}

// progress says how far reading is, how the table is sorted, and what was counted.
func (p *expertsPage) progress() string {
	l := p.list
	var parts []string
	if name := panel.ExpertSort(p.sort); name != "" {
		order := "largest first"
		if p.down {
			order = "smallest first"
		}
		parts = append(parts, "by "+name+", "+order)
	}
	if l.Done < l.Of {
		parts = append(parts, "files read "+strconv.Itoa(l.Done)+" of "+strconv.Itoa(l.Of))
	}
	if p.report != nil {
		parts = append(parts, unit.Counted(p.report.Tokens, "token")+" in "+unit.Counted(p.report.Arrays, "array"))
	}
	return strings.Join(parts, "  ")
}

// copied are the lines of the pane that has the focus, whole. Counts are exact there.
func (p *expertsPage) copied() []string {
	if p.list == nil {
		return nil
	}
	const wide = 240
	titles, right := p.heading(p.pane)
	var s *panel.Sheet
	height := 2
	switch {
	case p.pane == paneProblems || p.report == nil:
		s = p.problems()
	case p.pane == paneExtremes:
		s = panel.ExpertExtremes(&p.report.Layer[p.layer], p.report.Experts)
	}
	g := chart.NewGrid(wide, height, theme.UnicodeGlyphs())
	if s != nil {
		s.Top = 0
		g = chart.NewGrid(wide, len(s.Rows)+1, g.Glyphs)
		s.Draw(g)
	} else {
		table := p.layers()
		table.Focus, table.Layer, table.Top = false, -1, 0
		g = chart.NewGrid(wide, p.report.Layers+3, g.Glyphs)
		table.Draw(g)
	}
	return append([]string{titles[0] + "  " + right}, strings.Split(strings.TrimRight(g.Plain(), " \n"), "\n")...)
}

// click focuses the pane under the pointer, and selects the layer there.
func (p *expertsPage) click(x, y int) tea.Cmd {
	for pane, r := range p.areas() {
		if !r.In(x, y) || y == r.Y {
			continue
		}
		p.pane = expertPane(pane)
		if row := y - r.Y - 2 + p.top; p.pane == paneLayers && p.report != nil && row >= p.top {
			if order := p.layers().Order(); row < len(order) && y-r.Y-2 < p.visible(paneLayers) {
				p.layer = order[row]
			}
		}
	}
	return nil
}

// wheel moves as the arrows do.
func (p *expertsPage) wheel(_, _ int, up bool) tea.Cmd {
	wheeled(up, p.move)
	return nil
}
