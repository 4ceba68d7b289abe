package runreport

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"opprof/campaign/page/browsertest"
	"opprof/engine/alert"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/testdata"
	"opprof/traces/capture"
	"opprof/traces/catalog"
	"opprof/traces/family"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorded is the report of a recorded run.
func recorded(t testing.TB, name string) *Report {
	t.Helper()
	text, err := testdata.Recording(name)
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(store.Options{})
	s.Name(0, "layer1/stream.jsonl")
	check := record.NewChecker()
	lines := record.NewReader(bytes.NewReader(text), "stream.jsonl")
	for lines.Scan() {
		s.Line(0, lines.Line())
		check.Add(lines.Line())
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	caching := true
	return &Report{Schema: 1, Frame: s.Snapshot().Frame(store.Query{Columns: 120}), Checks: []StreamCheck{{Check: check.Result()}},
		Run: rundir.Description{ID: "20261130-" + name, Path: "/runs/" + name, Model: "Qwen/Qwen3-30B-A3B", VLLMVersion: "0.24.0", TensorParallel: 1, GraphMode: "FULL_AND_PIECEWISE",
			PrefixCaching: &caching, Streams: []rundir.Stream{{Path: "layer1/stream.jsonl", Bytes: int64(len(text)), Lines: 9000}}},
		Warnings:    []alert.Warning{{Rule: alert.Stall, Engine: "dp0", Count: 3, Unit: "stalls", FirstNS: 1_700_000_000e9}},
		Definitions: []Definition{{"step period", "p50", "ms", "complete_mono_ns", "Half of the steps were faster."}}, Zone: time.UTC}
}

// traced are the windows of recorded traces.
func traced(t testing.TB, name string) []TracedWindow {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "traces", name, "*.zst"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces of %s: %v", name, err)
	}
	rules, err := family.Default()
	if err != nil {
		t.Fatal(err)
	}
	in := capture.Input{Rules: rules}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, file := range files {
		packed, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := z.DecodeAll(packed, nil)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(file), ".zst"))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		in.Traces = append(in.Traces, path)
	}
	c, err := capture.Load(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	list := &catalog.List{}
	for i := range c.Windows {
		state, reason := c.Windows[i].State()
		list.Windows = append(list.Windows, catalog.Window{Number: i + 1, State: catalog.State(state), Reason: reason, Ranks: len(c.Windows[i].Ranks), Expected: len(c.Windows[i].Ranks), Detail: &c.Windows[i]})
	}
	return Windows(list)
}

// hostile is a run whose every text tries to be more than text.
func hostile(t testing.TB) *Report {
	const evil = "<script>alert(1)</script>|\\|[x](http://evil.example)\x1b[2J\u202e"
	r := recorded(t, "h200-tp1-literal")
	r.Run.ID, r.Run.Path, r.Run.Model, r.Run.VLLMVersion, r.Run.PatchHash, r.Run.GraphMode = evil, evil, evil, evil, evil, evil
	r.Run.Problems = []string{evil}
	r.Run.Streams[0].Path = evil
	r.Manifest = &rundir.Manifest{Argv: []string{evil}, Quantization: evil, GPUs: []rundir.GPU{{Name: evil}}, Versions: map[string]string{evil: evil}, Exit: &rundir.Exit{State: evil, Reason: evil}}
	r.Warnings[0].Engine = evil
	r.Frame.Engines[0].ID = evil
	r.Checks = []StreamCheck{{Check: record.Check{Path: evil, Steps: 1, Violations: map[string]record.Violation{evil: {Count: 1, Detail: evil}}}, Error: evil}}
	r.Windows = traced(t, "h200-tp1-literal")
	for i := range r.Windows {
		r.Windows[i].Reason, r.Windows[i].State = evil, evil
		d := r.Windows[i].Detail
		d.Holds, d.Mode, d.GraphModes, d.Reason = evil, evil, map[string]int{evil: 1}, evil
		for k := range d.Iterations {
			d.Iterations[k].Label = evil
		}
	}
	return r
}

func samples(t testing.TB) map[string]*Report {
	two := recorded(t, "h200-tp2")
	two.Windows = traced(t, "h200-tp2")
	two.Run.TensorParallel = 2
	two.Run.Problems = []string{"layer1/stream.jsonl: no footer: the server was killed or is still running"}
	nothing := &Report{Schema: 1, Frame: store.New(store.Options{}).Snapshot().Frame(store.Query{Columns: 10}), Run: rundir.Description{Path: "/tmp/empty", Problems: []string{"no Layer-1 stream"}}}
	return map[string]*Report{"tp1": recorded(t, "h200-tp1"), "tp2": two, "hostile": hostile(t), "nothing": nothing}
}

func TestReportInABrowser(t *testing.T) {
	b := browsertest.Start(t)
	for name, r := range samples(t) {
		t.Run(name, func(t *testing.T) {
			var html bytes.Buffer
			if err := r.HTML(&html); err != nil {
				t.Fatal(err)
			}
			browsertest.Look(t, b, "run-"+name, html.Bytes())
		})
	}
}

func TestTextFromOutsideIsOnlyText(t *testing.T) {
	r := hostile(t)
	var page, markdown bytes.Buffer
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := r.Markdown(&markdown); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"page": page.String(), "Markdown": markdown.String()} {
		for _, never := range []string{"<script", "\x1b", "\u202e", "src="} {
			if strings.Contains(text, never) {
				t.Errorf("the %s has %q", name, never)
			}
		}
		if n := strings.Count(text, "script&gt;"); n < 20 {
			t.Errorf("the %s has the text %d times", name, n)
		}
	}
	if strings.Contains(strings.ReplaceAll(markdown.String(), `\[`, ""), "[x](") {
		t.Error("the Markdown has a link from outside")
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// The plots' values and the table below them are the same, column by column.
func TestColumnsSayTheSameTwice(t *testing.T) {
	r := recorded(t, "h200-tp1")
	tracks := r.tracks()
	table := r.columnTable(tracks)
	if len(table.Rows) != len(r.Frame.Columns) {
		t.Fatalf("%d rows of %d columns", len(table.Rows), len(r.Frame.Columns))
	}
	cell := 2
	for k := range tracks {
		for n := range tracks[k].lines {
			for i := range r.Frame.Columns {
				said, want := r.said(&tracks[k], &r.Frame.Columns[i]), tracks[k].lines[n].name+" "+table.Rows[i][cell]
				if r.Frame.Columns[i].Counts.Steps > 0 && !strings.Contains(said, want) {
					t.Fatalf("column %d of %s says %q, the table %q", i, tracks[k].title, said, want)
				}
			}
			cell++
		}
	}
	if cell != len(table.Columns) {
		t.Errorf("%d cells, %d columns", cell, len(table.Columns))
	}
}

func TestDamageIsSaidFirst(t *testing.T) {
	r := recorded(t, "h200-tp1")
	r.Frame.Loss = store.Loss{Dropped: 7, BadLines: 1, TornTails: 1}
	r.Frame.Sampled, r.Unchecked = true, "the records have 44 GB"
	var b bytes.Buffer
	if err := r.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, must := range []string{"estimates from samples", "7 records dropped by the server", "1 line could not be read", "1 last line cut off", "Not checked: the records have 44 GB", "about "} {
		if !strings.Contains(text, must) {
			t.Errorf("the report has no %q", must)
		}
	}
	if strings.Index(text, "Missing or damaged") > strings.Index(text, "## Run") {
		t.Error("what is missing stands behind the figures")
	}
}
