package tui

import (
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"opprof/campaign/roster"
	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/theme"
)

// columnsDialog chooses the columns of the list of runs.
type columnsDialog struct {
	all    []roster.Column
	chosen []bool
	at     int
	top    int
}

func newColumnsDialog(v roster.View) *columnsDialog {
	d := &columnsDialog{all: roster.Columns()[1:]} // the run's own name always stands
	shown := v.Shown()
	for _, c := range d.all {
		d.chosen = append(d.chosen, slices.ContainsFunc(shown, func(s roster.Column) bool { return s.ID == c.ID }))
	}
	return d
}

func (d *columnsDialog) context() keys.Context { return keys.ContextColumns }
func (d *columnsDialog) paste(string)          {}

func (d *columnsDialog) press(b keys.Binding, _ tea.KeyPressMsg) (tea.Cmd, bool) {
	switch b.ID {
	case keys.FieldNext:
		d.at = (d.at + 1) % len(d.all)
	case keys.FieldPrev:
		d.at = (d.at + len(d.all) - 1) % len(d.all)
	case keys.Back:
		return nil, true
	case keys.Accept:
		ids := []string{}
		for i, c := range d.all {
			if d.chosen[i] {
				ids = append(ids, c.ID)
			}
		}
		return func() tea.Msg { return columnsMsg{ids} }, true
	case keys.ShowColumn:
		d.chosen[d.at] = !d.chosen[d.at]
	}
	return nil, false
}

func (d *columnsDialog) draw(g *chart.Grid) {
	right := "esc closes"
	if n := len(d.all); n+3 > g.H() {
		right = strconv.Itoa(d.at+1) + " of " + strconv.Itoa(n) + "  " + right
	}
	inside := dialogBox(g, 76, len(d.all)+3, len(d.all)+3, "columns", right)
	if inside == nil {
		return
	}
	rows := inside.H() - 1
	d.top = max(0, min(min(d.top, d.at), len(d.all)-rows))
	d.top = max(d.top, d.at-rows+1)
	for y := range min(rows, len(d.all)-d.top) {
		i := d.top + y
		box := "[ ] "
		if d.chosen[i] {
			box = "[x] "
		}
		inside.Spans(0, y, inside.W(), chart.Span{S: box, Role: theme.RoleAccent}, chart.Span{S: pad(d.all[i].Head, 12), Role: theme.RoleText, Attr: theme.Bold},
			chart.Span{S: d.all[i].Long, Role: theme.RoleDim})
		if i == d.at {
			inside.Restyle(chart.Rect{Y: y, W: inside.W(), H: 1}, theme.RoleSelected, 0)
		}
	}
	inside.Text(0, inside.H()-1, inside.W(), "space shows or hides, enter keeps", theme.RoleDim)
}
