package panel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"opprof/campaign/calibrate"
	"opprof/engine/unit"
	"opprof/traces/family"
	"opprof/tui/theme"
)

// costTableHeads are the columns of the table before those of the families.
func costTableHeads() []string {
	return []string{"graph", "bucket", "decode", "prefill", "context", "windows", "steps", "busy ms", "least", "most"}
}

// NextCostSort is the column after another that the table can be sorted by; -1 is its own order.
func NextCostSort(column int) int {
	if column < 0 {
		return costFirstFigure
	}
	if column++; column == len(costTableHeads()) {
		return -1
	}
	return column
}

// CostSort names a column that the table is sorted by; "" for its own order.
func CostSort(column int) string {
	if column < 0 {
		return ""
	}
	return costTableHeads()[column]
}

// costFirstFigure is the first column that has a figure of its own: those before name the steps.
const costFirstFigure = 5

// CostRows are the rows of the table by their index, in the order that they are listed in.
func CostRows(r *calibrate.SetReport, sort int, down bool) []int {
	order := make([]int, len(r.Table))
	for i := range order {
		order[i] = i
	}
	value := func(i int) float64 {
		row := &r.Table[i]
		return [...]float64{float64(row.Windows), float64(row.Steps), row.BusyNS, row.BusyMin, row.BusyMax}[sort-costFirstFigure]
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case sort < 0 && down:
			return cmp.Compare(b, a)
		case sort < 0:
			return cmp.Compare(a, b)
		case down:
			return cmp.Compare(value(a), value(b))
		}
		return cmp.Compare(value(b), value(a))
	})
	return order
}

// CostTable is the table of what was measured.
func CostTable(r *calibrate.SetReport, sort int, down bool) *Sheet {
	s := &Sheet{Cursor: -1, Sort: sort, Empty: "no step was measured"}
	for i, h := range costTableHeads() {
		s.Columns = append(s.Columns, SheetColumn{Head: h, Right: i > 0, Weight: [...]int{0, 30, 0, 0, 0, 20, 24, 0, 22, 23}[i]})
	}
	var shown []family.Family
	for f := range family.Count {
		if slices.ContainsFunc(r.Table, func(row calibrate.Row) bool { return row.FamilyNS[f.String()] > 0 }) {
			shown = append(shown, f)
			look := lookOf(f)
			s.Columns = append(s.Columns, SheetColumn{Head: look.short, Right: true, Letter: look.letter, Role: look.role, Weight: 18 - len(shown)})
		}
	}
	if r.Ranks > 1 {
		s.Columns = append(s.Columns, SheetColumn{Head: "sum of ranks", Right: true, Weight: 1})
	}
	for _, i := range CostRows(r, sort, down) {
		row := &r.Table[i]
		bucket := unit.Unknown
		if row.Bucket > 0 {
			bucket = unit.Count(row.Bucket)
		}
		cells := []Cell{{Text: shortMode(row.Graph), Role: theme.RoleDim}, {Text: bucket}, {Text: row.Decode, Role: theme.RoleDecode}, {Text: row.Prefill, Role: theme.RolePrefill}, {Text: row.Context},
			{Text: strconv.Itoa(row.Windows)}, {Text: strconv.Itoa(row.Steps)}, {Text: floatMS(row.BusyNS), Attr: theme.Bold}, {Text: floatMS(row.BusyMin), Role: theme.RoleDim}, {Text: floatMS(row.BusyMax), Role: theme.RoleDim}}
		for _, f := range shown {
			cells = append(cells, Cell{Text: floatMS(row.FamilyNS[f.String()])})
		}
		if r.Ranks > 1 {
			cells = append(cells, Cell{Text: floatMS(row.SumNS)})
		}
		s.Rows = append(s.Rows, cells)
	}
	return s
}

// CostWindows is the table of the windows that the answer rests on: how far off the model is on each, learned from the others.
func CostWindows(r *calibrate.SetReport) *Sheet {
	s := &Sheet{Cursor: -1, Sort: -1, Empty: "one window: nothing can be held out", Columns: []SheetColumn{
		{Head: "window"}, {Head: "", Weight: 5}, {Head: "steps", Right: true, Weight: 4}, {Head: "model off by", Right: true}, {Head: "spread of its steps", Right: true, Weight: 2}, {Head: "table off by", Right: true, Weight: 3},
	}}
	table := map[string]float64{}
	for _, w := range r.TableHeld.ByWindow {
		table[w.Window] = w.Pct
	}
	for _, w := range r.Busy.ByWindow {
		where, byTable := Cell{Text: "outside of the others", Role: theme.RoleWarn}, Cell{Text: unit.Unknown, Role: theme.RoleDim}
		if w.Inside {
			where = Cell{Text: "within the others", Role: theme.RoleGood}
		}
		if v, ok := table[w.Window]; ok {
			byTable = Cell{Text: fmt.Sprintf("%+.1f %%", v)}
		}
		s.Rows = append(s.Rows, []Cell{{Text: w.Window}, where, {Text: strconv.Itoa(w.Steps)}, {Text: fmt.Sprintf("%+.1f %%", w.Pct)}, {Text: fmt.Sprintf("%.1f %%", w.Spread), Role: theme.RoleDim}, byTable})
	}
	return s
}

// CostModel is the table of the model's terms.
func CostModel(r *calibrate.SetReport) *Sheet {
	s := &Sheet{Cursor: -1, Sort: -1, Empty: "no family takes time", Columns: []SheetColumn{
		{Head: ""}, {Head: "family"}, {Head: "held out", Right: true, Weight: 5}, {Head: "at most", Right: true, Weight: 3}, {Head: "us", Flex: true, Least: 24},
	}}
	pct := func(v *float64) string {
		return unit.Known(v, func(v float64) string { return fmt.Sprintf("%.1f %%", v) })
	}
	for i := range r.Models {
		m := &r.Models[i]
		var parts []string
		for _, t := range m.Terms {
			if t.NS > 0 {
				parts = append(parts, termText(t))
			}
		}
		terms := strings.Join(parts, " + ")
		if m.Saturation != nil {
			terms += fmt.Sprintf(", 63 %% of weights by %.3g tokens", *m.Saturation)
		}
		look := lookByName(m.Family)
		s.Rows = append(s.Rows, []Cell{{Text: string(look.letter), Role: look.role, Attr: theme.Bold | theme.Reverse}, {Text: look.name, Role: look.role}, {Text: pct(m.Held.MeanPct)}, {Text: pct(m.Held.MaxPct), Role: theme.RoleDim}, {Text: terms}})
	}
	return s
}

// termText is a coefficient in microseconds with what it counts.
func termText(t calibrate.TermReport) string {
	us := t.NS / 1e3
	text := strconv.FormatFloat(us, 'g', 4, 64)
	if us >= 1000 {
		text = unit.Count(int64(us + 0.5))
	}
	if strings.HasPrefix(t.Unit, "all ") {
		return text + " for " + t.Unit
	}
	return text + " a " + t.Unit
}
