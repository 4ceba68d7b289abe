package tui

import (
	"strconv"
	"strings"

	"opprof/engine/unit"
	"opprof/traces/catalog"
	"opprof/traces/family"
	"opprof/tui/chart"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

func (p *windowsPage) draw(g *chart.Grid) {
	if p.list == nil {
		text := "looking for profiler windows"
		if p.err != nil {
			text = p.err.Error()
		}
		g.Text(2, 3, g.W()-4, text, theme.RoleDim)
		return
	}
	panes := p.panes()
	for pane, r := range panes {
		if !r.Empty() {
			p.drawPane(g.Sub(r), windowPane(pane))
		}
	}
	for _, r := range panes {
		if !r.Empty() && r.Y > 2 {
			role := g.Role(r.X, r.Y)
			g.Set(r.X, r.Y, g.Glyphs.TeeLeft, role)
			g.Set(r.X+r.W-1, r.Y, g.Glyphs.TeeRight, role)
		}
	}
}

func (p *windowsPage) drawPane(g *chart.Grid, pane windowPane) {
	titles, right := p.heading(pane, g.W()-2)
	title := titles[len(titles)-1]
	for _, t := range titles {
		if len([]rune(t))+len([]rune(right))+8 < g.W() {
			title = t
			break
		}
	}
	box := g.Box(title, right, pane == p.pane)
	inside := box.Sub(chart.Rect{X: 1, W: box.W() - 2, H: box.H()})
	switch pane {
	case paneRanks:
		panel.RankBars{Window: p.window(), Rank: p.rankCursor(), Marked: p.markedRank(), Focus: p.pane == paneRanks,
			Legend: p.panes()[paneStrip].Empty()}.Draw(inside)
	case paneStrip:
		if side, ok := p.side(); ok {
			panel.Strip{Of: side, Iteration: p.iteration(), Zoom: p.zoom, At: p.shift}.Draw(inside)
		}
	case paneKernels:
		p.drawKernels(inside)
	default:
		s := p.sheet(pane, &g.Glyphs)
		s.Focus, s.Top = pane == p.pane, p.tops[pane]
		s.Draw(inside)
		p.tops[pane] = s.Top
	}
}

// rankCursor is the selected rank; -1 where there is nothing to choose.
func (p *windowsPage) rankCursor() int {
	if side, ok := p.side(); ok && len(side.Window.Detail.Ranks) > 1 {
		return side.Rank
	}
	return -1
}

// markedRank is the rank of the selected window that others are compared with; -1 is none.
func (p *windowsPage) markedRank() int {
	if w := p.window(); p.marked != nil && w != nil && w.Key == p.marked.key && w.Detail != nil && len(w.Detail.Ranks) > 1 {
		return p.marked.rank
	}
	return -1
}

// sheet is the table of a pane, with its cursor.
func (p *windowsPage) sheet(pane windowPane, gl *theme.Glyphs) *panel.Sheet {
	side, ok := p.side()
	switch {
	case pane == paneWindows:
		marked := ""
		if p.marked != nil {
			marked = p.marked.key
		}
		s := panel.WindowList(gl, p.list.Windows, marked, p.zone)
		s.Cursor = p.index()
		return s
	case !ok:
		return &panel.Sheet{Cursor: -1, Sort: -1}
	case pane == paneIterations:
		s := p.iterations().Sheet()
		s.Cursor = p.iterationRow()
		return s
	}
	return p.kernelSheet(side)
}

const (
	splitWidth    = 150 // least width for families and kernels side by side
	familiesWidth = 72  // of the families then
)

// drawKernels draws the table of kernels; where there is room, the families stand on its left.
func (p *windowsPage) drawKernels(g *chart.Grid) {
	side, ok := p.side()
	if !ok {
		return
	}
	s := p.kernelSheet(side)
	focus := p.pane == paneKernels
	if p.width < splitWidth {
		s.Focus, s.Top = focus, p.tops[paneKernels]
		s.Draw(g)
		p.tops[paneKernels] = s.Top
		return
	}
	families := p.familySheet(side)
	families.Focus = focus && p.depth == depthFamilies
	families.Draw(g.Sub(chart.Rect{W: familiesWidth, H: g.H()}))
	for y := range g.H() {
		g.Set(familiesWidth+1, y, g.Glyphs.Vertical, theme.RoleBorder)
	}
	if p.depth == depthFamilies {
		s = panel.Kernels(side, p.familyUnder())
	} else {
		s.Focus, s.Top = focus, p.tops[paneKernels]
	}
	s.Draw(g.Sub(chart.Rect{X: familiesWidth + 3, W: g.W() - familiesWidth - 3, H: g.H()}))
	if p.depth != depthFamilies {
		p.tops[paneKernels] = s.Top
	}
}

// familyUnder is the family under the cursor; family.Count, all of them, on the lines of sums.
func (p *windowsPage) familyUnder() family.Family {
	return family.Family(max(0, min(p.familyAt, int(family.Count))))
}

// familySheet is the table of the families, beside those of what is compared with.
func (p *windowsPage) familySheet(side panel.Side) *panel.Sheet {
	s := panel.Families(side)
	if other, ok := p.other(); ok && other != side {
		s = panel.CompareFamilies(other, side)
	}
	s.Cursor = min(p.familyAt, len(s.Rows)-1)
	return s
}

// kernelSheet is the table of the families, the kernels of one, or the launches of a kernel.
func (p *windowsPage) kernelSheet(side panel.Side) *panel.Sheet {
	switch p.depth {
	case depthKernels:
		s := panel.Kernels(side, p.family)
		s.Cursor = min(p.kernelAt, len(s.Rows)-1)
		return s
	case depthLaunches:
		s := panel.Launches(side, p.kernelIndex(side))
		s.Cursor = min(p.launchAt, len(s.Rows)-1)
		return s
	}
	return p.familySheet(side)
}

// kernelRows is how many rows the table of kernels has.
func (p *windowsPage) kernelRows() int {
	side, ok := p.side()
	if !ok {
		return 0
	}
	s := p.kernelSheet(side)
	if p.width >= splitWidth {
		s = p.familySheet(side)
	}
	n := len(s.Rows)
	if s.Total != nil {
		n++
	}
	return n
}

// kernelIndex finds the kernel whose launches are listed in the rank that is looked at; -1 when it did not run there.
func (p *windowsPage) kernelIndex(side panel.Side) int {
	for i := range side.Window.Detail.Ranks[side.Rank].Kernel {
		k := &side.Window.Detail.Ranks[side.Rank].Kernel[i]
		if k.Name == p.kernel.name && k.Role.String() == p.kernel.role {
			return i
		}
	}
	return -1
}

// iterationRow is the row of the selected iteration in the table.
func (p *windowsPage) iterationRow() int {
	want := p.iteration()
	for row, i := range p.iterations().Order() {
		if i == want {
			return row
		}
	}
	return -1
}

// heading are the titles of a pane, best first, and the text at the right of its border.
func (p *windowsPage) heading(pane windowPane, w int) (titles []string, right string) {
	switch pane {
	case paneWindows:
		return []string{"profiler windows"}, p.progress()
	case paneRanks:
		return p.ranksHeading()
	case paneIterations:
		return p.iterationsHeading()
	case paneStrip:
		side, ok := p.side()
		if !ok {
			return []string{"timeline"}, ""
		}
		s := panel.Strip{Of: side, Iteration: p.iteration(), Zoom: p.zoom, At: p.shift}
		name := "iteration " + strconv.Itoa(p.iteration()+1) + " over time  " + panel.RankName(side.Window.Detail, side.Rank)
		return []string{name + "  a line for each stream", name, "iteration " + strconv.Itoa(p.iteration()+1)}, s.Scale(w - 2)
	}
	return p.kernelsHeading()
}

// progress says how far reading is.
func (p *windowsPage) progress() string {
	l := p.list
	switch {
	case p.err != nil:
		return p.err.Error()
	case l.Problem != "":
		return l.Problem
	case l.Done < l.Of:
		return "traces read " + strconv.Itoa(l.Done) + " of " + strconv.Itoa(l.Of)
	}
	return unit.Count(int64(len(l.Windows))) + " in run  " + unit.Counted(l.Of, "trace")
}

func (p *windowsPage) ranksHeading() ([]string, string) {
	w, d := p.window(), p.detail()
	if w == nil {
		return []string{"ranks"}, ""
	}
	name := "window " + w.Name()
	if w.Number == 0 {
		name += ", which nobody armed here"
	}
	if d == nil || panel.NoDevice(d) {
		return []string{name}, ""
	}
	var unknown, suspect, sum int64
	for _, b := range d.Ranks {
		unknown += b.UnknownNS
		suspect += b.SuspectNS
		sum += b.Total.SumNS
	}
	n := strconv.Itoa(len(catalog.Active(d)))
	return []string{name + "  busy ms of its " + n + " active iterations, by family", name + "  busy ms of " + n + " iterations", name + "  ms"},
		"unknown " + unit.Share(unknown, sum) + "  suspect " + unit.DurationMS(suspect) + " ms"
}

func (p *windowsPage) iterationsHeading() ([]string, string) {
	d := p.detail()
	of := "the critical rank"
	if d != nil && !p.slowest && p.at.rank < len(d.Ranks) {
		of = panel.RankName(d, p.at.rank)
	} else if d != nil && len(d.Ranks) == 1 {
		of = panel.RankName(d, 0)
	}
	right := "w warm-up  x export: in no sum"
	if name := panel.IterationSort(p.sort); name != "" {
		order := "largest first"
		if p.down {
			order = "smallest first"
		}
		right = "by " + name + ", " + order + "  " + right
	}
	return []string{"iterations  ms, families of " + of, "iterations  ms"}, right
}

func (p *windowsPage) kernelsHeading() ([]string, string) {
	side, ok := p.side()
	if !ok {
		return []string{"families"}, ""
	}
	switch p.depth {
	case depthKernels:
		name := "all kernels"
		if p.family < family.Count {
			name = panel.FamilyName(p.family) + " kernels"
		}
		return []string{name + "  " + panel.RankName(side.Window.Detail, side.Rank) + ", whole trace", name}, "enter launches  esc families"
	case depthLaunches:
		name := panel.KernelName(p.kernel.name)
		return []string{name + "  launches by iteration", "launches"}, "esc kernels"
	}
	if other, ok := p.other(); ok && other != side {
		return []string{"a " + other.Name() + "   b " + side.Name(), "a, b"}, "esc ends comparing"
	}
	return []string{"families  " + panel.RankName(side.Window.Detail, side.Rank) + ", ms of its active iterations", "families  ms"}, "enter kernels"
}

// copied are the lines of the pane that has the focus, whole.
func (p *windowsPage) copied() []string {
	if p.list == nil {
		return nil
	}
	const wide = 240
	gl := theme.UnicodeGlyphs()
	titles, right := p.heading(p.pane, wide)
	height := 8
	draw := func(g *chart.Grid) { p.drawInto(g, p.pane) }
	if s := p.sheetOf(p.pane, &gl); s != nil {
		height = len(s.Rows) + 2
		draw = func(g *chart.Grid) { s.Cursor = -1; s.Draw(g) }
	} else if w := p.window(); w != nil {
		height = max(height, panel.RankBarsHeight(w))
	}
	g := chart.NewGrid(wide, height, gl)
	draw(g)
	return append([]string{titles[0] + "  " + right}, strings.Split(strings.TrimRight(g.Plain(), " \n"), "\n")...)
}

// sheetOf is the table of a pane; nil for panes that are none.
func (p *windowsPage) sheetOf(pane windowPane, gl *theme.Glyphs) *panel.Sheet {
	if pane == paneRanks || pane == paneStrip {
		return nil
	}
	return p.sheet(pane, gl)
}

// drawInto draws what a pane without a table shows.
func (p *windowsPage) drawInto(g *chart.Grid, pane windowPane) {
	if side, ok := p.side(); ok && pane == paneStrip {
		panel.Strip{Of: side, Iteration: p.iteration(), Zoom: p.zoom, At: p.shift}.Draw(g)
		return
	}
	panel.RankBars{Window: p.window(), Rank: -1, Marked: -1}.Draw(g)
}
