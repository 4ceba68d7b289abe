package panel

import (
	"slices"
	"strconv"
	"time"

	"opprof/campaign/roster"
	"opprof/engine/control"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// RunStateRole is how a run's state is written.
func RunStateRole(e *roster.Entry) theme.Role {
	switch {
	case e.Pending:
		return theme.RoleDim
	case e.Live:
		return theme.RoleGood
	case e.State == roster.Broken, control.Word(e.State, e.Reason) == control.Dead:
		return theme.RoleBad
	case e.State == roster.CutOff, len(e.Problems) > 0:
		return theme.RoleWarn
	}
	return theme.RoleText
}

func runStateMark(gl *theme.Glyphs, e *roster.Entry) rune {
	switch {
	case e.Pending:
		return gl.Ring
	case e.Live:
		return gl.Dot
	case e.State == roster.Broken, control.Word(e.State, e.Reason) == control.Dead:
		return gl.Cross
	case e.State == roster.CutOff, len(e.Problems) > 0:
		return gl.Triangle
	case e.State == roster.Finished, control.Word(e.State, e.Reason) == control.Stopped:
		return gl.Check
	case e.State == "":
		return ' '
	}
	return '?'
}

// RunsTable is the table of runs with a view's columns. marked are the paths of the runs to compare, a first.
func RunsTable(gl *theme.Glyphs, v roster.View, rows []roster.Entry, marked []string, zone *time.Location) *Sheet {
	s := &Sheet{Cursor: -1, Sort: -1, Empty: "no run to show"}
	columns := v.Shown()
	for i, c := range columns {
		head := c.Head
		if c.ID == v.Sort {
			s.Sort = i
		}
		column := SheetColumn{Head: head, Right: c.Right, Weight: c.Weight}
		if c.ID == "run" {
			column.Flex, column.Least = true, runNameLeast
		}
		s.Columns = append(s.Columns, column)
	}
	for i := range rows {
		s.Rows = append(s.Rows, runCells(gl, &rows[i], columns, slices.Index(marked, rows[i].Path), zone))
	}
	return s
}

// runNameLeast is how much of a run's name is kept before columns go.
const runNameLeast = 26

func runCells(gl *theme.Glyphs, e *roster.Entry, columns []roster.Column, mark int, zone *time.Location) []Cell {
	cells := make([]Cell, 0, len(columns))
	for _, c := range columns {
		cell := Cell{Text: c.Text(e, zone)}
		switch {
		case c.ID == "run" && mark >= 0:
			cell.Text, cell.Role, cell.Attr = string(rune('a'+mark))+" "+cell.Text, theme.RoleAccent, theme.Bold
		case c.ID == "state":
			cell.Text, cell.Role = string(runStateMark(gl, e))+" "+cell.Text, RunStateRole(e)
		case c.ID == "verdict" && cell.Text != unit.Unknown && cell.Text != roster.Whole && cell.Text != "counted":
			cell.Role = theme.RoleWarn
		case cell.Text == unit.Unknown || c.ID == "dropped" && cell.Text == "0":
			cell.Role = theme.RoleDim
		case c.ID == "dropped" || c.ID == "bad" && cell.Text != "0":
			cell.Role = theme.RoleWarn
		}
		cells = append(cells, cell)
	}
	return cells
}

// RunsHeader is the first line of the list of runs.
func RunsHeader(g *chart.Grid, s Status, r *roster.Roster) {
	pieces := []piece{
		{weight: 50, spans: []chart.Span{{S: "opprof", Role: theme.RoleAccent, Attr: theme.Bold}}},
		{weight: 40, spans: []chart.Span{{S: "runs", Role: theme.RoleDim}}},
		{weight: 76, spans: []chart.Span{{S: shorten(s.Run.Path, max(16, g.W()/2)), Role: theme.RoleText}}},
	}
	pieces = append(pieces, alarms(g, s)...)
	if r != nil {
		live := 0
		for i := range r.Runs {
			if r.Runs[i].Live {
				live++
			}
		}
		right := func(weight int, value, name string, role theme.Role) {
			pieces = append(pieces, piece{weight: weight, right: true, spans: []chart.Span{{S: value + " ", Role: role}, {S: name, Role: theme.RoleDim}}})
		}
		if left := len(r.Runs) - r.Read; left > 0 {
			right(70, strconv.Itoa(left), "being read", theme.RoleAccent)
		}
		if live > 0 {
			right(80, strconv.Itoa(live), "live", theme.RoleGood)
		}
		right(90, strconv.Itoa(len(r.Runs)), "runs", theme.RoleText)
	}
	drawPieces(g, pieces)
}

// RunRemarks says what is to be known of a run beside its figures: where it lies, and what is wrong.
func RunRemarks(e *roster.Entry) (lines []string, role theme.Role) {
	lines = []string{e.Path}
	if e.Reason != "" {
		lines = append(lines, e.Reason)
	}
	if e.Sampled {
		lines = append(lines, "~ estimates from samples: open it once, and its index tells the figures as they are")
	}
	lines = append(lines, e.Problems...)
	role = theme.RoleDim
	if len(e.Problems) > 0 {
		role = theme.RoleWarn
	}
	return lines, role
}
