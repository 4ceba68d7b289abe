package tui

import (
	"slices"
	"strconv"
	"strings"

	"opprof/campaign/progress"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

const (
	campaignBeside = 120 // least width of pairs and runs side by side
	campaignPairs  = 60  // width of the pairs then, in which their bounds are seen
	campaignRuns   = 78  // width of the runs from which on more goes to the pairs, up to a half
	campaignAll    = 36  // least height for the remarks below the others
)

// header tells of the campaign in the first line.
func (p *campaignPage) header(g *chart.Grid, s panel.Status) {
	p.stand.NowNS, p.stand.Zone = p.now().UnixNano(), p.zone
	panel.CampaignHeader(g, s, &p.stand)
}

// draw lays the parts out: how it stands, the matrix, then the pairs and the runs beside each other, or the one of them that was looked at last.
func (p *campaignPage) draw(g *chart.Grid) {
	p.stand.NowNS, p.stand.Zone = p.now().UnixNano(), p.zone
	body := chart.Rect{Y: bodyTop, W: p.width, H: p.height - bodyTop - 1}
	p.boxes = [campaignParts]chart.Rect{}
	if p.stand.Campaign == nil {
		inside := g.Sub(body).Box("campaign", "", false)
		inside.Text(1, 0, inside.W()-2, "reading the campaign's journal", 0)
		return
	}
	standH := panel.StandLines + 2
	if body.H < 20 {
		standH--
	}
	inside := g.Sub(chart.Rect{Y: body.Y, W: body.W, H: standH}).Box("campaign", p.standRight(), false)
	p.stand.Stand(inside.Sub(chart.Rect{X: 1, W: inside.W() - 2, H: inside.H()}))
	p.arrange(chart.Rect{Y: body.Y + standH, W: body.W, H: body.H - standH})
	for part, r := range p.boxes {
		if r.Empty() {
			continue
		}
		p.box(g.Sub(r), campaignPart(part))
	}
}

// arrange gives the parts the rest of the page.
func (p *campaignPage) arrange(rest chart.Rect) {
	cells := min(len(p.stand.Cells)+3, max(4, rest.H/3))
	p.boxes[partCells] = chart.Rect{Y: rest.Y, W: rest.W, H: cells}
	lower := chart.Rect{Y: rest.Y + cells, W: rest.W, H: rest.H - cells}
	if p.height >= campaignAll {
		h := max(4, lower.H/5)
		p.boxes[partRemarks] = chart.Rect{Y: lower.Y + lower.H - h, W: lower.W, H: h}
		lower.H -= h
	} else if p.focus == partRemarks {
		p.boxes[partRemarks] = lower
		return
	}
	switch {
	case p.width >= campaignBeside:
		left := min(p.width/2, max(campaignPairs, p.width-campaignRuns))
		p.boxes[partPairs] = chart.Rect{Y: lower.Y, W: left, H: lower.H}
		p.boxes[partRuns] = chart.Rect{X: left, Y: lower.Y, W: p.width - left, H: lower.H}
	case p.focus == partRuns:
		p.boxes[partRuns] = lower
	default:
		p.boxes[partPairs] = lower
	}
}

// standRight says where the campaign lies.
func (p *campaignPage) standRight() string { return p.stand.Path }

// titles are those of a part, best first.
func (p *campaignPage) titles(part campaignPart) []string {
	of := ""
	if p.cell != "" {
		of = " of " + p.cell
	}
	return [...][]string{
		{"cells  regression point and 95 % bound", "cells  point and bound", "cells"}, {"pairs" + of + "  regression %", "pairs" + of, "pairs"}, {"runs" + of, "runs"}, {"remarks"},
	}[part]
}

func (p *campaignPage) right(part campaignPart) string {
	cell, next := p.selected(), ""
	if p.width < campaignBeside {
		next = "  tab next"
	}
	switch {
	case part == partCells:
		return p.cellsRight()
	case part == partPairs:
		return p.metricPlace() + next
	case part == partRuns && cell != nil:
		return p.runPlace(cell) + next
	}
	return strings.TrimSpace(next)
}

// cellsRight is the limit, and what there is no room for: other cells, other metrics.
func (p *campaignPage) cellsRight() string {
	right := "limit " + panel.Signed(p.stand.LimitPct) + " %"
	gl := theme.ASCIIGlyphs()
	sheet, metrics := p.stand.CellTable(&gl, p.metric), len(panel.CampaignMetrics(p.stand.Campaign))
	sheet.Cursor = p.cellAt()
	if out := sheet.LeftOut(p.width - 4); out > 0 && out < metrics {
		right = strconv.Itoa(metrics-out) + " of " + unit.Counted(metrics, "metric") + "  " + right
	}
	if n, shown := len(p.stand.Cells), p.boxes[partCells].H-3; n > shown {
		right = strconv.Itoa(p.cellAt()+1) + " of " + strconv.Itoa(n) + "  " + right
	}
	return right
}

// metricPlace is which metric is selected, of how many.
func (p *campaignPage) metricPlace() string {
	names := panel.CampaignMetrics(p.stand.Campaign)
	if len(names) == 0 {
		return ""
	}
	return "metric " + strconv.Itoa(slices.Index(names, p.metric)+1) + " of " + strconv.Itoa(len(names))
}

// runPlace is which run of a cell is selected, of how many.
func (p *campaignPage) runPlace(cell *progress.Cell) string {
	text := unit.Counted(len(cell.Runs), "run")
	if at := p.runAt(); at >= 0 {
		text = strconv.Itoa(at+1) + " of " + text
	}
	return text
}

func (p *campaignPage) box(g *chart.Grid, part campaignPart) {
	if part == partRemarks {
		p.remarks.draw(g, p.titles(part)[0], p.right(part), p.focus == part, p.stand.RemarkRows(p.selected()))
		return
	}
	right := p.right(part)
	inside := g.Box(fitting(p.titles(part), right, g.W()), right, p.focus == part)
	p.inside(part, inside.Sub(chart.Rect{X: 1, W: inside.W() - 2, H: inside.H()}))
}

// drawRun writes what is to say about the selected run below the list, and returns what is left for the list.
func (p *campaignPage) drawRun(g *chart.Grid, at int) *chart.Grid {
	const least, most = 8, 3
	if at < 0 || g.H() < least {
		return g
	}
	r := &p.selected().Runs[at]
	why, role := panel.RunWhy(r)
	lines := clipped(wrap(r.ID+"  "+why, g.W()), most, g.W(), g.Glyphs.Ellipsis)
	y := g.H() - len(lines)
	for i, l := range lines {
		g.Text(0, y+i, g.W(), l, role)
	}
	return g.Sub(chart.Rect{W: g.W(), H: y - 1})
}

// inside fills a part's box.
func (p *campaignPage) inside(part campaignPart, g *chart.Grid) {
	switch part {
	case partPairs:
		panel.PairPlot{Cell: p.selected(), LimitPct: p.stand.LimitPct, Metric: p.metric, Focus: p.focus == part}.Draw(g)
	case partRemarks:
		panel.DrawRows(g, p.stand.RemarkRows(p.selected()), p.remarks.top)
	default:
		sheet, at := p.stand.CellTable(&g.Glyphs, p.metric), p.cellAt()
		if part == partRuns {
			sheet, at = p.stand.RunTable(&g.Glyphs, p.selected(), p.metric, g.W()), p.runAt()
			g = p.drawRun(g, at)
		}
		sheet.Cursor, sheet.Focus, sheet.Top = at, p.focus == part, p.tops[part]
		sheet.Draw(g)
		p.tops[part] = sheet.Top
	}
}
