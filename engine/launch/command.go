// Package launch turns a configuration into the command that starts a server, and looks at the machine before it does: everything that
// would make the start fail after minutes is found in a second, and all of it at once.
package launch

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"opprof/engine/rundir"
	"opprof/engine/serverconf"
	"opprof/engine/supervisor/process"
	"opprof/engine/window"
)

// Argv is the whole command of a server whose run lies in runDir. It is a list, never a shell's line. `python -m` works where the vllm
// script is not on the path, and takes the overlay.
func Argv(s serverconf.Server, runDir string) []string {
	argv := slices.Clone(s.Wrapper)
	argv = append(argv, s.Python, "-m", "vllm.entrypoints.cli.main", "serve", s.Model)
	if s.ServedName != "" {
		argv = append(argv, "--served-model-name", s.ServedName)
	}
	if s.UDS != "" {
		argv = append(argv, "--uds", s.UDS)
	} else {
		argv = append(argv, "--host", s.Host, "--port", strconv.Itoa(s.Port))
	}
	for _, size := range []struct {
		flag string
		n    int
	}{{"--tensor-parallel-size", s.TensorParallel}, {"--pipeline-parallel-size", s.PipelineParallel}, {"--data-parallel-size", s.DataParallel}} {
		if size.n > 1 || size.flag == "--tensor-parallel-size" {
			argv = append(argv, size.flag, strconv.Itoa(size.n))
		}
	}
	// Without it a SIGTERM ends the engine at once, before its last records are written.
	argv = append(argv, "--shutdown-timeout", strconv.Itoa(int(time.Duration(s.ShutdownTimeout).Seconds())))
	if !slices.ContainsFunc(s.Args, aboutAccessLog) {
		argv = append(argv, accessLogFlag, "/health") // which the supervisor asks for all the time
	}
	if s.Profiler.Enabled {
		text, _ := json.Marshal(Profiler(s, runDir)) // strings, numbers and booleans
		argv = append(argv, "--profiler-config", string(text))
	}
	return append(argv, s.Args...)
}

// accessLogFlag keeps paths out of the log of requests (vllm/entrypoints/openai/cli_args.py).
const accessLogFlag = "--disable-access-log-for-endpoints"

// aboutAccessLog reports whether an argument says what the log of requests is to hold.
func aboutAccessLog(arg string) bool {
	name := flagName(arg)
	return name == accessLogFlag || name == "--disable-uvicorn-access-log"
}

// Profiler is vLLM's profiler configuration with every field set (vllm/config/profiler.py): several defaults would stall serving.
func Profiler(s serverconf.Server, runDir string) map[string]any {
	p := s.Profiler
	config := map[string]any{
		"profiler": "torch", "torch_profiler_dir": filepath.Join(runDir, rundir.KinetoName), "torch_profiler_with_stack": p.Stacks,
		"torch_profiler_record_shapes": p.Shapes, "torch_profiler_with_memory": p.Memory, "torch_profiler_with_flops": p.FLOPs,
		"torch_profiler_use_gzip": p.Gzip, "torch_profiler_dump_cuda_time_total": p.Table, "ignore_frontend": true, "delay_iterations": 0,
		"max_iterations": p.Iterations, "wait_iterations": 0, "warmup_iterations": 0, "active_iterations": p.Iterations,
	}
	if p.Schedule == serverconf.ScheduleTorch {
		config["warmup_iterations"], config["active_iterations"], config["max_iterations"] = torchWarmup, torchActive, torchActive
	}
	return config
}

// The torch schedule: two warm-up iterations, of which the second already records (vllm/profiler/wrapper.py counts the
// first only), then eight labelled ones in all.
const (
	torchWarmup = 2
	torchActive = 8
	torchSkip   = 1
)

// Windows are the settings by which a server's windows are judged.
func Windows(s serverconf.Server) window.Settings {
	w := window.Defaults()
	w.Ranks = s.Ranks()
	w.MaxIterations = int64(s.Profiler.Iterations)
	if s.Profiler.Schedule == serverconf.ScheduleTorch {
		w.MaxIterations, w.Skip, w.OneOnly = torchActive, torchSkip, true
	}
	return w
}

// recorderVariable is where the recorder writes to; unset, it does nothing.
const recorderVariable = "VLLM_OPPROF_DIR"

// Environ is the whole environment of a server: what this process has, the configuration's variables, and OpProf's own, which win.
// pythonPath gives PYTHONPATH its overlay.
func Environ(inherited []string, s serverconf.Server, runDir string, pythonPath func(string) string) []string {
	set := map[string]string{}
	for name, value := range s.Env {
		set[name] = value
	}
	before, ok := set["PYTHONPATH"]
	if !ok {
		before = last(inherited, "PYTHONPATH")
	}
	if path := pythonPath(before); path != "" {
		set["PYTHONPATH"] = path
	}
	set[recorderVariable] = ""
	if s.Record {
		set[recorderVariable] = filepath.Join(runDir, rundir.Layer1Name)
	}
	var out []string
	for _, e := range inherited {
		name, _, _ := strings.Cut(e, "=")
		if _, ours := set[name]; !ours {
			out = append(out, e)
		}
	}
	for _, name := range sorted(set) {
		if name == recorderVariable && set[name] == "" {
			continue
		}
		out = append(out, name+"="+set[name])
	}
	return out
}

// last is a variable of an environment; "" where it is not set.
func last(env []string, name string) string {
	value, _ := process.Variable(env, name)
	return value
}

// Recorded is the part of an environment that a manifest may hold: names that change how a server runs, and never a secret.
func Recorded(env []string) map[string]string {
	out := map[string]string{}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if !serverconf.Secret(name) && slices.ContainsFunc(recordedNames(), func(pattern string) bool {
			prefix, open := strings.CutSuffix(pattern, "*")
			return name == pattern || open && strings.HasPrefix(name, prefix)
		}) {
			out[name] = value
		}
	}
	return out
}

func recordedNames() []string {
	return []string{"CUDA_*", "NVIDIA_*", "NCCL_*", "VLLM_*", "TORCH*", "PYTORCH_*", "TRITON_*", "FLASHINFER_*", "OMP_*", "MKL_*", "HF_HUB_OFFLINE", "HF_HOME",
		"PYTHONPATH", "PYTHONHASHSEED", "PYTHONSAFEPATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "TMPDIR", "VIRTUAL_ENV", "SLURM_JOB_ID", "LOCAL_RANK", "TOKENIZERS_PARALLELISM"}
}

func sorted(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// flagName is a vLLM flag in its own spelling: underscores and a value in the same word are accepted by its parser.
func flagName(arg string) string {
	name, _, _ := strings.Cut(arg, "=")
	if !strings.HasPrefix(name, "-") {
		return ""
	}
	if strings.HasPrefix(name, "--") {
		name = strings.ReplaceAll(name, "_", "-")
	}
	return name
}

// clash is a flag that must not be given, and what to do instead.
var clashes = []struct {
	flags []string
	why   string
}{
	{[]string{"--disable-log-stats"}, "the recorder needs the scheduler's statistics: leave the flag out"},
	{[]string{"--profiler-config"}, "opprof sets it from [server.profiler]"},
	{[]string{"--shutdown-timeout"}, "set shutdown_timeout in [server], which also says when the server is killed"},
	{[]string{"--host", "--port", "--uds"}, "set host and port, or uds, in [server], so that opprof knows where to ask"},
	{[]string{"--tensor-parallel-size", "-tp"}, "set tensor_parallel in [server], so that opprof knows how many traces a window has"},
	{[]string{"--pipeline-parallel-size", "-pp"}, "set pipeline_parallel in [server]"},
	{[]string{"--data-parallel-size", "-dp"}, "set data_parallel in [server]"},
	{[]string{"--served-model-name"}, "set served_model_name in [server]"},
	{[]string{"--model"}, "set model in [server]"},
	{[]string{"--api-key"}, "an argument is visible to every user of the machine: set VLLM_API_KEY in the environment of opprof"},
	{[]string{"--hf-token"}, "an argument is visible to every user of the machine: set HF_TOKEN in the environment of opprof"},
	{[]string{"--headless", "--data-parallel-start-rank", "--data-parallel-external-lb", "--data-parallel-hybrid-lb"},
		"engines of other machines cannot be supervised from here: run opprof launch on each of them, or attach to their folders"},
	{[]string{"--api-server-count"}, "with several API servers a profile may be started in one and stopped in another: leave the flag out"},
	{[]string{"--ssl-keyfile", "--ssl-certfile", "--root-path"}, "opprof asks over plain HTTP on this machine: put a proxy before the server"},
}

// clashing lists the arguments that work against OpProf.
func clashing(args []string) (problems []string) {
	for _, arg := range args {
		name := flagName(arg)
		for _, c := range clashes {
			if slices.Contains(c.flags, name) || slices.ContainsFunc(c.flags, func(f string) bool { return strings.HasPrefix(name, f+".") }) {
				problems = append(problems, fmt.Sprintf("argument %s: %s", name, c.why))
			}
		}
	}
	return problems
}
