package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/engine/vllm"
	"opprof/testdata"
)

func frameOf(t *testing.T, name string) *store.Frame {
	t.Helper()
	stream, err := testdata.Recording(name)
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(store.Options{})
	r := record.NewReader(bytes.NewReader(stream), name)
	for r.Scan() {
		s.Line(0, r.Line())
	}
	return s.Snapshot().Frame(store.Query{Columns: 1})
}

func metricsOf(t *testing.T, text string) *vllm.Metrics {
	t.Helper()
	m, err := vllm.ReadMetrics(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return &m
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func verdicts(rows []Row) map[string]Verdict {
	out := map[string]Verdict{}
	for _, r := range rows {
		out[r.Name] = r.Verdict
	}
	return out
}

// TestRecordedRuns: where the recorder was never off, both count the same to the last token; where it was, the records say so.
func TestRecordedRuns(t *testing.T) {
	whole := Compare(metricsOf(t, recorded(t, "h200-tp2-eager")), frameOf(t, "h200-tp2-eager"))
	if got := verdicts(whole); fmt.Sprint(got) != fmt.Sprint(map[string]Verdict{
		"steps that ran the model": Same, "prompt tokens computed": Same, "generated tokens": Same, "preemptions": Same,
		"prefix lookups": Same, "prefix hits": Same, "KV blocks": Near, "running": Same, "waiting and deferred": Same,
	}) {
		t.Errorf("a whole recording: %v", got)
	}
	gap := Compare(metricsOf(t, recorded(t, "h200-tp2")), frameOf(t, "h200-tp2"))
	for _, r := range gap {
		want := map[string]Verdict{"steps that ran the model": Explained, "prompt tokens computed": Explained, "generated tokens": Explained, "prefix lookups": Explained,
			"preemptions": Same, "prefix hits": Same, "KV blocks": Near, "running": Same, "waiting and deferred": Same}[r.Name]
		if r.Verdict != want {
			t.Errorf("with a gap, %s: %s (%s), want %s", r.Name, r.Verdict, r.Why, want)
		}
		if r.Verdict == Explained && !strings.Contains(r.Why, "once") {
			t.Errorf("%s: %q does not name the gap", r.Name, r.Why)
		}
	}
}

// TestVerdicts is a table of facts about one counter.
func TestVerdicts(t *testing.T) {
	const metric = "vllm:num_preemptions_total"
	tests := []struct {
		name    string
		text    string
		counts  store.Counts
		loss    store.Loss
		first   int64
		verdict Verdict
		why     string
	}{
		{"equal", metric + " 5", store.Counts{Steps: 9, Preemptions: 5}, store.Loss{}, 1, Same, ""},
		{"two engines are summed", metric + "{engine=\"0\"} 2\n" + metric + "{engine=\"1\"} 3", store.Counts{Steps: 9, Preemptions: 5}, store.Loss{}, 1, Same, ""},
		{"not in the snapshot", "x 1", store.Counts{Steps: 9, Preemptions: 5}, store.Loss{}, 1, Unknown, "no " + metric},
		{"no step read", metric + " 5", store.Counts{}, store.Loss{}, 0, Unknown, "do not tell"},
		{"less without a reason", metric + " 10", store.Counts{Steps: 9, Preemptions: 5}, store.Loss{}, 1, Differs, "newer"},
		{"less with a gap", metric + " 10", store.Counts{Steps: 9, Preemptions: 5}, store.Loss{Gaps: 3}, 1, Explained, "3 times"},
		{"less with drops", metric + " 10", store.Counts{Steps: 9, Preemptions: 5}, store.Loss{Dropped: 7}, 1, Explained, "dropped 7"},
		{"less with bad lines", metric + " 10", store.Counts{Steps: 9, Preemptions: 5}, store.Loss{BadLines: 2}, 1, Explained, "2 lines"},
		{"less from the middle on", metric + " 10", store.Counts{Steps: 9, Preemptions: 5}, store.Loss{}, 77, Explained, "step 77"},
		{"more", metric + " 4", store.Counts{Steps: 9, Preemptions: 5}, store.Loss{Gaps: 3}, 1, Differs, "older"},
	}
	for _, tt := range tests {
		f := &store.Frame{Run: store.Summary{Counts: tt.counts}, Loss: tt.loss}
		if tt.first > 0 {
			f.Engines = []store.Engine{{FirstStep: tt.first}}
		}
		for _, r := range Compare(metricsOf(t, tt.text), f) {
			if r.Name == "preemptions" && (r.Verdict != tt.verdict || !strings.Contains(r.Why, tt.why)) {
				t.Errorf("%s: %s, %q", tt.name, r.Verdict, r.Why)
			}
		}
	}
}

// TestStepsAfterTheSnapshot: a server that is stopped goes on for as long as its requests take.
func TestStepsAfterTheSnapshot(t *testing.T) {
	for _, c := range []struct {
		name    string
		savedNS int64
		layer1  int64
		verdict Verdict
		why     string
	}{
		{"two seconds later", 8e9, 12, Explained, "2.00 s older"},
		{"at the same moment", 10e9, 12, Differs, "is the snapshot older"},
		{"a copy that was made afterwards", 99e9, 12, Differs, "is the snapshot older"},
		{"nobody knows when", 0, 12, Differs, "is the snapshot older"},
		{"less all the same", 8e9, 9, Differs, "newer"},
		{"as many", 8e9, 10, Same, ""},
	} {
		m := metricsOf(t, "vllm:num_preemptions_total 10")
		m.SavedNS = c.savedNS
		f := &store.Frame{Run: store.Summary{Counts: store.Counts{Steps: 100, Preemptions: c.layer1}}, Now: store.Instant{Known: true, TimeNS: 10e9}}
		for _, r := range Compare(m, f) {
			if r.Name == "preemptions" && (r.Verdict != c.verdict || !strings.Contains(r.Why, c.why)) {
				t.Errorf("%s: %s, %q", c.name, r.Verdict, r.Why)
			}
		}
	}
}

// TestStepsWithoutOutput: the server counts steps with output, so that another count of steps is explained where the tokens agree.
func TestStepsWithoutOutput(t *testing.T) {
	counts := store.Counts{Steps: 20, ZeroToken: 2, RecomputeSteps: 20, DecodeTokens: 100}
	for _, c := range []struct {
		steps, tokens int
		want          Verdict
		why           string
	}{
		{18, 100, Same, ""},
		{15, 100, Explained, "3 steps gave no token"},
		{21, 100, Explained, "several API servers"},
		{15, 90, Differs, "older"},
	} {
		text := fmt.Sprintf("vllm:iteration_tokens_total_count %d\nvllm:generation_tokens_total %d", c.steps, c.tokens)
		r := Compare(metricsOf(t, text), &store.Frame{Run: store.Summary{Counts: counts}})[0]
		if r.Name != "steps that ran the model" || r.Verdict != c.want || !strings.Contains(r.Why, c.why) {
			t.Errorf("%d steps, %d tokens: %s %s, %q", c.steps, c.tokens, r.Name, r.Verdict, r.Why)
		}
	}
}

func TestRecomputedTokens(t *testing.T) {
	counts := store.Counts{Steps: 9, RecomputeSteps: 9, DecodeTokens: 1000, RecomputeTokens: 400, ResumedRequests: 2, Preemptions: 2}
	counts.Chunks.Final, counts.Chunks.Unsplit = 3, 4
	for server, want := range map[int]Verdict{607: Same, 605: Near, 609: Near, 604: Differs, 610: Differs} {
		rows := Compare(metricsOf(t, fmt.Sprintf("vllm:generation_tokens_total %d", server)), &store.Frame{Run: store.Summary{Counts: counts}})
		if got := verdicts(rows)["generated tokens"]; got != want {
			t.Errorf("%d generated: %s, want %s", server, got, want)
		}
	}
	counts.RecomputeSteps = 0
	rows := Compare(metricsOf(t, "vllm:generation_tokens_total 607"), &store.Frame{Run: store.Summary{Counts: counts}})
	if got := verdicts(rows)["generated tokens"]; got != Unknown {
		t.Errorf("without knowing what was recomputed: %s", got)
	}
}
