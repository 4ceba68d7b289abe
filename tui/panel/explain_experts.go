package panel

import "opprof/tui/layout"

// PageExperts names the figures of the experts page.
const PageExperts layout.ID = "routed experts"

// ExpertDefinitions say what the experts page shows.
func ExpertDefinitions() []Definition {
	const ids, counts, ranks = "routed_experts of responses, saved arrays", "choices by expert", "choices by expert, the placement"
	of := func(name, unit, source, text string) Definition {
		return Definition{Panel: PageExperts, Name: name, Unit: unit, Source: source, Text: text}
	}
	return []Definition{
		of("choices", "choices", ids, "How often the router of a layer chose an expert: a token makes as many choices as it has experts. Ids are logical, from before the server moves experts between ranks. All files of the run's experts folder are counted together, each token once."),
		of("heat row", "times the layer's mean", counts, "A cell is one expert. Where they have no room, a cell stands for the same number of neighbours and shows the largest of them, which the head says. Shades compare with the mean load of the layer's experts; a dot was never chosen."),
		of("entropy", "share of even", counts, "Entropy of the shares of a layer's experts over that of an even load, log2 of the experts: 100 % is even, 0 % one expert."),
		of("max/mean", "ratio", counts, "Choices of the busiest expert over the mean of the layer's experts; 1 is even."),
		of("CV", "ratio", counts, "Standard deviation of the experts' choices over their mean; 0 is even."),
		of("top-k", "share of choices", counts, "What the k busiest experts took, k being the experts of a token. Even load gives k over the number of experts."),
		of("unused", "experts", counts, "Experts of the layer that were never chosen. Where the number of experts is not given, those above the largest id are not known of."),
		of("rank max, rank CV", "ratio", ranks, "Max over mean, and standard deviation over mean, of the choices that fall on each expert-parallel rank. contiguous gives a rank neighbouring experts, round_robin deals them out in turn. Sums over all tokens: a single step is less even."),
		of("waits", "share of time", ranks, "Share of the ranks' time that they wait for the busiest one, if time goes by choices: 1 - mean/max."),
		of("tokens", "tokens", ids, "Tokens whose row of the layer was counted. The last token of a sequence is not routed, so a response has one fewer than it counts."),
		of("all", "", counts, "All layers together. Experts of two layers share no weights: what is uneven here is uneven in most layers alike."),
		of("problems", "", ids, "What the reader found: files that are no arrays of routed ids, of another model, cut off; rows of nothing but expert 0, which is memory that nobody wrote and not counted; experts named twice in a row, ids of no expert."),
	}
}
