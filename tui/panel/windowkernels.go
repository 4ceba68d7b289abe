package panel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"opprof/engine/unit"
	"opprof/traces/catalog"
	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/traces/rank"
	"opprof/tui/theme"
)

// Side is one rank of one window, to be looked at or compared.
type Side struct {
	Window *catalog.Window // its Detail is known
	Rank   int
}

// Name says which rank of which window it is.
func (s Side) Name() string {
	return fmt.Sprintf("window %s %s", s.Window.Name(), RankName(s.Window.Detail, s.Rank))
}

func (s Side) breakdown() *rank.Breakdown { return s.Window.Detail.Ranks[s.Rank] }

// Families is the table of the families of a side, in the order of the families.
func Families(of Side) *Sheet {
	f := catalog.RankFigures(of.Window.Detail, of.Rank)
	s := &Sheet{Cursor: -1, Sort: -1, Columns: []SheetColumn{
		{Head: ""}, {Head: "family"}, {Head: "busy", Right: true}, {Head: "share", Right: true}, {Head: "an iteration", Right: true, Weight: 3},
		{Head: "sum", Right: true, Weight: 2}, {Head: "launches", Right: true, Weight: 1},
	}}
	if of.breakdown().Mode == rank.ModeCPU {
		s.Empty = "no device work in the trace"
		return s
	}
	n := int64(max(1, f.Iterations))
	for i := range family.Count {
		look, u := lookOf(i), f.Families[i]
		s.Rows = append(s.Rows, []Cell{{Text: string(look.letter), Role: look.role, Attr: theme.Bold | theme.Reverse}, {Text: look.name, Role: look.role}, {Text: ms3(u.UnionNS)},
			{Text: unit.Share(u.UnionNS, f.UnionNS), Role: theme.RoleDim}, {Text: ms3(u.UnionNS / n)}, {Text: ms3(u.SumNS)}, {Text: unit.Count(u.Launches)}})
	}
	bold := func(s string) Cell { return Cell{Text: s, Role: theme.RoleTitle, Attr: theme.Bold} }
	s.Total = []Cell{{}, bold("together"), bold(ms3(f.UnionNS)), bold(unit.Share(f.UnionNS, f.UnionNS)), bold(ms3(f.UnionNS / n)), bold(ms3(f.SumNS)), bold(unit.Count(f.Launches))}
	return s
}

// CompareFamilies sets a beside b: means of an active iteration, so that windows of different lengths compare.
func CompareFamilies(a, b Side) *Sheet {
	x, y := catalog.RankFigures(a.Window.Detail, a.Rank), catalog.RankFigures(b.Window.Detail, b.Rank)
	s := &Sheet{Cursor: -1, Sort: -1, Columns: []SheetColumn{
		{Head: ""}, {Head: "mean of an iteration, ms"}, {Head: "a", Right: true}, {Head: "b", Right: true}, {Head: "b - a", Right: true}, {Head: "of a", Right: true, Weight: 1},
	}}
	row := func(mark Cell, name Cell, va, vb int64) {
		s.Rows = append(s.Rows, append([]Cell{mark, name}, deltaCells(va, vb)...))
	}
	for i := range family.Count {
		look := lookOf(i)
		row(Cell{Text: string(look.letter), Role: look.role, Attr: theme.Bold | theme.Reverse}, Cell{Text: look.name, Role: look.role},
			mean64(x.Families[i].UnionNS, x.Iterations), mean64(y.Families[i].UnionNS, y.Iterations))
	}
	row(Cell{}, Cell{Text: "busy"}, mean64(x.UnionNS, x.Iterations), mean64(y.UnionNS, y.Iterations))
	row(Cell{}, Cell{Text: "without collectives"}, mean64(x.NonCollectiveUnionNS, x.Iterations), mean64(y.NonCollectiveUnionNS, y.Iterations))
	row(Cell{}, Cell{Text: "sum of kernels"}, mean64(x.SumNS, x.Iterations), mean64(y.SumNS, y.Iterations))
	if a.Window != b.Window {
		pa, ra := meanPeriod(a.Window.Detail)
		pb, rb := meanPeriod(b.Window.Detail)
		row(Cell{}, Cell{Text: "step period"}, pa, pb)
		s.Rows = append(s.Rows, append([]Cell{{}, {Text: "residual"}}, residualCells(ra, rb, pa >= 0 && pb >= 0)...))
	}
	return s
}

func mean64(ns int64, n int) int64 {
	if n == 0 {
		return -1
	}
	return ns / int64(n)
}

// deltaCells are two times, their difference and that as a share of the first. A negative time is not known.
func deltaCells(a, b int64) []Cell {
	if a < 0 || b < 0 {
		return []Cell{{Text: ms3(a)}, {Text: ms3(b)}, {Text: unit.Unknown, Role: theme.RoleDim}, {Text: unit.Unknown, Role: theme.RoleDim}}
	}
	share := unit.Unknown
	if a > 0 {
		share = unit.Percent(float64(b-a) / float64(a))
	}
	role := theme.RoleText
	switch large := max(a/20, 1000); {
	case b-a > large:
		role = theme.RoleWarn
	case a-b > large:
		role = theme.RoleGood
	}
	return []Cell{{Text: ms3(a)}, {Text: ms3(b)}, {Text: signedMS(b-a, true), Role: role}, {Text: share, Role: role}}
}

func residualCells(a, b int64, known bool) []Cell {
	if !known {
		return deltaCells(-1, -1)
	}
	return []Cell{{Text: signedMS(a, false)}, {Text: signedMS(b, false)}, {Text: signedMS(b-a, true)}, {}}
}

// meanPeriod is the mean step period and residual of the active iterations without the one that holds the export; -1 where one is not known.
func meanPeriod(d *join.Window) (periodNS, residualNS int64) {
	active := catalog.Active(d)
	n := int64(0)
	for i := range active {
		switch it := &active[i]; {
		case it.Export:
		case it.ResidualNS == nil:
			return -1, -1
		default:
			n++
			periodNS += *it.Step.PeriodNS
			residualNS += *it.ResidualNS
		}
	}
	if n == 0 {
		return -1, -1
	}
	return periodNS / n, residualNS / n
}

// KernelsOf lists the kernels of a family by their indexes in the rank's breakdown, largest sum first; all families for family.Count.
func KernelsOf(of Side, f family.Family) []int {
	var out []int
	for i := range of.breakdown().Kernel {
		if k := &of.breakdown().Kernel[i]; f == family.Count || k.Verdict.Family == f {
			out = append(out, i)
		}
	}
	return out
}

// Kernels is the table of KernelsOf.
func Kernels(of Side, f family.Family) *Sheet {
	b := of.breakdown()
	s := &Sheet{Cursor: -1, Sort: -1, Empty: "no kernel of this family ran", Columns: []SheetColumn{
		{Head: "kernel", Flex: true, Least: 24}, {Head: "rule", Weight: 12}, {Head: "role", Weight: 6}, {Head: "launches", Right: true, Weight: 14}, {Head: "sum ms", Right: true, Weight: 18},
		{Head: "share", Right: true, Weight: 15}, {Head: "mean us", Right: true, Weight: 16}, {Head: "p50 us", Right: true, Weight: 8}, {Head: "p95 us", Right: true, Weight: 9},
		{Head: "max us", Right: true, Weight: 4}, {Head: "grid", Weight: 5}, {Head: "block", Weight: 5},
	}}
	for _, i := range KernelsOf(of, f) {
		k := &b.Kernel[i]
		grid, block := unit.Unknown, unit.Unknown
		if k.Grid != [3]int32{} {
			grid, block = dims(k.Grid), dims(k.Block)
			if k.Variants > 1 {
				grid += fmt.Sprintf(" +%d", k.Variants-1)
			}
		}
		rule := Cell{Text: k.Verdict.Rule, Role: theme.RoleDim}
		if k.Verdict.Rule == family.Unmatched {
			rule.Role = theme.RoleWarn
		}
		s.Rows = append(s.Rows, []Cell{{Text: KernelName(k.Name), Role: lookOf(k.Verdict.Family).role}, rule, {Text: cmp.Or(strings.ReplaceAll(k.Role.String(), "_", " "), unit.Unknown), Role: theme.RoleDim},
			{Text: unit.Count(k.Use.Launches)}, {Text: ms3(k.Use.SumNS)}, {Text: unit.Share(k.Use.SumNS, b.Total.SumNS), Role: theme.RoleDim}, {Text: us(k.MeanNS())}, {Text: us(k.P50NS)},
			{Text: us(k.P95NS)}, {Text: us(k.MaxNS)}, {Text: grid, Role: theme.RoleDim}, {Text: block, Role: theme.RoleDim}})
	}
	return s
}

func dims(d [3]int32) string { return fmt.Sprintf("%dx%dx%d", d[0], d[1], d[2]) }

// us prints microseconds for columns whose head says so.
func us(ns int64) string { return unit.Number(float64(ns) / 1000) }

// Launches is the table of a kernel's launches, by iteration. It needs the timeline of the window.
func Launches(of Side, kernel int) *Sheet {
	s := &Sheet{Cursor: -1, Sort: -1, Empty: "reading the launches", Columns: []SheetColumn{
		{Head: "#", Right: true}, {Head: "step", Right: true}, {Head: "launches", Right: true}, {Head: "by graph", Right: true, Weight: 3}, {Head: "sum ms", Right: true}, {Head: "mean us", Right: true},
		{Head: "min us", Right: true, Weight: 1}, {Head: "p50 us", Right: true}, {Head: "max us", Right: true}, {Head: "first starts, ms", Right: true, Weight: 2},
	}}
	t := of.Window.Timelines[of.Rank]
	if t == nil {
		return s
	}
	iterations := of.Window.Detail.Iterations
	byIteration := make([][]*rank.Event, len(iterations)+1) // the last is of no iteration
	for i := range t.Events {
		if e := &t.Events[i]; int(e.Kernel) == kernel {
			at := int(e.Iteration)
			if at < 0 || at >= len(iterations) {
				at = len(iterations)
			}
			byIteration[at] = append(byIteration[at], e)
		}
	}
	for i, events := range byIteration {
		if len(events) > 0 {
			s.Rows = append(s.Rows, launchCells(of, i, events))
		}
	}
	s.Empty = "no launch in the trace"
	return s
}

func launchCells(of Side, i int, events []*rank.Event) []Cell {
	iterations := of.Window.Detail.Iterations
	number, step, first := Cell{Text: "before", Role: theme.RoleDim}, Cell{Text: unit.Unknown, Role: theme.RoleDim}, unit.Unknown
	if i < len(iterations) {
		it := &iterations[i]
		number = Cell{Text: strconv.Itoa(i + 1)}
		if it.Warmup {
			number = Cell{Text: strconv.Itoa(i+1) + "w", Role: theme.RoleDim}
		}
		if it.Step != nil {
			step = Cell{Text: unit.Count(it.Step.Index)}
		}
		if r := it.Ranks[of.Rank]; r != nil {
			first = ms3(max(0, events[0].StartNS-r.Span.Start))
		}
	}
	durations := make([]int64, len(events))
	var sum, graph int64
	for k, e := range events {
		durations[k] = e.DurNS
		sum += e.DurNS
		if e.Graph {
			graph++
		}
	}
	slices.Sort(durations)
	n := len(durations)
	return []Cell{number, step, {Text: unit.Count(int64(n))}, {Text: unit.Count(graph), Role: theme.RoleDim}, {Text: ms3(sum)}, {Text: us(sum / int64(n))}, {Text: us(durations[0])},
		{Text: us(durations[(n*50+99)/100-1])}, {Text: us(durations[n-1])}, {Text: first, Role: theme.RoleDim}}
}
