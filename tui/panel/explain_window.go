package panel

import "opprof/tui/layout"

// PageWindows names the figures of the windows page.
const PageWindows layout.ID = "profiler windows"

// WindowDefinitions say what the windows page shows.
func WindowDefinitions() []Definition {
	const markers, traces, both = "profile lines of Layer 1", "profiler traces", "profiler traces, Layer 1"
	return []Definition{
		{Panel: PageWindows, Name: "state", Unit: "", Source: both, Text: "armed: asked for, not begun. recording: the profiler runs. flushing: traces are being written or expected. reading: trace files are whole and about to be read. recorded: the markers are all there is. verified: every rank has a whole file, the ranks' labels agree, and every label equals its step. unjoined: whole, but nothing ties it to steps. incomplete: a rank, a label or a part of a file is missing. failed: no file could be read. The reason stands beside it."},
		{Panel: PageWindows, Name: "state of an ordered window", Unit: "", Source: "the run's supervisor", Text: "Of a launched run windows have the number that they were armed under, and its supervisor's state: armed with what is waited for, starting, recording, flushing, verified, incomplete, failed or cancelled. A window with - for a number was armed by nobody here."},
		{Panel: PageWindows, Name: "steps", Unit: "step index", Source: both, Text: "The steps that the labels of the traces are; while there are no traces, the steps between the two markers."},
		{Panel: PageWindows, Name: "prefill, decode", Unit: "requests, tokens", Source: "labels of the traces, Layer 1", Text: "What the labelled steps held, least to most: prefill requests and their tokens, decode requests. Without traces, the ten steps after the start marker."},
		{Panel: PageWindows, Name: "graphs", Unit: "steps", Source: "cudagraph.runtime_mode", Text: "Labelled steps by their CUDA-graph mode. kernels run by: graphs, compiled (kernels of the compiler, no graph), eager, or cpu, as the traces show it."},
		{Panel: PageWindows, Name: "export stall", Unit: "s", Source: markers + ", step periods", Text: "The longest step period from the last labelled step on: writing the traces stops serving there. A longer step before it, such as one that compiled a kernel, is none of the export's. Without traces, the longest from the window's first step to its stop marker."},
		{Panel: PageWindows, Name: "perturbed", Unit: "step index", Source: both, Text: "The labelled steps and the one behind them, in which the export may still run; without traces, the steps between the two markers. The profiler slowed them down, so they say little about the server."},
		{Panel: PageWindows, Name: "joined", Unit: "", Source: both, Text: "marker: the k-th label is the k-th step after the start marker, and each equals its step. labels: the sequence of labels fits the steps in one place only. time: it fits several, one of which agrees with the clocks. Anything less is refused."},
		{Panel: PageWindows, Name: "busy", Unit: "ms", Source: traces, Text: "Length of the union of a rank's device intervals over all streams: overlapping work counts once. Of the active iterations: those behind the two that warm the profiler up (w), which a torch schedule may have passed unrecorded."},
		{Panel: PageWindows, Name: "sum", Unit: "ms", Source: traces, Text: "Durations added up. It exceeds busy where kernels overlap, which they do even on one stream."},
		{Panel: PageWindows, Name: "share", Unit: "share of busy", Source: traces, Text: "Union of a family's intervals against the rank's busy time. Families overlap, so that shares may add up to more than 100 %; the overlap is printed. Among kernels: sum of the kernel against the sum of all."},
		{Panel: PageWindows, Name: "critical", Unit: "ms", Source: traces, Text: "The critical path of an iteration: the busy time of the rank that was busy longest."},
		{Panel: PageWindows, Name: "period", Unit: "ms", Source: "complete_mono_ns", Text: "Time from one completed step to the next while there was work, as on the live page. The step marked x holds the export of the traces. The line of sums is of the iterations that are marked neither w nor x; means of periods leave x out."},
		{Panel: PageWindows, Name: "residual", Unit: "ms", Source: "period - critical", Text: "What the device's work does not explain: CPU, queues, and what was not attributed. One step may be negative where a long launch shifts time to its neighbour: judge it over several."},
		{Panel: PageWindows, Name: "attn to other", Unit: "ms", Source: "kernel names, places in the layer", Text: "Busy time of each family in an iteration, of the rank with the longest path or of the selected rank. A kernel's family comes from its name, or from its place in the layer where one kernel serves several; the list of kernels names the rule."},
		{Panel: PageWindows, Name: "w/o coll", Unit: "ms", Source: traces, Text: "Union without collectives. A rank that is early spins in the all-reduce for the others, so this is what ranks are compared by; the slowest has the most of it."},
		{Panel: PageWindows, Name: "wait", Unit: "ms", Source: traces, Text: "Time in collectives before the last rank had begun them. By clocks where the ranks' clocks fit together; by ends where the ends of collectives tell by how much they differ; else by difference: what a rank spent in collectives beyond the rank that spent least. Unknown where a rank is missing."},
		{Panel: PageWindows, Name: "idle", Unit: "ms", Source: traces, Text: "From the first to the last device work of the window, warm-up included: time in which nothing ran on the rank."},
		{Panel: PageWindows, Name: "unknown", Unit: "share of sum", Source: "kernel names", Text: "Kernels that no rule and no place knows. They are in \"other\"."},
		{Panel: PageWindows, Name: "suspect", Unit: "ms", Source: traces, Text: "Events whose times cannot be right. They are in none of the other figures."},
		{Panel: PageWindows, Name: "of no iteration", Unit: "ms", Source: traces, Text: "Work that was launched before the first label, summed over the ranks."},
		{Panel: PageWindows, Name: "exposed copies", Unit: "ms", Source: traces, Text: "Time in which copies ran and nothing else, of the rank with the most."},
		{Panel: PageWindows, Name: "launches, mean, p50, p95, max", Unit: "us", Source: traces, Text: "Of one kernel on one rank, over the whole trace; percentiles by nearest rank. grid and block are those of the longest launch; +n says that there were n other shapes."},
		{Panel: PageWindows, Name: "strip", Unit: "ms", Source: traces, Text: "One iteration over time, a line for each stream. The letter is the family that used most of the cell, small when less than half of the cell was busy, a dot when nothing ran. Times count from the iteration's first device work."},
		{Panel: PageWindows, Name: "a, b", Unit: "ms", Source: traces, Text: "Two ranks or two windows side by side: means of an active iteration. a is the marked one, b the selected one; what is more than 5 % longer is a warning, more than 5 % shorter is good."},
	}
}
