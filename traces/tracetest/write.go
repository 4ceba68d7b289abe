package tracetest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// baseNS is what the times of a trace count from.
const baseNS = 1_790_857_026_000_000_000

// Write lays the window out as a run's folder: a Layer-1 file for each engine, a trace for each rank. It returns the traces, engine by engine.
func (w *Window) Write(dir string) ([]string, error) {
	for _, sub := range []string{"layer1", "kineto"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	var traces []string
	for e := range w.Members {
		path := filepath.Join(dir, "layer1", fmt.Sprintf("opprof-v1-dp%d-pid%d-1.jsonl", e, e+1))
		if err := writeTo(path, func(out io.Writer) { w.records(out, e) }); err != nil {
			return nil, err
		}
		for r := range w.Members[e].Ranks {
			path := filepath.Join(dir, "kineto", w.TraceName(e, r))
			if err := writeTo(path, func(out io.Writer) { w.trace(out, e, r) }); err != nil {
				return nil, err
			}
			traces = append(traces, path)
		}
	}
	return traces, nil
}

// TraceName is a rank's file as vLLM names it: of a mixture-of-experts model, whose ranks count anew in each engine.
func (w *Window) TraceName(engine, rank int) string {
	last := len(w.Members[engine].SubmitNS) - 1
	stamp := w.Members[engine].SubmitNS[last] + w.Members[engine].PeriodNS[last] + int64(rank)*1_000_000
	return fmt.Sprintf("dp%d_pp0_tp%d_dcp0_ep%d_rank%d.%d.pt.trace.json", engine, rank, engine*w.Ranks+rank, rank, stamp)
}

func writeTo(path string, write func(io.Writer)) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	write(out)
	if err := out.Flush(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// records writes the Layer-1 file of an engine: the steps of the window with one before and two behind, and the profiler's markers.
func (w *Window) records(out io.Writer, engine int) {
	e := &w.Members[engine]
	id := fmt.Sprintf("dp%d-pid%d", engine, engine+1)
	zero := e.SubmitNS[0] - 1_000_000_000
	fmt.Fprintf(out, `{"type":"header","schema":1,"engine_id":%q,"start_wall_ns":%d,"start_mono_ns":1000,"vllm_version":"0.24.0","model":"Qwen3-30B-A3B","dtype":"torch.bfloat16",`+
		`"tensor_parallel_size":%d,"data_parallel_size":%d,"pipeline_parallel_size":1,"expert_parallel":%t,"max_num_batched_tokens":8192,"max_num_seqs":1024,"async_scheduling":true,`+
		`"prefix_caching":true,"cudagraph_mode":"FULL_AND_PIECEWISE","block_size":16,"context_edges":[128,256,512,1024,2048,4096,8192,16384,32768,65536,131072],`+
		`"chunk_edges":[16,32,64,128,256,512,1024,2048]}`+"\n", id, zero, w.Ranks, w.Engines, w.Engines > 1)
	step(out, id, w.FirstStep-1, e.SubmitNS[0]-stepNS, stepNS, zero, 1)
	marker := func(action string, at, after int64) {
		fmt.Fprintf(out, `{"type":"profile","schema":1,"engine_id":%q,"action":%q,"wall_ns":%d,"mono_ns":%d,"return_mono_ns":%d,"after_step":%d}`+"\n",
			id, action, at, at-zero+1000, at-zero+2000, after)
	}
	marker("start", e.SubmitNS[0]-100_000, w.FirstStep-1)
	n := len(e.SubmitNS)
	for i := range n {
		step(out, id, w.FirstStep+int64(i), e.SubmitNS[i], e.PeriodNS[i], zero, e.Decode[i])
	}
	end := e.SubmitNS[n-1] + e.PeriodNS[n-1]
	step(out, id, w.FirstStep+int64(n), end, stepNS, zero, 2)
	marker("stop", end+stepNS/2, w.FirstStep+int64(n))
	step(out, id, w.FirstStep+int64(n)+1, end+stepNS, stepNS, zero, 2)
}

// step writes one decode step that completes as the next is submitted.
func step(out io.Writer, id string, index, at, period, zero, decode int64) {
	mono := at - zero + 1000
	fmt.Fprintf(out, `{"schema":1,"engine_id":%q,"step_index":%d,"submit_wall_ns":%d,"submit_mono_ns":%d,"complete_mono_ns":%d,"model_executed":true,`+
		`"scheduled_requests":%[6]d,"decode_batch_size":%[6]d,"prefill_requests":0,"prefill_tokens":0,"decode_tokens":%[6]d,"resumed_requests":0,"recompute_tokens":0,`+
		`"chunked_prefill":{"first":0,"middle":0,"final":0,"unsplit":0,"tokens":0,"chunk_size_hist":[0,0,0,0,0,0,0,0,0]},"context_length_hist":[%[6]d,0,0,0,0,0,0,0,0,0,0,0],`+
		`"preemptions":0,"queues":{"running":%[6]d,"waiting":0,"deferred":0},"kv":{"total_blocks":1000,"free_blocks":500,"used_blocks":500,"usage":0.5},`+
		`"prefix":{"local":null,"external":null},"cudagraph":{"hit":true,"runtime_mode":"FULL","unpadded_tokens":%[6]d,"bucket_tokens":16,"padding_tokens":%[7]d},`+
		`"moe_expert_load":null,"dropped_records_before":0}`+"\n", id, index, at, mono, mono+period, decode, 16-decode)
}

// trace writes a rank's file: labels, launches and device events, by the rank's own clock.
func (w *Window) trace(out io.Writer, engine, rank int) {
	e := &w.Members[engine]
	global := engine*w.Ranks + rank
	ahead := w.OffsetNS[global]
	us := func(ns int64) string { return fmt.Sprintf("%d.%03d", (ns-baseNS+ahead)/1000, (ns-baseNS+ahead)%1000) }
	fmt.Fprintf(out, `{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H200"}],"distributedInfo":{"backend":"nccl","rank":%d,"world_size":%d},"baseTimeNanoseconds":%d,"traceEvents":[`,
		global, w.Engines*w.Ranks, int64(baseNS))
	for i, at := range e.SubmitNS {
		if i > 0 {
			fmt.Fprint(out, ",\n")
		}
		fmt.Fprintf(out, `{"ph":"X","cat":"user_annotation","name":"execute_context_0(0)_generation_%d(%[1]d)","pid":1,"tid":1,"ts":%s,"dur":%d}`, e.Decode[i], us(at+50_000), labelNS/1000)
	}
	if w.NoDevice {
		for i, at := range e.SubmitNS {
			fmt.Fprintf(out, ",\n"+`{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":%s,"dur":%d}`, us(at+launchNS), i+20)
		}
		fmt.Fprint(out, "]}\n")
		return
	}
	launch := func(name string, step, correlation int) {
		fmt.Fprintf(out, ",\n"+`{"ph":"X","cat":"cuda_runtime","name":%q,"pid":1,"tid":1,"ts":%s,"dur":1,"args":{"correlation":%d}}`, name,
			us(e.SubmitNS[step]+launchNS+int64(1-correlation%2)*20_000), correlation)
	}
	for i := range e.SubmitNS {
		launch("cudaGraphLaunch", i, 2*i+1)
		launch("cudaMemcpyAsync", i, 2*i+2)
	}
	for i := range e.Ranks[rank].Kernels {
		k := &e.Ranks[rank].Kernels[i]
		correlation := 2*k.Step + 1 // a step is one graph, and the copy of its tokens
		if k.Name == tokenCopy {
			correlation++
		}
		fmt.Fprintf(out, ",\n"+`{"ph":"X","cat":%q,"name":%q,"pid":0,"tid":%d,"ts":%s,"dur":%d.%03d,"args":{"correlation":%d,"device":0,"stream":%[3]d}}`,
			k.Category, k.Name, k.Stream, us(k.StartNS), k.DurNS/1000, k.DurNS%1000, correlation)
	}
	fmt.Fprint(out, "]}\n")
}
