package panel

import (
	"cmp"
	"slices"
	"strconv"

	"opprof/campaign/calibrate"
	"opprof/engine/unit"
	"opprof/traces/family"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

func lookByName(name string) familyLook {
	for f := range family.Count {
		if f.String() == name {
			return lookOf(f)
		}
	}
	return familyLook{'?', name, name, theme.RoleOther}
}

// byTime are the families of an answer, the longest first.
func byTime(a *calibrate.Answer) []calibrate.Estimate {
	out := slices.Clone(a.Families)
	slices.SortStableFunc(out, func(a, b calibrate.Estimate) int { return cmp.Compare(b.NS, a.NS) })
	return out
}

// within is the interval of an estimate.
func within(e calibrate.Estimate) string {
	if e.LowNS == nil {
		return unit.Unknown
	}
	return floatMS(*e.LowNS) + "-" + floatMS(*e.HighNS)
}

func costStack(a *calibrate.Answer) chart.StackRow {
	var s chart.StackRow
	for _, e := range byTime(a) {
		look := lookByName(e.Name)
		s.Parts = append(s.Parts, chart.Part{Label: string(look.letter) + " " + look.short, Value: e.NS, Role: look.role})
	}
	return s
}

// costFamilies is the table of an answer's families, the model beside the row of the table.
type costFamilies struct {
	*calibrate.Answer
	narrow bool
}

// sheet has at most so many rows. Families without one of their own are summed up.
func (p costFamilies) sheet(rows int) *Sheet {
	interval, beside := 4, 5
	if p.Cell == nil {
		beside = 2
	}
	if p.Busy.LowNS == nil {
		interval = 1 // nothing but dashes
	}
	s := &Sheet{Cursor: -1, Sort: -1, Columns: []SheetColumn{
		{Head: ""}, {Head: "family"}, {Head: "model ms", Right: true}, {Head: "95 %", Right: true, Weight: interval}, {Head: "share", Right: true, Weight: 3}, {Head: "measured", Right: true, Weight: beside},
	}}
	all := byTime(p.Answer)
	own := len(all)
	if own > rows {
		own = max(0, rows-1)
	}
	for _, e := range all[:own] {
		s.Rows = append(s.Rows, p.row(e))
	}
	if own < len(all) && rows > 0 {
		s.Rows = append(s.Rows, p.others(all[own:]))
	}
	busy := unit.Unknown
	if p.Cell != nil {
		busy = floatMS(p.Cell.BusyNS)
	}
	s.Total = append([]Cell{{}, {Text: "busy", Role: theme.RoleTitle, Attr: theme.Bold}}, p.cells(p.Busy, busy, theme.Bold)...)
	return s
}

// row is that of one family.
func (p costFamilies) row(e calibrate.Estimate) []Cell {
	look := lookByName(e.Name)
	name := look.name
	if p.narrow {
		name = look.short
	}
	return append([]Cell{{Text: string(look.letter), Role: look.role, Attr: theme.Bold | theme.Reverse}, {Text: name, Role: look.role}}, p.cells(e, p.measured(e), 0)...)
}

// others is the row of families without one of their own. The interval of a sum is not known.
func (p costFamilies) others(rest []calibrate.Estimate) []Cell {
	var sum calibrate.Estimate
	for _, e := range rest {
		sum.NS += e.NS
	}
	return append([]Cell{{}, {Text: strconv.Itoa(len(rest)) + " others", Role: theme.RoleDim}}, p.cells(sum, p.measured(rest...), 0)...)
}

// measured is what families took in the row of the table, together.
func (p costFamilies) measured(of ...calibrate.Estimate) string {
	if p.Cell == nil {
		return unit.Unknown
	}
	ns := 0.0
	for _, e := range of {
		ns += p.Cell.FamilyNS[e.Name]
	}
	return floatMS(ns)
}

// cells are the figures of an estimate.
func (p costFamilies) cells(e calibrate.Estimate, measured string, attr theme.Attr) []Cell {
	share := unit.Unknown
	if p.Busy.NS > 0 {
		share = unit.Percent(e.NS / p.Busy.NS)
	}
	return []Cell{{Text: floatMS(e.NS), Attr: attr}, {Text: within(e), Role: theme.RoleDim}, {Text: share, Role: theme.RoleDim}, {Text: measured, Attr: attr}}
}
