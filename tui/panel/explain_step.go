package panel

import "opprof/tui/layout"

// stepDefinitions are one for every field of the step panel, in its order.
func stepDefinitions() []Definition {
	of := func(name, unit, source, text string) Definition {
		return Definition{Panel: layout.Step, Name: name, Unit: unit, Source: source, Text: text}
	}
	return []Definition{
		of("step", "", "step_index", "The newest step at or before the cursor. With several engines together, counts are summed over the newest step of each. Batch, chunks, queues, blocks and prefix figures below are those of the panels of these names, for this one step."),
		of("step period", "ms", "complete_mono_ns[n] - max(complete_mono_ns[n-1], submit_mono_ns[n])", "Time since the step before completed, or since this one was submitted where that is later. Unknown for the first step of a run, which nothing precedes, and after a gap."),
		of("scheduled requests", "requests", "scheduled_requests", "Requests that got tokens in the step: decode, prefill and resumed ones."),
		of("decode requests", "requests", "decode_batch_size", "Requests past their prompt."),
		of("decode tokens", "tokens", "decode_tokens", "Tokens scheduled for them, those that are computed again included."),
		of("prefill requests", "requests", "prefill_requests", "Requests whose prompt is computed."),
		of("prefill tokens", "tokens", "prefill_tokens", "Prompt tokens scheduled for them."),
		of("resumed requests", "requests", "resumed_requests", "Preempted requests that are scheduled again."),
		of("recomputed tokens", "tokens", "recompute_tokens", "Tokens that were computed before the preemption and are computed again."),
		of("preempted requests", "requests", "preemptions", "Requests that lost their KV blocks while this step was scheduled."),
		of("chunks first", "requests", "chunked_prefill.first", "Prefill requests with the first part of their prompt."),
		of("chunks middle", "requests", "chunked_prefill.middle", "Prefill requests with neither the first nor the last part."),
		of("chunks final", "requests", "chunked_prefill.final", "Prefill requests with the last part of their prompt."),
		of("chunks unsplit", "requests", "chunked_prefill.unsplit", "Prefill requests with all that was left of their prompt in one step."),
		of("running", "requests", "queues.running", "Requests admitted by the scheduler, after the step was scheduled."),
		of("waiting", "requests", "queues.waiting", "Requests waiting for capacity."),
		of("deferred", "requests", "queues.deferred", "Requests waiting for something else than capacity."),
		of("KV used blocks", "blocks", "kv.used_blocks", "Blocks taken, without vLLM's null block."),
		of("KV total blocks", "blocks", "kv.total_blocks", "All blocks but the null block."),
		of("KV usage", "share of blocks", "kv.usage", "Used of total."),
		of("graph mode", "", "cudagraph.runtime_mode", "FULL, PIECEWISE or NONE; \"-\" where the server reports none."),
		of("graph tokens", "tokens", "cudagraph.unpadded_tokens", "Tokens of the batch."),
		of("graph bucket", "tokens", "cudagraph.bucket_tokens", "Tokens of the captured size that ran."),
		of("graph padding", "tokens", "cudagraph.padding_tokens", "Bucket minus batch."),
		of("prefix query tokens", "tokens", "prefix.local.queries", "Prompt tokens looked up in the prefix cache."),
		of("prefix hit tokens", "tokens", "prefix.local.hits", "Of these, the ones found."),
		of("external query tokens", "tokens", "prefix.external.queries", "Prompt tokens looked up through the KV connector."),
		of("external hit tokens", "tokens", "prefix.external.hits", "Of these, the ones found."),
	}
}
