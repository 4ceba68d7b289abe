package panel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"opprof/engine/unit"
	"opprof/traces/catalog"
	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/traces/rank"
	"opprof/tui/theme"
)

// Iterations is the table of a window's iterations.
type Iterations struct {
	Window *join.Window
	Rank   int // whose families are shown; -1 is the critical one of each iteration
	Sort   int // column; -1 is the order of time
	Down   bool
}

// iterationColumns, the families after the first eight.
func iterationColumns() []SheetColumn {
	columns := []SheetColumn{
		{Head: "#", Right: true}, {Head: "step", Right: true, Weight: 19}, {Head: "prefill", Right: true, Weight: 12}, {Head: "decode", Right: true, Weight: 12},
		{Head: "graph", Weight: 11}, {Head: "period", Right: true, Weight: 18}, {Head: "critical", Right: true, Weight: 20}, {Head: "residual", Right: true, Weight: 17},
	}
	for f := range family.Count {
		look := lookOf(f)
		columns = append(columns, SheetColumn{Head: look.short, Right: true, Weight: familyWeight(f), Letter: look.letter, Role: look.role})
	}
	return append(columns, SheetColumn{Head: "wait", Right: true, Weight: 5}, SheetColumn{Head: "rank", Weight: 6}, SheetColumn{Head: "top kernel", Flex: true, Least: 16, Weight: 7})
}

// familyWeight keeps the families of the layer longest.
func familyWeight(f family.Family) int {
	switch f {
	case family.ExpertGEMM, family.Attention:
		return 16
	case family.DenseGEMM, family.Collective:
		return 15
	case family.NormAct, family.Router:
		return 14
	case family.Sampling:
		return 4
	}
	return 3
}

// IterationSort is the name of the column that rows are sorted by; "" for the order of time.
func IterationSort(column int) string {
	columns := iterationColumns()
	if column < 0 || column >= len(columns) {
		return ""
	}
	return columns[column].Head
}

// NextIterationSort is the next column that it makes sense to sort by; -1, the order of time, behind the last.
func NextIterationSort(column int) int {
	columns := iterationColumns()
	for next := column + 1; next < len(columns); next++ {
		if columns[next].Right && next > 1 {
			return next
		}
	}
	return -1
}

// Order is the iterations as the table lists them.
func (p Iterations) Order() []int {
	order := make([]int, len(p.Window.Iterations))
	for i := range order {
		order[i] = i
	}
	if p.Sort < 0 {
		return order
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := p.value(a, p.Sort), p.value(b, p.Sort)
		if p.Down {
			return cmp.Compare(x, y)
		}
		return cmp.Compare(y, x)
	})
	return order
}

// unknownValue sorts behind all others.
const unknownValue = -1 << 62

// value is what a column sorts by.
func (p Iterations) value(i, column int) int64 {
	it := &p.Window.Iterations[i]
	switch column {
	case 2:
		return it.Label.PrefillTokens
	case 3:
		return it.Label.DecodeRequests
	case 5:
		if it.Step != nil && it.Step.PeriodNS != nil {
			return *it.Step.PeriodNS
		}
		return unknownValue
	case 6:
		return it.CriticalNS
	case 7:
		if it.ResidualNS != nil {
			return *it.ResidualNS
		}
		return unknownValue
	}
	f := column - 8
	if r := p.of(it); r != nil && f >= 0 && f < int(family.Count) {
		return r.Families[f].UnionNS
	}
	if f == int(family.Count) {
		return it.WaitNS
	}
	return int64(-i)
}

// of is the rank that the families of an iteration are of.
func (p Iterations) of(it *join.Iteration) *rank.Iteration {
	k := p.Rank
	if k < 0 {
		k = it.Critical
	}
	if k >= len(it.Ranks) {
		return nil
	}
	return it.Ranks[k]
}

// Sheet lays the table out, in the order of Order.
func (p Iterations) Sheet() *Sheet {
	s := &Sheet{Columns: iterationColumns(), Cursor: -1, Sort: p.Sort, Empty: "the traces have no iteration labels: figures cover the whole window"}
	for _, i := range p.Order() {
		s.Rows = append(s.Rows, p.cells(i))
	}
	if len(s.Rows) > 0 {
		s.Total = p.totals()
	}
	return s
}

func (p Iterations) cells(i int) []Cell {
	it := &p.Window.Iterations[i]
	number := Cell{Text: strconv.Itoa(i+1) + " "}
	if it.Warmup {
		number = Cell{Text: strconv.Itoa(i+1) + "w", Role: theme.RoleDim}
	}
	if it.Export {
		number = Cell{Text: strconv.Itoa(i+1) + "x", Role: theme.RoleWarn}
	}
	unknown := Cell{Text: unit.Unknown, Role: theme.RoleDim}
	step, graph, period, residual := unknown, unknown, unknown, unknown
	if s := it.Step; s != nil {
		step = Cell{Text: unit.Count(s.Index)}
		if s.Graph != "" {
			graph = Cell{Text: fmt.Sprintf("%s %s", shortMode(s.Graph), unit.Count(s.BucketTokens)), Role: graphRole(s.Graph)}
			if s.Graph == "NONE" {
				graph.Text = "NONE"
			}
		}
		if s.PeriodNS != nil {
			period = Cell{Text: ms3(*s.PeriodNS), Role: theme.RolePeriod}
			if it.Export {
				period.Role = theme.RoleWarn
			}
		}
	}
	if it.ResidualNS != nil {
		residual = Cell{Text: signedMS(*it.ResidualNS, false)}
		if it.Export {
			residual.Role = theme.RoleWarn
		}
	}
	prefill, decode := Cell{Text: unit.Unknown, Role: theme.RoleDim}, Cell{Text: it.Label.Text, Role: theme.RoleDim}
	if l := it.Label; l.Known {
		prefill = Cell{Text: unit.Count(l.PrefillTokens), Role: inked(l.PrefillTokens, theme.RolePrefill)}
		decode = Cell{Text: unit.Count(l.DecodeRequests), Role: inked(l.DecodeRequests, theme.RoleDecode)}
	}
	cells := []Cell{number, step, prefill, decode, graph, period, {Text: ms3(it.CriticalNS), Attr: theme.Bold}, residual}
	r := p.of(it)
	for f := range family.Count {
		c := unknown
		if r != nil && it.CriticalNS >= 0 {
			c = Cell{Text: ms3(r.Families[f].UnionNS), Role: inked(r.Families[f].UnionNS, theme.RoleText)}
		}
		cells = append(cells, c)
	}
	wait, slowest := unknown, unknown
	if len(p.Window.Ranks) > 1 {
		wait = Cell{Text: ms3(it.WaitNS)}
	}
	if it.CriticalNS >= 0 && len(p.Window.Ranks) > 0 {
		slowest = Cell{Text: RankName(p.Window, it.Slowest)}
	}
	return append(cells, wait, slowest, p.topKernel(it))
}

// topKernel is the kernel with the most time in the iteration.
func (p Iterations) topKernel(it *join.Iteration) Cell {
	k := p.Rank
	if k < 0 {
		k = it.Critical
	}
	r := p.of(it)
	if r == nil || r.TopKernel < 0 {
		return Cell{Text: unit.Unknown, Role: theme.RoleDim}
	}
	use := &p.Window.Ranks[k].Kernel[r.TopKernel]
	return Cell{Text: KernelName(use.Name), Role: lookOf(use.Verdict.Family).role}
}

func graphRole(mode string) theme.Role {
	switch mode {
	case "FULL":
		return theme.RoleGraphFull
	case "PIECEWISE":
		return theme.RoleGraphPiecewise
	case "NONE":
		return theme.RoleGraphNone
	}
	return theme.RoleGraphUnknown
}

// totals sum up the active iterations but the one that holds the export.
func (p Iterations) totals() []Cell {
	active := slices.DeleteFunc(slices.Clone(catalog.Active(p.Window)), func(it join.Iteration) bool { return it.Export })
	var prefill, decode, period, critical, residual, wait int64
	var families [family.Count]int64
	joined, device, waited := len(active) > 0, len(active) > 0, len(active) > 0
	for i := range active {
		it := &active[i]
		prefill += it.Label.PrefillTokens
		decode += it.Label.DecodeRequests
		critical += it.CriticalNS
		wait += it.WaitNS
		device, waited = device && it.CriticalNS >= 0, waited && it.WaitNS >= 0
		switch {
		case it.ResidualNS == nil:
			joined = false
		default:
			period += *it.Step.PeriodNS
			residual += *it.ResidualNS
		}
		if r := p.of(it); r != nil {
			for f := range families {
				families[f] += r.Families[f].UnionNS
			}
		}
	}
	bold := func(s string) Cell { return Cell{Text: s, Role: theme.RoleTitle, Attr: theme.Bold} }
	cells := []Cell{bold("sum"), bold(strconv.Itoa(len(active)) + " of " + strconv.Itoa(len(p.Window.Iterations))), bold(unit.Count(prefill)), bold(unit.Count(decode)), {}, bold(unit.Unknown), bold(unit.Unknown), bold(unit.Unknown)}
	if device {
		cells[6] = bold(ms3(critical))
	}
	if joined {
		cells[5], cells[7] = bold(ms3(period)), bold(signedMS(residual, false))
	}
	for f := range families {
		if device {
			cells = append(cells, bold(ms3(families[f])))
		} else {
			cells = append(cells, bold(unit.Unknown))
		}
	}
	waits := Cell{}
	switch {
	case len(p.Window.Ranks) < 2:
	case waited:
		waits = bold(ms3(wait))
	default:
		waits = bold(unit.Unknown)
	}
	return append(cells, waits, Cell{}, Cell{})
}
