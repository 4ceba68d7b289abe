package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"opprof/campaign/plan"
	"opprof/engine/control"
	"opprof/engine/journal"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/serverconf"
	"opprof/engine/supervisor/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a machine on which servers start and loads run in no time but the simulated one. What a run measures depends on nothing but the
// run, so that a campaign ends alike however it was interrupted.
type world struct {
	t       *testing.T
	machine Machine
	running map[string]bool // servers, by folder
	starts  []string        // folders in the order of their servers' starts
	busy    string          // what stands against a start
	measure func(dir string) map[string]any
	events  []string
	startS  time.Duration
	loadS   time.Duration
	die     map[string]error // servers that die during their load
	fail    map[string]error // servers that do not start
	exit    map[string]int   // generators that end with a code
	cold    map[string]bool  // servers that compile
	counts  func(dir string) Counters
	others  map[string][]string // processes on the devices at the end of a load
	killed  []process.Identity
	windows int

	compiled map[string]int // kernels that Triton compiles under load
}

func newWorld(t *testing.T) *world {
	return &world{t: t, machine: Machine{Host: "one", BootID: "boot", Cores: 2, Devices: []Device{{UUID: "GPU-1", Name: "H20"}}}, running: map[string]bool{},
		measure: func(string) map[string]any { return result(nil) }, startS: time.Minute, loadS: 30 * time.Second, die: map[string]error{},
		fail: map[string]error{}, exit: map[string]int{}, cold: map[string]bool{}, others: map[string][]string{},
		counts: func(string) Counters { return Counters{1000, 0} }}
}

// result is what `vllm bench serve` writes, with what a test wants otherwise.
func result(other map[string]any) map[string]any {
	out := map[string]any{"completed": 200, "failed": 0, "total_input_tokens": 1000, "total_output_tokens": 500, "duration": 20.0, "output_throughput": 100.0,
		"p50_ttft_ms": 10.0, "p95_ttft_ms": 20.0, "p50_tpot_ms": 3.0, "p95_tpot_ms": 4.0, "request_throughput": 10.0}
	for name, v := range other {
		out[name] = v
	}
	return out
}

func (w *world) name(dir string) string { return filepath.Base(dir) }

// run is the id of the run in a folder, whichever attempt at it that is.
func (w *world) run(dir string) string {
	id, _, _ := strings.Cut(filepath.Base(dir), "-again-")
	return id
}

func (w *world) Check(context.Context, serverconf.Server, string) []string {
	if len(w.running) > 0 {
		w.t.Errorf("a server is to be started while %v run", w.running)
	}
	if w.busy != "" {
		return []string{w.busy}
	}
	return nil
}

func (w *world) Start(ctx context.Context, s serverconf.Server, dir string) (Server, error) {
	if err := os.MkdirAll(filepath.Join(dir, rundir.BenchName), 0o700); err != nil {
		return nil, err
	}
	w.running[dir] = true
	w.starts = append(w.starts, dir)
	if !wait(ctx, w.startS) {
		return nil, ctx.Err()
	}
	if err := w.fail[w.run(dir)]; err != nil {
		return nil, err
	}
	log := "(APIServer pid=1) INFO 11-30 04:01:00 [x.py:1] ready\n"
	log += "(EngineCore pid=1) INFO 11-30 04:01:00 [backends.py:1089] Using cache directory: " + filepath.Join(dir, "rank_0_0", "backbone") + " for vLLM's torch.compile\n"
	if w.cold[w.run(dir)] {
		log += "(EngineCore pid=1) INFO 11-30 04:01:00 [backends.py:393] Compiling a graph for compile range (1, 8192) takes 12.34 s\n"
	}
	if err := os.WriteFile(filepath.Join(dir, rundir.ServerLogName), []byte(log), 0o600); err != nil {
		return nil, err
	}
	if s.Record {
		writeStream(w.t, dir)
	}
	return &worldServer{w: w, dir: dir}, nil
}

func (w *world) Stop(ctx context.Context, dir string) (string, error) {
	wait(ctx, 5*time.Second)
	delete(w.running, dir)
	return "stopped: ordered by a client", nil
}

func (w *world) Look(context.Context, serverconf.Server) Machine { return w.machine }

func (w *world) Strangers(_ context.Context, _ Machine, own []int) []string {
	if own == nil {
		return nil
	}
	return w.others[w.run(w.starts[len(w.starts)-1])]
}

func (w *world) Run(ctx context.Context, k Work, started func(process.Identity) error) (LoadEnd, error) {
	if err := started(process.Identity{PID: 1 << 22, StartTime: 1, BootID: "boot"}); err != nil {
		return LoadEnd{}, err
	}
	if !wait(ctx, w.loadS) {
		return LoadEnd{}, nil
	}
	dir := filepath.Dir(filepath.Dir(k.Result))
	if code := w.exit[w.run(dir)]; code != 0 {
		return LoadEnd{Exit: process.Exit{Known: true, Code: code}, Tail: "no route to host"}, nil
	}
	text, err := json.Marshal(w.measure(w.run(dir)))
	if err != nil {
		return LoadEnd{}, err
	}
	return LoadEnd{Exit: process.Exit{Known: true}}, os.WriteFile(k.Result, text, 0o600)
}

func (w *world) Compiled(_ serverconf.Server, compiled []string, from, to time.Time) int {
	if to.Sub(from) != 20*time.Second {
		w.t.Errorf("the measured part of a load of 20 s is %s", to.Sub(from))
	}
	if len(compiled) != 1 {
		w.t.Errorf("the log names one compile cache, and %v were found", compiled)
		return 0
	}
	return w.compiled[w.run(filepath.Dir(filepath.Dir(compiled[0])))]
}

func (w *world) Kill(id process.Identity) { w.killed = append(w.killed, id) }

func (w *world) Open(path string) (io.ReadCloser, time.Time, error) {
	f, err := os.Open(path)
	return f, time.Now(), err
}

func (w *world) Version(context.Context, serverconf.Server, plan.Load) string {
	return "vllm bench serve 0.24.0"
}

// wait passes simulated time; false when ctx ends before.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// worldServer is a server of the world.
type worldServer struct {
	w      *world
	dir    string
	loaded bool // the counters were asked for before the load
}

func (s *worldServer) Counters(context.Context) (*Counters, error) {
	if !s.loaded {
		s.loaded = true
		return &Counters{}, nil
	}
	c := s.w.counts(s.w.run(s.dir))
	return &c, nil
}

func (s *worldServer) Watch(ctx context.Context) error {
	if err := s.w.die[s.w.run(s.dir)]; err != nil && wait(ctx, time.Second) {
		return err
	}
	<-ctx.Done()
	return nil
}

// CPU is half a core for the engine and a fifth for the front end since 1970.
func (s *worldServer) CPU() (CPUTime, bool) {
	now := time.Now()
	engine, front := time.Duration(now.UnixNano()/2), time.Duration(now.UnixNano()/5)
	return CPUTime{At: now, Engine: &engine, FrontEnd: &front}, true
}

func (s *worldServer) PIDs() []int { return []int{1} }

func (s *worldServer) Arm(_ context.Context, t control.Trigger, count int) error {
	s.w.windows = count
	return t.Check(count)
}

func (s *worldServer) Windows(context.Context) ([]control.Window, error) {
	out := make([]control.Window, s.w.windows)
	for i := range out {
		out[i] = control.Window{N: i + 1, State: control.WindowVerified}
	}
	return out, nil
}

func (s *worldServer) Cancel(context.Context, int) error { return nil }

// routed is a response with one token's experts: [[[0, 1]]] as bytes.
const routed = `{"choices":[{"routed_experts":"%s"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`

func (s *worldServer) Complete(ctx context.Context, _ []byte) ([]byte, error) {
	if !wait(ctx, time.Second) {
		return nil, ctx.Err()
	}
	return fmt.Appendf(nil, routed, npy()), nil
}

func (s *worldServer) Close() {}

// writeStream writes a small stream that holds together.
func writeStream(t *testing.T, dir string) {
	t.Helper()
	layer1 := filepath.Join(dir, rundir.Layer1Name)
	if err := os.MkdirAll(layer1, 0o700); err != nil {
		t.Error(err)
	}
	contexts, chunks, tails := record.ContextEdges(), record.ChunkEdges(), record.ChunkTailEdges()
	lines := []record.Line{{Kind: record.KindHeader, Header: record.Header{Schema: 1, EngineID: "dp0-pid1", StartWallNS: 1, StartMonoNS: 1, VLLMVersion: "0.24.0",
		TensorParallel: 1, DataParallel: 1, PipelineParallel: 1, BlockSize: 16, ContextEdges: contexts[:], ChunkEdges: chunks[:], ChunkTailEdges: tails[:]}}}
	const steps = 60
	for i := int64(1); i <= steps; i++ {
		s := record.Step{EngineID: "dp0-pid1", StepIndex: i, SubmitWallNS: i * 1e6, SubmitMonoNS: i * 1e6, CompleteMonoNS: i*1e6 + 1000, ModelExecuted: true,
			ScheduledRequests: 2, DecodeBatchSize: 2, DecodeTokens: 2, KV: record.KV{TotalBlocks: 100, FreeBlocks: 98, UsedBlocks: 2, Usage: 0.02}}
		s.ContextHist[0] = 2
		lines = append(lines, record.Line{Kind: record.KindStep, Step: s})
	}
	lines = append(lines, record.Line{Kind: record.KindFooter, Footer: record.Footer{EngineID: "dp0-pid1", Encoded: steps + 1, Written: steps + 1, QueueHighWatermark: 3,
		EndWallNS: 1e9, ForegroundNS: record.Foreground{N: steps, P50: 20000, P95: 30000, P99: 40000, Max: 50000, Mean: 21000}}})
	var text []byte
	for i := range lines {
		text = append(record.Append(text, &lines[i]), '\n')
	}
	if err := os.WriteFile(filepath.Join(layer1, "opprof-v1-dp0-pid1-1.jsonl"), text, 0o600); err != nil {
		t.Error(err)
	}
}

// campaign makes a campaign's folder from the text of its [campaign] section.
func (w *world) campaign(text string) Config {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "c")
	source := "[server]\nmodel = 'm'\n" + text
	p, err := plan.Parse("c.toml", source)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := Create(dir, []byte(source), p, journal.SystemClock{}); err != nil {
		w.t.Fatal(err)
	}
	return Config{Dir: dir, Servers: w, Loads: w, Host: w, Clock: journal.SystemClock{}, Version: "test", appended: func(event string) { w.events = append(w.events, event) }}
}

// must runs a campaign to whatever end it comes.
func (w *world) must(c Config) {
	w.t.Helper()
	if err := Run(context.Background(), c); err != nil {
		w.t.Fatal(err)
	}
	if len(w.running) > 0 {
		w.t.Errorf("servers are left: %v", w.running)
	}
}

var errDied = errors.New("CUDA out of memory")

// goexitAt ends a runner as kill -9 does when the first event of a name is on disk.
func goexitAt(name string) func(string) {
	return func(event string) {
		if event == name {
			runtime.Goexit()
		}
	}
}
