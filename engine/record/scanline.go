package record

import (
	"fmt"
	"slices"
)

// Fields of the lines that have a type, in the writer's order.
var (
	headerFields = []string{
		"type", "schema", "engine_id", "start_wall_ns", "start_mono_ns", "vllm_version", "model", "dtype", "tensor_parallel_size",
		"data_parallel_size", "pipeline_parallel_size", "expert_parallel", "max_num_batched_tokens", "max_num_seqs", "async_scheduling",
		"prefix_caching", "cudagraph_mode", "block_size", "context_edges", "chunk_edges", "chunk_tail_edges", "runner",
		"cudagraph_null_reason", "torch_version", "quantization", "patch_hash",
	}
	profileFields = []string{
		"type", "schema", "engine_id", "action", "wall_ns", "mono_ns", "return_mono_ns", "after_step", "ok", "error",
	}
	dummyFields  = []string{"type", "schema", "engine_id", "after_step", "wall_ns", "mono_ns"}
	footerFields = []string{
		"type", "schema", "engine_id", "encoded", "written", "dropped", "queue_high_watermark", "end_wall_ns", "foreground_ns",
	}
	foregroundFields = []string{"n", "p50", "p95", "p99", "max", "mean"}
)

// Every typed line begins with these fields; what a header says beyond the clocks is for display and may be missing.
const (
	typedType = iota
	typedSchema
	typedEngine
	typedOwn // the first field of its own

	headerNeeds = 1<<(typedOwn+2) - 1
)

// classify walks over the whole line and returns its type, and reports whether it has one. It refuses lines of a newer schema.
func (p *scanner) classify() (name string, typed bool) {
	o := object{fields: headerFields[:typedEngine]}
	newer := int64(0)
	for p.next(&o) {
		start := p.i
		switch {
		case o.at == typedType:
			name, typed = string(p.str(&o)), true
		default:
			p.skip()
			if v, end := number(p.b[:p.i], start); end == p.i && v > Schema {
				newer = v
			}
		}
	}
	p.end()
	if newer != 0 {
		p.fail(0, schemaReason(newer))
	}
	return name, typed
}

// typed reads one of the three fields that every typed line begins with, and reports whether the field in hand was one.
func (p *scanner) typed(o *object, engine *string, engines *interner) bool {
	switch o.at {
	case typedType:
		p.str(o)
	case typedSchema:
		p.schema(o)
	case typedEngine:
		*engine = engines.intern(p.str(o))
	default:
		return false
	}
	return true
}

func (p *scanner) header(h *Header, engines *interner) {
	*h = Header{}
	integers := map[string]*int64{
		"start_wall_ns": &h.StartWallNS, "start_mono_ns": &h.StartMonoNS, "tensor_parallel_size": &h.TensorParallel,
		"data_parallel_size": &h.DataParallel, "pipeline_parallel_size": &h.PipelineParallel,
		"max_num_batched_tokens": &h.MaxNumBatchedTokens, "max_num_seqs": &h.MaxNumSeqs, "block_size": &h.BlockSize,
	}
	strings := map[string]*string{
		"vllm_version": &h.VLLMVersion, "torch_version": &h.TorchVersion, "model": &h.Model, "dtype": &h.DType,
		"quantization": &h.Quantization, "cudagraph_mode": &h.GraphMode, "cudagraph_null_reason": &h.GraphNullReason,
		"runner": &h.Runner, "patch_hash": &h.PatchHash,
	}
	flags := map[string]*bool{
		"expert_parallel": &h.ExpertParallel, "async_scheduling": &h.AsyncScheduling, "prefix_caching": &h.PrefixCaching,
	}
	o := object{fields: headerFields, need: headerNeeds}
	for p.next(&o) {
		if p.typed(&o, &h.EngineID, engines) {
			continue
		}
		name := o.fields[o.at]
		switch {
		case integers[name] != nil && o.need>>o.at&1 != 0:
			*integers[name] = p.integer(&o)
		case integers[name] != nil:
			*integers[name], _ = p.count(&o)
		case strings[name] != nil:
			*strings[name] = p.words(&o)
		case flags[name] != nil:
			*flags[name] = !p.word("null") && p.boolean(&o)
		default:
			p.edges(&o, h)
		}
	}
	h.Schema = Schema
}

// edges reads the edges of one histogram, which have to be the ones this package knows: with others its bins would mean something else.
func (p *scanner) edges(o *object, h *Header) {
	if p.word("null") {
		return
	}
	start := p.i
	var into *[]int64
	var known []int64
	switch o.fields[o.at] {
	case "context_edges":
		into, known = &h.ContextEdges, contextEdges[:]
	case "chunk_edges":
		into, known = &h.ChunkEdges, chunkEdges[:]
	default:
		into, known = &h.ChunkTailEdges, chunkTailEdges[:]
	}
	*into = make([]int64, len(known))
	p.array(o, *into)
	if !p.failed && !slices.Equal(*into, known) {
		p.fail(start, fmt.Sprintf("expected the edges %v in %s, found %v", known, o.fields[o.at], *into))
	}
}

func (p *scanner) profile(m *Profile, engines *interner) {
	*m = Profile{}
	integers := [...]*int64{typedOwn + 1: &m.WallNS, typedOwn + 2: &m.MonoNS, typedOwn + 3: &m.ReturnMonoNS, typedOwn + 4: &m.AfterStep}
	o := object{fields: profileFields, need: all(len(integers))}
	for p.next(&o) {
		switch k := o.at; {
		case p.typed(&o, &m.EngineID, engines):
		case k == typedOwn:
			m.Action = p.action(&o)
		case k < len(integers):
			*integers[k] = p.integer(&o)
		case k == len(integers):
			if !p.word("null") {
				ok := p.boolean(&o)
				m.OK = &ok
			}
		default:
			m.Error = p.words(&o)
		}
	}
}

func (p *scanner) action(o *object) string {
	start := p.i
	switch string(p.str(o)) {
	case ActionStart:
		return ActionStart
	case ActionStop:
		return ActionStop
	}
	p.i = min(start, len(p.b))
	p.wrong(o, "start or stop")
	return ""
}

func (p *scanner) dummy(m *DummyStep, engines *interner) {
	*m = DummyStep{}
	integers := [...]*int64{typedOwn: &m.AfterStep, typedOwn + 1: &m.WallNS, typedOwn + 2: &m.MonoNS}
	o := object{fields: dummyFields, need: all(len(dummyFields))}
	for p.next(&o) {
		if !p.typed(&o, &m.EngineID, engines) {
			*integers[o.at] = p.integer(&o)
		}
	}
}

func (p *scanner) footer(f *Footer, engines *interner) {
	*f = Footer{}
	integers := [...]*int64{
		typedOwn: &f.Encoded, typedOwn + 1: &f.Written, typedOwn + 2: &f.Dropped,
		typedOwn + 3: &f.QueueHighWatermark, typedOwn + 4: &f.EndWallNS,
	}
	o := object{fields: footerFields, need: all(len(footerFields))}
	for p.next(&o) {
		switch {
		case p.typed(&o, &f.EngineID, engines):
		case o.at < len(integers):
			*integers[o.at] = p.integer(&o)
		case !p.word("null"):
			p.foreground(&f.ForegroundNS)
		}
	}
}

// foreground reads the recorder's cost. Without a step all but n are null.
func (p *scanner) foreground(f *Foreground) {
	values := [...]*int64{&f.N, &f.P50, &f.P95, &f.P99, &f.Max, &f.Mean}
	o := object{path: "foreground_ns.", fields: foregroundFields, need: all(len(foregroundFields))}
	for p.next(&o) {
		*values[o.at], _ = p.count(&o)
	}
}
