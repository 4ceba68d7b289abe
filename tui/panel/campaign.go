package panel

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"opprof/campaign/gate"
	"opprof/campaign/plan"
	"opprof/campaign/progress"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// Campaign is how a campaign stands at a moment.
type Campaign struct {
	*progress.Campaign
	NowNS int64
	Zone  *time.Location
}

// CampaignMark is the mark of a campaign's state and its role; the word stands beside it.
func CampaignMark(gl *theme.Glyphs, state string) (rune, theme.Role) {
	switch state {
	case progress.Running:
		return gl.Dot, theme.RoleGood
	case progress.Paused:
		return gl.Pause, theme.RoleWarn
	case progress.Finished:
		return gl.Check, theme.RoleDim
	case progress.Refused:
		return gl.Cross, theme.RoleBad
	}
	return '?', theme.RoleWarn
}

// GateMark is the mark of a verdict and its role.
func GateMark(gl *theme.Glyphs, verdict string) (rune, theme.Role) {
	switch verdict {
	case gate.Pass:
		return gl.Check, theme.RoleGood
	case gate.Fail:
		return gl.Cross, theme.RoleBad
	case gate.Undecided:
		return gl.Ring, theme.RoleWarn
	}
	return '-', theme.RoleDim
}

// verdict is a verdict with its mark, "-" for none.
func verdict(gl *theme.Glyphs, v string) (string, theme.Role) {
	mark, role := GateMark(gl, v)
	if v == "" {
		return unit.Unknown, role
	}
	return string(mark) + " " + v, role
}

// Signed prints a regression in percent with its sign.
func Signed(pct float64) string {
	switch {
	case math.IsNaN(pct) || math.IsInf(pct, 0):
		return unit.Unknown
	case math.Abs(pct) >= 1e15:
		return fmt.Sprintf("%+.3g", pct)
	case pct >= 1000:
		return "+" + unit.Short(int64(pct))
	case pct <= -1000:
		return "-" + unit.Short(int64(-pct))
	case math.Abs(pct) >= 100:
		return fmt.Sprintf("%+.0f", pct)
	}
	return fmt.Sprintf("%+.2f", pct)
}

// pairs counts those of all cells.
func (c *Campaign) pairs() (counted, planned, void int) {
	for i := range c.Cells {
		counted += c.Cells[i].Counted
		planned += c.Cells[i].Planned
		void += c.Cells[i].Void
	}
	return counted, planned, void
}

// Cell is the cell that a run belongs to; -1 for none.
func (c *Campaign) Cell(run string) int {
	for i := range c.Cells {
		for j := range c.Cells[i].Runs {
			if c.Cells[i].Runs[j].ID == run {
				return i
			}
		}
	}
	return -1
}

// left is how long the campaign may still take.
func (c *Campaign) left() string {
	if c.LeftNS == nil || *c.LeftNS <= 0 || c.State == progress.Finished {
		return ""
	}
	return "about " + unit.Duration(*c.LeftNS) + " left"
}

// took is how long a run has taken so far or in all.
func (c *Campaign) took(r *progress.Run) string {
	if r.StartedNS == nil {
		return unit.Unknown
	}
	end := c.NowNS
	if r.EndedNS != nil {
		end = *r.EndedNS
	}
	return unit.Duration(max(0, end-*r.StartedNS))
}

// CampaignHeader draws the first line: which campaign it is, how it stands, and what it has found out.
func CampaignHeader(g *chart.Grid, s Status, c *Campaign) {
	pieces := []piece{
		{weight: 50, spans: []chart.Span{{S: "opprof", Role: theme.RoleAccent, Attr: theme.Bold}}},
		{weight: 40, spans: []chart.Span{{S: "campaign", Role: theme.RoleDim}}},
		{weight: 76, spans: []chart.Span{{S: shorten(s.Run.ID, max(16, g.W()/4)), Role: theme.RoleText}}},
	}
	pieces = append(pieces, alarms(g, s)...)
	if c.Campaign != nil {
		pieces = append(pieces, c.headerPieces(g)...)
	}
	drawPieces(g, pieces)
}

func (c *Campaign) headerPieces(g *chart.Grid) []piece {
	right := func(weight int, spans ...chart.Span) piece { return piece{weight: weight, right: true, spans: spans} }
	mark, role := CampaignMark(&g.Glyphs, c.State)
	attr := theme.Bold
	if role == theme.RoleBad {
		attr |= theme.Reverse
	}
	pieces := []piece{right(99, chart.Span{S: string(mark) + " " + c.State, Role: role, Attr: attr})}
	counted, planned, void := c.pairs()
	pieces = append(pieces, right(60, chart.Span{S: "pairs ", Role: theme.RoleDim}, chart.Span{S: strconv.Itoa(counted) + " of " + strconv.Itoa(planned), Role: theme.RoleText}))
	if void > 0 {
		pieces = append(pieces, right(65, chart.Span{S: strconv.Itoa(void) + " void", Role: theme.RoleWarn}))
	}
	if left := c.left(); left != "" {
		pieces = append(pieces, right(70, chart.Span{S: left, Role: theme.RoleText}))
	}
	text, role := verdict(&g.Glyphs, c.Verdict)
	return append(pieces, right(90, chart.Span{S: text, Role: role, Attr: theme.Bold}))
}

// RunPlace says which part of the campaign a run is.
func RunPlace(r *progress.Run) string {
	if r.Kind == plan.Measured {
		order := r.Order
		if order == "" {
			order = unit.Unknown
		}
		return "pair " + strconv.Itoa(r.Pair) + " " + order
	}
	switch r.Kind {
	case plan.WarmUp:
		return "warm-up"
	case "":
		return unit.Unknown
	}
	return string(r.Kind)
}
