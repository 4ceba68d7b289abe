package cmd

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"opprof/testdata"
)

// analyticsPython names an interpreter with duckdb, pyarrow and polars, and perhaps pyspark.
const analyticsPython = "OPPROF_ANALYTICS_PYTHON"

// analytics is the interpreter and a folder that holds lake, the export of two runs.
func analytics(t *testing.T) (python, dir string) {
	t.Helper()
	python = os.Getenv(analyticsPython)
	if python == "" {
		t.Skipf("%s names no interpreter with duckdb, pyarrow and polars", analyticsPython)
	}
	dir = t.TempDir()
	args := []string{"export", "parquet", "--out", filepath.Join(dir, "lake")}
	for _, name := range []string{"h200-tp1", "h200-tp2-eager"} {
		stream, err := testdata.Recording(name)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, name, "layer1", "opprof-v1-dp0-pid1-1.jsonl"), string(stream))
		args = append(args, filepath.Join(dir, name))
	}
	unpackTraces(t, "h200-tp2-eager", filepath.Join(dir, "h200-tp2-eager", "kineto"))
	env, _, stderr := memoryEnv(nil, args...)
	if code := Main(env); code != ExitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	return python, dir
}

// unpackTraces puts the traces of a recording into a folder.
func unpackTraces(t *testing.T, recording, dir string) {
	t.Helper()
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files, err := filepath.Glob(filepath.Join(testTraces, recording, "*.zst"))
	if err != nil || len(files) == 0 {
		t.Fatal("no traces", err)
	}
	for _, path := range files {
		packed, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := z.DecodeAll(packed, nil)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), ".zst")), string(text))
	}
}

// runPython runs a program in a folder.
func runPython(t *testing.T, python, dir, program string) []byte {
	t.Helper()
	c := exec.Command(python, "-c", program)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, program, out)
	}
	return out
}

// figures are asked of DuckDB; each is a figure of `review --once --json` by its path there.
var figures = map[string]string{
	"frame.run.counts.steps":                 "count(*)",
	"frame.run.counts.zero_token_steps":      "count(*) FILTER (scheduled_requests = 0)",
	"frame.run.counts.first_ns":              "min(time_ns)",
	"frame.run.counts.last_ns":               "max(time_ns)",
	"frame.run.counts.period_sum_ns":         "sum(period_ns)",
	"frame.run.period.n":                     "count(period_ns)",
	"frame.run.period.unknown":               "count(*) - count(period_ns)",
	"frame.run.period.p50_ns":                "quantile_disc(period_ns, 0.5)",
	"frame.run.period.p95_ns":                "quantile_disc(period_ns, 0.95)",
	"frame.run.period.p99_ns":                "quantile_disc(period_ns, 0.99)",
	"frame.run.period.max_ns":                "max(period_ns)",
	"frame.run.counts.scheduled_requests":    "sum(scheduled_requests)",
	"frame.run.counts.decode_requests":       "sum(decode_batch_size)",
	"frame.run.counts.prefill_requests":      "sum(prefill_requests)",
	"frame.run.counts.prefill_tokens":        "sum(prefill_tokens)",
	"frame.run.counts.decode_tokens":         "sum(decode_tokens)",
	"frame.run.counts.recompute_tokens":      "sum(recompute_tokens)",
	"frame.run.counts.preemptions":           "sum(preemptions)",
	"frame.run.counts.decode_batch_max":      "max(decode_batch_size)",
	"frame.run.counts.chunks.first":          "sum(chunk_first)",
	"frame.run.counts.chunks.tokens":         "sum(chunk_tokens)",
	"frame.run.counts.context_hist.3":        "sum(context_length_hist[4])",
	"frame.run.counts.context_hist.7":        "sum(context_length_hist[8])",
	"frame.run.counts.running_max":           "max(queue_running)",
	"frame.run.counts.waiting_sum":           "sum(queue_waiting)",
	"frame.run.counts.kv_usage_max":          "max(kv_usage)",
	"frame.run.counts.graph.FULL":            "count(*) FILTER (cudagraph_mode = 'FULL')",
	"frame.run.counts.graph.PIECEWISE":       "count(*) FILTER (cudagraph_mode = 'PIECEWISE')",
	"frame.run.counts.graph.NONE":            "count(*) FILTER (cudagraph_mode = 'NONE')",
	"frame.run.counts.graph_padding_tokens":  "coalesce(sum(cudagraph_padding_tokens), 0)",
	"frame.run.counts.prefix_local_steps":    "count(prefix_local_queries)",
	"frame.run.counts.prefix_local.queries":  "sum(prefix_local_queries)",
	"frame.run.counts.prefix_local.hits":     "sum(prefix_local_hits)",
	"frame.run.counts.prefix_external_steps": "count(prefix_external_queries)",
	"frame.run.counts.dropped":               "sum(dropped_records_before)",
	"frame.run.counts.gaps":                  "count(*) FILTER (gap)",
	"frame.run.counts.stalls":                "count(*) FILTER (period_ns >= 500000000)",
}

// DuckDB over the export gives the figures of the screen, to the last digit.
func TestDuckDBAgreesWithTheReview(t *testing.T) {
	python, dir := analytics(t)
	var questions []string
	for path, question := range figures {
		questions = append(questions, fmt.Sprintf("(%s)::DOUBLE AS %q", question, path))
	}
	for _, run := range []string{"h200-tp1", "h200-tp2-eager"} {
		query := "SELECT " + strings.Join(questions, ", ") + " FROM read_parquet('lake/steps/**/*.parquet', hive_partitioning = true) WHERE run = '" + run + "'"
		quoted, err := json.Marshal(query)
		if err != nil {
			t.Fatal(err)
		}
		out := runPython(t, python, dir, "import duckdb, json\nr = duckdb.sql("+string(quoted)+")\nprint(json.dumps(dict(zip(r.columns, r.fetchall()[0]))))")
		var got map[string]float64
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		env, stdout, stderr := memoryEnv(nil, "review", filepath.Join(dir, run), "--once", "--json")
		if code := Main(env); code != ExitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		var page any
		if err := json.Unmarshal(stdout.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		for path := range figures {
			want, ok := lookUp(page, path).(float64)
			if !ok {
				t.Fatalf("the review has no %s", path)
			}
			if have, ok := got[path]; !ok || math.Abs(have-want) > 1e-12*math.Abs(want) {
				t.Errorf("%s: %s is %v in DuckDB and %v in the review", run, path, have, want)
			}
		}
	}
}

// lookUp follows a path of names and indexes.
func lookUp(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// blocks are the worked examples of docs/export.md.
var blocks = regexp.MustCompile("(?s)```(sql|python)\n(.*?)```")

func TestWorkedExamples(t *testing.T) {
	python, dir := analytics(t)
	text, err := os.ReadFile(exportDoc)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, block := range blocks.FindAllStringSubmatch(string(text), -1) {
		kind, program := block[1], block[2]
		if strings.Contains(program, "pyspark") && exec.Command(python, "-c", "import pyspark").Run() != nil {
			t.Log("pyspark is not installed: its example did not run")
			continue
		}
		if kind == "sql" {
			quoted, err := json.Marshal(program)
			if err != nil {
				t.Fatal(err)
			}
			program = "import duckdb\nrows = duckdb.sql(" + string(quoted) + ").fetchall()\nprint(len(rows), rows[:3])\nassert rows"
		}
		if out := runPython(t, python, dir, program); len(out) == 0 {
			t.Errorf("it prints nothing:\n%s", program)
		}
		ran++
	}
	if ran < 5 {
		t.Errorf("only %d examples ran", ran)
	}
}

// The four engines see the same names, types and nulls.
func TestEnginesAgree(t *testing.T) {
	python, dir := analytics(t)
	out := runPython(t, python, dir, `
import json, duckdb, polars as pl, pyarrow.dataset as ds, pyarrow.compute as pc
arrow = ds.dataset("lake/steps", partitioning="hive").to_table()
lazy = pl.scan_parquet("lake/steps/**/*.parquet", hive_partitioning=True).collect()
duck = duckdb.sql("SELECT * FROM read_parquet('lake/steps/**/*.parquet', hive_partitioning = true)")
names = set(arrow.column_names)
assert names == set(lazy.columns) == set(duck.columns), (names ^ set(lazy.columns), names ^ set(duck.columns))
for name in sorted(names):
    column = arrow[name]
    nulls = (column.null_count, lazy[name].null_count(), duckdb.sql(f"SELECT count(*) - count({name}) FROM duck").fetchall()[0][0])
    assert len(set(nulls)) == 1, (name, nulls)
    if name.endswith("_hist"):
        lengths = {n for n in pc.list_value_length(column).to_pylist() if n is not None}
        assert len(lengths) <= 1, (name, lengths)
        total = sum(sum(row) for row in column.to_pylist() if row)
        sums = (total, lazy[name].explode().sum() or 0, duckdb.sql(f"SELECT coalesce(sum(list_sum({name})), 0) FROM duck").fetchall()[0][0])
    elif str(column.type) in ("int64", "bool"):
        sums = (pc.sum(column).as_py() or 0, lazy[name].sum() or 0, duckdb.sql(f"SELECT coalesce(sum({name}::HUGEINT), 0) FROM duck").fetchall()[0][0])
        if name.endswith("_ns"):
            sums = sums[2:] # beyond 64 bits
    else:
        continue
    assert len(set(map(int, sums))) == 1, (name, sums)
meta = ds.dataset("lake/steps", partitioning="hive").schema.metadata
assert json.loads(meta[b"opprof.context_edges"])[0] == 128 and len(json.loads(meta[b"opprof.columns"])) + 3 == len(names)
print(len(names))`)
	if strings.TrimSpace(string(out)) == "" {
		t.Error("it printed nothing")
	}
}
