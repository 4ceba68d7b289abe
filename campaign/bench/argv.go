package bench

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"opprof/campaign/plan"
	"opprof/engine/serverconf"
)

// Target is where a load goes, and where its results do.
type Target struct {
	Server serverconf.Server
	Seed   int64
	Result string // file that the results go to
}

// Argv is the command of a load: `vllm bench serve` with detailed results, greedy sampling and the percentiles that the gate needs, or the
// load's own command with its marks filled in. It is a list, never a shell's line.
func Argv(l plan.Load, t Target) ([]string, error) {
	if t.Server.UDS != "" {
		return nil, errors.New("load generators cannot reach a Unix socket: set host and port in [server] instead of uds")
	}
	if len(l.Command) > 0 {
		return fill(l.Command, l, t), nil
	}
	argv := []string{t.Server.Python, "-m", "vllm.entrypoints.cli.main", "bench", "serve", "--backend", "openai", "--base-url", t.Server.Address().String(),
		"--endpoint", "/v1/completions", "--model", t.Server.Model}
	if t.Server.ServedName != "" {
		argv = append(argv, "--served-model-name", t.Server.ServedName)
	}
	argv = append(argv, "--dataset-name", "random", "--random-input-len", strconv.Itoa(l.InputTokens), "--random-output-len", strconv.Itoa(l.OutputTokens),
		"--random-range-ratio", decimal(l.RangeRatio), "--num-prompts", strconv.Itoa(l.Prompts), "--num-warmups", strconv.Itoa(l.WarmUpPrompts),
		"--request-rate", rate(l.RequestRate))
	if l.MaxConcurrency > 0 {
		argv = append(argv, "--max-concurrency", strconv.Itoa(l.MaxConcurrency))
	}
	argv = append(argv, "--seed", strconv.FormatInt(t.Seed, 10), "--temperature", "0", "--ignore-eos", "--percentile-metrics", "ttft,tpot,itl,e2el",
		"--metric-percentiles", "50,95,99", "--save-result", "--save-detailed", "--result-dir", filepath.Dir(t.Result), "--result-filename", filepath.Base(t.Result),
		"--disable-tqdm")
	return append(argv, l.Args...), nil
}

// Env are the variables that a load needs besides: Python hashes texts by a seed of its own otherwise, from which vLLM's timed traces make
// their prompts.
func Env() []string { return []string{"PYTHONHASHSEED=0"} }

func rate(perSecond float64) string {
	if perSecond == 0 {
		return "inf"
	}
	return decimal(perSecond)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// fill replaces the marks of a command, in one pass: what a value holds is not looked at again.
func fill(command []string, l plan.Load, t Target) []string {
	name := t.Server.ServedName
	if name == "" {
		name = t.Server.Model
	}
	marks := strings.NewReplacer("{url}", t.Server.Address().String(), "{model}", t.Server.Model, "{served_model}", name,
		"{seed}", strconv.FormatInt(t.Seed, 10), "{prompts}", strconv.Itoa(l.Prompts), "{result}", t.Result)
	out := make([]string, len(command))
	for i, word := range command {
		out[i] = marks.Replace(word)
	}
	return out
}

// Version is the command that prints the version of `vllm bench serve`'s vLLM.
func Version(s serverconf.Server) []string {
	return []string{s.Python, "-c", fmt.Sprintf("import importlib.metadata as m; print(m.version(%q))", "vllm")}
}
