package vllm

import (
	"regexp"
	"strconv"
	"strings"
)

// Fact is something the server said about itself while it started.
type Fact struct {
	Name  string // in a few words, for example "attention backend"
	Value string // with its unit
	Line  int64  // 1-based line of server.log
}

// Phase is where a start stands. Done and Total count what the phase works through (graphs to capture, shards to load); 0 is unknown.
type Phase struct {
	Name        string `json:"name"`
	Done, Total int64
}

// Phases of a start, in order.
const (
	PhaseLaunch   = "launching"
	PhaseConfig   = "configuring"
	PhaseEngine   = "starting the engine"
	PhaseWeights  = "loading weights"
	PhaseCompile  = "compiling"
	PhaseKVCache  = "sizing the KV cache"
	PhaseGraphs   = "capturing graphs"
	PhaseWarmup   = "warming up"
	PhaseRoutes   = "opening the server"
	PhaseReady    = "ready"
	PhaseStopping = "stopping"
)

// factRule reads a fact from a message. The last group is the value unless form says otherwise.
type factRule struct {
	name  string
	match *regexp.Regexp
	form  string // with $1, $2; "" is $1
	all   bool   // several values are kept, not the first alone
	last  bool   // a later value replaces the first: what an engine decides after the API server has
}

// factRules follow notes on vLLM 0.24.0's start-up messages; many are printed by one process only (info_once).
var factRules = []factRule{
	{name: "vLLM version", match: regexp.MustCompile(`Initializing a V1 LLM engine \(v([^)]+)\)`)},
	{name: "vLLM version", match: regexp.MustCompile(`vLLM API server version (\S+)`)},
	{name: "architecture", match: regexp.MustCompile(`Resolved architecture: (\S+)`)},
	{name: "model runner", match: regexp.MustCompile(`Using (V2 Model Runner)`)},
	{name: "max model length", match: regexp.MustCompile(`Using max model len (\d+)`), form: "$1 tokens"},
	{name: "prefill chunk", match: regexp.MustCompile(`Chunked prefill is enabled with max_num_batched_tokens=(\d+)`), form: "$1 tokens"},
	{name: "scheduling", match: regexp.MustCompile(`Asynchronous scheduling is (enabled|disabled)`), form: "asynchronous $1", last: true},
	{name: "attention backend", match: regexp.MustCompile(`Using (\S+) attention backend`)},
	{name: "attention backend", match: regexp.MustCompile(`Using (\S+) backend\.?$`)},
	{name: "FlashAttention", match: regexp.MustCompile(`Using FlashAttention version (\S+)`), form: "version $1"},
	{name: "MoE backend", match: regexp.MustCompile(`Using (\S+(?: \S+)??) (?:Unquantized|\S+) MoE backend`)},
	{name: "MoE configuration", match: regexp.MustCompile(`Using configuration from .*/([^/]+\.json) for MoE layer`)},
	{name: "all-reduce", match: regexp.MustCompile(`Using (\[[^\]]*\]) all-reduce backends.*for group '([^']+)'`), form: "$2 $1", all: true},
	{name: "NCCL", match: regexp.MustCompile(`vLLM is using nccl==(\S+)`)},
	{name: "sampler", match: regexp.MustCompile(`(FlashInfer top-p/top-k sampling \S+)`)},
	{name: "weights", match: regexp.MustCompile(`Model loading took ([\d.]+ GiB)(?: memory)? and ([\d.]+) seconds`), form: "$1 in $2 s"},
	{name: "compilation", match: regexp.MustCompile(`torch\.compile took ([\d.]+) s in total`), form: "$1 s"},
	{name: "compile cache", match: regexp.MustCompile(`Directly load(?:ing)? .*compiled graph.*took ([\d.]+) s`), form: "warm, $1 s"},
	{name: "KV cache memory", match: regexp.MustCompile(`Available KV cache memory: (\S+ \S+)`)},
	{name: "KV blocks", match: regexp.MustCompile(`Overriding num_gpu_blocks=(\d+) with num_gpu_blocks_override=(\d+)`), form: "$2 (override of $1)"},
	{name: "KV cache size", match: regexp.MustCompile(`(?:GPU|CPU) KV cache size: ([\d,]+) tokens`), form: "$1 tokens"},
	{name: "concurrency", match: regexp.MustCompile(`Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x`), form: "$2 requests of $1 tokens"},
	{name: "CUDA graphs", match: regexp.MustCompile(`Profiling CUDA graph memory: (.*)$`)},
	{name: "graph capture", match: regexp.MustCompile(`Graph capturing finished in (\d+) secs, took ([\d.]+ GiB)`), form: "$1 s, $2"},
	{name: "engine start", match: regexp.MustCompile(`init engine \([^)]*\) took ([\d.]+) s(?:econds)?(?: \(compilation: ([\d.]+) s\))?`), form: "$1 s"},
	{name: "routed experts buffer", match: regexp.MustCompile(`RoutedExpertsManager CPU buffer: (\S+ \S+)`)},
	{name: "OpProf", match: regexp.MustCompile(`(?i)opprof[^:]*: (?:recording|writing)[^/]*(\S+)`)},
	{name: "address", match: regexp.MustCompile(`Starting vLLM (?:API )?server(?: \d+)? on (\S+)`)},
	{name: "torch threads", match: regexp.MustCompile(`Reducing Torch parallelism from (\d+) threads to (\d+)`), form: "$2 (of $1)"},
	{name: "rank", match: regexp.MustCompile(`rank (\d+) in world size (\d+) is assigned as (DP rank .*)$`), form: "$1 of $2: $3", all: true},
}

var (
	nonDefault   = regexp.MustCompile(`^non-default args: (\{.*\})$`)
	captureBar   = regexp.MustCompile(`Capturing CUDA graphs? \(([^)]*)\):\s+\d+%.*?(\d+)/(\d+)`)
	loadBar      = regexp.MustCompile(`Loading \S+ checkpoint shards:\s+\d+%.*?(\d+)/(\d+)`)
	phaseMarkers = []struct {
		phase string
		match *regexp.Regexp
	}{
		{PhaseConfig, regexp.MustCompile(`^non-default args|Resolved architecture`)},
		{PhaseEngine, regexp.MustCompile(`Initializing a V1 LLM engine`)},
		{PhaseWeights, regexp.MustCompile(`Starting to load model|Loading \S+ checkpoint shards`)},
		{PhaseCompile, regexp.MustCompile(`Model loading took|Dynamo bytecode transform|Compiling a graph|Using cache directory: .*torch_compile_cache`)},
		{PhaseKVCache, regexp.MustCompile(`torch\.compile took|Initial profiling/warmup run|Available KV cache memory|KV cache size`)},
		{PhaseGraphs, regexp.MustCompile(`Capturing CUDA graph|Profiling CUDA graph memory`)},
		{PhaseWarmup, regexp.MustCompile(`Graph capturing finished|init engine \(`)},
		{PhaseRoutes, regexp.MustCompile(`Starting vLLM (API )?server|Available routes are`)},
		{PhaseReady, regexp.MustCompile(`^Application startup complete`)},
		{PhaseStopping, regexp.MustCompile(`^\[shutdown\]|^Shutting down$`)},
	}
)

// readyPhase is the position of PhaseReady among the markers, counted from 1.
const readyPhase = 9

// Startup gathers facts, the phase and the arguments from the lines of a server's log, in order. The zero value is ready. One goroutine
// owns it.
type Startup struct {
	facts []Fact
	index map[string]int
	phase int // index into phaseMarkers, plus one
	bar   Phase
	args  []Arg
}

// Add takes the next line.
func (s *Startup) Add(number int64, l LogLine) {
	if m := nonDefault.FindStringSubmatch(l.Message); m != nil && s.args == nil {
		s.args = parseArgs(m[1])
	}
	if s.ready() {
		if strings.HasPrefix(l.Message, "[shutdown]") {
			s.advance(l.Message)
		}
		return
	}
	s.advance(l.Message)
	for _, r := range factRules {
		m := r.match.FindStringSubmatchIndex(l.Message)
		if m == nil {
			continue
		}
		form := r.form
		if form == "" {
			form = "$1"
		}
		s.set(r, string(r.match.ExpandString(nil, form, l.Message, m)), number)
	}
}

// ready reports whether the start is over: the lines after it are requests, which hold no facts.
func (s *Startup) ready() bool { return s.phase >= readyPhase }

func (s *Startup) set(r factRule, value string, line int64) {
	if s.index == nil {
		s.index = map[string]int{}
	}
	key := r.name
	if r.all {
		key += "\x00" + value
	}
	if at, ok := s.index[key]; ok {
		if r.last {
			s.facts[at].Value, s.facts[at].Line = value, line
		}
		return
	}
	s.index[key] = len(s.facts)
	s.facts = append(s.facts, Fact{Name: r.name, Value: value, Line: line})
}

func (s *Startup) advance(message string) {
	for i := len(phaseMarkers) - 1; i >= s.phase; i-- {
		if phaseMarkers[i].match.MatchString(message) {
			if i+1 != s.phase {
				s.bar = Phase{}
			}
			s.phase = i + 1
			break
		}
	}
	for _, bar := range []*regexp.Regexp{captureBar, loadBar} {
		if m := bar.FindStringSubmatch(message); m != nil {
			done, _ := strconv.ParseInt(m[len(m)-2], 10, 64)
			total, _ := strconv.ParseInt(m[len(m)-1], 10, 64)
			s.bar = Phase{Done: done, Total: total}
		}
	}
}

// Facts are what was said so far, in the order of the log.
func (s *Startup) Facts() []Fact { return append([]Fact(nil), s.facts...) }

// Args are the arguments that differ from vLLM's defaults, as the server printed them.
func (s *Startup) Args() []Arg { return append([]Arg(nil), s.args...) }

// Phase is where the start stands.
func (s *Startup) Phase() Phase {
	if s.phase == 0 {
		return Phase{Name: PhaseLaunch}
	}
	return Phase{Name: phaseMarkers[s.phase-1].phase, Done: s.bar.Done, Total: s.bar.Total}
}
