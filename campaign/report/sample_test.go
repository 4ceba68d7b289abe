package report

import (
	"bytes"
	"fmt"
	"testing"

	"opprof/campaign/gate"
	"opprof/campaign/page/browsertest"
	"opprof/campaign/plan"
)

// furnished gives the runs of a campaign everything that a report can hold: recorders, processors, checks, texts, machines.
func furnished(t testing.TB, in *Input) *Input {
	t.Helper()
	draw := noise(77)
	value := func(mean, sd float64) *float64 { v := mean + sd*draw(); return &v }
	for i := range in.Runs {
		r := &in.Runs[i]
		slower, metrics := 1.0, map[string]any{}
		if v, ok := r.Result.Field("p50_tpot_ms"); ok {
			slower = v / 10
		}
		for _, one := range []struct { // in one order: each draws from the same stream
			name string
			mean float64
		}{{"p50_ttft_ms", 61.2}, {"p95_ttft_ms", 148}, {"p50_tpot_ms", 21.7}, {"p95_tpot_ms", 26.1}} {
			metrics[one.name] = *value(one.mean*slower, one.mean*0.003)
		}
		metrics["output_throughput"] = *value(1016/slower, 2)
		r.Result = result(t, slower, metrics)
		r.CPU = &CPU{Engine: value(0.98, 0.01), FrontEnd: value(0.41, 0.01)}
		r.Machine = &Machine{"node-7", "1 x NVIDIA H20", "570.86.15", fmt.Sprintf("%d MHz", 1965+15*(i/6))}
		r.Cache = &Cache{Queries: 1_024_000, Hits: 3_200}
		r.Checks = []Check{{"requests", true, ""}, {"token totals", true, ""}, {"prefix cache", true, "0 hits at the start"}, {"compilation warm", true, ""}, {"GPU alone", true, ""}}
		if r.Arm == plan.On {
			high, dropped := int64(30+i%7), int64(0)
			r.Layer1 = &Layer1{41_233 + int64(i), value(8.1, 0.1), value(871, 4), &high, &dropped, value(18.2, 0.4), value(46, 3)}
			r.Checks = append(r.Checks, Check{"records hold together", true, ""})
		}
	}
	in.Environment = []Fact{{"host", "node-7, Linux 6.8.0"}, {"vLLM", "0.24.0, patch 3f9c2a1b77de"}, {"torch", "2.10.0+cu129"}, {"model", "Qwen3-30B-A3B, bfloat16, revision 4c446470ba0a"},
		{"server", "vllm serve Qwen/Qwen3-30B-A3B --host 127.0.0.1 --port 8000 --tensor-parallel-size 1 --max-num-seqs 256 --no-enable-prefix-caching --seed 0"},
		{"load", "vllm bench serve --dataset-name random --random-input-len 1024 --random-output-len 128 --num-prompts 1000 --request-rate 8 --temperature 0 --percentile-metrics ttft,tpot,itl --metric-percentiles 50,95,99"}}
	in.Backends = []string{"Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'FLASHINFER', 'TRITON_ATTN'].", "Using TRITON Unquantized MoE backend"}
	return in
}

// samples are campaigns as they happen, by name.
func samples(t *testing.T) map[string]*Report {
	t.Helper()
	one := campaign(t, "name = 'h20-overhead-tp1'")
	pass := furnished(t, measured(t, one, costs(1.004, 0.004, 5)))
	pass.Deviations = []string{"pair 4 ran after a pause of 41 minutes: the runner was killed and resumed"}

	void := furnished(t, measured(t, one, costs(1.008, 0.006, 6)))
	void.Runs[7].Void = "compilation was cold: 41 s spent in torch.compile"
	void.Runs[7].Checks[3] = Check{"compilation warm", false, "torch.compile took 41.2 s"}

	few := furnished(t, measured(t, campaign(t, "name = 'three-pairs'\npairs = 3"), costs(1.002, 0.004, 7)))
	fail := furnished(t, measured(t, campaign(t, "name = 'costly-recorder'\ntensor_parallel = [1, 2]"), costs(1.05, 0.004, 8)))
	for i := range fail.Runs {
		if fail.Runs[i].Pair > 3 {
			fail.Runs[i].Machine = &Machine{"node-9", "2 x NVIDIA H20", "570.86.15", "1980 MHz"}
		}
	}
	arms := furnished(t, measured(t, campaign(t, "name = 'three-arms'\n"+threeArms), costs(1.006, 0.004, 9)))
	return map[string]*Report{"pass": New(pass), "arms": New(arms), "void": New(void), "few": New(few), "fail": New(fail), "hostile": hostile(t), "nothing": New(&Input{Plan: one})}
}

func TestSamplesEndAsTheyShould(t *testing.T) {
	all := samples(t)
	for name, want := range map[string]string{"pass": gate.Pass, "arms": gate.Pass, "void": gate.Pass, "few": gate.Undecided, "fail": gate.Fail, "nothing": gate.Undecided} {
		if got := all[name].Verdict; got != want {
			t.Errorf("%s: %s, want %s: %s", name, got, want, all[name].Sentence)
		}
	}
}

// What a reader sees, in a real browser.
func TestReportInABrowser(t *testing.T) {
	b := browsertest.Start(t)
	for name, r := range samples(t) {
		t.Run(name, func(t *testing.T) {
			var html bytes.Buffer
			if err := r.HTML(&html); err != nil {
				t.Fatal(err)
			}
			browsertest.Look(t, b, "campaign-"+name, html.Bytes())
		})
	}
}
