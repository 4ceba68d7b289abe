package rank

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opprof/traces/family"
	"opprof/traces/interval"
	"opprof/traces/kineto"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func rules(t interface{ Fatal(...any) }) *family.Rules {
	r, err := family.Default()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type expected struct {
	Kernels      int64 `json:"kernels"`
	Copies       int64 `json:"copies"`
	Sets         int64 `json:"sets"`
	SumNS        int64 `json:"sum_ns"`
	UnionNS      int64 `json:"union_ns"`
	NoncollUnion int64 `json:"noncoll_union_ns"`
	Labels       []string
	Iterations   []struct {
		UnionNS  int64 `json:"union_ns"`
		SumNS    int64 `json:"sum_ns"`
		Launches int64 `json:"launches"`
	}
	Base     int64
	Families map[string]struct {
		SumNS    int64 `json:"sum_ns"`
		Launches int64 `json:"launches"`
	}
}

// TestRecordings compares every recorded window with a calculation made by a separate program (testdata/traces/SOURCE.tsv).
func TestRecordings(t *testing.T) {
	root := filepath.Join("..", "..", "testdata", "traces")
	text, err := os.ReadFile(filepath.Join(root, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]expected
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for name, w := range want {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, err := kineto.Open(context.Background(), filepath.Join(root, name+".zst"), kineto.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if tr.FaultCount != 0 || tr.Suspect != 0 || tr.Truncated || tr.BaseNS != w.Base {
				t.Errorf("faults %v, suspect %d, truncated %v, base %d want %d", tr.Faults, tr.Suspect, tr.Truncated, tr.BaseNS, w.Base)
			}
			b := Analyse(tr, rules(t), nil)
			got := [6]int64{b.Kernels, b.Copies, b.Sets, b.Total.SumNS, b.Total.UnionNS, b.NonCollective.UnionNS}
			if expect := [6]int64{w.Kernels, w.Copies, w.Sets, w.SumNS, w.UnionNS, w.NoncollUnion}; got != expect {
				t.Errorf("kernels, copies, sets, sum, union, union without collectives\n got %v\nwant %v", got, expect)
			}
			if len(b.Iterations) != len(w.Labels) {
				t.Fatalf("%d iterations, want %d", len(b.Iterations), len(w.Labels))
			}
			for i, it := range b.Iterations {
				if it.Label.Text != w.Labels[i] {
					t.Errorf("label %d is %s, want %s", i, it.Label.Text, w.Labels[i])
				}
				if got := [3]int64{it.Total.UnionNS, it.Total.SumNS, it.Total.Launches}; got != [3]int64{w.Iterations[i].UnionNS, w.Iterations[i].SumNS, w.Iterations[i].Launches} {
					t.Errorf("iteration %d: union, sum, launches %v, want %+v", i, got, w.Iterations[i])
				}
			}
			for name, want := range w.Families {
				f, err := family.Parse(name)
				if err != nil {
					t.Fatal(err)
				}
				if got := b.Families[f]; got.SumNS != want.SumNS || got.Launches != want.Launches {
					t.Errorf("%s: sum %d, launches %d, want %+v", name, got.SumNS, got.Launches, want)
				}
			}
			if b.UnknownNS != 0 {
				t.Errorf("%d ns of kernels that no rule knows", b.UnknownNS)
			}
		})
	}
}

// TestWarmUp: the first two iterations are marked, but where a schedule of torch had warmed up before the first that it recorded.
func TestWarmUp(t *testing.T) {
	root := filepath.Join("..", "..", "testdata", "traces")
	for folder, want := range map[string]int{"h200-tp1": 2, "h200-tp1-none": 2, "h200-tp1-literal": 0, "h200-tp1-eager": 0} {
		paths, err := filepath.Glob(filepath.Join(root, folder, "*.zst"))
		if err != nil || len(paths) == 0 {
			t.Fatal(folder, err)
		}
		tr, err := kineto.Open(context.Background(), paths[0], kineto.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, it := range Analyse(tr, rules(t), nil).Iterations {
			if it.Warmup != (i < want) {
				t.Errorf("%s: iteration %d is marked %v", folder, i, it.Warmup)
			}
		}
	}
}

// layer is the work of one mixture-of-experts layer, by the names of a Qwen3 server.
var layer = []string{"triton_red_fused_fused_add_rms_norm_0", "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT", "void cublasLt::splitKreduce_kernel<32>(int)",
	"triton_poi_fused_3", "void vllm::reshape_and_cache_flash_kernel<x>(y)", "void cutlass::device_kernel<flash::FlashAttnFwdSm90<x>>(y)",
	"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", "void vllm::cross_device_reduce_1stage<x, 2>(y)", "triton_red_fused_fused_add_rms_norm_moe_forward_0",
	"nvjet_sm90_tst_8x64_64x16_4x1_v_bz_TNN", "void vllm::moe::topkGating<8>(x)", "void vllm::moe::moe_align_block_size_kernel<int>(x)",
	"fused_moe_kernel", "void vllm::act_and_mul_kernel<x, &silu_kernel>(y)", "fused_moe_kernel",
	"void at::native::reduce_kernel<128, 4, at::native::ReduceOp<x, sum_functor<y>>>(z)", "void vllm::cross_device_reduce_1stage<x, 2>(y)"}

// traceOf lays kernels end to end, each launched on its own, between the labels of two iterations.
func traceOf(t *testing.T, iterations ...[]string) *kineto.Trace {
	t.Helper()
	var events []string
	at, correlation := 1000, 1
	for i, names := range iterations {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":"user_annotation","name":"execute_context_0(0)_generation_%d(%d)","pid":1,"tid":1,"ts":%d,"dur":5}`, i+1, i+1, at))
		for _, name := range names {
			quoted, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			events = append(events,
				fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":1,"args":{"correlation":%d}}`, at+1, correlation),
				fmt.Sprintf(`{"ph":"X","cat":"kernel","name":%s,"pid":0,"tid":7,"ts":%d,"dur":8,"args":{"correlation":%d,"stream":7}}`, quoted, at+1000000, correlation))
			at += 10
			correlation++
		}
	}
	tr, err := kineto.Read(context.Background(), strings.NewReader(`{"traceEvents":[`+strings.Join(events, ",")+`]}`), "rank0.1.pt.trace.json", kineto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestPositionsInALayer(t *testing.T) {
	names := append([]string{"void flash::prepare_varlen_num_blocks_kernel<1>(x)", "triton_red_fused_embedding_rms_norm_0"}, layer...)
	names = append(append(names, layer...), "triton_red_fused_fused_add_rms_norm_1", "nvjet_sm90_tst_192x8_64x8_2x1_v_bz_TNT",
		"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>>>(x)")
	b := Analyse(traceOf(t, names, names), rules(t), nil)
	got := map[Role]int64{}
	for _, k := range b.Kernel {
		got[k.Role] += k.Use.Launches
	}
	for role, want := range map[Role]int64{QKV: 8, OutputProjection: 4, RouterGate: 4, ExpertCombine: 4, LMHead: 2, MLP: 0} {
		if got[role] != want {
			t.Errorf("%s: %d launches, want %d", role, got[role], want)
		}
	}
	if f := b.Families[family.Router]; f.Launches != 2*2*(2+1+1) {
		t.Errorf("router launches %d", f.Launches)
	}
}

func TestPositionsInADenseLayer(t *testing.T) {
	dense := []string{"void vllm::rms_norm_kernel<x>(y)", "nvjet_a_TNT", "void vllm::rotary_embedding_kernel<x>(y)", "void vllm::reshape_and_cache_flash_kernel<x>(y)",
		"void flash::flash_fwd_splitkv_kernel<x>(y)", "nvjet_b_TNT", "void vllm::fused_add_rms_norm_kernel<x>(y)", "nvjet_c_TNT",
		"void vllm::act_and_mul_kernel<x, &silu_kernel>(y)", "nvjet_d_TNT"}
	names := append(append(slices.Clone(dense), dense...), "void vllm::fused_add_rms_norm_kernel<x>(y)", "nvjet_e_TNT")
	b := Analyse(traceOf(t, names), rules(t), nil)
	got := map[string]Role{}
	for _, k := range b.Kernel {
		if k.Verdict.Family == family.DenseGEMM {
			got[k.Name] = k.Role
		}
	}
	for name, want := range map[string]Role{"nvjet_a_TNT": QKV, "nvjet_b_TNT": OutputProjection, "nvjet_c_TNT": MLP, "nvjet_d_TNT": MLP, "nvjet_e_TNT": LMHead} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

// TestProperties draws traces of overlapping events on several streams and holds what must be true of any.
func TestProperties(t *testing.T) {
	r := rules(t)
	pool := []string{"fused_moe_kernel", "nvjet_x", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", "flash::flash_fwd_kernel", "mystery"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		var events []string
		for i := range rapid.IntRange(0, 4).Draw(t, "labels") {
			events = append(events, fmt.Sprintf(`{"ph":"X","cat":"user_annotation","name":"execute_context_0(0)_generation_1(1)","pid":1,"tid":1,"ts":%d,"dur":5}`, 100+i*50))
		}
		var spans []interval.Span
		for i := range n {
			start, dur := rapid.Int64Range(100, 400).Draw(t, "start"), rapid.Int64Range(0, 60).Draw(t, "dur")
			spans = append(spans, interval.Span{Start: start * 1000, End: (start + dur) * 1000})
			if rapid.Bool().Draw(t, "launch") {
				events = append(events, fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":1,"args":{"correlation":%d}}`,
					rapid.Int64Range(50, start).Draw(t, "at"), i+1))
			}
			events = append(events, fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":0,"tid":7,"ts":%d,"dur":%d,"args":{"correlation":%d,"stream":%d}}`,
				rapid.SampledFrom([]string{"kernel", "gpu_memcpy", "gpu_memset"}).Draw(t, "cat"), rapid.SampledFrom(pool).Draw(t, "name"), start, dur, i+1, rapid.IntRange(7, 9).Draw(t, "stream")))
		}
		b := brokenDown(t, r, events)
		whole := interval.Of(slices.Clone(spans))
		if b.Total.UnionNS != whole.Len() || b.Span.Len() != bounds(spans) || b.IdleNS != b.Span.Len()-whole.Len() {
			t.Fatalf("union %d span %v idle %d, oracle %d", b.Total.UnionNS, b.Span, b.IdleNS, whole.Len())
		}
		gaps := whole.Gaps()
		longest := int64(0)
		for _, g := range gaps {
			longest = max(longest, g.Len())
		}
		if !hasEmpty(spans) && (b.IdleGaps != int64(len(gaps)) || b.LongestGapNS != longest) {
			t.Fatalf("%d gaps up to %d, oracle %v", b.IdleGaps, b.LongestGapNS, gaps)
		}
		var families, sums, launches int64
		for _, f := range b.Families {
			families += f.UnionNS
			sums += f.SumNS
			launches += f.Launches
			if f.UnionNS > f.SumNS {
				t.Fatalf("family union %d over its sum %d", f.UnionNS, f.SumNS)
			}
		}
		if b.Total.UnionNS > b.Total.SumNS || families < b.Total.UnionNS || sums != b.Total.SumNS || launches != int64(n) || b.NonCollective.UnionNS > b.Total.UnionNS {
			t.Fatalf("totals %+v, families %d, sums %d, launches %d of %d", b.Total, families, sums, launches, n)
		}
		parts := b.Unattributed.SumNS
		for _, it := range b.Iterations {
			parts += it.Total.SumNS
		}
		if parts != b.Total.SumNS {
			t.Fatalf("iterations and the rest sum to %d of %d", parts, b.Total.SumNS)
		}
		shuffled := rapid.Permutation(events).Draw(t, "order")
		again := brokenDown(t, r, shuffled)
		if again.Total != b.Total || again.Families != b.Families || again.ExposedNS != b.ExposedNS || again.Unattributed != b.Unattributed {
			t.Fatalf("the order of events matters: %+v, %+v", again.Total, b.Total)
		}
	})
}

// hasEmpty reports whether an event lasts no time: it covers nothing and yet bounds a gap.
func hasEmpty(spans []interval.Span) bool {
	return slices.ContainsFunc(spans, func(s interval.Span) bool { return s.Len() == 0 })
}

func bounds(spans []interval.Span) int64 {
	if len(spans) == 0 {
		return 0
	}
	start := slices.MinFunc(spans, func(a, b interval.Span) int { return cmp.Compare(a.Start, b.Start) }).Start
	end := slices.MaxFunc(spans, func(a, b interval.Span) int { return cmp.Compare(a.End, b.End) }).End
	return end - start
}

func brokenDown(t *rapid.T, r *family.Rules, events []string) *Breakdown {
	tr, err := kineto.Read(context.Background(), strings.NewReader(`{"traceEvents":[`+strings.Join(events, ",")+`]}`), "rank0", kineto.Options{})
	if err != nil || tr.FaultCount != 0 {
		t.Fatalf("%v, %v", err, tr)
	}
	return Analyse(tr, r, nil)
}
