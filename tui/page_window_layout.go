package tui

import (
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/panel"
)

// windowPane is one box of the windows page.
type windowPane int

const (
	paneWindows windowPane = iota
	paneRanks
	paneIterations
	paneKernels
	paneStrip
	windowPanes
)

// room is what a pane needs: at least and at best, in lines, its upper border included.
type room struct{ least, best int }

// arrangePanes shares h lines out. The pane that has the focus is there, then as many of the others as fit, in their order. Lines that are
// left go to the panes that want more, those with the focus first, and then to the last that can use any.
func arrangePanes(h int, focus windowPane, rooms [windowPanes]room) [windowPanes]int {
	var out [windowPanes]int
	if h <= 0 {
		return out
	}
	order := []windowPane{focus}
	for pane := range windowPanes {
		if pane != focus {
			order = append(order, pane)
		}
	}
	left := h
	for i, pane := range order {
		if need := rooms[pane].least; need <= left || i == 0 {
			out[pane] = min(need, left)
			left -= out[pane]
		}
	}
	for _, pane := range order {
		if out[pane] > 0 {
			more := max(0, min(left, rooms[pane].best-out[pane]))
			out[pane] += more
			left -= more
		}
	}
	for _, pane := range []windowPane{paneKernels, paneIterations, paneWindows, focus} {
		if out[pane] > 0 {
			out[pane] += left
			break
		}
	}
	return out
}

// panes are the rectangles of the panes, from top to bottom; each shares its upper border with the one above. An empty one is not shown.
func (p *windowsPage) panes() [windowPanes]chart.Rect {
	var at [windowPanes]chart.Rect
	if !layout.Fits(p.width, p.height) {
		return at
	}
	y := 2
	for pane, h := range arrangePanes(p.height-4, p.pane, p.rooms()) {
		if h > 0 {
			at[pane] = chart.Rect{Y: y, W: p.width, H: h + 1}
			y += h
		}
	}
	return at
}

// rooms are what the panes need for what they show.
func (p *windowsPage) rooms() [windowPanes]room {
	const borders, head = 1, 1
	windows := 1
	if p.list != nil {
		windows = max(1, len(p.list.Windows))
	}
	out := [windowPanes]room{
		paneWindows: {min(borders+head+3, borders+head+windows), min(borders+head+windows, max(borders+head+4, p.height/5))},
		paneRanks:   {borders + 2, borders + 2},
	}
	w, d := p.window(), p.detail()
	if d == nil {
		return out
	}
	ranks := borders + panel.RankBarsHeight(w)
	out[paneRanks] = room{min(ranks, borders+head+2+min(4, len(d.Ranks))), ranks}
	n := borders + head + max(1, len(d.Iterations)) + 1
	out[paneIterations] = room{min(8, n), n}
	out[paneKernels] = room{borders + head + 4, borders + head + p.kernelRows()}
	if side, ok := p.side(); ok {
		h := borders + panel.StripHeight(side, p.iteration())
		out[paneStrip] = room{min(5, h), h}
	}
	return out
}
