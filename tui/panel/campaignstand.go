package panel

import (
	"cmp"
	"strconv"

	"opprof/campaign/gate"
	"opprof/campaign/progress"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// StandLines is how many lines Stand fills when it has them.
const StandLines = 4

// Stand draws how the campaign stands: its state and why, the verdict so far, what runs now, and the newest remark.
func (c *Campaign) Stand(g *chart.Grid) {
	for y, spans := range [][]chart.Span{c.stateSpans(&g.Glyphs), c.timeSpans(), c.nowSpans(&g.Glyphs), c.remarkSpans(&g.Glyphs)} {
		g.Spans(0, y, g.W(), spans...)
	}
}

func (c *Campaign) stateSpans(gl *theme.Glyphs) []chart.Span {
	mark, role := CampaignMark(gl, c.State)
	spans := []chart.Span{{S: string(mark) + " " + c.State, Role: role, Attr: theme.Bold}}
	if c.Reason != "" {
		spans = append(spans, chart.Span{S: ": " + c.Reason, Role: role})
	}
	name := "   so far "
	if c.State == progress.Finished {
		name = "   verdict "
	}
	text, role := verdict(gl, c.Verdict)
	spans = append(spans, chart.Span{S: name, Role: theme.RoleDim}, chart.Span{S: text, Role: role, Attr: theme.Bold})
	if why := c.why(); why != "" {
		spans = append(spans, chart.Span{S: ": " + why, Role: role})
	}
	return spans
}

// why is the first reason against a pass, of the cell that has the campaign's verdict.
func (c *Campaign) why() string {
	if c.Verdict == gate.Pass {
		return ""
	}
	for i := range c.Cells {
		cell := &c.Cells[i]
		if CellVerdict(cell) != c.Verdict {
			continue
		}
		if why := cellReason(cell); len(c.Cells) > 1 && why != "" {
			return cell.Name + ": " + why
		} else if why != "" {
			return why
		}
	}
	return ""
}

// Due is how many pairs of a cell are still to be judged.
func Due(cell *progress.Cell) int { return max(0, cell.Planned-cell.Counted-cell.Void) }

// CellVerdict is a cell's verdict. Before its last planned pair it has none: whoever looks until the bound is low enough finds it low enough.
func CellVerdict(cell *progress.Cell) string {
	if Due(cell) > 0 {
		return gate.Undecided
	}
	return cell.Decision.Verdict
}

// cellReason is why a cell has not passed. Before the gate has pairs enough that is all there is to say.
func cellReason(cell *progress.Cell) string {
	switch d := &cell.Decision; {
	case cell.Planned < gate.MinPairs:
		return strconv.Itoa(cell.Planned) + " planned " + unit.Plural(cell.Planned, "pair") + ", a verdict needs " + strconv.Itoa(gate.MinPairs)
	case cell.Counted < gate.MinPairs:
		return strconv.Itoa(cell.Counted) + " of at least " + strconv.Itoa(gate.MinPairs) + " pairs"
	case Due(cell) > 0:
		return strconv.Itoa(Due(cell)) + " of " + strconv.Itoa(cell.Planned) + " pairs are still to come"
	case d.Verdict != gate.Pass && len(d.Reasons) > 0:
		return d.Reasons[0]
	}
	return ""
}

func (c *Campaign) timeSpans() []chart.Span {
	counted, planned, void := c.pairs()
	spans := []chart.Span{{S: "pairs ", Role: theme.RoleDim}, {S: strconv.Itoa(counted) + " of " + strconv.Itoa(planned) + " counted", Role: theme.RoleText}}
	if void > 0 {
		spans = append(spans, chart.Span{S: ", " + strconv.Itoa(void) + " void", Role: theme.RoleWarn})
	}
	clock := func(name string, ns *int64) {
		spans = append(spans, chart.Span{S: "   " + name + " ", Role: theme.RoleDim},
			chart.Span{S: unit.Known(ns, func(ns int64) string { return unit.ClockSeconds(ns, c.Zone) }), Role: theme.RoleText})
	}
	clock("started", c.StartedNS)
	if c.EndedNS != nil {
		clock("ended", c.EndedNS)
	}
	if left := c.left(); left != "" {
		spans = append(spans, chart.Span{S: "   " + left, Role: theme.RoleText})
	} else if c.State == progress.Running {
		spans = append(spans, chart.Span{S: "   time left " + unit.Unknown, Role: theme.RoleDim})
	}
	if c.UntilNS != nil {
		clock("begins no pair that ends after", c.UntilNS)
	}
	if c.SecondLook {
		spans = append(spans, chart.Span{S: "   second look", Role: theme.RoleAccent})
	}
	return spans
}

func (c *Campaign) nowSpans(gl *theme.Glyphs) []chart.Span {
	r := c.Current
	if r == nil {
		return []chart.Span{{S: "now ", Role: theme.RoleDim}, {S: c.nothing(), Role: theme.RoleText}}
	}
	mark, role := RunMark(gl, r.State)
	spans := []chart.Span{
		{S: "now ", Role: theme.RoleDim}, {S: string(mark) + " " + cmp.Or(r.State, unit.Unknown), Role: role, Attr: theme.Bold},
	}
	if r.StartedNS != nil {
		spans = append(spans, chart.Span{S: " " + c.took(r), Role: theme.RoleText})
	}
	if r.Phase != "" {
		spans = append(spans, chart.Span{S: ": " + r.Phase, Role: theme.RoleText})
	}
	return append(spans, chart.Span{S: "   arm ", Role: theme.RoleDim}, chart.Span{S: cmp.Or(r.Arm, unit.Unknown) + ", " + RunPlace(r), Role: theme.RoleText},
		chart.Span{S: "   " + r.ID, Role: theme.RoleDim})
}

// nothing says what could be done while no run is in progress.
func (c *Campaign) nothing() string {
	switch c.State {
	case progress.Paused:
		return "no runner works: opprof campaign resume goes on"
	case progress.Finished, progress.Refused:
		return "nothing runs: opprof campaign report says what was found"
	}
	return "between two runs"
}

func (c *Campaign) remarkSpans(gl *theme.Glyphs) []chart.Span {
	n := len(c.Remarks)
	if n == 0 {
		return []chart.Span{{S: "no remark", Role: theme.RoleDim}}
	}
	spans := []chart.Span{{S: string(gl.Triangle) + " ", Role: theme.RoleWarn, Attr: theme.Bold}}
	if n > 1 {
		spans = append(spans, chart.Span{S: unit.Counted(n, "remark") + ", the newest: ", Role: theme.RoleDim})
	}
	return append(spans, chart.Span{S: c.Remarks[n-1], Role: theme.RoleWarn})
}

// RemarkRows are what went wrong or deviates, the newest first, and why the cell has no better verdict.
func (c *Campaign) RemarkRows(cell *progress.Cell) []Row {
	var rows []Row
	for i := len(c.Remarks) - 1; i >= 0; i-- {
		rows = append(rows, Row{Name: strconv.Itoa(i + 1), Value: c.Remarks[i], Role: theme.RoleWarn})
	}
	warnings := cellWarnings(cell)
	switch {
	case len(rows) == 0 && len(warnings) == 0:
		return []Row{{Name: "no remark"}}
	case len(rows) > 0 && len(warnings) > 0:
		rows = append(rows, Row{})
	}
	return append(rows, warnings...)
}

// cellWarnings say why a cell has no better verdict, and what the gate warns of beside that.
func cellWarnings(cell *progress.Cell) []Row {
	if cell == nil {
		return nil
	}
	rows := []Row{{Heading: cell.Name}}
	why := cellReason(cell)
	if why != "" {
		rows = append(rows, Row{Name: cmp.Or(CellVerdict(cell), unit.Unknown), Value: why})
	}
	for _, m := range cell.Decision.Metrics {
		for _, w := range m.Warnings {
			if m.Name+": "+w != why {
				rows = append(rows, Row{Name: m.Name, Value: w})
			}
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return rows
}
