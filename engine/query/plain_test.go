package query

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"opprof/engine/record"
)

// A step that lacks a field is neither like a value nor unlike it.
func TestUnknownFieldsNeverMatch(t *testing.T) {
	bare := &record.Step{StepIndex: 1}
	for _, text := range []string{
		`graph.mode == "FULL"`, `graph.mode != "FULL"`, `not (graph.mode == "FULL")`, `graph.mode in ["FULL", "NONE"]`, "recompute_tokens == 0",
		"recompute_tokens != 0", "resumed_requests != 7", "period_ms != 3", "prefix.hits * 2 != 1", "graph.bucket - graph.padding != 4", "graph.mode == nil",
	} {
		q, err := Compile(text)
		if err != nil {
			t.Errorf("Compile(%s): %v", text, err)
			continue
		}
		if got := q.Ask(bare, nil); got != Unknown {
			t.Errorf("%s of a step that tells nothing: %d, want unknown", text, got)
		}
	}
}

func drawStep(t *rapid.T) (*record.Step, *int64) {
	n := func(name string) int64 { return rapid.Int64Range(-1, 4).Draw(t, name) }
	s := &record.Step{StepIndex: n("index"), ScheduledRequests: n("requests"), DecodeBatchSize: n("batch"), PrefillTokens: n("prefill"), Preemptions: n("preemptions"),
		RecomputeTokens: n("recompute"), Has: rapid.SampledFrom([]record.Presence{0, record.HasGraph, record.HasRecompute, record.HasGraph | record.HasRecompute}).Draw(t, "has"),
		KV: record.KV{Usage: rapid.SampledFrom([]float64{0, 0.5, 1, 2.5, math.NaN()}).Draw(t, "usage")}, ModelExecuted: rapid.Bool().Draw(t, "executed"),
		Graph: record.Graph{Mode: rapid.SampledFrom([]record.GraphMode{record.GraphFull, record.GraphNone, record.GraphPiecewise}).Draw(t, "mode"), PaddingTokens: n("padding")}}
	if rapid.Bool().Draw(t, "period known") {
		period := rapid.Int64Range(0, 4).Draw(t, "period") * 1e6
		return s, &period
	}
	return s, nil
}

func drawCondition(t *rapid.T, depth int) string {
	if depth > 0 && rapid.Bool().Draw(t, "joined") {
		a, b := drawCondition(t, depth-1), drawCondition(t, depth-1)
		return "(" + a + rapid.SampledFrom([]string{" && ", " || ", " and ", " or "}).Draw(t, "by") + b + ")"
	}
	op := rapid.SampledFrom([]string{"<", "<=", ">", ">=", "==", "!="})
	var text string
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		text = "model_executed"
	case 1:
		text = "graph.mode " + rapid.SampledFrom([]string{"==", "!="}).Draw(t, "op") + ` "` + rapid.SampledFrom([]string{"FULL", "NONE", "x"}).Draw(t, "text") + `"`
	default:
		side := func() string {
			return rapid.SampledFrom([]string{"prefill_tokens", "decode_batch_size", "kv.usage", "period_ms", "recompute_tokens", "graph.padding", "2", "-1", "0.5", "3",
				"prefill_tokens + kv.usage", "max(prefill_tokens, graph.padding, 1)", "min(period_ms, 2)", "recompute_tokens * 2 - 1", "decode_batch_size / 2", "1 + 1"}).Draw(t, "side")
		}
		a := rapid.SampledFrom([]string{"prefill_tokens", "kv.usage", "period_ms", "recompute_tokens"}).Draw(t, "field")
		b := side()
		if rapid.Bool().Draw(t, "turned") {
			a, b = b, a
		}
		text = a + " " + op.Draw(t, "op") + " " + b
	}
	if rapid.Bool().Draw(t, "not") {
		return "not (" + text + ")"
	}
	return text
}

// What is asked fast answers as the language's machine does.
func TestPlainAnswersAsTheMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawCondition(t, 3)
		q, err := Compile(text)
		if err != nil {
			t.Fatalf("Compile(%s): %v", text, err)
		}
		if q.plain == nil {
			t.Fatalf("%s is not asked fast", text)
		}
		s, period := drawStep(t)
		if fast, slow := q.Ask(s, period), q.run(s, period); fast != slow {
			t.Fatalf("%s: %d, the machine says %d", text, fast, slow)
		}
	})
}

// Steps are excluded only where each of them answers no.
func TestExcludedStepsAnswerNo(t *testing.T) {
	excluded := 0
	rapid.Check(t, func(t *rapid.T) {
		text := drawCondition(t, 3)
		q, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		type asked struct {
			s      *record.Step
			period *int64
		}
		var steps []asked
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			s, period := drawStep(t)
			if math.IsNaN(s.KV.Usage) {
				s.KV.Usage = 0
			}
			steps = append(steps, asked{s, period})
		}
		ranges := func(field string) (Range, bool) {
			if field == "graph.padding" {
				return Range{}, false
			}
			r := Range{Min: math.Inf(1), Max: math.Inf(-1)}
			for _, a := range steps {
				if field == "graph.mode" {
					r.Texts = append(r.Texts, a.s.Graph.Mode.String())
					r.Missing = r.Missing || !a.s.Known(record.HasGraph)
					continue
				}
				v, ok := readers()[field](a.s, a.period)
				r.Missing = r.Missing || !ok
				if ok {
					r.Min, r.Max = min(r.Min, v.f), max(r.Max, v.f)
				}
			}
			return r, true
		}
		if !q.Excludes(ranges) {
			return
		}
		excluded++
		for _, a := range steps {
			if got := q.Ask(a.s, a.period); got != No {
				t.Fatalf("%s excludes a step that answers %d", text, got)
			}
		}
	})
	if excluded == 0 {
		t.Error("nothing was ever excluded")
	}
}

func TestExpressionsThatNeedTheMachine(t *testing.T) {
	for text, plain := range map[string]bool{
		"prefill_tokens > 4096 && kv.usage > 0.9":        true,
		"4096 < prefill_tokens":                          true,
		"max(running, waiting) > 3":                      true,
		"graph.padding * 10 > graph.bucket":              true,
		"abs(running - waiting) > 3":                     false,
		`graph.mode in ["NONE"]`:                         false,
		"prefill_tokens > 0 ? running > 1 : waiting > 1": false,
	} {
		q, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if (q.plain != nil) != plain {
			t.Errorf("%s: asked fast: %t, want %t", text, q.plain != nil, plain)
		}
	}
}

func BenchmarkAskMachine(b *testing.B) {
	q, err := Compile("prefill_tokens > 4096 && kv.usage > 0.9")
	if err != nil {
		b.Fatal(err)
	}
	s := step()
	for b.Loop() {
		q.run(s, nil)
	}
}
