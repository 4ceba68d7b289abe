package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/campaign/progress"
	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

// campaignPage tells how a campaign stands: its matrix, the pairs of a cell against the limit, and the cell's runs.
type campaignPage struct {
	raised

	ctx    context.Context
	source CampaignSource
	now    func() time.Time
	zone   *time.Location

	width, height int
	stand         panel.Campaign // its Campaign is nil before the first word
	focus         campaignPart
	cell          string // the selected ones, by name
	metric        string
	run           string
	moved         bool // the reader chose: the run in progress is not followed
	tops          [campaignParts]int
	remarks       scroll
	boxes         [campaignParts]chart.Rect // where the parts lie, at the last drawing
}

// campaignPart is one box of the page.
type campaignPart int

const (
	partCells campaignPart = iota
	partPairs
	partRuns
	partRemarks
	campaignParts
)

func newCampaignPage(ctx context.Context, source CampaignSource, opt Options) *campaignPage {
	return &campaignPage{ctx: ctx, source: source, now: opt.Now, zone: opt.Zone}
}

func (p *campaignPage) name() string             { return "campaign" }
func (p *campaignPage) keys() keys.Context       { return keys.ContextCampaign }
func (p *campaignPage) resize(width, height int) { p.width, p.height = width, height }
func (p *campaignPage) want() want               { return want{campaign: true} }

func (p *campaignPage) take(_ want, pic picture) {
	if pic.campaign == nil {
		return
	}
	p.stand.Campaign = pic.campaign
	if !p.moved {
		p.follow()
	}
	p.settle()
}

// follow selects the run in progress; without one, what is selected stays.
func (p *campaignPage) follow() {
	c := p.stand.Campaign
	if c == nil || c.Current == nil {
		return
	}
	if i := p.stand.Cell(c.Current.ID); i >= 0 {
		p.cell, p.run = c.Cells[i].Name, c.Current.ID
	}
}

// settle selects what there is where the selection is nothing.
func (p *campaignPage) settle() {
	c := p.stand.Campaign
	if c == nil {
		return
	}
	if p.selected() == nil && len(c.Cells) > 0 {
		p.cell = c.Cells[0].Name
	}
	if names := panel.CampaignMetrics(c); len(names) > 0 && !slices.Contains(names, p.metric) {
		p.metric = names[0]
	}
	if cell := p.selected(); cell != nil && p.runAt() < 0 && len(cell.Runs) > 0 {
		p.run = cell.Runs[0].ID
	}
}

// selected is the selected cell; nil without cells.
func (p *campaignPage) selected() *progress.Cell {
	if p.stand.Campaign == nil {
		return nil
	}
	for i := range p.stand.Cells {
		if p.stand.Cells[i].Name == p.cell {
			return &p.stand.Cells[i]
		}
	}
	return nil
}

// runAt is the place of the selected run in the selected cell; -1 for none.
func (p *campaignPage) runAt() int {
	cell := p.selected()
	if cell == nil {
		return -1
	}
	return slices.IndexFunc(cell.Runs, func(r progress.Run) bool { return r.ID == p.run })
}

// cellAt is the place of the selected cell; -1 for none.
func (p *campaignPage) cellAt() int {
	if p.stand.Campaign == nil {
		return -1
	}
	return slices.IndexFunc(p.stand.Cells, func(c progress.Cell) bool { return c.Name == p.cell })
}

var errNoCampaignAxis = errors.New("the campaign page has no time axis")

func (p *campaignPage) seek(string) (tea.Cmd, error) { return nil, errNoCampaignAxis }

func (p *campaignPage) needs() keys.Need {
	var n keys.Need
	if p.moved && p.stand.Campaign != nil && p.stand.Current != nil {
		n |= keys.NeedPast
	}
	if _, ok := p.source.(CampaignControl); ok && p.stand.Campaign != nil && p.stand.RunnerPID != nil {
		n |= keys.NeedRunner
	}
	return n
}

func (p *campaignPage) position() panel.Position { return panel.Position{} }

func (p *campaignPage) explain() (string, []panel.Definition) {
	return "explain: campaign", panel.CampaignDefinitions()
}

// copied is what has the focus as text.
func (p *campaignPage) copied() []string {
	if p.stand.Campaign == nil {
		return nil
	}
	const w, h = 160, 60
	g := chart.NewGrid(w, h, theme.UnicodeGlyphs())
	p.inside(p.focus, g)
	lines := strings.Split(strings.TrimRight(g.Plain(), " \n"), "\n")
	return append([]string{"campaign " + p.stand.Name + "  " + p.titles(p.focus)[0]}, lines...)
}
