package plan

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"
)

// what says what every key is for, by its place in the file; * is a name of the user's.
func what() map[string]string {
	return map[string]string{
		"name":              "Names the campaign and its folder; empty: the name of this file.",
		"arms":              "Arms of a pair: off and on run the same patched server; \"unpatched\" may be added, for the server as it was installed.",
		"pairs":             "Pairs of each cell. 6 is the least at which every test can decide; 5 warns, fewer end undecided. Even, or the order leaves a trace.",
		"second_look_pairs": "Pairs more that may be added once, if the first look is undecided. Both looks then use a stricter bound. 0: one look.",
		"order":             "ABBA: off first in odd pairs, on first in even ones. BAAB: the other way round.",
		"limit_pct":         "Largest regression that passes, in percent: the upper end of the 95 % interval must stay below it.",
		"warm_up_runs":      "Runs of each arm and cell before its pairs that are not measured: page cache, compilation, graph capture.",
		"cooldown":          "Rest between two runs.",
		"seed":              "Seed of the load. All runs of a pair get the same.",
		"tensor_parallel":   "Parallel sizes of the matrix; empty: that of [server].",
		"graph_modes":       "Graph modes of the matrix: default (as [server] says), eager, NONE, PIECEWISE, FULL, FULL_DECODE_ONLY, FULL_AND_PIECEWISE.",
		"loads":             "Loads of the matrix, by name; empty: all below, in their order.",
		"min_requests":      "A run with fewer finished requests voids its pair: its 95th percentile means nothing.",
		"start_estimate":    "How long a warm start takes: for the time left, and for --until.",
		"windows":           "Profiler windows of each cell, in a run of their own after its pairs, for the calibration. 0: none.",
		"expert_requests":   "Requests of each cell whose routed experts are returned, in a run of their own. 0: none. Mixture-of-experts models only.",

		"load.*.prompts":         "Requests of a run.",
		"load.*.warm_up_prompts": "Requests sent before the measured ones and not counted.",
		"load.*.input_tokens":    "Prompt length, of random tokens.",
		"load.*.output_tokens":   "Tokens generated for each request; the end of a text is ignored.",
		"load.*.range_ratio":     "Lengths vary by this share of themselves, up and down; 0 up to but not including 1.",
		"load.*.request_rate":    "Requests a second, with the gaps of a Poisson process. 0: all at once.",
		"load.*.max_concurrency": "Requests in flight at most. 0: no bound.",
		"load.*.args":            "More arguments of `vllm bench serve`; they win over those above.",
		"load.*.command":         "Another generator instead: one word each. {url} {model} {served_model} {seed} {prompts} and {result} are filled in.",
		"load.*.format":          "What the generator writes: vllm, guidellm, aiperf or inference-perf.",
		"load.*.estimate":        "How long the load takes: for the time left, and for --until.",

		"metric.*.field":  "Field of the results, by the name that `vllm bench serve` gives it.",
		"metric.*.better": "higher or lower",
	}
}

// Template is a commented [campaign] section with every key and its default, and one load.
func Template() string {
	var b strings.Builder
	b.WriteString("# Off/on campaigns: opprof campaign run. What decides the verdict is fixed here, before the first run.\n[campaign]\n")
	keys(&b, "", reflect.ValueOf(Defaults()))
	b.WriteString("\n# A way to load the server. Each load is a row of the matrix.\n[campaign.load.steady]\n")
	keys(&b, "load.*.", reflect.ValueOf(generatorDefaults()))
	b.WriteString("\n# Primary metrics. Without any, these five:\n")
	for _, m := range DefaultMetrics() {
		better := "lower"
		if m.Higher {
			better = "higher"
		}
		fmt.Fprintf(&b, "# [campaign.metric.%s]\n# field = %q\n# better = %q\n", m.Name, m.Field, better)
	}
	return b.String()
}

// keys writes the keys of one table, those with tables of their own left out.
func keys(b *strings.Builder, prefix string, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Type.Kind() == reflect.Map {
			continue
		}
		name := f.Tag.Get("toml")
		fmt.Fprintf(b, "# %s\n# %s\n", what()[prefix+name], setting(name, v.Field(i)))
	}
}

// setting writes one key with its value as TOML.
func setting(name string, v reflect.Value) string {
	if v.Kind() == reflect.Slice && v.Len() == 0 {
		return name + " = []"
	}
	var out bytes.Buffer
	if err := toml.NewEncoder(&out).Encode(map[string]any{name: v.Interface()}); err != nil {
		return name + " = # " + err.Error()
	}
	return strings.TrimSpace(out.String())
}
