package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRecorderOnAndOff compares two servers that differ in VLLM_OPPROF_DIR alone, and the recorder's file with what
// the client and the server count themselves. Both run at once: most of a start is one process importing.
func TestRecorderOnAndOff(t *testing.T) {
	python := vllmPython(t)
	model, o := makeModel(t, python), buildOverlay(t, python)
	var on, off []completion
	t.Run("servers", func(t *testing.T) {
		t.Run("on", func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			on = serveWithRecorder(t, python, serverOptions{
				model: model, overlay: o, ranks: 1, arguments: smallMemory(),
				layer1: filepath.Join(dir, "layer1"), kineto: filepath.Join(dir, "kineto"),
			})
		})
		t.Run("off", func(t *testing.T) {
			t.Parallel()
			s := startServer(t, python, serverOptions{model: model, overlay: o, ranks: 1, arguments: smallMemory()})
			off = s.deterministicTrace(t)
			s.stop()
		})
	})
	if len(on) == 0 || len(on) != len(off) {
		t.Fatalf("%d requests with the recorder, %d without", len(on), len(off))
	}
	for i := range on {
		if !slices.Equal(on[i].TokenIDs, off[i].TokenIDs) {
			t.Errorf("request %d: tokens with the recorder %v, without %v", i, on[i].TokenIDs, off[i].TokenIDs)
		}
	}
}

// TestTwoRanks runs one engine with two workers: still one file, and the same sums.
func TestTwoRanks(t *testing.T) {
	python := vllmPython(t)
	serveWithRecorder(t, python, serverOptions{
		model: makeModel(t, python), overlay: buildOverlay(t, python), ranks: 2, arguments: smallMemory(),
		layer1: filepath.Join(t.TempDir(), "layer1"),
	})
}

// serveWithRecorder runs one server from start to stop, makes every statement about the file that it leaves, and
// returns the answers to the deterministic trace.
func serveWithRecorder(t *testing.T, python string, o serverOptions) []completion {
	t.Helper()
	s := startServer(t, python, o)
	traced := s.deterministicTrace(t)
	forced := s.forcedLoadInWindow(t, o.kineto != "")
	counted := s.metrics(t)
	s.stop()
	stream := readStream(t, o.layer1)
	assertHeader(t, stream, o)
	assertWholeFile(t, stream)
	assertCounts(t, stream, slices.Concat(traced, forced), counted)
	assertForced(t, stream)
	if o.kineto != "" {
		assertWindow(t, stream, o.kineto)
	}
	checkStream(t, stream)
	return traced
}

// forcedLoadInWindow arms the profiler, where there is one, while the load runs.
func (s *server) forcedLoadInWindow(t *testing.T, profiled bool) []completion {
	t.Helper()
	if !profiled {
		return s.forcedLoad(t)
	}
	armed := make(chan error, 1)
	go func() {
		_, err := s.call(t.Context(), http.MethodPost, "/start_profile", nil)
		armed <- err
	}()
	done := s.forcedLoad(t)
	if err := <-armed; err != nil {
		t.Error(err)
	}
	if _, err := s.call(t.Context(), http.MethodPost, "/stop_profile", nil); err != nil {
		t.Error(err)
	}
	return done
}

func assertHeader(t *testing.T, s stream, o serverOptions) {
	t.Helper()
	h := s.header
	if h.VLLMVersion != o.overlay.Site.PublicVersion() || h.PatchHash != o.overlay.PatchHash || h.Runner != "v1" ||
		h.Ranks != int64(o.ranks) || h.BlockSize != 32 {
		t.Errorf("header %+v", h)
	}
}

// assertWholeFile: every step of a server that was stopped in order is there, and the footer counts every line.
func assertWholeFile(t *testing.T, s stream) {
	t.Helper()
	for i, step := range s.steps {
		if step.StepIndex != int64(i)+1 {
			t.Fatalf("step %d of the file has index %d", i+1, step.StepIndex)
		}
	}
	f := s.footer
	if f.Encoded != s.lines || f.Written != s.lines || f.Dropped != 0 || f.Foreground.Steps != int64(len(s.steps)) {
		t.Errorf("%d lines and %d steps, footer %+v", s.lines, len(s.steps), f)
	}
	t.Logf("%d steps, foreground p50 %d ns, p99 %d ns", len(s.steps), f.Foreground.P50NS, f.Foreground.P99NS)
}

// assertCounts compares three counts: the recorder's, the client's, the server's metrics.
//
// A request of P prompt and O output tokens computes P+O-1 tokens, since its last token is never fed back, less those
// that its first lookup found in the cache; what a preemption makes it compute again is recompute.
func assertCounts(t *testing.T, s stream, done []completion, counted map[string]float64) {
	t.Helper()
	sums, client := s.sums(), total(done)
	computed := sums.PrefillTokens + sums.DecodeTokens - sums.RecomputeTokens
	want := client.PromptTokens + client.OutputTokens - int64(len(done)) - client.CachedTokens
	if computed != want {
		t.Errorf("prefill %d + decode %d - recompute %d = %d tokens; the client counts prompt %d + output %d - %d requests - cached %d = %d",
			sums.PrefillTokens, sums.DecodeTokens, sums.RecomputeTokens, computed,
			client.PromptTokens, client.OutputTokens, len(done), client.CachedTokens, want)
	}
	for name, want := range map[string]int64{
		"vllm:prompt_tokens_total":        client.PromptTokens,
		"vllm:generation_tokens_total":    client.OutputTokens,
		"vllm:prompt_tokens_cached_total": client.CachedTokens,
		"vllm:num_preemptions_total":      sums.Preemptions,
		"vllm:prefix_cache_queries_total": sums.Prefix.Local.Queries,
		"vllm:prefix_cache_hits_total":    sums.Prefix.Local.Hits,
	} {
		if got := int64(counted[name]); got != want {
			t.Errorf("%s is %d, counted here %d", name, got, want)
		}
	}
	t.Logf("client: %d requests, %d prompt, %d output, %d cached tokens; recorder: %d prefill, %d decode, %d recomputed; %d preemptions, %d of %d looked-up tokens hit",
		len(done), client.PromptTokens, client.OutputTokens, client.CachedTokens, sums.PrefillTokens, sums.DecodeTokens,
		sums.RecomputeTokens, sums.Preemptions, sums.Prefix.Local.Hits, sums.Prefix.Local.Queries)
}

// assertForced: the load did what it is for.
func assertForced(t *testing.T, s stream) {
	t.Helper()
	sums := s.sums()
	for name, n := range map[string]int64{
		"preemptions": sums.Preemptions, "resumed requests": sums.Resumed, "recomputed tokens": sums.RecomputeTokens,
		"prefix hits":  sums.Prefix.Local.Hits,
		"first chunks": sums.Chunks.First, "middle chunks": sums.Chunks.Middle, "final chunks": sums.Chunks.Final,
		"unsplit prompts": sums.Chunks.Unsplit,
	} {
		if n == 0 {
			t.Errorf("the load forced no %s", name)
		}
	}
}

// assertWindow: both profiler calls are marked between the steps that they stood between, and left a trace.
func assertWindow(t *testing.T, s stream, kineto string) {
	t.Helper()
	if len(s.markers) != 2 || s.markers[0].Action != "start" || s.markers[1].Action != "stop" {
		t.Fatalf("markers %+v", s.markers)
	}
	start, stop := s.markers[0], s.markers[1]
	if !start.OK || !stop.OK || start.AfterStep+windowSteps > stop.AfterStep || stop.AfterStep > int64(len(s.steps)) {
		t.Errorf("start %+v, stop %+v, %d steps", start, stop, len(s.steps))
	}
	entries, err := os.ReadDir(kineto)
	traces := slices.DeleteFunc(entries, func(e os.DirEntry) bool { return filepath.Ext(e.Name()) != ".json" })
	if err != nil || len(traces) != 1 {
		t.Errorf("traces %v, %v; want one of one rank", traces, err)
	}
}
