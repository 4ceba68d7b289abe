package panel

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"opprof/engine/unit"
	"opprof/traces/experts"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// ExpertExtremes is the table of the busiest and the least busy experts of a layer beside the loads of its ranks.
func ExpertExtremes(l *experts.LayerReport, rows int) *Sheet {
	s := &Sheet{Cursor: -1, Sort: -1, Empty: "nothing was routed here", Columns: []SheetColumn{
		{Head: "busiest"}, {Head: "choices", Right: true}, {Head: "share", Right: true, Weight: 9}, {Head: "of mean", Right: true, Weight: 8}, {Head: "  "},
		{Head: "least"}, {Head: "choices", Right: true}, {Head: "share", Right: true, Weight: 7}, {Head: "of mean", Right: true, Weight: 6},
	}}
	if l.EP != nil {
		s.Columns = append(s.Columns, SheetColumn{Head: "  ", Weight: 5}, SheetColumn{Head: "rank", Weight: 5}, SheetColumn{Head: "choices", Right: true, Weight: 5},
			SheetColumn{Head: "share", Right: true, Weight: 3}, SheetColumn{Head: "of mean", Right: true, Weight: 4})
	}
	if l.Choices == 0 {
		return s
	}
	order := make([]int, len(l.Counts))
	for e := range order {
		order[e] = e
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(l.Counts[b], l.Counts[a]) })
	mean := float64(l.Choices) / float64(len(order))
	ranks := 0
	if l.EP != nil {
		ranks = len(l.EP.Ranks)
	}
	for i := range min(rows, max(len(order), ranks)) {
		var row []Cell
		if i < len(order) {
			row = append(row, loadCells("expert", order[i], float64(l.Counts[order[i]]), mean, l.Choices)...)
			row = append(row, Cell{})
			e := order[len(order)-1-i]
			row = append(row, loadCells("expert", e, float64(l.Counts[e]), mean, l.Choices)...)
		} else {
			row = make([]Cell, 9)
		}
		if l.EP != nil {
			row = append(row, Cell{})
			if i < ranks {
				row = append(row, loadCells("rank", i, l.EP.Ranks[i], float64(l.Choices)/float64(ranks), l.Choices)...)
			} else {
				row = append(row, make([]Cell, 4)...)
			}
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

func loadCells(what string, id int, load, mean float64, total int64) []Cell {
	role := inked(int64(load+0.5), theme.RoleText)
	return []Cell{{Text: fmt.Sprintf("%s %d", what, id), Role: role}, {Text: unit.Count(int64(load + 0.5)), Role: role}, {Text: unit.Percent(load / float64(total)), Role: theme.RoleDim},
		{Text: unit.Number(load / mean), Role: role}}
}

// ExpertProblems is the table of what is wrong with the files, in w columns: what holds for all of them first.
func ExpertProblems(r *experts.Report, problem string, w int) *Sheet {
	const names = 24
	s := &Sheet{Cursor: -1, Sort: -1, Empty: "nothing is wrong with the files", Columns: []SheetColumn{{Head: "file"}, {Head: "what", Flex: true, Least: 20}}}
	widest := len("all files")
	for _, f := range r.Files {
		widest = max(widest, utf8.RuneCountInString(fileName(f.Path)))
	}
	widest = min(widest, names)
	add := func(where, what string, role theme.Role) {
		for _, l := range wrapped(what, max(20, w-widest-2)) {
			s.Rows = append(s.Rows, []Cell{{Text: chart.Cut(chart.Sanitize(where), names, '~'), Role: theme.RoleDim}, {Text: l, Role: role}})
			where = ""
		}
	}
	if problem != "" {
		add("folder", problem, theme.RoleWarn)
	}
	for _, f := range r.Files {
		for _, p := range f.Problems {
			add(fileName(f.Path), p, theme.RoleWarn)
		}
	}
	for _, text := range r.Warnings {
		add("all files", text, theme.RoleText)
	}
	return s
}

func fileName(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return path
}
