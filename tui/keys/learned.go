package keys

// Actions of the pages about routed experts and about the cost of a step.
const (
	RanksFewer  ID = "ranks-fewer"
	RanksMore   ID = "ranks-more"
	Placement   ID = "placement"
	ExpertCount ID = "expert-count"

	Ask  ID = "ask"
	Now  ID = "as-now"
	Less ID = "less"
	More ID = "more"
)

func learned() []Binding {
	experts, cost := in(ContextExperts), in(ContextCost)
	return []Binding{
		{ID: Sort, Keys: []string{"s"}, Help: "sort", Long: "sort the layers by the next column, at last by their place again", Group: GroupExperts, Contexts: experts, Footer: 20},
		{ID: SortTurn, Keys: []string{"S"}, Help: "turn order", Long: "sort from smallest to largest, or back", Group: GroupExperts, Contexts: experts},
		{ID: RanksMore, Keys: []string{"]"}, Show: "]", Help: "more ranks", Long: "spread the experts over twice as many expert-parallel ranks", Group: GroupExperts, Contexts: experts, Footer: 25},
		{ID: RanksFewer, Keys: []string{"["}, Show: "[", Help: "fewer ranks", Long: "spread the experts over half as many ranks, at last over none", Group: GroupExperts, Contexts: experts, Footer: 26},
		{ID: Placement, Keys: []string{"p"}, Help: "placement", Long: "place neighbouring experts on a rank, or deal them out in turn", Group: GroupExperts, Contexts: experts, Footer: 27},
		{ID: ExpertCount, Keys: []string{"n"}, Help: "experts", Long: "say how many experts a layer has, where the largest id does not tell", Group: GroupExperts, Contexts: experts, Footer: 30},

		{ID: Ask, Keys: []string{"/"}, Help: "ask", Long: "type a whole question, such as decode=48,context=8192", Group: GroupCost, Contexts: cost, Footer: 10},
		{ID: Now, Keys: []string{"n"}, Help: "as now", Long: "ask for the step of this moment, and follow it; of a finished run for the newest step of its windows", Group: GroupCost, Contexts: cost, Footer: 15},
		{ID: Accept, Keys: []string{"enter"}, Help: "change", Long: "type the selected figure; of a row of the table, ask for its steps", Group: GroupCost, Contexts: cost, Footer: 12},
		{ID: Less, Keys: []string{"left", "h", "-"}, Show: "← -", Help: "less", Long: "make the selected figure of the question smaller, or take the choice before", Group: GroupCost, Contexts: cost, Footer: 17},
		{ID: More, Keys: []string{"right", "l", "+", "="}, Show: "→ +", Help: "more", Long: "make the selected figure of the question larger, or take the next choice", Group: GroupCost, Contexts: cost, Footer: 18},
		{ID: RankPrev, Keys: []string{"["}, Help: "servers before", Long: "windows of servers of another number of ranks", Group: GroupCost, Contexts: cost},
		{ID: RankNext, Keys: []string{"]"}, Help: "other servers", Long: "windows of servers of another number of ranks", Group: GroupCost, Contexts: cost},
		{ID: Sort, Keys: []string{"s"}, Help: "sort", Long: "sort the table by the next column, at last by what the steps held again", Group: GroupCost, Contexts: cost, Footer: 45},
		{ID: SortTurn, Keys: []string{"S"}, Help: "turn order", Long: "sort from smallest to largest, or back", Group: GroupCost, Contexts: cost},
	}
}
