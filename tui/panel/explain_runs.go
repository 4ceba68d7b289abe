package panel

import (
	"opprof/campaign/roster"
	"opprof/tui/layout"
)

// PageRuns and PageComparison group the definitions of the list of runs and of a comparison.
const (
	PageRuns       layout.ID = "runs"
	PageComparison layout.ID = "comparison"
)

// RunsDefinitions are those of the list of runs.
func RunsDefinitions() []Definition {
	var out []Definition
	for _, c := range roster.Columns() {
		out = append(out, Definition{PageRuns, c.Head, "", "manifest, records", c.Long + "."})
	}
	return append(out,
		Definition{PageRuns, "~", "", "samples", "An estimate: the run is long and has no index yet. Opening it once makes one, and the figures are exact from then on."},
		Definition{PageRuns, "-", "", "", "Not known. Runs of which a figure is not known stand last when the list is sorted by it."})
}

// ComparisonDefinitions are those of a comparison of two runs.
func ComparisonDefinitions() []Definition {
	def := func(name, unit, source, text string) Definition {
		return Definition{PageComparison, name, unit, source, text}
	}
	return []Definition{
		def("kind of steps", "", "cudagraph, decode_batch_size, prefill_tokens, context_length_hist", "Steps are compared with steps of the same CUDA-graph mode and bucket, and of one bin of decode requests, prefill tokens and median context length of the requests. Bins of counts are 0, 1, 2, 3-4, 5-8 and so on."),
		def("beside", "", "the steps before and behind", "eager before, after, both: the neighbour ran without a CUDA graph. With two batches in flight its long launch moves time between the two. idle before: the step before held nothing."),
		def("at equal composition", "ms, %", "step periods by kind", "Mean step period over the kinds that both have, weighted by the smaller of the two shares of steps that a kind has: what is left of the difference when both do the same work."),
		def("as they are", "ms, %", "step periods", "The plain means. Their difference is split, to the nanosecond, into what steps of the same kind took longer (speed), what the mix of the kinds that both have makes, and what kinds of one side make."),
		def("interval", "%", "blocks of consecutive steps", "95 % interval of the ratio of the means. Its unit is not the step but a block of consecutive steps, as long as it must be for neighbouring blocks not to move together; kernel times have the profiler window for a unit. It is about the two recordings: how much two runs of one server differ is for a campaign to tell."),
		def("adds", "ms", "difference of the means times the mean share of steps", "What a kind of steps adds to the difference of the mean step period; the list is sorted by it."),
		def("*", "", "Bonferroni, 5 %", "The difference would stand out among as many kinds as are judged. Of the others one in twenty lies beyond its interval by chance."),
		def("too few", "steps, blocks", "steps of a kind", "Kinds with fewer than 20 steps, or steps in fewer than 5 blocks, on either side are listed and not judged; nor are kinds whose steps hold over 10 % more tokens on one side."),
		def("distance", "0 to 1", "total variation of the mixes", "0 when both have the same mix of steps, 1 when they have no kind in common. Above 0.7, or with less than half of either run's time in kinds that both have, the workloads differ too much to compare."),
		def("left out", "steps", "profile lines, step_index", "Steps while a profiler window was open, after gaps and restarts, the first ones of a server, those without tokens, those outside of the span, and stalls: steps of 0.5 s or more that took over 10 times the median of their kind."),
	}
}
