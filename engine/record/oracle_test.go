package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// The oracle decodes a line with encoding/json alone, member by member, and says what the package has to say: the same values, or bad.

// members are the members of a JSON object, by name.
type members map[string]json.RawMessage

// membersOf returns the members of an object. Known names that stand twice are an error.
func membersOf(text []byte, known []string) (members, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("no object")
	}
	m := make(members)
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, err
		}
		name := t.(string)
		if _, twice := m[name]; twice && slices.Contains(known, name) {
			return nil, fmt.Errorf("%s stands twice", name)
		}
		m[name] = raw
	}
	return m, nil
}

// reading collects the first error of a line.
type reading struct{ err error }

func (r *reading) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reading) object(text []byte, known []string) members {
	m, err := membersOf(text, known)
	if err != nil {
		r.fail("%w", err)
	}
	return m
}

// value unmarshals a required member; null is an error.
func value[T any](r *reading, m members, name string) (v T) {
	raw, ok := m[name]
	if !ok || string(raw) == "null" {
		r.fail("%s is missing", name)
		return v
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		r.fail("%s: %w", name, err)
	}
	return v
}

// optional unmarshals a member that may be missing or null.
func optional[T any](r *reading, m members, name string) (v T, known bool) {
	if raw, ok := m[name]; !ok || string(raw) == "null" {
		return v, false
	}
	return value[T](r, m, name), true
}

func hist(r *reading, raw []json.RawMessage, into []int64) {
	if len(raw) != len(into) {
		r.fail("%d bins", len(raw))
		return
	}
	for i := range raw {
		into[i] = value[int64](r, members{"bin": raw[i]}, "bin")
	}
}

func (r *reading) prefix(m members, name string) (p Prefix, known bool) {
	raw, ok := m[name]
	if !ok {
		r.fail("%s is missing", name)
	}
	if !ok || string(raw) == "null" {
		return p, false
	}
	x := r.object(raw, prefixFields)
	for i, into := range []*int64{&p.Requests, &p.Queries, &p.Hits, &p.PreemptedRequests, &p.PreemptedQueries, &p.PreemptedHits} {
		*into = value[int64](r, x, prefixFields[i])
	}
	return p, true
}

func (r *reading) step(m members) (s Step) {
	add := func(known bool, has Presence) {
		if known {
			s.Has |= has
		}
	}
	var known bool
	s.EngineID = value[string](r, m, "engine_id")
	s.ModelExecuted = value[bool](r, m, "model_executed")
	for name, into := range map[string]*int64{
		"step_index": &s.StepIndex, "submit_wall_ns": &s.SubmitWallNS, "submit_mono_ns": &s.SubmitMonoNS,
		"complete_mono_ns": &s.CompleteMonoNS, "scheduled_requests": &s.ScheduledRequests, "decode_batch_size": &s.DecodeBatchSize,
		"prefill_requests": &s.PrefillRequests, "prefill_tokens": &s.PrefillTokens, "decode_tokens": &s.DecodeTokens,
		"preemptions": &s.Preemptions, "dropped_records_before": &s.DroppedBefore,
	} {
		*into = value[int64](r, m, name)
	}
	s.ResumedRequests, known = optional[int64](r, m, "resumed_requests")
	add(known, HasResumed)
	s.RecomputeTokens, known = optional[int64](r, m, "recompute_tokens")
	add(known, HasRecompute)
	hist(r, value[[]json.RawMessage](r, m, "context_length_hist"), s.ContextHist[:])

	c := r.object(m["chunked_prefill"], chunkFields)
	s.Chunks.First, s.Chunks.Middle = value[int64](r, c, "first"), value[int64](r, c, "middle")
	s.Chunks.Final, s.Chunks.Unsplit = value[int64](r, c, "final"), value[int64](r, c, "unsplit")
	s.Chunks.Tokens = value[int64](r, c, "tokens")
	hist(r, value[[]json.RawMessage](r, c, "chunk_size_hist"), s.Chunks.SizeHist[:])
	if tail, known := optional[[]json.RawMessage](r, c, "chunk_tail_hist"); known {
		add(true, HasChunkTail)
		hist(r, tail, s.Chunks.TailHist[:])
	}
	s.Chunks.UnsplitTokens, known = optional[int64](r, c, "unsplit_tokens")
	add(known, HasUnsplitTokens)

	q := r.object(m["queues"], queueFields)
	s.Queues = Queues{value[int64](r, q, "running"), value[int64](r, q, "waiting"), value[int64](r, q, "deferred")}
	kv := r.object(m["kv"], kvFields)
	s.KV = KV{value[int64](r, kv, "total_blocks"), value[int64](r, kv, "free_blocks"), value[int64](r, kv, "used_blocks"),
		value[float64](r, kv, "usage")}
	cache := r.object(m["prefix"], cacheFields)
	s.Local, known = r.prefix(cache, "local")
	add(known, HasPrefixLocal)
	s.External, known = r.prefix(cache, "external")
	add(known, HasPrefixExternal)
	if raw, ok := m["cudagraph"]; !ok {
		r.fail("cudagraph is missing")
	} else if string(raw) != "null" {
		add(true, HasGraph)
		g := r.object(raw, graphFields)
		s.Graph = Graph{value[bool](r, g, "hit"), graphMode([]byte(value[string](r, g, "runtime_mode"))),
			value[int64](r, g, "unpadded_tokens"), value[int64](r, g, "bucket_tokens"), value[int64](r, g, "padding_tokens")}
	}
	if raw, ok := m["moe_expert_load"]; !ok {
		r.fail("moe_expert_load is missing")
	} else {
		add(string(raw) != "null", HasExpertLoad)
	}
	return s
}

func (r *reading) header(m members) Header {
	h := Header{Schema: 1, EngineID: value[string](r, m, "engine_id")}
	h.StartWallNS, h.StartMonoNS = value[int64](r, m, "start_wall_ns"), value[int64](r, m, "start_mono_ns")
	for name, into := range map[string]*string{
		"vllm_version": &h.VLLMVersion, "torch_version": &h.TorchVersion, "model": &h.Model, "dtype": &h.DType,
		"quantization": &h.Quantization, "cudagraph_mode": &h.GraphMode, "cudagraph_null_reason": &h.GraphNullReason,
		"runner": &h.Runner, "patch_hash": &h.PatchHash,
	} {
		*into, _ = optional[string](r, m, name)
	}
	for name, into := range map[string]*int64{
		"tensor_parallel_size": &h.TensorParallel, "data_parallel_size": &h.DataParallel, "pipeline_parallel_size": &h.PipelineParallel,
		"max_num_batched_tokens": &h.MaxNumBatchedTokens, "max_num_seqs": &h.MaxNumSeqs, "block_size": &h.BlockSize,
	} {
		*into, _ = optional[int64](r, m, name)
	}
	for name, into := range map[string]*bool{
		"expert_parallel": &h.ExpertParallel, "async_scheduling": &h.AsyncScheduling, "prefix_caching": &h.PrefixCaching,
	} {
		*into, _ = optional[bool](r, m, name)
	}
	for name, e := range map[string]struct {
		into  *[]int64
		known []int64
	}{
		"context_edges": {&h.ContextEdges, contextEdges[:]}, "chunk_edges": {&h.ChunkEdges, chunkEdges[:]},
		"chunk_tail_edges": {&h.ChunkTailEdges, chunkTailEdges[:]},
	} {
		if raw, known := optional[[]json.RawMessage](r, m, name); known {
			*e.into = make([]int64, len(e.known))
			hist(r, raw, *e.into)
			if !slices.Equal(*e.into, e.known) {
				r.fail("other edges")
			}
		}
	}
	return h
}

func (r *reading) profile(m members) Profile {
	p := Profile{EngineID: value[string](r, m, "engine_id"), Action: value[string](r, m, "action"), AfterStep: value[int64](r, m, "after_step"),
		WallNS: value[int64](r, m, "wall_ns"), MonoNS: value[int64](r, m, "mono_ns"), ReturnMonoNS: value[int64](r, m, "return_mono_ns")}
	if p.Action != "start" && p.Action != "stop" {
		r.fail("action")
	}
	if ok, known := optional[bool](r, m, "ok"); known {
		p.OK = &ok
	}
	p.Error, _ = optional[string](r, m, "error")
	return p
}

func (r *reading) footer(m members) Footer {
	f := Footer{EngineID: value[string](r, m, "engine_id"), Encoded: value[int64](r, m, "encoded"), Written: value[int64](r, m, "written"),
		Dropped: value[int64](r, m, "dropped"), QueueHighWatermark: value[int64](r, m, "queue_high_watermark"),
		EndWallNS: value[int64](r, m, "end_wall_ns")}
	raw, ok := m["foreground_ns"]
	if !ok {
		r.fail("foreground_ns is missing")
	} else if string(raw) != "null" {
		x, g := r.object(raw, foregroundFields), &f.ForegroundNS
		for i, into := range []*int64{&g.N, &g.P50, &g.P95, &g.P99, &g.Max, &g.Mean} {
			*into, _ = optional[int64](r, x, foregroundFields[i])
			if _, ok := x[foregroundFields[i]]; !ok {
				r.fail("%s is missing", foregroundFields[i])
			}
		}
	}
	return f
}

// depth is the deepest nesting of valid JSON.
func depth(text []byte) int {
	deepest, open, inString := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			open++
			deepest = max(deepest, open)
		case c == '}' || c == ']':
			open--
		}
	}
	return deepest
}

// oracle decodes a line. Of the result only the kind and the kind's part are set.
func oracle(line []byte) Line {
	bad := Line{Kind: KindBad}
	if len(bytes.Trim(line, " \t\r\n")) == 0 {
		return Line{Kind: KindBlank}
	}
	if !json.Valid(line) || depth(line) > maxDepth {
		return bad
	}
	m, err := membersOf(line, []string{"type", "schema"})
	if err != nil {
		return bad
	}
	var schema json.Number
	if json.Unmarshal(m["schema"], &schema) == nil && len(m["schema"]) > 0 && m["schema"][0] != '"' {
		if v, err := schema.Int64(); err == nil && v > Schema {
			return bad
		}
	}
	var r reading
	got, known := Line{Kind: KindStep}, stepFields
	name := ""
	if _, typed := m["type"]; typed {
		name = value[string](&r, m, "type")
		kinds := map[string]Kind{"header": KindHeader, "profile": KindProfile, "dummy_step": KindDummyStep, "footer": KindFooter}
		fields := map[string][]string{"header": headerFields, "profile": profileFields, "dummy_step": dummyFields, "footer": footerFields}
		kind, ok := kinds[name]
		if got.Kind, known = kind, fields[name]; !ok {
			got.Kind = KindUnknown
		}
	}
	if got.Kind != KindUnknown && r.err == nil {
		m = r.object(line, known)
		if value[int64](&r, m, "schema") != Schema {
			r.fail("schema")
		}
	}
	switch got.Kind {
	case KindStep:
		got.Step = r.step(m)
	case KindHeader:
		got.Header = r.header(m)
	case KindProfile:
		got.Profile = r.profile(m)
	case KindDummyStep:
		got.Dummy = DummyStep{value[string](&r, m, "engine_id"), value[int64](&r, m, "after_step"), value[int64](&r, m, "wall_ns"),
			value[int64](&r, m, "mono_ns")}
	case KindFooter:
		got.Footer = r.footer(m)
	}
	if r.err != nil {
		return bad
	}
	return got
}

// agree fails the test unless both paths say of a line what the oracle says.
func agree(t testing.TB, line []byte) {
	t.Helper()
	want := oracle(line)
	d, got := NewDecoder("oracle"), Line{}
	d.decodeTolerant(line, &got)
	compare(t, "scanner", line, &got, &want)
	var s Step
	if n := d.straight(line, &s); n == len(line) {
		if want.Kind != KindStep || !reflect.DeepEqual(s, want.Step) {
			t.Fatalf("straight path, %q:\ngot  %+v\nwant %+v", line, s, want.Step)
		}
	} else if n != miss && n > len(line) {
		t.Fatalf("straight path read %d bytes of %d: %q", n, len(line), line)
	}
}

func compare(t testing.TB, path string, line []byte, got, want *Line) {
	t.Helper()
	if got.Kind != want.Kind {
		t.Fatalf("%s, %q: kind %d (%v), want %d", path, line, got.Kind, got.Err, want.Kind)
	}
	var a, b any
	switch want.Kind {
	case KindBad:
		if got.Err == nil || got.Err.Reason == "" || got.Err.Column < 0 || got.Err.Column > len(line) {
			t.Fatalf("%s, %q: error %+v", path, line, got.Err)
		}
		return
	case KindStep:
		a, b = got.Step, want.Step
	case KindHeader:
		a, b = got.Header, want.Header
	case KindProfile:
		a, b = got.Profile, want.Profile
	case KindDummyStep:
		a, b = got.Dummy, want.Dummy
	case KindFooter:
		a, b = got.Footer, want.Footer
	}
	if !reflect.DeepEqual(a, b) {
		t.Fatalf("%s, %q:\ngot  %+v\nwant %+v", path, line, a, b)
	}
}
