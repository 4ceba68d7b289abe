package panel

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"opprof/campaign/gate"
	"opprof/campaign/plan"
	"opprof/campaign/progress"
	"opprof/engine/unit"
	"opprof/tui/theme"
)

// RunMark is the mark of a campaign run's state and its role; the word stands beside it.
func RunMark(gl *theme.Glyphs, state string) (rune, theme.Role) {
	switch state {
	case progress.Pending:
		return gl.Ring, theme.RoleDim
	case progress.Starting, progress.Stopping, progress.Cooling:
		return gl.Pause, theme.RoleAccent
	case progress.Loading:
		return gl.Dot, theme.RoleGood
	case progress.Done:
		return gl.Check, theme.RoleGood
	case progress.Failed:
		return gl.Cross, theme.RoleBad
	}
	return '?', theme.RoleWarn
}

// CampaignMetrics are the names of the primary metrics of all cells, in their order.
func CampaignMetrics(c *progress.Campaign) []string {
	var names []string
	for i := range c.Cells {
		for _, m := range c.Cells[i].Decision.Metrics {
			if !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	return names
}

// metric is a cell's result of a metric; nil when it has none.
func metric(cell *progress.Cell, name string) *gate.Result {
	for i := range cell.Decision.Metrics {
		if cell.Decision.Metrics[i].Name == name {
			return &cell.Decision.Metrics[i]
		}
	}
	return nil
}

// cellName is how much of a cell's name is kept before columns go.
const cellName = 24

// CellTable is the matrix: a row for each cell, with the point and the upper bound of each metric. The selected one goes last where there is
// too little room.
func (c *Campaign) CellTable(gl *theme.Glyphs, selected string) *Sheet {
	s := &Sheet{Cursor: -1, Sort: -1, Empty: "the plan has no cell", Columns: []SheetColumn{
		{Head: "cell", Flex: true}, {Head: "verdict"}, {Head: "pairs", Right: true, Weight: 9}, {Head: "void", Right: true, Weight: 8},
	}}
	names := CampaignMetrics(c.Campaign)
	for i, name := range names {
		column := SheetColumn{Head: beside(name+" %", "bound"), Right: true, Weight: max(1, 6-i)}
		if name == selected {
			column.Weight, s.Sort = 7, len(s.Columns)
		}
		s.Columns = append(s.Columns, column)
	}
	for i := range c.Cells {
		row := c.cellCells(gl, &c.Cells[i])
		for _, name := range names {
			row = append(row, metricCell(gl, &c.Cells[i], name))
		}
		s.Columns[0].Least = min(cellName, max(s.Columns[0].Least, utf8.RuneCountInString(row[0].Text)))
		s.Rows = append(s.Rows, row)
	}
	return s
}

// cellCells are a cell's name, verdict and pairs.
func (c *Campaign) cellCells(gl *theme.Glyphs, cell *progress.Cell) []Cell {
	text, role := verdict(gl, CellVerdict(cell))
	name := Cell{Text: "  " + cell.Name}
	if c.Current != nil && slices.ContainsFunc(cell.Runs, func(r progress.Run) bool { return r.ID == c.Current.ID }) {
		name.Text, name.Attr = string(gl.Dot)+" "+cell.Name, theme.Bold
	}
	void := Cell{Text: strconv.Itoa(cell.Void), Role: theme.RoleDim}
	if cell.Void > 0 {
		void.Role = theme.RoleWarn
	}
	return []Cell{name, {Text: text, Role: role, Attr: theme.Bold}, {Text: strconv.Itoa(cell.Counted) + " of " + strconv.Itoa(cell.Planned)}, void}
}

// metricCell is a point with its bound, and a mark of what the gate says of them.
func metricCell(gl *theme.Glyphs, cell *progress.Cell, name string) Cell {
	r := metric(cell, name)
	if r == nil || r.N == 0 {
		return Cell{Text: beside(unit.Unknown, unit.Unknown), Role: theme.RoleDim}
	}
	mark, role := GateMark(gl, metricVerdict(cell, r))
	return Cell{Text: beside(string(mark)+" "+unit.Known(r.PointPct, Signed), unit.Known(r.UpperPct, Signed)), Role: role}
}

// beside puts a bound behind its point, so that in a column both stand below each other.
func beside(point, bound string) string {
	const widest = len("+12.34")
	return point + "  " + unit.Right(bound, widest)
}

// metricVerdict is what the gate says of a metric, once all pairs are there.
func metricVerdict(cell *progress.Cell, r *gate.Result) string {
	if Due(cell) > 0 {
		return gate.Undecided
	}
	return r.Verdict
}

const (
	whyMost  = 36 // how much of a reason is kept beside the figures, where there is so much room
	whyLeast = 24 // and before figures go
	whyAt    = 5  // the column of phases and reasons
	tookAt   = 3  // the first column of figures
)

// RunTable is the list of a cell's runs in their order, with the value of a metric, for w columns.
func (c *Campaign) RunTable(gl *theme.Glyphs, cell *progress.Cell, metric string, w int) *Sheet {
	s := &Sheet{Cursor: -1, Sort: -1, Empty: "no run is planned", Columns: []SheetColumn{
		{Head: "run"}, {Head: "arm"}, {Head: "state"}, {Head: "took", Right: true, Weight: 5}, {Head: c.metricHead(metric), Right: true, Weight: 6},
		{Head: "phase, or why not", Flex: true, Weight: 7}, {Head: "started", Weight: 3}, {Head: "id", Weight: 1},
	}}
	if cell == nil {
		return s
	}
	why := c.State == progress.Running
	for i := range cell.Runs {
		row := c.runCells(gl, &cell.Runs[i], metric)
		why = why || row[whyAt].Text != ""
		s.Rows = append(s.Rows, row)
	}
	if !why {
		s.leaveOut(whyAt)
		return s
	}
	s.Columns[whyAt].Least = s.whyWidth(w)
	return s
}

// whyWidth is the least width of the reasons in a table of w columns: as much as they need, as long as the figures keep their room.
func (s *Sheet) whyWidth(w int) int {
	const gap = 2
	stay, figures := gutter, 0
	for i := range whyAt {
		if i < tookAt {
			stay += s.content(i) + gap
		} else {
			figures += s.content(i) + gap
		}
	}
	return min(s.content(whyAt), w-stay, max(whyLeast, min(whyMost, w-stay-figures)))
}

// metricHead names a metric with its unit, in short.
func (c *Campaign) metricHead(metric string) string {
	short := strings.NewReplacer("tokens", "tok", "requests", "req")
	if c.Campaign == nil || c.Units[metric] == "" {
		return cmp.Or(metric, "metric")
	}
	return metric + " " + short.Replace(c.Units[metric])
}

// RunWhy is why a run or its pair does not count, else how far it is.
func RunWhy(r *progress.Run) (string, theme.Role) {
	switch {
	case r.Void != "":
		return "void: " + r.Void, theme.RoleWarn
	case r.Reason != "":
		return r.Reason, theme.RoleWarn
	}
	return r.Phase, theme.RoleDim
}

func (c *Campaign) runCells(gl *theme.Glyphs, r *progress.Run, metric string) []Cell {
	mark, role := RunMark(gl, r.State)
	why, whyRole := RunWhy(r)
	state := Cell{Text: string(mark) + " " + cmp.Or(r.State, unit.Unknown), Role: role}
	if c.Current != nil && r.ID == c.Current.ID {
		state.Attr = theme.Bold
	}
	value := Cell{Text: unit.Unknown, Role: theme.RoleDim}
	if v, ok := r.Metrics[metric]; ok {
		value = Cell{Text: unit.Number(v)}
	}
	arm := Cell{Text: cmp.Or(r.Arm, unit.Unknown)}
	if r.Arm == plan.On {
		arm.Role = theme.RoleAccent
	}
	return []Cell{
		{Text: RunPlace(r)}, arm, state, {Text: c.took(r), Role: theme.RoleDim}, value, {Text: why, Role: whyRole},
		{Text: unit.Known(r.StartedNS, func(ns int64) string { return unit.ClockSeconds(ns, c.Zone) }), Role: theme.RoleDim}, {Text: r.ID, Role: theme.RoleDim},
	}
}
