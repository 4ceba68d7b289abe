package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/unit"
	"opprof/tui/keys"
	"opprof/tui/panel"
)

// stoppedMsg answers the order to stop the campaign.
type stoppedMsg struct{ err error }

func (p *campaignPage) receive(msg tea.Msg) tea.Cmd {
	stopped, ok := msg.(stoppedMsg)
	switch {
	case !ok:
		return nil
	case stopped.err != nil:
		return notice("stop campaign: " + stopped.err.Error())
	}
	return notice("the runner was told to stop: it ends when it has cleaned up")
}

func (p *campaignPage) press(b keys.Binding) tea.Cmd {
	switch b.ID {
	case keys.FocusNext:
		p.focus = (p.focus + 1) % campaignParts
	case keys.FocusPrev:
		p.focus = (p.focus + campaignParts - 1) % campaignParts
	case keys.MetricNext:
		p.turnMetric(1)
	case keys.MetricPrev:
		p.turnMetric(-1)
	case keys.Current:
		p.moved = false
		p.follow()
		p.settle()
	case keys.Accept:
		return p.open()
	case keys.StopCampaign:
		q := p.stopQuestion()
		return p.raiseDialog(q)
	default:
		p.move(b.ID)
	}
	return nil
}

// move moves the selection of the part that has the focus.
func (p *campaignPage) move(id keys.ID) {
	cell := p.selected()
	if cell == nil {
		return
	}
	switch p.focus {
	case partCells:
		if i, ok := shifted(id, p.cellAt(), len(p.stand.Cells)-1, p.boxes[partCells].H-3); ok {
			p.cell, p.moved = p.stand.Cells[i].Name, true
			p.settle()
		}
	case partPairs:
		names := panel.CampaignMetrics(p.stand.Campaign)
		if i, ok := shifted(id, slices.Index(names, p.metric), len(names)-1, len(names)); ok {
			p.metric = names[i]
		}
	case partRuns:
		if i, ok := shifted(id, p.runAt(), len(cell.Runs)-1, p.boxes[partRuns].H-3); ok {
			p.run, p.moved = cell.Runs[i].ID, true
		}
	case partRemarks:
		p.remarks.press(id)
	}
}

func (p *campaignPage) turnMetric(by int) {
	if p.stand.Campaign == nil {
		return
	}
	names := panel.CampaignMetrics(p.stand.Campaign)
	if n := len(names); n > 0 {
		p.metric = names[(slices.Index(names, p.metric)+by+n)%n]
	}
}

// open opens the selected run from the list of runs, and the one in progress from elsewhere.
func (p *campaignPage) open() tea.Cmd {
	c := p.stand.Campaign
	if c == nil {
		return nil
	}
	run := c.Current
	if p.focus == partRuns {
		if i := p.runAt(); i >= 0 {
			run = &p.selected().Runs[i]
		}
	}
	switch {
	case run == nil:
		return notice("no run is in progress: choose one in the list of runs")
	case run.StartedNS == nil || run.Path == "":
		return notice("this run has not begun")
	}
	return open(run.Path)
}

// stopQuestion asks before the campaign is stopped.
func (p *campaignPage) stopQuestion() dialog {
	c := &p.stand
	q := &question{title: "stop the campaign", ask: "Stop " + c.Name + "?", yes: "Yes, stop it (y)", no: "No (n)", now: p.now, opened: p.now()}
	if r := c.Current; r != nil {
		q.facts = append(q.facts, r.ID+" is "+r.State+": its server is stopped")
	}
	if c.LeftNS != nil {
		q.facts = append(q.facts, "about "+unit.Duration(*c.LeftNS)+" were left")
	}
	q.facts = append(q.facts, "the runs that ended stay; opprof campaign resume goes on with what is left")
	ctx, source := p.ctx, p.source
	q.act = func() tea.Cmd {
		return func() tea.Msg {
			to, ok := source.(CampaignControl)
			if !ok {
				return nil
			}
			return stoppedMsg{to.Stop(ctx)}
		}
	}
	return q
}

// click focuses the part under the pointer and selects its line; a click on the line that is selected opens its run.
func (p *campaignPage) click(x, y int) tea.Cmd {
	for part, r := range p.boxes {
		if !r.In(x, y) {
			continue
		}
		was := p.focus
		p.focus = campaignPart(part)
		line := p.tops[part] + y - r.Y - 2 // below the border and the heads
		if y < r.Y+2 || y >= r.Y+r.H-1 {
			return nil
		}
		return p.pick(line, was == p.focus)
	}
	return nil
}

// pick selects a line of the part that has the focus.
func (p *campaignPage) pick(line int, again bool) tea.Cmd {
	cell := p.selected()
	switch {
	case cell == nil:
	case p.focus == partCells && line < len(p.stand.Cells):
		p.cell, p.moved = p.stand.Cells[line].Name, true
		p.settle()
	case p.focus == partRuns && line < len(cell.Runs):
		again = again && line == p.runAt()
		p.run, p.moved = cell.Runs[line].ID, true
		if again {
			return p.open()
		}
	}
	return nil
}

// wheel moves the selection of the part under the pointer.
func (p *campaignPage) wheel(x, y int, up bool) tea.Cmd {
	id := keys.Down
	if up {
		id = keys.Up
	}
	for part, r := range p.boxes {
		if r.In(x, y) {
			p.focus = campaignPart(part)
			p.move(id)
		}
	}
	return nil
}
