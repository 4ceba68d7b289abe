package tui

import (
	"cmp"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"opprof/tui/keys"
	"opprof/tui/panel"
)

// press acts on a key of the page.
func (p *windowsPage) press(b keys.Binding) tea.Cmd {
	if p.list == nil {
		return nil
	}
	switch b.ID {
	case keys.FocusNext:
		p.turnPane(1)
	case keys.FocusPrev:
		p.turnPane(-1)
	case keys.Accept:
		p.open()
	case keys.Back:
		p.back()
	case keys.RankPrev:
		return p.turnRank(-1)
	case keys.RankNext:
		return p.turnRank(1)
	case keys.Sort:
		p.sort = panel.NextIterationSort(p.sort)
	case keys.SortTurn:
		p.down = !p.down
	case keys.Compare:
		return p.compare()
	case keys.ToStep:
		return p.toStep()
	case keys.ZoomIn, keys.ZoomOut, keys.ScrollLeft, keys.ScrollRight:
		p.moveStrip(b.ID)
	default:
		p.move(b.ID)
	}
	return nil
}

// turnPane gives another pane the focus. Without traces there is only the list.
func (p *windowsPage) turnPane(by int) {
	rooms := p.rooms()
	for range windowPanes {
		p.pane = (p.pane + windowPane(by) + windowPanes) % windowPanes
		if rooms[p.pane].least > 0 {
			return
		}
	}
}

// open goes one level down: from a window to its iterations, from an iteration to its time line, from a family to its kernels, from a kernel to
// its launches.
func (p *windowsPage) open() {
	side, ok := p.side()
	if !ok {
		return
	}
	switch p.pane {
	case paneWindows:
		p.pane = paneIterations
	case paneRanks:
		p.pane = paneKernels
	case paneIterations:
		p.pane = paneStrip
	case paneKernels:
		p.openKernel(side)
	}
}

func (p *windowsPage) openKernel(side panel.Side) {
	switch p.depth {
	case depthFamilies:
		p.family = p.familyUnder()
		p.depth, p.kernelAt, p.tops[paneKernels] = depthKernels, 0, 0
	case depthKernels:
		if list := panel.KernelsOf(side, p.family); p.kernelAt < len(list) {
			k := &side.Window.Detail.Ranks[side.Rank].Kernel[list[p.kernelAt]]
			p.kernel = kernelKey{k.Name, k.Role.String()}
			p.depth, p.launchAt, p.tops[paneKernels] = depthLaunches, 0, 0
		}
	}
}

// back goes one level up.
func (p *windowsPage) back() {
	switch {
	case p.pane == paneKernels && p.depth > depthFamilies:
		p.depth--
		p.tops[paneKernels] = 0
	case p.marked != nil:
		p.marked = nil
	case p.pane == paneStrip:
		p.pane, p.zoom, p.shift = paneIterations, 0, 0
	default:
		p.pane = paneWindows
	}
}

// turnRank selects the next rank; behind the last, iterations show the critical one of each again.
func (p *windowsPage) turnRank(by int) tea.Cmd {
	side, ok := p.side()
	if !ok {
		return nil
	}
	n := len(side.Window.Detail.Ranks)
	switch next := side.Rank + by; {
	case p.slowest && n > 1:
		p.slowest = false
		if by < 0 {
			p.at.rank = n - 1
		} else {
			p.at.rank = 0
		}
	case next < 0 || next >= n:
		p.slowest = true
		return notice("families of the critical rank of each iteration")
	default:
		p.at.rank = next
	}
	return notice(panel.RankName(side.Window.Detail, p.at.rank))
}

// compare marks what is selected as a, or takes the mark off.
func (p *windowsPage) compare() tea.Cmd {
	side, ok := p.side()
	switch {
	case !ok:
		return notice("compare: this window has no traces yet")
	case p.marked != nil && p.marked.key == side.Window.Key && p.marked.rank == side.Rank:
		p.marked = nil
		return notice("no longer compared")
	}
	p.marked = &place{key: side.Window.Key, rank: side.Rank}
	p.depth = depthFamilies
	p.tops[paneKernels] = 0
	return notice(side.Name() + " is a: select another window, or another rank with [ ]")
}

// toStep goes to the selected iteration's step, or to the window's first step, on the page of the steps.
func (p *windowsPage) toStep() tea.Cmd {
	w := p.window()
	if w == nil || w.FirstStep == 0 && w.Marker == nil {
		return notice("step: nothing ties this window to the records")
	}
	step, engine := w.FirstStep, ""
	if w.Marker != nil {
		engine = w.Marker.Engine
		step = cmp.Or(step, w.Marker.AfterStep+1)
	}
	if d := w.Detail; d != nil && p.pane != paneWindows && p.iteration() < len(d.Iterations) {
		if s := d.Iterations[p.iteration()].Step; s != nil {
			step = s.Index
		}
	}
	what := "step " + strconv.FormatInt(step, 10) + " of window " + w.Name() + ": i comes back"
	ctx, source := p.ctx, p.source
	return func() tea.Msg {
		at, ok, err := source.AtStep(ctx, engine, step)
		switch {
		case err != nil:
			return noticeMsg("step: " + err.Error())
		case !ok:
			return noticeMsg("step " + strconv.FormatInt(step, 10) + " is not in the records")
		}
		return momentMsg{atNS: at, what: what}
	}
}

// moveStrip zooms and pans the time line.
func (p *windowsPage) moveStrip(id keys.ID) {
	const deepest = 12
	visible := 1 / float64(int(1)<<p.zoom)
	switch id {
	case keys.ZoomIn:
		if p.zoom < deepest {
			p.zoom++
			p.shift += visible / 4
		}
	case keys.ZoomOut:
		if p.zoom > 0 {
			p.zoom--
			p.shift -= visible / 2
		}
	case keys.ScrollLeft:
		p.shift -= visible / 4
	case keys.ScrollRight:
		p.shift += visible / 4
	}
	p.shift = max(0, min(p.shift, 1-1/float64(int(1)<<p.zoom)))
}

// move moves the cursor of the pane that has the focus.
func (p *windowsPage) move(id keys.ID) {
	at, n := p.cursor()
	rows := max(1, p.panes()[p.pane].H-4)
	switch id {
	case keys.Down:
		at++
	case keys.Up:
		at--
	case keys.PageDown:
		at += rows
	case keys.PageUp:
		at -= rows
	case keys.Top:
		at = 0
	case keys.Bottom:
		at = n - 1
	default:
		return
	}
	if n > 0 {
		p.setCursor(max(0, min(at, n-1)), id == keys.Bottom)
	}
}

// cursor is the row under the cursor of the pane that has the focus, and how many rows it has.
func (p *windowsPage) cursor() (at, n int) {
	d := p.detail()
	switch {
	case p.pane == paneWindows:
		return p.index(), len(p.list.Windows)
	case d == nil:
		return 0, 0
	case p.pane == paneRanks:
		side, _ := p.side()
		return side.Rank, len(d.Ranks)
	case p.pane == paneIterations:
		return p.iterationRow(), len(d.Iterations)
	case p.pane == paneStrip:
		return p.iteration(), len(d.Iterations)
	}
	side, _ := p.side()
	n = len(p.kernelSheet(side).Rows)
	return [...]int{p.familyAt, p.kernelAt, p.launchAt}[p.depth], n
}

// setCursor moves it. The end of a live list is followed.
func (p *windowsPage) setCursor(at int, end bool) {
	switch p.pane {
	case paneWindows:
		p.at.key, p.at.iteration, p.zoom, p.shift = p.list.Windows[at].Key, -1, 0, 0
		if end && p.live && at == p.newestRow() {
			p.at.key = ""
		}
	case paneRanks:
		p.at.rank, p.slowest = at, false
	case paneIterations:
		p.at.iteration, p.zoom, p.shift = p.iterations().Order()[at], 0, 0
	case paneStrip:
		p.at.iteration = at
	case paneKernels:
		*[...]*int{&p.familyAt, &p.kernelAt, &p.launchAt}[p.depth] = at
	}
}
