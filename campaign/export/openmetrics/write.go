package openmetrics

import (
	"fmt"
	"io"
	"slices"

	"opprof/engine/record"
)

// metric is a family and how its samples follow from an engine.
type metric struct {
	family
	write func(t *text, e *engine, labels []string)
}

// Family is a metric family as documents list it.
type Family struct{ Name, Kind, Unit, Help string }

// Families are all that Write gives, in its order.
func Families() []Family {
	var out []Family
	for _, m := range metrics() {
		out = append(out, Family{m.name, string(m.kind), m.unit, m.help})
	}
	return append(out, Family{stray().name, string(stray().kind), "", stray().help})
}

// stray is the only family without an engine.
func stray() family {
	return family{"opprof_stray_bad_lines", counter, "", "Lines that are no records, before any that names an engine."}
}

func metrics() []metric { return slices.Concat(vllmMetrics(), stepMetrics(), lossMetrics()) }

// Write gives the exposition of what is known now.
func (s *State) Write(w io.Writer) error {
	var t text
	s.mu.Lock()
	s.render(&t)
	s.mu.Unlock()
	t.WriteString("# EOF\n")
	if _, err := w.Write(t.Bytes()); err != nil {
		return fmt.Errorf("cannot write metrics: %w", err)
	}
	return nil
}

func (s *State) render(t *text) {
	for _, m := range metrics() {
		t.begin(m.family)
		for _, e := range s.engines {
			m.write(t, e, []string{"engine", e.label, "model_name", s.modelOf(e)})
		}
	}
	t.begin(stray())
	t.sample(stray().name+"_total", integer(s.stray.bad+s.stray.torn))
}

// modelOf is the model's name as vLLM labels it.
func (s *State) modelOf(e *engine) string {
	if s.model == "" && e.header != nil {
		return e.header.Model
	}
	return s.model
}

// now is a gauge of the newest step; there is no sample before one.
func now(name, unit, help string, get func(*record.Step) string) metric {
	return metric{family{name, gauge, unit, help}, func(t *text, e *engine, labels []string) {
		if e.counts.Steps > 0 {
			t.sample(name, get(&e.newest), labels...)
		}
	}}
}

// total is a counter.
func total(name, help string, get func(*engine) int64) metric {
	return maybe(name, help, func(e *engine) (int64, bool) { return get(e), true })
}

// maybe is a counter that has no sample while nothing tells its value.
func maybe(name, help string, get func(*engine) (int64, bool)) metric {
	return metric{family{name, counter, "", help}, func(t *text, e *engine, labels []string) {
		if v, known := get(e); known {
			t.sample(name+"_total", integer(v), labels...)
		}
	}}
}

// vllmMetrics have the names, labels and meanings of vLLM's own.
func vllmMetrics() []metric {
	return []metric{
		now("vllm:num_requests_running", "", "Requests running after the newest step was scheduled.", func(s *record.Step) string { return integer(s.Queues.Running) }),
		now("vllm:num_requests_waiting", "", "Requests waiting after the newest step was scheduled.", func(s *record.Step) string { return integer(s.Queues.Waiting + s.Queues.Deferred) }),
		{family{"vllm:num_requests_waiting_by_reason", gauge, "", "Waiting requests by reason: capacity, or deferred for something else."}, func(t *text, e *engine, labels []string) {
			if e.counts.Steps > 0 {
				t.sample("vllm:num_requests_waiting_by_reason", integer(e.newest.Queues.Waiting), append(labels, "reason", "capacity")...)
				t.sample("vllm:num_requests_waiting_by_reason", integer(e.newest.Queues.Deferred), append(labels, "reason", "deferred")...)
			}
		}},
		now("vllm:kv_cache_usage_perc", "", "Used share of the KV blocks after the newest step was scheduled; 1 is all.", func(s *record.Step) string { return real(s.KV.Usage) }),
		maybe("vllm:prefix_cache_queries", "Tokens looked up in the local prefix cache.", func(e *engine) (int64, bool) { return e.counts.Local.Queries, e.counts.LocalSteps > 0 }),
		maybe("vllm:prefix_cache_hits", "Tokens found in the local prefix cache.", func(e *engine) (int64, bool) { return e.counts.Local.Hits, e.counts.LocalSteps > 0 }),
		maybe("vllm:external_prefix_cache_queries", "Tokens looked up in the external prefix cache.", func(e *engine) (int64, bool) { return e.counts.External.Queries, e.counts.ExternalSteps > 0 }),
		maybe("vllm:external_prefix_cache_hits", "Tokens found in the external prefix cache.", func(e *engine) (int64, bool) { return e.counts.External.Hits, e.counts.ExternalSteps > 0 }),
		total("vllm:num_preemptions", "Requests preempted.", func(e *engine) int64 { return e.counts.Preemptions }),
		{family{"vllm:iteration_tokens_total", histogram, "", "Tokens scheduled in a step: prefill and decode, those computed again included."}, func(t *text, e *engine, labels []string) {
			e.tokens.write(t, "vllm:iteration_tokens_total", 1, integer, labels...)
		}},
	}
}

// stepMetrics are what only the records of steps tell.
func stepMetrics() []metric {
	return []metric{
		{family{"opprof_step_period_seconds", histogram, "seconds", "Step period: completion minus the later of the step's submission and the completion before it."}, func(t *text, e *engine, labels []string) {
			e.periods.write(t, "opprof_step_period_seconds", 1e9, seconds, labels...)
		}},
		total("opprof_steps", "Scheduler steps.", func(e *engine) int64 { return e.counts.Steps }),
		total("opprof_zero_token_steps", "Steps without a token.", func(e *engine) int64 { return e.counts.ZeroToken }),
		total("opprof_dummy_steps", "Batches run without requests, to keep step with other data-parallel ranks.", func(e *engine) int64 { return e.dummies }),
		{family{"opprof_graph_steps", counter, "", "Steps by CUDA-graph mode; unknown for zero-token steps and runners that do not report."}, func(t *text, e *engine, labels []string) {
			for mode, n := range e.counts.Graph {
				name := "unknown"
				if m := record.GraphMode(mode); m != record.GraphUnknown {
					name = m.String()
				}
				t.sample("opprof_graph_steps_total", integer(n), append(labels, "mode", name)...)
			}
		}},
		total("opprof_graph_bucket_tokens", "Tokens that CUDA graphs ran for.", func(e *engine) int64 { return e.counts.GraphBucket }),
		total("opprof_graph_padding_tokens", "Of those, padding.", func(e *engine) int64 { return e.counts.GraphPadding }),
		total("opprof_prefill_tokens", "Prompt tokens computed.", func(e *engine) int64 { return e.counts.PrefillTokens }),
		total("opprof_decode_tokens", "Generation tokens computed, those computed again included.", func(e *engine) int64 { return e.counts.DecodeTokens }),
		maybe("opprof_recompute_tokens", "Of those, tokens that were computed before a preemption already.", func(e *engine) (int64, bool) { return e.counts.RecomputeTokens, e.counts.RecomputeSteps > 0 }),
		total("opprof_decode_request_steps", "Requests in decode, summed over steps.", func(e *engine) int64 { return e.counts.DecodeRequests }),
		total("opprof_prefill_request_steps", "Requests in prefill, summed over steps.", func(e *engine) int64 { return e.counts.PrefillRequests }),
		now("opprof_decode_batch_requests", "requests", "Requests in decode in the newest step.", func(s *record.Step) string { return integer(s.DecodeBatchSize) }),
		{family{"opprof_kv_blocks", gauge, "blocks", "KV blocks after the newest step was scheduled."}, func(t *text, e *engine, labels []string) {
			if e.counts.Steps > 0 {
				t.sample("opprof_kv_blocks", integer(e.newest.KV.UsedBlocks), append(labels, "state", "used")...)
				t.sample("opprof_kv_blocks", integer(e.newest.KV.FreeBlocks), append(labels, "state", "free")...)
			}
		}},
		now("opprof_newest_step", "", "step_index of the newest step.", func(s *record.Step) string { return integer(s.StepIndex) }),
		{family{"opprof_newest_step_timestamp_seconds", gauge, "seconds", "When it completed, since 1970: the engine is stalled where requests exist and this stands still."}, func(t *text, e *engine, labels []string) {
			if e.counts.Steps > 0 {
				t.sample("opprof_newest_step_timestamp_seconds", seconds(e.atNS), labels...)
			}
		}},
		total("opprof_windows", "Profiler windows begun.", func(e *engine) int64 { return e.windows }),
		{family{"opprof_engine", gauge, "", "1; its labels say which process is the engine."}, func(t *text, e *engine, labels []string) {
			version := ""
			if e.header != nil {
				version = e.header.VLLMVersion
			}
			t.sample("opprof_engine", "1", append(labels, "engine_id", e.id, "vllm_version", version)...)
		}},
	}
}

// lossMetrics say what the records lack.
func lossMetrics() []metric {
	return []metric{
		total("opprof_dropped_records", "Records that the recorder dropped because its queue was full.", func(e *engine) int64 { return e.counts.Dropped }),
		total("opprof_gaps", "Places where steps are missing or the server restarted.", func(e *engine) int64 { return e.counts.Gaps }),
		total("opprof_stalls", "Step periods of half a second and more, and pauses as long before steps that go on with requests.", func(e *engine) int64 { return e.counts.Stalls }),
		total("opprof_bad_lines", "Lines that are no records.", func(e *engine) int64 { return e.losses.bad }),
		total("opprof_torn_lines", "Last lines without their end.", func(e *engine) int64 { return e.losses.torn }),
		total("opprof_unknown_lines", "Records of a type that this version does not know.", func(e *engine) int64 { return e.losses.unknown }),
	}
}
