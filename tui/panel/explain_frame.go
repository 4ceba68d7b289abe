package panel

import (
	"opprof/engine/alert"
	"opprof/tui/layout"
)

// PageWarnings is the list of warnings, whose figures are explained together.
const PageWarnings layout.ID = "warnings"

// frameDefinitions are the figures around the panels: the rest of the header, the line of the pages, the line over the whole run.
func frameDefinitions() []Definition {
	return []Definition{
		{layout.Header, "server", "", "the run's supervisor", "Of a launched run the state is its supervisor's: starting with the phase of the log, ready before the first step, busy, idle, stalled when work exists and no step completes or /health does not answer, stopping, and dead with the reason. no supervisor: it was killed; what is said is its last word."},
		{layout.Header, "window", "", "the run's supervisor", "The profiler window that is starting, recording or flushing; else the next one that is armed, with the steps or the time until it starts. +2: so many more wait."},
		{layout.Header, "restarts", "jumps back", "step_index", "How often the step index went back inside one stream: another server wrote on."},
		{layout.Header, "warnings", "warnings", "the rules of the list of warnings", "Warnings that hold at the newest step; those that are over are counted as past. ! lists both."},
		{layout.Header, "FROZEN … behind", "s", "time of the newest step - time of the step shown", "The reader has stopped the picture; the recording goes on."},
		{layout.Header, "picture … old", "s", "the clock of this machine", "Nothing new could be drawn for so long: reading or the disk is slow."},
		{layout.Header, "catching up", "share of bytes", "sizes of the files", "How much of the streams has been read while more than a screenful is still to come."},
		{layout.Tabs, "step, time", "step index, clock", "step_index; complete_mono_ns + (submit_wall_ns - submit_mono_ns of the stream's first step)", "The step at the cursor and when it completed. The wall clock is taken once per stream: a jump of it does not move the axis."},
		{layout.Tabs, "span, a column", "time", "the visible picture", "Width of the time axis, and of one of its columns."},
		{layout.Tabs, "sampled", "", "some 200 places of a long file", "The older part of the run is not indexed yet: its totals and columns come from probes."},
		{layout.Scrub, "steps", "steps per column", "all steps of the run", "The bars are the steps completed in each part of the run; the thick line is the visible part. w is the start of a profiler window, s a column with a stall, p one with a preemption, x one with a gap: missing steps or a restart. Dots are time without a record."},
	}
}

// warningDefinitions are one for every rule.
func warningDefinitions() []Definition {
	sources := [alert.Rules][2]string{
		alert.Stall:       {"step period; preference warn_stall", "A step took at least so long, 0.5 s unless set, or came so long after the one before though it goes on with requests from before, or requests exist and none completes now. The export of a profiler window stalls serving too."},
		alert.Blocked:     {"queues.running, queues.deferred", "A step was scheduled with no running request while deferred ones exist: what they wait for, such as a grammar or a remote KV transfer, does not come."},
		alert.Dropped:     {"dropped_records_before", "The server's recorder could not keep records. They are missing in every figure."},
		alert.KVFull:      {"kv.usage; preference warn_kv", "Steps scheduled with at least so much of the KV cache in use, 95 % unless set. Requests will wait or be preempted."},
		alert.Thrash:      {"preemptions; preference warn_preemptions", "Within ten seconds at least so many requests lost their KV blocks, 10 unless set. Their tokens are computed again."},
		alert.GraphMisses: {"cudagraph.runtime_mode of steps without prefill; preference warn_graph_misses", "Of the decode-only steps of ten seconds, at least this share ran without a CUDA graph, 10 % unless set. Steps with prefill are not counted: they may be larger than any captured size. A server that was told to run without graphs (cudagraph_mode NONE) is not judged."},
		alert.Padding:     {"cudagraph.padding_tokens, bucket_tokens; preference warn_padding", "Of the tokens that the captured sizes ran in ten seconds, at least this share was padding, 30 % unless set: the capture sizes do not fit the batches."},
		alert.BadLines:    {"the file", "Lines that could not be read as records."},
		alert.Gaps:        {"step_index", "Steps are missing that no dropped record explains, or the index went back."},
	}
	var out []Definition
	for r := range alert.Rules {
		out = append(out, Definition{PageWarnings, r.String(), r.Unit(), sources[r][0], sources[r][1]})
	}
	return append(out, Definition{PageWarnings, "first, last", "clock", "time of the step", "When the rule was broken for the first and the last time. Shares are judged when their ten seconds are over. Of the indexed part of a long run only what its columns tell is known."})
}
