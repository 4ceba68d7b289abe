package fakeserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"opprof/engine/record"
)

// engine makes steps, records them, and profiles some.
type engine struct {
	options Options
	flags   commandLine
	id      string
	stream  *os.File

	mu     sync.Mutex
	step   int64
	lines  int64
	open   bool // the profiler is on
	labels []label
}

type label struct {
	text   string
	wallNS int64
}

func newEngine(o Options, c commandLine) *engine {
	return &engine{options: o, flags: c, id: fmt.Sprintf("dp0-pid%d", os.Getpid())}
}

// begin begins the Layer-1 stream; without a folder there is none.
func (e *engine) begin(dir string) error {
	if dir == "" {
		return nil
	}
	var err error
	if e.stream, err = os.OpenFile(streamPath(dir), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	contexts, chunks, tails := record.ContextEdges(), record.ChunkEdges(), record.ChunkTailEdges()
	e.write(&record.Line{Kind: record.KindHeader, Header: record.Header{Schema: 1, EngineID: e.id, StartWallNS: time.Now().UnixNano(),
		StartMonoNS: monotonic(), VLLMVersion: "0.24.0", Model: "tiny", DType: "torch.bfloat16", TensorParallel: int64(e.flags.ranks), DataParallel: 1,
		PipelineParallel: 1, GraphMode: "NONE", BlockSize: 16, Runner: "v1", ContextEdges: contexts[:], ChunkEdges: chunks[:],
		ChunkTailEdges: tails[:]}})
	return nil
}

func (e *engine) write(l *record.Line) {
	if e.stream == nil {
		return
	}
	_, _ = e.stream.Write(append(record.Append(nil, l), '\n')) // a full disk loses records, never the server
	e.lines++
}

func (e *engine) steps() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.step
}

// run makes steps until ctx ends or the fault comes.
func (e *engine) run(ctx context.Context, exit chan<- int) {
	ticker := time.NewTicker(time.Duration(e.options.StepMS) * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		late := e.options.Steps > 0 && e.steps() >= e.options.Steps
		switch {
		case late && e.options.Fault == EngineKilled:
			fmt.Println("(APIServer pid=1) ERROR 11-30 04:01:00 [core_client.py:1] Engine core proc EngineCore died unexpectedly, shutting down client.")
			fmt.Println("(EngineCore pid=2) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
			exit <- 0
			return
		case late && (e.options.Fault == HungEngine):
			return
		case late && e.options.Fault == EndsTraffic:
			e.one(false)
			return
		case late && e.options.Fault == Stray:
			e.options.Fault = ""
			_ = os.WriteFile(filepath.Join(e.flags.trace.Dir, "rank0.1.pt.trace.json"), []byte("{}"), 0o600)
		}
		e.one(true)
	}
}

// one makes a step: decode of as many requests as the step's index says, modulo 7, so that labels tell steps apart.
func (e *engine) one(busy bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.step++
	requests := e.step%7 + 1
	if !busy {
		requests = 0
	}
	wall, mono := time.Now().UnixNano(), monotonic()
	if limit := e.flags.trace.Max; e.open && limit > 0 && int64(len(e.labels)) == limit {
		e.export()
	}
	if e.open {
		e.labels = append(e.labels, label{fmt.Sprintf("execute_context_0(0)_generation_%d(%d)", requests, requests), wall})
	}
	s := record.Step{EngineID: e.id, StepIndex: e.step, SubmitWallNS: wall, SubmitMonoNS: mono, CompleteMonoNS: max(monotonic(), mono+1000), ModelExecuted: busy,
		ScheduledRequests: requests, DecodeBatchSize: requests, DecodeTokens: requests, Queues: record.Queues{Running: requests},
		KV: record.KV{TotalBlocks: 100, FreeBlocks: 100 - requests, UsedBlocks: requests, Usage: float64(requests) / 100}}
	s.ContextHist[0] = requests
	s.Has = record.HasResumed | record.HasRecompute | record.HasUnsplitTokens | record.HasChunkTail
	e.write(&record.Line{Kind: record.KindStep, Step: s})
}

// metrics are the counters of the steps so far, as vLLM prints them.
func (e *engine) metrics() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return fmt.Sprintf(`# HELP vllm:num_requests_running Number of requests in model execution batches.
vllm:num_requests_running{engine="0",model_name="tiny"} %d
vllm:num_requests_waiting{engine="0",model_name="tiny"} 0
vllm:kv_cache_usage_perc{engine="0",model_name="tiny"} 0.05
vllm:iteration_tokens_total_count{engine="0",model_name="tiny"} %d
vllm:generation_tokens_total{engine="0",model_name="tiny"} %[2]d
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1",model_name="tiny"} 0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.25",model_name="tiny"} %[2]d
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="tiny"} %[2]d
`, e.step%7+1, e.step)
}

func (e *engine) startProfile() {
	e.mu.Lock()
	defer e.mu.Unlock()
	ok := true
	e.open, e.labels = true, nil
	e.write(&record.Line{Kind: record.KindProfile, Profile: record.Profile{EngineID: e.id, Action: record.ActionStart, AfterStep: e.step,
		WallNS: time.Now().UnixNano(), MonoNS: monotonic(), ReturnMonoNS: monotonic(), OK: &ok}})
}

func (e *engine) stopProfile() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open {
		e.export()
	}
	ok := true
	e.write(&record.Line{Kind: record.KindProfile, Profile: record.Profile{EngineID: e.id, Action: record.ActionStop, AfterStep: e.step,
		WallNS: time.Now().UnixNano(), MonoNS: monotonic(), ReturnMonoNS: monotonic(), OK: &ok}})
}

// export writes the traces, while no step is made. Like vLLM's, it goes on after an error.
func (e *engine) export() {
	e.open = false
	time.Sleep(time.Duration(e.options.StallMS) * time.Millisecond)
	for rank := range e.flags.ranks {
		if e.options.Fault == MissingRank && rank == e.flags.ranks-1 {
			continue
		}
		if err := e.trace(rank); err != nil {
			fmt.Printf("(Worker_TP%d pid=3) WARNING 11-30 04:00:09 [wrapper.py:1] Failed to stop profiler: %v\n", rank, err)
		}
	}
}

func (e *engine) trace(rank int) error {
	base := time.Now().UnixNano()
	var events []map[string]any
	for i, l := range e.labels {
		text := l.text
		if e.options.Fault == OtherLabels && i == 3 {
			text = "execute_context_0(0)_generation_99(99)"
		}
		events = append(events, map[string]any{"ph": "X", "cat": "user_annotation", "name": text, "pid": 1, "tid": 1,
			"ts": float64(l.wallNS-base) / 1e3, "dur": 900.0, "args": map[string]any{"note": "a label as the worker sets it", "index": i}})
	}
	text, err := json.Marshal(map[string]any{"schemaVersion": 1, "baseTimeNanoseconds": base, "traceEvents": events,
		"distributedInfo": map[string]any{"rank": rank, "world_size": e.flags.ranks}})
	if err != nil {
		return err
	}
	if e.options.Fault == CutTrace && rank == 0 {
		text = text[:len(text)/2]
	}
	name := fmt.Sprintf("dp0_pp0_tp%d_dcp0_ep%d_rank%d.%d.pt.trace.json", rank, rank, rank, base)
	table := os.WriteFile(filepath.Join(e.flags.trace.Dir, fmt.Sprintf("profiler_out_%d.txt", rank)), fmt.Appendf(nil, "table after step %d\n", e.step), 0o600)
	return errors.Join(os.WriteFile(filepath.Join(e.flags.trace.Dir, name), text, 0o600), table)
}

func (e *engine) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.write(&record.Line{Kind: record.KindFooter, Footer: record.Footer{EngineID: e.id, Encoded: e.lines, Written: e.lines, EndWallNS: time.Now().UnixNano()}})
}

func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano()
}
