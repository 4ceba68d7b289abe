package keys

// Actions of the list of runs.
const (
	MarkRun     ID = "mark-run"
	CompareRuns ID = "compare-runs"
	Columns     ID = "columns"
	ShowColumn  ID = "show-column"
)

func runs() []Binding {
	page, choice := in(ContextRuns), in(ContextColumns)
	return []Binding{
		{ID: Accept, Keys: []string{"enter"}, Help: "open", Long: "open the selected run; q comes back to the list as it was", Group: GroupRuns, Contexts: page, Footer: 5},
		{ID: MarkRun, Keys: []string{"space"}, Help: "mark", Long: "mark the selected run as a, a second one as b, or take its mark away", Group: GroupRuns, Contexts: page, Footer: 10},
		{ID: CompareRuns, Keys: []string{"c"}, Help: "compare", Long: "compare the two marked runs, or the marked one with the selected one, at equal composition; esc comes back", Group: GroupRuns, Contexts: page, Footer: 12},
		{ID: Filter, Keys: []string{"/"}, Help: "filter", Long: "show only runs whose id, model, state, campaign or versions hold a text", Group: GroupRuns, Contexts: page, Footer: 20},
		{ID: Sort, Keys: []string{"s"}, Help: "sort", Long: "sort the runs by the next column, at last by when they began again", Group: GroupRuns, Contexts: page, Footer: 25},
		{ID: SortTurn, Keys: []string{"S"}, Help: "turn order", Long: "sort from smallest to largest, or back", Group: GroupRuns, Contexts: page},
		{ID: Columns, Keys: []string{"o"}, Help: "columns", Long: "choose the columns", Group: GroupRuns, Contexts: page, Footer: 30},
		{ID: ShowColumn, Keys: []string{"space", "x"}, Show: "space", Help: "show or hide", Long: "show or hide the selected column", Group: GroupRuns, Contexts: choice, Footer: 1},
		{ID: Accept, Keys: []string{"enter"}, Help: "keep", Long: "keep the choice of columns", Group: GroupRuns, Contexts: choice, Footer: 2},
		{ID: Back, Keys: []string{"esc", "q"}, Show: "esc", Help: "close", Long: "leave the columns as they were", Group: GroupRuns, Contexts: choice, Footer: 3},
		{ID: FieldNext, Keys: []string{"down", "j", "tab"}, Show: "↓ j", Help: "next", Long: "to the next column", Group: GroupRuns, Contexts: choice, Footer: 4},
		{ID: FieldPrev, Keys: []string{"up", "k", "shift+tab"}, Show: "↑ k", Help: "before", Long: "to the column before", Group: GroupRuns, Contexts: choice},
	}
}
