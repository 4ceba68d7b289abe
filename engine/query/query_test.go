package query

import (
	"strings"
	"testing"

	"opprof/engine/record"
)

func step() *record.Step {
	return &record.Step{StepIndex: 42, ScheduledRequests: 37, DecodeBatchSize: 32, PrefillRequests: 5, PrefillTokens: 896, ModelExecuted: true,
		Queues: record.Queues{Running: 37, Waiting: 9}, KV: record.KV{TotalBlocks: 10, FreeBlocks: 1, UsedBlocks: 9, Usage: 0.9},
		Chunks: record.Chunks{First: 2, Unsplit: 3}, ContextHist: [record.ContextBins]int64{1, 0, 0, 2},
		Graph: record.Graph{Hit: true, Mode: record.GraphFull, BucketTokens: 1024, PaddingTokens: 96}, Has: record.HasGraph,
		SubmitMonoNS: 1_000_000, CompleteMonoNS: 3_500_000}
}

func TestAnswers(t *testing.T) {
	period := int64(11_800_000)
	for text, want := range map[string]Answer{
		"decode_batch_size >= 32 && prefill_tokens == 0": No,
		"decode_batch_size >= 32 && prefill_tokens > 0":  Yes,
		"kv.usage > 0.85":                                 Yes,
		"kv.usage > 0.9":                                  No,
		`graph.mode == "FULL"`:                            Yes,
		`graph.mode in ["NONE", "PIECEWISE"]`:             No,
		"graph.padding * 10 > graph.bucket":               No,
		"prefix.hits > 0":                                 Unknown,
		"recompute_tokens >= 0":                           Unknown,
		"prefill_tokens > 0 || prefix.hits > 0":           Yes, // decided before the unknown is needed
		"period_ms > 10 and period_ms < 12":               Yes,
		"submit_to_complete_ms == 2.5":                    Yes,
		"context_max == 1024":                             Yes,
		"not model_executed":                              No,
		"chunk.first + chunk.unsplit == prefill_requests": Yes,
		"max(running, waiting) == 37":                     Yes,
	} {
		q, err := Compile(text)
		if err != nil {
			t.Errorf("Compile(%s): %v", text, err)
			continue
		}
		if got := q.Ask(step(), &period); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
		if got := q.Clone().Ask(step(), &period); got != want {
			t.Errorf("clone of %s: %d, want %d", text, got, want)
		}
	}
	q, err := Compile("period_ms > 10")
	if err != nil {
		t.Fatal(err)
	}
	if got := q.Ask(step(), nil); got != Unknown {
		t.Errorf("an unknown period: %d", got)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "empty",
		"decode_batch >= 3":              "nearest: decode_batch_size",
		"kv.usge > 1":                    "column 4: there is no field kv.usge; nearest: kv.usage",
		"prefill_tokens >":               "column",
		"prefill_tokens + 1":             "bool",
		"prefill_tokens == 'a'":          "column",
		"now() > 1":                      "now",
		strings.Repeat("1", MaxLength+1): "at most",
	} {
		if _, err := Compile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Compile(%.40q): %v, want it to say %q", text, err, want)
		}
	}
}

func TestEveryFieldCompiles(t *testing.T) {
	for _, f := range Fields() {
		text := f.Name + " == " + f.Name
		q, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		if got := q.Ask(&record.Step{}, nil); got == No {
			t.Errorf("%s is not equal to itself", f.Name)
		}
	}
}

// TestNamesOfRecords: what is called as in a record is the field that Fields calls shorter, asked fast or by the machine, and ranges of blocks
// know it.
func TestNamesOfRecords(t *testing.T) {
	fields := map[string]Field{}
	for _, f := range Fields() {
		fields[f.Name] = f
	}
	full := step()
	full.Has |= record.HasPrefixLocal
	for theirs, own := range recordNames() {
		f, ok := fields[own]
		if _, twice := fields[theirs]; !ok || twice {
			t.Errorf("%s stands for %s", theirs, own)
		}
		value := "3"
		if own == "graph.mode" {
			value = `"FULL"`
		}
		for _, form := range []string{"%s != " + value, "%s in [" + value + "]"} { // the second needs the machine
			q, err := Compile(strings.ReplaceAll(form, "%s", theirs))
			short, shortErr := Compile(strings.ReplaceAll(form, "%s", own))
			if err != nil || shortErr != nil {
				t.Errorf("%s: %v, %v", form, err, shortErr)
				continue
			}
			for _, s := range []*record.Step{full, {}} {
				if a, b := q.Ask(s, nil), short.Ask(s, nil); a != b || q.run(s, nil) != a || (a == Unknown) != (f.May && s != full) {
					t.Errorf("%s of %s: %d, and %d of %s", form, theirs, a, b, own)
				}
			}
		}
		q, err := Compile(theirs + " == " + value)
		if err != nil {
			t.Fatal(err)
		}
		asked := ""
		q.Excludes(func(field string) (Range, bool) { asked = field; return Range{}, false })
		if asked != own {
			t.Errorf("%s asks for the range of %q", theirs, asked)
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add("decode_batch_size >= 32 && kv.usage > 0.5")
	f.Add("1 in [1,2]")
	f.Fuzz(func(t *testing.T, text string) {
		if q, err := Compile(text); err == nil {
			q.Ask(step(), nil)
		}
	})
}

func BenchmarkAsk(b *testing.B) {
	q, err := Compile("prefill_tokens > 4096 && kv.usage > 0.9")
	if err != nil {
		b.Fatal(err)
	}
	s := step()
	b.ReportAllocs()
	for b.Loop() {
		q.Ask(s, nil)
	}
}
