package tui

import (
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"opprof/campaign/calibrate"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

const (
	costAskWidth    = 46 // of the question, where the answer stands beside it
	costAskLines    = 12 // of the question: borders, head, fields and sums
	costAnswerLines = 19 // of the answer at best
	costTableLines  = 7  // least of a table below
)

// areas are the rectangles of the panes, and of the answer. Below the question the tables stand as many as fit, that with the focus first.
func (p *costPage) areas() (panes [costPanes]chart.Rect, answer chart.Rect) {
	if !layout.Fits(p.width, p.height) {
		return panes, answer
	}
	const top, footer = 2, 1
	left := p.height - top - footer
	upper := max(costAskLines, min(costAnswerLines, left*2/5))
	if left < costAskLines+costTableLines-1 {
		upper = left
		if p.pane != paneQuestion {
			upper = 0
		}
	}
	question := min(costAskWidth, p.width*21/40)
	y := top
	if upper > 0 {
		panes[paneQuestion] = chart.Rect{Y: y, W: question, H: upper}
		answer = chart.Rect{X: question, Y: y, W: p.width - question, H: upper}
		y += upper
	}
	shown := p.below(left - upper)
	for i, pane := range shown {
		h := (top + left - y) / (len(shown) - i)
		panes[pane] = chart.Rect{Y: y, W: p.width, H: h}
		y += h
	}
	return panes, answer
}

// below are the tables that have room in h lines, in their order.
func (p *costPage) below(h int) []costPane {
	n := min(h/costTableLines, int(costPanes-paneTable))
	if n < 1 && h > 2 {
		n = 1
	}
	var out []costPane
	for pane := paneTable; pane < costPanes; pane++ {
		left := n - len(out)
		if left > 0 && (pane == p.pane || left > 1 || p.pane < pane || int(costPanes-pane) <= left) {
			out = append(out, pane)
		}
	}
	return out
}

func (p *costPage) visible(pane costPane) int {
	panes, _ := p.areas()
	return panel.SheetRows(panes[pane].H-2, false)
}

func (p *costPage) draw(g *chart.Grid) {
	c, r := p.calibration()
	if c == nil {
		p.drawNothing(g)
		return
	}
	panes, answer := p.areas()
	for pane, area := range panes {
		if area.Empty() {
			continue
		}
		s := p.sheetWith(costPane(pane), &g.Glyphs)
		titles, right := p.heading(costPane(pane))
		right = placed(titles, right, s.Place(area.H-2), area.W)
		if with := strings.TrimSpace(right + "  tab next"); costPane(pane) != paneQuestion && slices.ContainsFunc(panes[paneTable:], chart.Rect.Empty) && roomy(titles, with, area.W) {
			right = with
		}
		inside := g.Sub(area).Box(fitting(titles, right, area.W), right, costPane(pane) == p.pane)
		s.Draw(inside.Sub(chart.Rect{X: 1, W: inside.W() - 2, H: inside.H()}))
		p.tops[pane] = s.Top
	}
	if !answer.Empty() {
		title := "would cost"
		inside := g.Sub(answer).Box(title, p.basis(), false)
		panel.CostAnswer{Answer: p.answer, Refusal: p.refusal, Report: r}.Draw(inside.Sub(chart.Rect{X: 1, W: inside.W() - 2, H: inside.H()}))
	}
}

// basis says what the answer rests on.
func (p *costPage) basis() string {
	_, r := p.calibration()
	text := unit.Counted(r.Steps, "step") + " of " + unit.Counted(len(r.Windows), "window")
	if len(p.learned.Sets) > 1 || r.Ranks > 1 {
		text += ", " + unit.Counted(r.Ranks, "rank")
	}
	if p.learned.Done < p.learned.Of {
		text += "  traces read " + strconv.Itoa(p.learned.Done) + " of " + strconv.Itoa(p.learned.Of)
	}
	return text
}

// sheet is the table of a pane with the glyphs of any terminal.
func (p *costPage) sheet(pane costPane) *panel.Sheet {
	gl := theme.ASCIIGlyphs()
	return p.sheetWith(pane, &gl)
}

// sheetWith is the table of a pane, with its cursor.
func (p *costPage) sheetWith(pane costPane, gl *theme.Glyphs) *panel.Sheet {
	c, r := p.calibration()
	var s *panel.Sheet
	switch pane {
	case paneQuestion:
		s = panel.CostQuestion(gl, c, p.question, p.answer)
		s.Cursor = int(p.field)
	case paneTable:
		s = panel.CostTable(r, p.sort, p.down)
		s.Cursor = min(p.row, len(s.Rows)-1)
	case paneHeldOut:
		s = panel.CostWindows(r)
	default:
		s = panel.CostModel(r)
	}
	s.Focus, s.Top = p.pane == pane, p.tops[pane]
	return s
}

// heading are the titles of a pane, best first, and the text at the right of its border.
func (p *costPage) heading(pane costPane) (titles []string, right string) {
	_, r := p.calibration()
	switch pane {
	case paneQuestion:
		switch {
		case !p.follow:
			right = "your own"
		case p.live && p.step > 0:
			right = "as now, step " + unit.Count(p.step)
		default:
			right = "newest of the windows"
		}
		return []string{"question"}, right
	case paneTable:
		if name := panel.CostSort(p.sort); name != "" {
			right = "by " + name + ", largest first"
			if p.down {
				right = "by " + name + ", smallest first"
			}
		}
		return []string{"measured  mean ms of the steps of a row, families by their busy time", "measured  mean ms of the steps of a row", "measured  ms"}, right
	case paneHeldOut:
		if r.Busy.Windows < calibrate.MinWindows {
			right = "an interval needs " + strconv.Itoa(calibrate.MinWindows) + " windows"
			if p.live {
				right += ": w and W arm more"
			}
			return []string{"held-out windows"}, right
		}
		right = unit.Counted(r.Busy.Inside, "window") + " of " + strconv.Itoa(r.Busy.Windows) + " within the others"
		return []string{"held-out windows  each predicted from all others", "held-out windows"}, right
	}
	return []string{"model  what the time of a family is made of", "model"}, ""
}

// drawNothing says why there is no answer, and how to get one.
func (p *costPage) drawNothing(g *chart.Grid) {
	y := 3
	say := func(text string, role theme.Role) {
		for _, l := range wrap(text, g.W()-4) {
			g.Text(2, y, g.W()-4, l, role)
			y++
		}
	}
	l := p.learned
	switch {
	case p.err != nil:
		say(p.err.Error(), theme.RoleBad)
	case l == nil || l.Version == 0 || l.Done < l.Of && l.Windows == 0:
		say("reading the traces of profiler windows", theme.RoleDim)
		return
	case l.Windows == 0:
		say("No profiler window of this run has traces that could be read.", theme.RoleText)
	default:
		say("Nothing can be learned from this run: it has "+unit.Counted(l.Windows, "window")+" with traces, and none with steps that count.", theme.RoleText)
	}
	if l == nil {
		return
	}
	for _, why := range l.Left.Windows {
		say(why, theme.RoleDim)
	}
	y++
	need := unit.Counted(calibrate.MinWindows, "window")
	if p.live {
		say("An answer needs a window, its interval "+need+" under loads that differ: w arms one now, W at a step, every so many steps, or when the composition is one that matters.", theme.RoleText)
		return
	}
	say("An answer needs a window, its interval "+need+" under loads that differ: arm them while a server runs (opprof window arm RUN), or let a campaign do it.", theme.RoleText)
}

// copied are the lines of the pane that has the focus, whole; of the question, the command that asks the same.
func (p *costPage) copied() []string {
	c, _ := p.calibration()
	if c == nil {
		return nil
	}
	const wide = 240
	titles, right := p.heading(p.pane)
	s := p.sheet(p.pane)
	s.Cursor, s.Top = -1, 0
	g := chart.NewGrid(wide, len(s.Rows)+1, theme.UnicodeGlyphs())
	s.Draw(g)
	out := append([]string{titles[0] + "  " + right}, strings.Split(strings.TrimRight(g.Plain(), " \n"), "\n")...)
	if p.pane != paneQuestion || p.answer == nil {
		return out
	}
	const lines = 24
	_, r := p.calibration()
	g = chart.NewGrid(wide/2, lines, theme.UnicodeGlyphs())
	panel.CostAnswer{Answer: p.answer, Report: r}.Draw(g)
	out = append(out, strings.Split(strings.TrimRight(g.Plain(), " \n"), "\n")...)
	return append(out, "opprof calibrate RUN --at "+p.question.String())
}

// click focuses the pane under the pointer, and selects the line there.
func (p *costPage) click(x, y int) tea.Cmd {
	if c, _ := p.calibration(); c == nil {
		return nil
	}
	panes, _ := p.areas()
	for pane, r := range panes {
		if !r.In(x, y) {
			continue
		}
		p.pane = costPane(pane)
		row := y - r.Y - 2
		switch {
		case row < 0 || row >= p.visible(p.pane):
		case p.pane == paneQuestion && row < int(panel.CostFields):
			p.field = panel.CostField(row)
		case p.pane == paneTable:
			p.row = min(row+p.tops[pane], len(p.sheet(p.pane).Rows)-1)
		}
	}
	return nil
}

// wheel moves as the arrows do.
func (p *costPage) wheel(_, _ int, up bool) tea.Cmd {
	wheeled(up, p.move)
	return nil
}
