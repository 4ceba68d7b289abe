package rank

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"opprof/traces/family"
	"opprof/traces/kineto"
)

func TestLabels(t *testing.T) {
	for text, want := range map[string]Label{
		"execute_context_2(900)_generation_8(9)":                            {Known: true, PrefillRequests: 2, PrefillTokens: 900, DecodeRequests: 8, DecodeTokens: 9},
		"execute_context_0(0)_generation_0(0)":                              {Known: true},
		"execute_context_1(888_788544)_generation_0(0)":                     {Known: true, PrefillRequests: 1, PrefillTokens: 888},
		"execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq33sk55086)": {Known: true, DecodeRequests: 32, DecodeTokens: 33},
		"execute_context_1(99999999999999999999)_generation_0(0)":           {},
		"execute_context_a(b)_generation_c(d)":                              {},
		"step[EXTEND bs=2 toks=14721]":                                      {},
		"decode[bs=117/128 x]":                                              {},
	} {
		want.Text = text
		if got, ok := ParseLabel(text); !ok || got != want {
			t.Errorf("ParseLabel(%s) = %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "nccl:all_reduce", "ProfilerStep#3", "gpu_model_runner: forward", "## Call CompiledFxGraph x ##", "steps", "decode"} {
		if l, ok := ParseLabel(text); ok {
			t.Errorf("ParseLabel(%s) bounds an iteration: %+v", text, l)
		}
	}
}

// event is a line of a trace written by another tool.
func event(cat, name string, ts, dur, correlation int) string {
	return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":1,"ts":%d,"dur":%d,"args":{"correlation":%d,"stream":7,"device":0}}`, cat, name, ts, dur, correlation)
}

func analysed(t *testing.T, events ...string) *Breakdown {
	t.Helper()
	tr, err := kineto.Read(context.Background(), strings.NewReader(`{"traceEvents":[`+strings.Join(events, ",")+`]}`), "rank0.1.pt.trace.json", kineto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Analyse(tr, rules(t), nil)
}

const one, two = "execute_context_0(0)_generation_1(1)", "execute_context_0(0)_generation_2(2)"

// TestAttribution: work belongs to the label that was the last to open when it was launched, wherever it runs.
func TestAttribution(t *testing.T) {
	labels := []string{event("user_annotation", one, 100, 10, 0), event("user_annotation", two, 200, 10, 0)}
	for name, c := range map[string]struct {
		events []string
		want   []int64 // launches before the first label and of each iteration
		by     Bounds
	}{
		"runs late":                    {append(labels, event("cuda_runtime", "cudaLaunchKernel", 105, 1, 5), event("kernel", "k", 900, 5, 5)), []int64{0, 1, 0}, BoundsServer},
		"launched after its range":     {append(labels, event("cuda_runtime", "cudaLaunchKernel", 150, 1, 5), event("kernel", "k", 900, 5, 5)), []int64{0, 1, 0}, BoundsServer},
		"before the window":            {append(labels, event("cuda_runtime", "cudaLaunchKernel", 50, 1, 5), event("kernel", "k", 150, 5, 5)), []int64{1, 0, 0}, BoundsServer},
		"launch not in the trace":      {append(labels, event("cuda_runtime", "cudaLaunchKernel", 105, 1, 5), event("kernel", "old", 250, 5, 4), event("kernel", "k", 260, 5, 5)), []int64{1, 1, 0}, BoundsServer},
		"launch lost between":          {append(labels, event("cuda_runtime", "cudaLaunchKernel", 105, 1, 5), event("cuda_runtime", "cudaLaunchKernel", 205, 1, 9), event("kernel", "k", 260, 5, 5), event("kernel", "x", 270, 5, 7), event("kernel", "k", 280, 5, 9)), []int64{0, 2, 1}, BoundsServer},
		"no launches, device ranges":   {append(labels, event("gpu_user_annotation", one, 300, 50, 0), event("gpu_user_annotation", two, 400, 50, 0), event("kernel", "k", 350, 5, 0), event("kernel", "k", 450, 5, 0)), []int64{0, 1, 1}, BoundsServer},
		"no launches, no ranges":       {append(labels, event("kernel", "k", 150, 5, 0), event("kernel", "k", 250, 5, 0)), []int64{0, 1, 1}, BoundsServer},
		"device ranges only":           {[]string{event("gpu_user_annotation", one, 300, 50, 0), event("gpu_user_annotation", two, 400, 50, 0), event("kernel", "k", 450, 5, 0)}, []int64{0, 0, 1}, BoundsTwins},
		"torch's steps only":           {[]string{event("user_annotation", "ProfilerStep#2", 100, 99, 0), event("user_annotation", "ProfilerStep#3", 200, 99, 0), event("cuda_runtime", "cudaLaunchKernel", 250, 1, 5), event("kernel", "k", 900, 5, 5)}, []int64{0, 0, 1}, BoundsSteps},
		"ranges of collectives inside": {append(labels, event("user_annotation", "nccl:all_reduce", 205, 2, 0), event("cuda_runtime", "cudaLaunchKernel", 206, 1, 5), event("kernel", "ncclDevKernel_x", 900, 5, 5)), []int64{0, 0, 1}, BoundsServer},
		"nothing to cut at":            {[]string{event("cuda_runtime", "cudaLaunchKernel", 206, 1, 5), event("kernel", "k", 900, 5, 5)}, []int64{1}, BoundsNothing},
		"a graph stands for many":      {append(labels, event("cuda_runtime", "cudaGraphLaunch", 205, 1, 5), event("kernel", "k", 900, 5, 5), event("kernel", "k", 910, 5, 5), event("gpu_memcpy", "c", 920, 5, 5)), []int64{0, 0, 3}, BoundsServer},
	} {
		b := analysed(t, c.events...)
		got := []int64{b.Unattributed.Launches}
		for _, it := range b.Iterations {
			got = append(got, it.Total.Launches)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) || b.Bounds != c.by {
			t.Errorf("%s: launches %v by %s, want %v by %s", name, got, b.Bounds, c.want, c.by)
		}
		if wantGraph := strings.Contains(name, "graph"); (b.GraphEvents > 0) != wantGraph || wantGraph && b.Iterations[1].GraphLaunches != 1 {
			t.Errorf("%s: %d graph events", name, b.GraphEvents)
		}
	}
}

// gapNames is a dense layer of a compiled model whose small kernels have no names.
var gapNames = []string{"triton_poi_fused_0", "nvjet_a_TNT", "triton_poi_fused_1", "void vllm::reshape_and_cache_flash_kernel<x>(y)", "void flash::flash_fwd_splitkv_kernel<x>(y)",
	"nvjet_b_TNT", "triton_red_fused_2", "nvjet_c_TNT", "triton_poi_fused_mul_silu_3", "nvjet_d_TNT"}

func TestNamelessKernelsByTheirGap(t *testing.T) {
	names := append(append([]string{}, gapNames...), gapNames...)
	b := Analyse(traceOf(t, append(names, "triton_red_fused_4", "nvjet_e_TNT")), rules(t), nil)
	got := map[string]Role{}
	for _, k := range b.Kernel {
		if k.Role != NoRole && k.Verdict.Family == family.NormAct {
			got[k.Name] = k.Role
		}
	}
	want := map[string]Role{"triton_poi_fused_0": LayerNorm, "triton_poi_fused_1": QKNorm, "triton_red_fused_2": LayerNorm, "triton_red_fused_4": LayerNorm}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("places %v, want %v", got, want)
	}
}

// TestTaxonomy: a window whose kernels stand in their layers teaches one in which nothing stands around them.
func TestTaxonomy(t *testing.T) {
	names := append(append([]string{}, gapNames...), gapNames...)
	learned := Analyse(traceOf(t, names, names), rules(t), nil).Teach()
	if learned["triton_poi_fused_1"] != QKNorm || learned["fused_moe_kernel"] != NoRole {
		t.Fatalf("learned %v", learned)
	}
	bare := traceOf(t, []string{"triton_poi_fused_1", "triton_poi_fused_9"})
	before := Analyse(bare, rules(t), nil)
	if !learned.Helps(before) || (Taxonomy{}).Helps(before) {
		t.Error("the taxonomy should help here, and an empty one nowhere")
	}
	for _, k := range Analyse(bare, rules(t), learned).Kernel {
		want := family.Verdict{Family: family.Other, Rule: "inductor"}
		if k.Name == "triton_poi_fused_1" {
			want = family.Verdict{Family: family.NormAct, Rule: "taxonomy:qk_norm_rope"}
		}
		if k.Verdict.Family != want.Family || k.Verdict.Rule != want.Rule {
			t.Errorf("%s is %s by %s, want %s by %s", k.Name, k.Verdict.Family, k.Verdict.Rule, want.Family, want.Rule)
		}
	}
	if eager := analysed(t, event("kernel", "void vllm::rms_norm_kernel<x>(y)", 1, 1, 1)); len(eager.Teach()) != 0 || eager.Mode != ModeEager {
		t.Errorf("an eager window teaches: %v", eager.Mode)
	}
	learned.Add(Taxonomy{"triton_poi_fused_1": LayerNorm})
	if learned["triton_poi_fused_1"] != NoRole {
		t.Error("a name that two windows place differently is still taught")
	}
}
