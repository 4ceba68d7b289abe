package tracetest

import "math/rand/v2"

// Names of collectives, as a trace spells them.
const (
	CustomAllReduce = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)"
	NCCLAllReduce   = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
)

const tokenCopy = "Memcpy DtoH (Device -> Pinned)"

// Job is a server and one window of it. A rank that comes early to an all-reduce spins in it until the last has come, as the kernels of vLLM
// and NCCL do.
type Job struct {
	Engines    int // data-parallel; 0 is one
	Ranks      int // tensor-parallel, of each engine
	Layers     int
	Steps      int
	FirstStep  int64         // index of the first labelled step; 0 is 2, since one stands before it
	Kernels    int           // more small kernels in a layer
	Collective string        // "" is CustomAllReduce
	SlowNS     map[int]int64 // how much longer each layer takes on a rank, counted over all engines
	OffsetNS   map[int]int64 // by how much a rank's clock is ahead
	NoDevice   bool          // a CPU server: labels and operators only
	Seed       uint64
	StartNS    int64 // of the first step, ns since 1970; 0 is a fixed day
}

const (
	startNS   = 1_796_003_851_000_000_000
	reduceNS  = 6_000   // an all-reduce that nobody waits in
	labelNS   = 300_000 // how long a label is open on the CPU
	launchNS  = 100_000 // from a label's start to its first launch
	stepNS    = 5_000_000
	smallNS   = 1_500
	copyNS    = 9_000
	mainline  = 7   // stream of the model
	sideline  = 20  // stream of copies
	stragglNS = 800 // by how much ranks leave an all-reduce apart, at most
)

// Kernel is one device event as it was: by the clock of the whole job.
type Kernel struct {
	Name           string
	Collective     bool
	Step           int // from 0
	StartNS, DurNS int64
	Stream         int64
	Category       string
}

// Rank is one worker's window.
type Rank struct {
	Engine, Rank int // of the engine
	Kernels      []Kernel
	WaitNS       []int64 // by step: time in collectives before the last rank came
}

// Engine is one data-parallel engine's window.
type Engine struct {
	Ranks    []Rank
	Decode   []int64 // requests by step
	PeriodNS []int64 // by step
	SubmitNS []int64 // by step
}

// Window is a job's window as it was.
type Window struct {
	Job
	Members []Engine
}

// Window plays the job through. The same job gives the same window.
func (j Job) Window() *Window {
	j.Engines, j.FirstStep = max(j.Engines, 1), max(j.FirstStep, 2)
	if j.Collective == "" {
		j.Collective = CustomAllReduce
	}
	if j.StartNS == 0 {
		j.StartNS = startNS
	}
	w := &Window{Job: j}
	random := rand.New(rand.NewPCG(j.Seed, 1))
	for e := range j.Engines {
		w.Members = append(w.Members, j.engine(e, random))
	}
	return w
}

func (j Job) engine(index int, random *rand.Rand) Engine {
	e := Engine{Ranks: make([]Rank, j.Ranks)}
	for r := range e.Ranks {
		e.Ranks[r] = Rank{Engine: index, Rank: r, WaitNS: make([]int64, j.Steps)}
	}
	at := j.StartNS + int64(index)*700_000
	for step := range j.Steps {
		e.SubmitNS = append(e.SubmitNS, at)
		e.Decode = append(e.Decode, int64(3+(step*7+index)%11))
		period := max(stepNS+random.Int64N(1_000_000), j.step(&e, step, at, random))
		e.PeriodNS = append(e.PeriodNS, period)
		at += period
	}
	return e
}

// step runs one step on all ranks of an engine and returns how long it took.
func (j Job) step(e *Engine, step int, at int64, random *rand.Rand) int64 {
	now := make([]int64, len(e.Ranks))
	for r := range now {
		now[r] = at + launchNS + 20_000 + random.Int64N(30_000)
	}
	for range j.Layers {
		for r := range e.Ranks {
			j.layer(&e.Ranks[r], step, &now[r], random)
		}
		j.reduce(e, step, now, random)
	}
	var last int64
	for r := range e.Ranks {
		rank := &e.Ranks[r]
		rank.run(step, tokenCopy, "gpu_memcpy", sideline, now[r]-copyNS/2, copyNS)
		last = max(last, now[r]+copyNS)
	}
	return last - at + launchNS
}

func (j Job) layer(r *Rank, step int, now *int64, random *rand.Rand) {
	run := func(name string, ns int64) {
		r.run(step, name, "kernel", mainline, *now, ns)
		*now += ns + random.Int64N(900)
	}
	run("void vllm::rms_norm_kernel<c10::BFloat16, 8, 3, true>(x)", 2_000+random.Int64N(500))
	run("nvjet_tst_192x8_64x8_4x1_v_bz_TNT", 7_000+random.Int64N(2_000))
	run("void flash::flash_fwd_splitkv_kernel<x>(flash::Flash_fwd_params)", 9_000+random.Int64N(6_000)+j.SlowNS[r.Engine*j.Ranks+r.Rank])
	run("fused_moe_kernel", 20_000+random.Int64N(5_000))
	for range j.Kernels {
		run("triton_poi_fused_mul_silu_0", smallNS)
	}
	// A copy of the side stream runs beside the work.
	r.run(step, "Memcpy DtoD (Device -> Device)", "gpu_memcpy", sideline, *now-4_000, 2_000)
}

// reduce is an all-reduce: it ends for all, a little apart, when the last rank has come and the work is done.
func (j Job) reduce(e *Engine, step int, now []int64, random *rand.Rand) {
	last := now[0]
	for _, t := range now {
		last = max(last, t)
	}
	for r := range e.Ranks {
		end := last + reduceNS + random.Int64N(stragglNS)
		e.Ranks[r].run(step, j.Collective, "kernel", mainline, now[r], end-now[r])
		k := &e.Ranks[r].Kernels[len(e.Ranks[r].Kernels)-1]
		k.Collective = true
		e.Ranks[r].WaitNS[step] += last - now[r]
		now[r] = end + 1_000
	}
}

func (r *Rank) run(step int, name, category string, stream, at, ns int64) {
	r.Kernels = append(r.Kernels, Kernel{Name: name, Step: step, StartNS: at, DurNS: ns, Stream: stream, Category: category})
}
