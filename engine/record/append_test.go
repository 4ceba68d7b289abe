package record

import (
	"bytes"
	"math"
	"reflect"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"opprof/testdata"
)

// writtenLines are lines of the recorder, one of each kind and variant.
var writtenLines = []string{
	// every optional part
	`{"schema":1,"engine_id":"dp0-pid1234","step_index":42,"submit_wall_ns":1783761000000000000,"submit_mono_ns":8920000000,"complete_mono_ns":8922371000,"model_executed":true,"scheduled_requests":37,"decode_batch_size":32,"prefill_requests":5,"prefill_tokens":896,"decode_tokens":32,"resumed_requests":0,"recompute_tokens":0,"chunked_prefill":{"first":2,"middle":1,"final":1,"unsplit":1,"tokens":896,"chunk_size_hist":[0,0,1,1,1,1,1,0,0],"chunk_tail_hist":[0,0,0,0],"unsplit_tokens":128},"context_length_hist":[0,0,3,6,12,10,5,1,0,0,0,0],"preemptions":0,"queues":{"running":37,"waiting":9,"deferred":0},"kv":{"total_blocks":120000,"free_blocks":42000,"used_blocks":78000,"usage":0.65},"prefix":{"local":{"requests":2,"queries":4096,"hits":3072,"preempted_requests":0,"preempted_queries":0,"preempted_hits":0},"external":{"requests":1,"queries":16,"hits":0,"preempted_requests":0,"preempted_queries":0,"preempted_hits":0}},"cudagraph":{"hit":true,"runtime_mode":"PIECEWISE","unpadded_tokens":928,"bucket_tokens":1024,"padding_tokens":96},"moe_expert_load":null,"dropped_records_before":0}`,
	// zero tokens, caching off, an exponent, drops
	`{"schema":1,"engine_id":"dp1-pid1","step_index":7,"submit_wall_ns":1783761000000000000,"submit_mono_ns":1,"complete_mono_ns":2,"model_executed":false,"scheduled_requests":0,"decode_batch_size":0,"prefill_requests":0,"prefill_tokens":0,"decode_tokens":0,"resumed_requests":0,"recompute_tokens":0,"chunked_prefill":{"first":0,"middle":0,"final":0,"unsplit":0,"tokens":0,"chunk_size_hist":[0,0,0,0,0,0,0,0,0],"chunk_tail_hist":[0,0,0,0],"unsplit_tokens":0},"context_length_hist":[0,0,0,0,0,0,0,0,0,0,0,0],"preemptions":0,"queues":{"running":0,"waiting":0,"deferred":0},"kv":{"total_blocks":12000,"free_blocks":11999,"used_blocks":1,"usage":8.333333333333333e-05},"prefix":{"local":null,"external":null},"cudagraph":null,"moe_expert_load":null,"dropped_records_before":12}`,
	// no additive field
	`{"schema":1,"engine_id":"dp0-pid1234","step_index":42,"submit_wall_ns":1783761000000000000,"submit_mono_ns":8920000000,"complete_mono_ns":8922371000,"model_executed":true,"scheduled_requests":37,"decode_batch_size":32,"prefill_requests":5,"prefill_tokens":896,"decode_tokens":32,"chunked_prefill":{"first":2,"middle":1,"final":1,"unsplit":1,"tokens":896,"chunk_size_hist":[0,0,1,1,1,1,1,0,0]},"context_length_hist":[0,0,3,6,12,10,5,1,0,0,0,0],"preemptions":0,"queues":{"running":37,"waiting":9,"deferred":0},"kv":{"total_blocks":120000,"free_blocks":42000,"used_blocks":78000,"usage":0.65},"prefix":{"local":{"requests":2,"queries":4096,"hits":3072,"preempted_requests":0,"preempted_queries":0,"preempted_hits":0},"external":null},"cudagraph":{"hit":true,"runtime_mode":"FULL","unpadded_tokens":928,"bucket_tokens":1024,"padding_tokens":96},"moe_expert_load":null,"dropped_records_before":0}`,
	`{"type":"header","schema":1,"engine_id":"dp0-pid1090","start_wall_ns":1796003492313451923,"start_mono_ns":218526304502,"vllm_version":"0.24.0","model":"Qwen3-30B-A3B","dtype":"torch.bfloat16","tensor_parallel_size":1,"data_parallel_size":1,"pipeline_parallel_size":1,"expert_parallel":false,"max_num_batched_tokens":8192,"max_num_seqs":1024,"async_scheduling":true,"prefix_caching":true,"cudagraph_mode":"FULL_AND_PIECEWISE","block_size":16,"context_edges":[128,256,512,1024,2048,4096,8192,16384,32768,65536,131072],"chunk_edges":[16,32,64,128,256,512,1024,2048],"chunk_tail_edges":[4096,8192,16384],"runner":"v1","cudagraph_null_reason":null,"torch_version":"2.11.0+cu130","quantization":null,"patch_hash":"00aa"}`,
	`{"type":"header","schema":1,"engine_id":"dp0","start_wall_ns":1,"start_mono_ns":1,"vllm_version":"0.24.0+cpu","model":"a \"b\" \\ \u0001\n","dtype":"torch.float16","tensor_parallel_size":2,"data_parallel_size":3,"pipeline_parallel_size":4,"expert_parallel":true,"max_num_batched_tokens":8192,"max_num_seqs":1024,"async_scheduling":false,"prefix_caching":false,"cudagraph_mode":"NONE","block_size":16,"context_edges":[128,256,512,1024,2048,4096,8192,16384,32768,65536,131072],"chunk_edges":[16,32,64,128,256,512,1024,2048],"chunk_tail_edges":[4096,8192,16384],"runner":"v2","cudagraph_null_reason":"the V2 model runner of this version reports no CUDA-graph statistics","torch_version":"2.11.0+cu130","quantization":"fp8","patch_hash":null}`,
	`{"type":"profile","schema":1,"engine_id":"dp0-pid1090","action":"start","wall_ns":1796003501016091943,"mono_ns":227191780732,"return_mono_ns":227228884742,"after_step":245,"ok":true,"error":null}`,
	`{"type":"profile","schema":1,"engine_id":"dp0-pid1090","action":"stop","wall_ns":1796003501016091943,"mono_ns":227191780732,"return_mono_ns":227228884742,"after_step":245,"ok":false,"error":"RuntimeError: profiler is not enabled"}`,
	`{"type":"profile","schema":1,"engine_id":"dp0-pid1090","action":"start","wall_ns":1796003501016091943,"mono_ns":227191780732,"return_mono_ns":227228884742,"after_step":245}`,
	`{"type":"dummy_step","schema":1,"engine_id":"dp1-pid1090","after_step":245,"wall_ns":1796003501016091943,"mono_ns":227191780732}`,
	`{"type":"footer","schema":1,"engine_id":"dp0-pid1090","encoded":6033,"written":6033,"dropped":0,"queue_high_watermark":2,"end_wall_ns":1796003649733896471,"foreground_ns":{"n":6018,"p50":90161,"p95":137406,"p99":161046,"max":244478,"mean":93449}}`,
	`{"type":"footer","schema":1,"engine_id":"dp0-pid1090","encoded":1,"written":1,"dropped":0,"queue_high_watermark":0,"end_wall_ns":1796003649733896471,"foreground_ns":{"n":0,"p50":null,"p95":null,"p99":null,"max":null,"mean":null}}`,
}

func TestAppendIsTheRecordersLine(t *testing.T) {
	check := func(text []byte) {
		t.Helper()
		d, l := NewDecoder("written"), Line{}
		d.Decode(text, &l)
		if l.Kind == KindBad {
			t.Error(l.Err)
			return
		}
		if got := Append(nil, &l); !bytes.Equal(got, text) {
			t.Errorf("got\n%s\nwant\n%s", got, text)
		}
		if l.Kind == KindStep && d.Stats().Fallback != 0 {
			t.Errorf("took the scanner: %s", text)
		}
	}
	for _, text := range writtenLines {
		check([]byte(text))
	}
	for _, name := range testdata.Recordings() {
		for _, text := range lines(stream(t, name)) {
			check(text)
		}
	}
}

// anyInt draws integers whose lengths are spread evenly, small ones more often.
func anyInt(t *rapid.T, label string) int64 {
	return rapid.Int64Range(0, math.MaxInt64).Draw(t, label) >> rapid.UintRange(0, 62).Draw(t, label+" shift")
}

func fill(t *rapid.T, label string, values []int64) {
	for i := range values {
		values[i] = anyInt(t, label)
	}
}

func anyPrefix(t *rapid.T) Prefix {
	return Prefix{anyInt(t, "requests"), anyInt(t, "queries"), anyInt(t, "hits"),
		anyInt(t, "requests"), anyInt(t, "queries"), anyInt(t, "hits")}
}

// anyStep draws steps with any values, not only those that a scheduler can reach.
func anyStep(t *rapid.T) Step {
	s := Step{
		EngineID:  rapid.StringMatching(`dp[0-9]-pid[0-9]{1,6}`).Draw(t, "engine"),
		StepIndex: anyInt(t, "index"), SubmitWallNS: anyInt(t, "wall"), SubmitMonoNS: anyInt(t, "mono"), CompleteMonoNS: anyInt(t, "mono"),
		ModelExecuted: rapid.Bool().Draw(t, "executed"), ScheduledRequests: anyInt(t, "requests"), DecodeBatchSize: anyInt(t, "decode"),
		PrefillRequests: anyInt(t, "prefill"), PrefillTokens: anyInt(t, "tokens"), DecodeTokens: anyInt(t, "tokens"),
		Preemptions: anyInt(t, "preemptions"), Queues: Queues{anyInt(t, "running"), anyInt(t, "waiting"), anyInt(t, "deferred")},
		KV: KV{anyInt(t, "total"), anyInt(t, "free"), anyInt(t, "used"), rapid.Float64Range(0, 1).Draw(t, "usage")},
	}
	if rapid.Bool().Draw(t, "prefill") {
		s.Chunks = Chunks{First: anyInt(t, "first"), Middle: anyInt(t, "middle"), Final: anyInt(t, "final"), Unsplit: anyInt(t, "unsplit"),
			Tokens: anyInt(t, "tokens")}
		fill(t, "size", s.Chunks.SizeHist[:])
	}
	fill(t, "context", s.ContextHist[:])
	if rapid.Bool().Draw(t, "additive") {
		s.Has |= HasResumed | HasRecompute
		s.ResumedRequests, s.RecomputeTokens = anyInt(t, "resumed"), anyInt(t, "recompute")
	}
	if rapid.Bool().Draw(t, "tail") {
		s.Has |= HasChunkTail | HasUnsplitTokens
		s.Chunks.UnsplitTokens = anyInt(t, "unsplit")
		fill(t, "tail", s.Chunks.TailHist[:])
	}
	if rapid.Bool().Draw(t, "local") {
		s.Has |= HasPrefixLocal
		s.Local = anyPrefix(t)
	}
	if rapid.Bool().Draw(t, "external") {
		s.Has |= HasPrefixExternal
		s.External = anyPrefix(t)
	}
	if rapid.Bool().Draw(t, "graph") {
		s.Has |= HasGraph
		mode := rapid.SampledFrom([]GraphMode{GraphNone, GraphPiecewise, GraphFull}).Draw(t, "mode")
		s.Graph = Graph{rapid.Bool().Draw(t, "hit"), mode, anyInt(t, "unpadded"), anyInt(t, "bucket"), anyInt(t, "padding")}
	}
	s.DroppedBefore = anyInt(t, "dropped")
	return s
}

// Both paths read back what Append wrote, and the straight one takes it.
func TestStepRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Line{Kind: KindStep, Step: anyStep(t)}
		text := Append(nil, &want)
		d, got := NewDecoder("round trip"), Line{}
		if n := d.straight(text, &got.Step); n != len(text) {
			t.Fatalf("the straight path does not take\n%s", text)
		}
		if !reflect.DeepEqual(got.Step, want.Step) {
			t.Fatalf("straight: got\n%+v\nwant\n%+v", got.Step, want.Step)
		}
		d.decodeTolerant(text, &got)
		if got.Kind != KindStep || !reflect.DeepEqual(got.Step, want.Step) {
			t.Fatalf("tolerant: got\n%+v (%v)\nwant\n%+v", got.Step, got.Err, want.Step)
		}
	})
}

// decimal is strconv.ParseFloat to the last bit, on the decimals that recorders write and around them.
func TestDecimal(t *testing.T) {
	check := func(fail func(string, ...any), text string) {
		want, err := strconv.ParseFloat(text, 64)
		got, end := decimal([]byte(text+","), 0)
		if err != nil {
			if end != miss {
				fail("%s: got %v, want a miss", text, got)
			}
			return
		}
		if end != len(text) || math.Float64bits(got) != math.Float64bits(want) {
			fail("%s: got %v to byte %d, want %v to byte %d", text, got, end, want, len(text))
		}
	}
	for _, text := range []string{
		"0", "-0", "-0.0", "0.0", "1.0", "0.65", "0.02414630661523076", "0.09772824689241322", "8.333333333333333e-05", "1e400", "1e-400",
		"0.1", "0.3", "0.30000000000000004", "9.9999999999999999999", "0.9999999999999999999", "9.999999999999999999",
		"0.00000000000000000001", "0.99999999999999994448884876874217", "9007199254740993.0", "0.9007199254740993",
		"0.000000000000000000000000000000000000000000000000000000001", "5e-324", "2.2250738585072011e-308", "123456789.123456789",
	} {
		check(t.Errorf, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.IntRange(0, 12).Draw(t, "whole")
		check(t.Fatalf, strconv.Itoa(whole)+"."+rapid.StringMatching(`[0-9]{1,24}`).Draw(t, "digits"))
		f := rapid.Float64Range(0, 1).Draw(t, "f")
		check(t.Fatalf, strconv.FormatFloat(f, 'f', -1, 64))
		check(t.Fatalf, strconv.FormatFloat(f, 'e', -1, 64))
		// Half-way between two floats, the hardest case: exact in 19 digits only for short ones.
		half := (float64(whole) + 0.5) / 16
		check(t.Fatalf, strconv.FormatFloat(half, 'f', 19, 64))
	})
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		end  int
	}{
		{"0", 0, 1}, {"7", 7, 1}, {"00", 0, miss}, {"01", 0, miss}, {"", 0, miss}, {"-1", 0, miss}, {"x", 0, miss},
		{"12345678", 12345678, 8}, {"123456789", 123456789, 9}, {"1234567890123456", 1234567890123456, 16},
		{"9223372036854775807", math.MaxInt64, 19}, {"9223372036854775808", 0, miss}, {"9999999999999999999", 0, miss},
		{"10000000000000000000", 0, miss}, {"99999999999999999999999999", 0, miss}, {"0123456789", 0, miss},
	} {
		for _, behind := range []string{"", ",", "}           ", ",\"key\":123"} {
			if got, end := number([]byte(c.text+behind), 0); end != c.end || end != miss && got != c.want {
				t.Errorf("number(%q): %d to byte %d, want %d to byte %d", c.text+behind, got, end, c.want, c.end)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := anyInt(t, "v")
		text := strconv.FormatInt(v, 10)
		behind := rapid.StringMatching(`([,}\]. /:][0-9]*.{0,9})?`).Draw(t, "behind")
		if got, end := number([]byte(text+behind), 0); got != v || end != len(text) {
			t.Fatalf("number(%q): %d to byte %d", text+behind, got, end)
		}
	})
}
