// Package fakeserver is a vLLM server without vLLM, for tests: a process that takes the same command line, prints a log of the same form,
// answers the same endpoints, writes Layer-1 records and traces, and commits the fault that it is told to. A test binary becomes one by
// calling Main when Is says so.
package fakeserver

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Variable holds the Options of a fake server as JSON.
const Variable = "OPPROF_FAKE_SERVER"

// Faults that a server can commit.
const (
	NeverReady       = "never ready"       // the log stands still while weights load
	DeafStart        = "deaf start"        // never ready, and SIGTERM is not heard: as vLLM while it starts its engine
	DiesAtStart      = "dies at start"     // the cause stands in the middle of the log
	PortTaken        = "port taken"        // another process listens at its address
	EngineKilled     = "engine killed"     // after Steps, with exit code 0 and workers left behind
	HungEngine       = "hung engine"       // no step after Steps, and /health is well
	HungHealth       = "hung health"       // no answer to /health after Steps
	HungMetrics      = "hung metrics"      // no answer to /metrics
	HungStart        = "hung start"        // no answer to /start_profile
	HungStop         = "hung stop"         // no answer to /stop_profile
	RefusesStart     = "refuses start"     // /start_profile answers 500
	SlowDrain        = "slow drain"        // SIGTERM is not enough
	StubbornChildren = "stubborn children" // grandchildren in a session of their own that ignore SIGTERM
	MissingRank      = "missing rank"      // the last rank writes no trace
	CutTrace         = "cut trace"         // rank 0's trace ends in the middle
	OtherLabels      = "other labels"      // the labels are not those of the steps
	EndsTraffic      = "ends traffic"      // the requests end after Steps, inside a window if one is open
	Stray            = "stray"             // a trace that nobody asked for, after Steps
	SmallFiles       = "small files"       // no file may grow beyond 1,200 bytes: a disk that is full
)

// Options say how a server behaves. Times are in milliseconds.
type Options struct {
	Fault   string
	Steps   int64  // after which some faults come
	ReadyMS int64  // from the start to the first good answer
	StepMS  int64  // a step's period; 0 is 5
	StallMS int64  // how long the export of traces takes
	Role    string // "" is the server, else one of its children
	Parent  int    // of a child, its process
}

// Environ is the variable for a server's environment.
func (o Options) Environ() string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // a struct of plain fields
	}
	return Variable + "=" + string(text)
}

// Is reports whether this process was started as a fake server.
func Is() bool {
	return os.Getenv(Variable) != "" && len(os.Args) > 1 && (os.Args[1] == "-m" || os.Args[1] == worker)
}

// worker is the first argument of a child process.
const worker = "fake-worker"

// Main is a fake server's whole life. It returns the exit code.
func Main() int {
	var o Options
	if err := json.Unmarshal([]byte(os.Getenv(Variable)), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if os.Args[1] == worker {
		return work(o)
	}
	if o.StepMS == 0 {
		o.StepMS = 5
	}
	f, err := parse(os.Args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "vllm: error: %v\n", err)
		return 2
	}
	s := &server{options: o, flags: f}
	return s.live()
}

// work is a child: it lives until it is killed, or until its parent goes where it is a good one.
func work(o Options) int {
	if o.Fault == StubbornChildren || o.Fault == EngineKilled {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		select {}
	}
	for os.Getppid() == o.Parent {
		time.Sleep(10 * time.Millisecond)
	}
	return 0
}

// commandLine is what the fake server understands of vLLM's.
type commandLine struct {
	host, socket string
	port, ranks  int
	profiler     string
	trace        profilerConfig
}

type profilerConfig struct {
	Profiler string `json:"profiler"`
	Dir      string `json:"torch_profiler_dir"`
	Max      int64  `json:"max_iterations"`
}

// parse reads "PYTHON -m MODULE serve MODEL [FLAG…]". Flags that it does not know are vLLM's, and fine.
func parse(args []string) (commandLine, error) {
	var c commandLine
	i := slices.Index(args, "serve")
	if i < 0 || len(args) < i+2 {
		return c, fmt.Errorf("expected serve MODEL, got %q", args[1:])
	}
	set := flag.NewFlagSet("vllm", flag.ContinueOnError)
	set.StringVar(&c.host, "host", "127.0.0.1", "")
	set.IntVar(&c.port, "port", 8000, "")
	set.StringVar(&c.socket, "uds", "", "")
	set.IntVar(&c.ranks, "tensor-parallel-size", 1, "")
	set.StringVar(&c.profiler, "profiler-config", "", "")
	for rest := args[i+2:]; len(rest) > 0; rest = rest[1:] {
		name, value, inline := strings.Cut(strings.TrimLeft(rest[0], "-"), "=")
		if !strings.HasPrefix(rest[0], "--") || set.Lookup(name) == nil {
			continue
		}
		if !inline {
			if len(rest) < 2 {
				return c, fmt.Errorf("argument --%s: expected one argument", name)
			}
			value, rest = rest[1], rest[1:]
		}
		if err := set.Set(name, value); err != nil {
			return c, fmt.Errorf("argument --%s: %w", name, err)
		}
	}
	if c.profiler != "" {
		if err := json.Unmarshal([]byte(c.profiler), &c.trace); err != nil {
			return c, fmt.Errorf("argument --profiler-config: %w", err)
		}
	}
	return c, nil
}

func (c commandLine) listen() (net.Listener, error) {
	if c.socket != "" {
		return net.Listen("unix", c.socket)
	}
	return net.Listen("tcp", fmt.Sprintf("%s:%d", c.host, c.port))
}

// server is the process of the API server and the engine in one.
type server struct {
	options Options
	flags   commandLine
	engine  *engine
	exit    chan int
}

func (s *server) live() int {
	s.exit = make(chan int, 1)
	if s.options.Fault == SmallFiles {
		limit := syscall.Rlimit{Cur: 1200, Max: 1200}
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	for range s.flags.ranks {
		if err := s.child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	startLog(s.flags)
	switch s.options.Fault {
	case DiesAtStart:
		diesAtStart()
		return 1
	case DeafStart:
		signal.Ignore(syscall.SIGTERM)
		select {}
	case NeverReady:
		<-terms
		return 1
	}
	l, err := s.flags.listen()
	if err != nil {
		fmt.Fprintf(os.Stderr, "Traceback (most recent call last):\n  File \"socket.py\", line 1\nOSError: [Errno 98] Address already in use\n")
		return 1
	}
	time.Sleep(time.Duration(s.options.ReadyMS) * time.Millisecond)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s.engine = newEngine(s.options, s.flags)
	if err := s.engine.begin(os.Getenv("VLLM_OPPROF_DIR")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go s.engine.run(ctx, s.exit)
	api := &http.Server{Handler: s.handler()}
	go func() { _ = api.Serve(l) }()
	readyLog()
	select {
	case code := <-s.exit:
		return code
	case <-terms:
	}
	fmt.Println("INFO:     Shutting down")
	if s.options.Fault == SlowDrain {
		signal.Ignore(syscall.SIGTERM)
		select {}
	}
	stop()
	s.engine.close()
	return 0
}

// child starts a process as a worker would be.
func (s *server) child() error {
	o := s.options
	o.Role, o.Parent = worker, os.Getpid() // told: a parent that is killed at once may be gone before the child can ask
	path, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{Path: path, Args: []string{os.Args[0], worker}, Env: append(os.Environ(), o.Environ())}
	if o.Fault == StubbornChildren {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	return cmd.Start()
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(_ http.ResponseWriter, r *http.Request) {
		if s.options.Fault == HungHealth && s.engine.steps() >= s.options.Steps {
			<-r.Context().Done()
		}
	})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"version":"0.24.0"}`) })
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"tiny","max_model_len":2048}]}`)
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if s.options.Fault == HungMetrics {
			<-r.Context().Done()
		}
		fmt.Fprint(w, s.engine.metrics())
	})
	if s.flags.trace.Profiler == "" {
		return mux
	}
	mux.HandleFunc("POST /start_profile", func(w http.ResponseWriter, r *http.Request) {
		switch s.options.Fault {
		case HungStart:
			<-r.Context().Done()
		case RefusesStart:
			http.Error(w, "the profiler does not start", http.StatusInternalServerError)
		default:
			s.engine.startProfile()
		}
	})
	mux.HandleFunc("POST /stop_profile", func(_ http.ResponseWriter, r *http.Request) {
		if s.options.Fault == HungStop {
			<-r.Context().Done()
			return
		}
		s.engine.stopProfile()
	})
	return mux
}

func startLog(c commandLine) {
	for _, line := range []string{
		"(APIServer pid=1) INFO 11-30 04:00:00 [utils.py:299] non-default args: {'model': 'tiny', 'enforce_eager': True}",
		"(EngineCore pid=2) INFO 11-30 04:00:01 [core.py:107] Initializing a V1 LLM engine (v0.24.0) with config: model='tiny'",
		"(EngineCore pid=2) INFO 11-30 04:00:01 [oracle.py:190] Using TRITON Unquantized MoE backend out of potential backends: ['TRITON']",
		"(EngineCore pid=2) INFO 11-30 04:00:02 [gpu_model_runner.py:1] Starting to load model tiny...",
	} {
		fmt.Println(line)
	}
}

func readyLog() {
	fmt.Println("(EngineCore pid=2) INFO 11-30 04:00:03 [gpu_worker.py:1] Available KV cache memory: 1.00 GiB")
	fmt.Println("(EngineCore pid=2) INFO 11-30 04:00:03 [core.py:1] init engine (profile, create kv cache, warmup model) took 1.50 s (compilation: 0.50 s)")
	fmt.Println("(APIServer pid=1) INFO 11-30 04:00:04 [api_server.py:1] Starting vLLM server on http://127.0.0.1:8000")
	fmt.Println("INFO:     Application startup complete.")
}

// Cause is what the log of a server that dies at its start names in its middle.
const Cause = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`."

func diesAtStart() {
	const at = "(EngineCore pid=2) ERROR 11-30 04:00:03 [core.py:1] "
	fmt.Println(at + "EngineCore failed to start.")
	fmt.Println(at + "Traceback (most recent call last):")
	fmt.Println(at + `  File "core.py", line 1, in run_engine_core`)
	fmt.Println(at + Cause)
	for range 200 {
		fmt.Println("(APIServer pid=1)   File \"api_server.py\", line 1, in run_server")
	}
	fmt.Println("(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}")
}

func streamPath(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("opprof-v1-dp0-pid%d-%d.jsonl", os.Getpid(), time.Now().UnixNano()))
}
