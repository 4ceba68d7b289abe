package panel

import (
	"strings"

	"opprof/tui/layout"
)

// Definition says what a figure of a panel means.
type Definition struct {
	Panel  layout.ID
	Name   string // as the panel writes it
	Unit   string
	Source string // field of the Layer-1 record, or the rule that computes it
	Text   string // what it means and what it does not
}

// Holds reports whether the definition contains a text, in any case of letters.
func (d Definition) Holds(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, s := range []string{d.Name, d.Unit, d.Source, d.Text} {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	return false
}

// Explain returns the definitions of one panel, in the order of its figures.
func Explain(id layout.ID) []Definition {
	var out []Definition
	for _, d := range Definitions() {
		if d.Panel == id || partOf(id, d.Panel) {
			out = append(out, d)
		}
	}
	return out
}

// partOf reports whether a panel that stands for two holds the figures of part.
func partOf(id, part layout.ID) bool {
	switch id {
	case layout.Load:
		return part == layout.Batch || part == layout.Queues
	case layout.Pressure:
		return part == layout.Prefix || part == layout.Preempt
	}
	return false
}

// Definitions returns the definition of every figure, panel by panel. The explain overlay and the list of definitions are made from it.
func Definitions() []Definition {
	var all []Definition
	for _, part := range [][]Definition{
		headerDefinitions(), frameDefinitions(), periodDefinitions(), batchDefinitions(), histogramDefinitions(), kvDefinitions(), graphDefinitions(),
		prefixDefinitions(), preemptDefinitions(), stepDefinitions(), tableDefinitions(), warningDefinitions(), WindowDefinitions(), LogDefinitions(), ServerDefinitions(), MetricsDefinitions(),
		ExpertDefinitions(), CostDefinitions(), CampaignDefinitions(), RunsDefinitions(), ComparisonDefinitions(),
	} {
		all = append(all, part...)
	}
	return all
}

func headerDefinitions() []Definition {
	return []Definition{
		{layout.Header, "state", "", "times of steps, queues", "busy while steps complete; idle when the last step left no request; stalled when requests exist and no step has completed for 2 s; finished after a footer."},
		{layout.Header, "step/s", "steps per second", "complete_mono_ns", "Steps of the selected engines that completed in the last 5 s, per second. With several engines the sum."},
		{layout.Header, "prefill, decode", "tokens per second", "prefill_tokens, decode_tokens - recompute_tokens", "Scheduled tokens of the last 5 s, per second; pre and dec where there is little room. Decode is without the tokens that are computed again after a preemption, which the server schedules as decode; where the recorder does not tell them apart it holds them too."},
		{layout.Header, "recomp", "tokens per second", "recompute_tokens", "Tokens of the last 5 s that had been computed before a preemption, per second. Shown while there are any."},
		{layout.Header, "newest step:", "", "the newest step", "The page shows another moment: state and rates of this line are those of the newest step. In a review they are those of the cursor."},
		{layout.Header, "dropped", "records", "dropped_records_before", "Step records that the server could not write because its queue was full. Their steps are missing everywhere."},
		{layout.Header, "bad lines", "lines", "the file", "Lines that are no valid record. They are skipped and counted; the run's description names the first one."},
		{layout.Header, "gaps", "jumps", "step_index", "Jumps of the step index that no dropped record explains, as when the recorder was off for a while."},
	}
}

func periodDefinitions() []Definition {
	return []Definition{
		{layout.Period, "step period, now", "ms", "complete_mono_ns[n] - max(complete_mono_ns[n-1], submit_mono_ns[n])", "Time from one completed step to the next while there was work; now is that of the step at the cursor. With async scheduling two batches are in flight, so it is about half of submit to complete. Unknown for the first step of a run, which nothing precedes, and after a gap, a drop or a restart."},
		{layout.Period, "p50, p95, p99, max", "ms", "step periods of the visible time", "Percentiles by nearest rank over every step in the picture; \"exact\" while all steps are held, else from a sketch whose relative error is printed. Several engines are merged from steps or buckets, never averaged."},
		{layout.Period, "columns, marks", "ms, logarithmic", "step periods of each time bucket", "The column is the median of one time bucket, the cross above it the 95th percentile, and a plus the longest step where that took more than twice as long. The title's figures carry the same marks. A bucket in which no step completed is empty."},
		{layout.Period, "w, x below the columns", "", "profile lines; step_index", "w: a profiler window was open, so that the steps are perturbed: the profiler makes them longer, and its export stalls them. x: steps are missing before one of the column's steps, or the server was restarted."},
		{layout.Period, "columns without a step", "", "step_index, step periods", "Empty: the server was idle. Dots: steps completed of which there is no record. A line at the foot: one step took that long, or requests waited for one."},
	}
}

func batchDefinitions() []Definition {
	return []Definition{
		{layout.Batch, "scheduled", "requests", "scheduled_requests", "Requests that got tokens in the step at the cursor."},
		{layout.Batch, "decode", "requests, tokens", "decode_batch_size, decode_tokens - recompute_tokens", "Requests of the step at the cursor past their prompt, and the new tokens scheduled for them. What is computed again for preempted requests that had output stands below; where the recorder does not tell it apart it is counted here."},
		{layout.Batch, "prefill", "requests, tokens", "prefill_requests, prefill_tokens", "Requests still in their prompt, and the prompt tokens scheduled for them in this step."},
		{layout.Batch, "resumed, recomputed", "requests, tokens", "resumed_requests, recompute_tokens", "Requests that came back after a preemption, and tokens that were computed before and are computed again. \"-\" when the recorder does not say."},
		{layout.Batch, "tok of", "tokens", "max_num_batched_tokens of the header", "Tokens of the step against the scheduler's limit per step: d decode, r recomputed, p prefill."},
		{layout.Batch, "zero-token steps", "steps", "model_executed", "Steps of the visible time that scheduled no token and ran no model."},
		{layout.Queues, "max", "requests", "queues of all steps of the visible time", "The highest value in the visible time."},
		{layout.Queues, "running", "requests", "queues.running", "Requests admitted by the scheduler, right after scheduling the step."},
		{layout.Queues, "waiting", "requests", "queues.waiting", "Requests waiting for capacity: KV blocks, a place in the batch, or tokens of the step."},
		{layout.Queues, "deferred", "requests", "queues.deferred", "Requests waiting for something else than capacity, such as a grammar or a remote KV transfer."},
	}
}

func histogramDefinitions() []Definition {
	return []Definition{
		{layout.Context, "context length", "requests by tokens", "context_length_hist", "Context lengths of all scheduled requests of the step at the cursor, tokens of this step included. Each label is the inclusive upper edge of its bin; the last bin is open. Neighbouring bins share a line where lines are few, so that the counts add up to the total."},
		{layout.ContextTime, "context length over time", "share of request-steps", "context_length_hist", "Each column is a time bucket: how the requests of all its steps spread over the bins. A request counts once in every step."},
		{layout.Chunk, "chunk size", "prefill requests by tokens", "chunked_prefill.chunk_size_hist, chunk_tail_hist", "Prompt tokens scheduled per prefill request and step. Bars and shares are of the visible time; the column at the right is the step at the cursor, which often holds none."},
		{layout.Chunk, "total, now", "prefill requests", "prefill_requests", "Request-steps of the visible time, and of the step at the cursor."},
		{layout.Chunk, "first, middle, final, unsplit", "prefill requests", "chunked_prefill", "Chunks by their place in the prompt; unsplit is a whole prompt in one step. The upper line is the visible time, the lower one the step at the cursor."},
	}
}

func kvDefinitions() []Definition {
	return []Definition{
		{layout.KV, "used of total", "blocks", "kv.used_blocks, kv.total_blocks", "Blocks of the KV cache that are taken right after scheduling, without vLLM's null block. Blocks kept only for the prefix cache are free. Several engines are summed."},
		{layout.KV, "columns", "share of blocks", "kv.usage", "Mean usage over the steps of each time bucket."},
		{layout.KV, "max", "share of blocks", "kv.usage", "Highest usage in the visible time with its moment, and in the whole run."},
	}
}

func graphDefinitions() []Definition {
	return []Definition{
		{layout.Graph, "FULL, PIECE, NONE", "share of steps", "cudagraph.runtime_mode", "Steps of the visible time whose model ran as one CUDA graph, as pieces with eager attention, or without a graph. NONE is the only miss. Shares are of steps whose mode is known."},
		{layout.Graph, "padding", "share of bucket tokens", "cudagraph.padding_tokens, bucket_tokens", "Tokens added to fill the captured size, of all tokens that the captured sizes ran."},
		{layout.Graph, "now, bucket, padding", "tokens", "cudagraph of the newest step", "Mode of the step at the cursor, the captured size that ran, and its padding."},
		{layout.Graph, "unknown", "steps", "cudagraph is null", "Steps for which the server reported no mode: zero-token steps, or a model runner without the statistic."},
	}
}

func prefixDefinitions() []Definition {
	return []Definition{
		{layout.Prefix, "hits", "share of tokens", "prefix.local.hits, prefix.local.queries", "Prompt tokens found in the local prefix cache, of those looked up. A request that could not be placed is looked up again in every step and counts each time. \"-\" when caching is off."},
		{layout.Prefix, "external", "share of tokens", "prefix.external", "The same for a KV connector; \"-\" when there is none."},
		{layout.Prefix, "looked up", "tokens", "prefix.local.queries", "Prompt tokens looked up in the visible time."},
	}
}

func preemptDefinitions() []Definition {
	return []Definition{
		{layout.Preempt, "preempted", "requests", "preemptions", "Running requests that lost their KV blocks to others and must start again. The first column is the run, the second the visible time."},
		{layout.Preempt, "stalls", "steps", "step period, or pause before a step, of 0.5 s or more", "Steps that took that long, such as exports of profiler windows or compilations, or were submitted that long after the step before completed though they go on with its requests: decodes, further chunks of a prompt, requests that come back. A pause before nothing but new requests counts as none: the server may have had nothing to do."},
		{layout.Preempt, "recomputed", "tokens", "recompute_tokens", "Tokens computed again after preemptions."},
		{layout.Preempt, "resumed", "requests", "resumed_requests", "Preempted requests that were scheduled again."},
		{layout.Preempt, "longest step", "s", "step period", "The longest known step period."},
		{layout.Preempt, "last preemption", "clock", "preemptions", "Completion of the last step of the run in which a request was preempted."},
		{layout.Preempt, "gaps", "steps", "step_index", "Steps before which steps are missing or the server restarted."},
		{layout.Preempt, "dropped", "records", "dropped_records_before", "Step records lost in the server; their steps are unknown."},
	}
}

func tableDefinitions() []Definition {
	return []Definition{
		{layout.Windows, "profiler windows", "", "profile lines", "Calls that started and stopped the profiler. The first step of a window is the one after the start marker. Steps are those between the two calls; - where none was submitted. The longest step is the longest period among them, whatever made it long: mostly the export of the traces, which the windows page tells by itself."},
		{layout.Windows, "#", "", "journal, summaries of windows", "The number that the window was armed under, whatever order windows ran in; t1, t2 by time for windows that nobody armed here. By time where the run's folder has neither journal nor summaries. Every page, report and export has the same."},
		{layout.Windows, "steps, count", "step indices, steps", "step_index beside profile lines", "From the step after the start marker to the one before the stop marker."},
		{layout.Engines, "engine, state, step", "", "engine_id; one stream each", "One EngineCore per data-parallel rank, with the newest step at the cursor."},
		{layout.Engines, "step/s, dec tok/s, pre tok/s", "per second", "complete_mono_ns, decode_tokens, prefill_tokens", "Rates of this engine over the last 5 s."},
		{layout.Engines, "period, decode, prefill, waiting, KV", "ms, requests, tokens, requests, share", "the newest step", "As in the panels of these names, of this engine's newest step."},
		{layout.Engines, "lost", "records, lines, gaps", "dropped_records_before, the file, step_index", "Dropped records, bad lines and gaps, added up."},
	}
}
