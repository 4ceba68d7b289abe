package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"opprof/campaign/export/dataset"
	"opprof/testdata"
	"opprof/traces/family"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedEnv); dir != "" {
		exportAndHang(dir)
	}
	goleak.VerifyTestMain(m)
}

// run makes a run of a recording: its records and its traces.
func run(t testing.TB, name string) Source {
	t.Helper()
	data, err := testdata.Recording(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	stream := filepath.Join(dir, "opprof-v1-dp0-pid1-1.jsonl")
	if err := os.WriteFile(stream, data, 0o600); err != nil {
		t.Fatal(err)
	}
	rules, err := family.Default()
	if err != nil {
		t.Fatal(err)
	}
	s := Source{Run: name, Path: dir, Streams: []string{stream}, Rules: rules}
	return s
}

// addTraces puts recorded traces into a run.
func addTraces(t testing.TB, s *Source, pattern string) {
	t.Helper()
	packed, err := filepath.Glob(filepath.Join("..", "..", "testdata", "traces", s.Run, pattern))
	if err != nil || len(packed) == 0 {
		t.Fatal("no traces", err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, path := range packed {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if data, err = z.DecodeAll(data, nil); err != nil {
			t.Fatal(err)
		}
		trace := filepath.Join(s.Path, strings.TrimSuffix(filepath.Base(path), ".zst"))
		if err := os.WriteFile(trace, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s.Traces = append(s.Traces, trace)
	}
}

func exported(t testing.TB, dir string, s Source) (dataset.Manifest, Summary) {
	t.Helper()
	to, err := dataset.Open(dir, Tables()...)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	m, sum, err := Parquet(context.Background(), to, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m, sum
}

// paths are where a column's value stands in a step line; a column that is not here is derived.
func paths() map[string]string {
	out := map[string]string{"chunk_tail_hist": "chunk_tail_hist", "chunk_size_hist": "chunked_prefill.chunk_size_hist", "chunk_unsplit_tokens": "chunked_prefill.unsplit_tokens",
		"cudagraph_mode": "cudagraph.runtime_mode"}
	for _, name := range []string{"step_index", "submit_wall_ns", "submit_mono_ns", "complete_mono_ns", "model_executed", "scheduled_requests", "decode_batch_size", "prefill_requests",
		"prefill_tokens", "decode_tokens", "resumed_requests", "recompute_tokens", "context_length_hist", "preemptions", "dropped_records_before"} {
		out[name] = name
	}
	for _, group := range []struct{ column, field, names string }{
		{"chunk_", "chunked_prefill.", "first middle final unsplit tokens"},
		{"queue_", "queues.", "running waiting deferred"},
		{"kv_", "kv.", "total_blocks free_blocks used_blocks usage"},
		{"prefix_local_", "prefix.local.", "requests queries hits preempted_requests preempted_queries preempted_hits"},
		{"prefix_external_", "prefix.external.", "requests queries hits preempted_requests preempted_queries preempted_hits"},
		{"cudagraph_", "cudagraph.", "hit unpadded_tokens bucket_tokens padding_tokens"},
	} {
		for _, name := range strings.Fields(group.names) {
			out[group.column+name] = group.field + name
		}
	}
	return out
}

// at looks a path up in a JSON object; nil where it is absent or null.
func at(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[name]
	}
	return v
}

// asCell is a JSON value as a table holds it.
func asCell(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		var out []int64
		for _, e := range v {
			n, _ := e.(json.Number).Int64()
			out = append(out, n)
		}
		return out
	}
	return v
}

// The steps table is compared with what encoding/json reads of every line, field by field, and its derived columns with their definitions.
func TestStepsAreWhatTheLinesSay(t *testing.T) {
	fields := paths()
	for _, name := range []string{"h200-tp1", "h200-tp2-eager"} { // the first has a gap, preemptions and every graph mode
		s, dir := run(t, name), t.TempDir()
		_, sum := exported(t, dir, s)
		got := read(t, dir, "steps")
		data, err := os.ReadFile(s.Streams[0])
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		var last map[string]int64
		for i, text := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
			d := json.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			var line map[string]any
			if err := d.Decode(&line); err != nil {
				t.Fatal(err)
			}
			if _, typed := line["type"]; typed {
				continue
			}
			for column, path := range fields {
				want := asCell(at(line, path))
				if f, ok := got[column][n].(float64); ok { // a whole share is an integer in JSON
					if w, ok := want.(int64); ok && f == float64(w) {
						continue
					}
				}
				if fmt.Sprint(got[column][n]) != fmt.Sprint(want) {
					t.Fatalf("%s, line %d: %s is %v in the table and %v in the line", name, i+1, column, got[column][n], want)
				}
			}
			last = derived(t, got, n, i+1, last)
			n++
		}
		if int64(n) != sum.Steps || len(got["step_index"]) != n {
			t.Errorf("%s: %d steps in the lines, %d told, %d in the table", name, n, sum.Steps, len(got["step_index"]))
		}
	}
}

// derived checks the columns that need the neighbours, by their definition.
func derived(t *testing.T, got cells, n, line int, last map[string]int64) map[string]int64 {
	t.Helper()
	now := map[string]int64{}
	for _, name := range []string{"step_index", "submit_mono_ns", "complete_mono_ns", "submit_wall_ns"} {
		now[name] = got[name][n].(int64)
	}
	want, gap := any(nil), false
	if last != nil {
		now["offset"] = last["offset"]
		gap = now["step_index"] != last["step_index"]+1 || got["dropped_records_before"][n].(int64) > 0
		if !gap {
			want = now["complete_mono_ns"] - max(last["complete_mono_ns"], now["submit_mono_ns"])
		}
	} else {
		now["offset"] = now["submit_wall_ns"] - now["submit_mono_ns"]
	}
	for column, want := range map[string]any{"period_ns": want, "gap": gap, "time_ns": now["complete_mono_ns"] + now["offset"],
		"submit_to_complete_ns": now["complete_mono_ns"] - now["submit_mono_ns"], "line": int64(line)} {
		if got[column][n] != want {
			t.Fatalf("step %d: %s is %v, want %v", now["step_index"], column, got[column][n], want)
		}
	}
	return now
}

func TestWindowsAreThoseOfTheScreen(t *testing.T) {
	s, dir := run(t, "h200-tp2"), t.TempDir()
	addTraces(t, &s, "*.17960038511*")
	m, sum := exported(t, dir, s)
	windows, iterations, families := read(t, dir, "windows"), read(t, dir, "iterations"), read(t, dir, "families")
	if n := int64(len(windows["window"])); n != sum.Windows || n == 0 {
		t.Fatalf("%d windows, told %d", n, sum.Windows)
	}
	verified := slices.Index(windows["state"], any("verified"))
	if verified < 0 {
		t.Fatalf("no window is verified: %v %v", windows["state"], windows["reason"])
	}
	// A family's device time of an iteration and rank adds up to the rank's.
	sums := map[[3]any]int64{}
	for i := range families["family"] {
		sums[[3]any{families["window"][i], families["iteration"][i], families["rank"][i]}] += families["sum_ns"][i].(int64)
	}
	for i := range iterations["window"] {
		key := [3]any{iterations["window"][i], iterations["iteration"][i], iterations["rank"][i]}
		if sums[key] != iterations["sum_ns"][i].(int64) {
			t.Errorf("window, iteration, rank %v: the families add up to %d, the rank has %d", key, sums[key], iterations["sum_ns"][i])
		}
	}
	// The iterations' periods are those of their steps.
	steps := read(t, dir, "steps")
	for i, index := range iterations["step_index"] {
		at := slices.Index(steps["step_index"], index)
		if at < 0 || steps["period_ns"][at] != iterations["period_ns"][i] {
			t.Errorf("iteration of step %v: period %v, the step is at %d", index, iterations["period_ns"][i], at)
		}
	}
	// Its export is what the step behind it took longer than its own steps; of windows without labels it is not known.
	span := func(index int64) int64 {
		return steps["submit_to_complete_ns"][slices.Index(steps["step_index"], any(index))].(int64)
	}
	for i, stall := range windows["stall_ns"] {
		if windows["state"][i] != "verified" {
			if stall != nil {
				t.Errorf("window %v is %v, and its export took %v ns", windows["window"][i], windows["state"][i], stall)
			}
			continue
		}
		var own []int64
		for step := windows["first_step"][i].(int64); step < windows["last_step"][i].(int64); step++ {
			own = append(own, span(step))
		}
		slices.Sort(own)
		if want := span(windows["last_step"][i].(int64)+1) - own[(len(own)-1)/2]; stall != want || want < 1e9 {
			t.Errorf("window %v: its export took %v ns, want %d", windows["window"][i], stall, want)
		}
	}
	for _, f := range m.Files {
		if f.Rows == 0 || f.Bytes == 0 {
			t.Errorf("%s has %d rows, %d bytes", f.Path, f.Rows, f.Bytes)
		}
	}
}

func TestBadLinesAreEvents(t *testing.T) {
	s, dir := run(t, "h200-tp2-eager"), t.TempDir()
	data, err := os.ReadFile(s.Streams[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines[5] = []byte("{\"schema\":1,\x00\n")
	lines = append(lines, []byte(`{"schema":1,"engine_id":"dp0`))
	if err := os.WriteFile(s.Streams[0], bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	_, sum := exported(t, dir, s)
	if sum.BadLines != 1 || sum.Torn != 1 || !strings.Contains(sum.FirstBad, ":6") {
		t.Errorf("%+v", sum)
	}
	events := read(t, dir, "events")
	for _, want := range []struct {
		kind string
		line int64
	}{{"header", 1}, {"bad", 6}, {"torn", int64(len(lines) - 1)}} {
		i := slices.Index(events["kind"], any(want.kind))
		if i < 0 || events["line"][i] != want.line {
			t.Errorf("%s: %v in lines %v, want line %d", want.kind, events["kind"], events["line"], want.line)
		}
	}
	// The step behind the lost one has a gap before it: its period is unknown.
	steps := read(t, dir, "steps")
	at := slices.Index(steps["line"], any(int64(7)))
	if at < 0 || steps["period_ns"][at] != nil || steps["gap"][at] != true {
		t.Errorf("the step of line 7 has period %v, gap %v", steps["period_ns"][at], steps["gap"][at])
	}
}

// Many engines in one stream keep memory and files bounded, and every step arrives.
func TestEnginesOfOneStream(t *testing.T) {
	s, dir := run(t, "h200-tp2-eager"), t.TempDir()
	data, err := os.ReadFile(s.Streams[0])
	if err != nil {
		t.Fatal(err)
	}
	var mixed bytes.Buffer
	const engines = openEngines + 6
	n := int64(0)
	for i, line := range bytes.SplitAfter(data, []byte("\n"))[:2*engines+20] {
		if bytes.Contains(line, []byte(`"type"`)) {
			continue
		}
		n++
		start := bytes.Index(line, []byte(`"engine_id":"`)) + len(`"engine_id":"`)
		end := start + bytes.IndexByte(line[start:], '"')
		fmt.Fprintf(&mixed, "%sdp%d-pid/../%d=%s", line[:start], i%engines, i%engines, line[end:])
	}
	if err := os.WriteFile(s.Streams[0], mixed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	m, sum := exported(t, dir, s)
	got := read(t, dir, "steps")
	if int64(len(got["step_index"])) != n || sum.Steps != n {
		t.Errorf("%d steps, told %d, of %d", len(got["step_index"]), sum.Steps, n)
	}
	names := map[string]bool{}
	for _, f := range m.Files {
		names[f.Engine] = true
		if !filepath.IsLocal(f.Path) || strings.Contains(f.Path, "..") && strings.Count(f.Path, "/") != 4 {
			t.Errorf("a file is called %s", f.Path)
		}
	}
	if len(names) != engines {
		t.Errorf("%d engines, want %d", len(names), engines)
	}
}

func TestACancelledExportLeavesNothing(t *testing.T) {
	s, dir := run(t, "h200-tp1"), t.TempDir()
	to, err := dataset.Open(dir, Tables()...)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	ctx, cancel := context.WithCancel(context.Background())
	_, _, err = Parquet(ctx, to, s, func(done, _ int64) {
		if done > 0 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v: want the lock alone", entries, err)
	}
}

func TestNothingToExport(t *testing.T) {
	s, dir := run(t, "h200-tp1"), t.TempDir()
	s.Streams, s.Traces = nil, nil
	to, err := dataset.Open(dir, Tables()...)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if _, _, err := Parquet(context.Background(), to, s, nil); err == nil || !strings.Contains(err.Error(), "neither records nor traces") {
		t.Errorf("an empty run: %v", err)
	}
}
