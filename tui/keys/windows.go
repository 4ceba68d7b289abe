package keys

// Actions of the windows page, and those about windows elsewhere.
const (
	Arm        ID = "arm"
	ArmOn      ID = "arm-on"
	RankPrev   ID = "rank-prev"
	RankNext   ID = "rank-next"
	Sort       ID = "sort"
	SortTurn   ID = "sort-turn"
	Compare    ID = "compare"
	WindowHere ID = "window-here"
)

func windows() []Binding {
	page, charts := in(ContextWindows), in(ContextCharts)
	everywhere := in(ContextCharts, ContextList, ContextLog, ContextWindows, ContextServer, ContextCost)
	return []Binding{
		{ID: Arm, Keys: []string{"w"}, Help: "window", Long: "arm a profiler window that starts now", Group: GroupWindows, Contexts: everywhere, Needs: NeedLive | NeedControl | NeedOrders | NeedServer, Footer: 5},
		{ID: ArmOn, Keys: []string{"W"}, Help: "arm on…", Long: "arm profiler windows at a step, every so many steps, after a time, or on a condition of the composition", Group: GroupWindows, Contexts: everywhere, Needs: NeedLive | NeedControl | NeedTriggers | NeedOrders | NeedServer, Footer: 6},
		{ID: WindowHere, Keys: []string{"i"}, Help: "window here", Long: "to the profiler window at the cursor, or the last one before it; o comes back", Group: GroupWindows, Contexts: charts, Needs: NeedSteps},
		{ID: ToStep, Keys: []string{"o"}, Help: "step", Long: "to the step of the selected iteration, or to the window's first step; i comes back", Group: GroupWindows, Contexts: page, Footer: 28},
		{ID: Compare, Keys: []string{"space", "c"}, Show: "space c", Help: "compare", Long: "mark the selected window and rank as a; what is selected then is b", Group: GroupWindows, Contexts: page, Needs: NeedTraces, Footer: 26},
		{ID: RankPrev, Keys: []string{"["}, Help: "rank before", Long: "select the rank before; before the first, the critical one of each iteration", Group: GroupWindows, Contexts: page, Needs: NeedTraces | NeedRanks},
		{ID: RankNext, Keys: []string{"]"}, Show: "]", Help: "next rank", Long: "select the next rank; behind the last, the critical one of each iteration", Group: GroupWindows, Contexts: page, Needs: NeedTraces | NeedRanks, Footer: 29},
		{ID: Sort, Keys: []string{"s"}, Help: "sort", Long: "sort the iterations by the next column, at last by time again", Group: GroupWindows, Contexts: page, Needs: NeedTraces, Footer: 45},
		{ID: SortTurn, Keys: []string{"S"}, Help: "turn order", Long: "sort from smallest to largest, or back", Group: GroupWindows, Contexts: page, Needs: NeedTraces},
		{ID: ZoomIn, Keys: []string{"+", "="}, Show: "+", Help: "zoom in", Long: "show a shorter part of the iteration over time", Group: GroupWindows, Contexts: page, Needs: NeedTraces, Footer: 60},
		{ID: ZoomOut, Keys: []string{"-", "_"}, Show: "-", Help: "zoom out", Long: "show a longer part of the iteration over time", Group: GroupWindows, Contexts: page, Needs: NeedTraces},
		{ID: ScrollLeft, Keys: []string{"left", "h"}, Show: "← h", Help: "earlier", Long: "move the time line to earlier work", Group: GroupWindows, Contexts: page, Needs: NeedTraces},
		{ID: ScrollRight, Keys: []string{"right", "l"}, Show: "→ l", Help: "later", Long: "move the time line to later work", Group: GroupWindows, Contexts: page, Needs: NeedTraces},
	}
}
