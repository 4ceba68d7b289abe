package verify

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opprof/engine/window"
	"opprof/traces/family"
)

const base = 1_796_000_000_000_000_000

// trace writes a trace of one rank whose labels are decode steps of the batch sizes given.
func trace(t *testing.T, dir, name string, batches ...int) string {
	t.Helper()
	var events []map[string]any
	for i, n := range batches {
		events = append(events, map[string]any{"ph": "X", "cat": "user_annotation", "name": fmt.Sprintf("execute_context_0(0)_generation_%d(%d)", n, n),
			"pid": 1, "tid": 1, "ts": i * 10_000, "dur": 900})
	}
	text, err := json.Marshal(map[string]any{"baseTimeNanoseconds": base, "traceEvents": events})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name+".1796000000000000000.pt.trace.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// engine saw decode steps of the batch sizes given, from step 101 on.
func engine(id string, batches ...int64) window.EngineWindow {
	e := window.EngineWindow{ID: id, AfterStep: 100}
	for i, n := range batches {
		e.Steps = append(e.Steps, window.LabelledStep{Index: 101 + int64(i), DecodeRequests: n, DecodeTokens: n, SubmitWallNS: base + int64(i)*10_000_000 - 1000})
	}
	return e
}

func TestWhatIsVerified(t *testing.T) {
	rules, err := family.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		traces  map[string][]int
		engines []window.EngineWindow
		ranks   int
		want    string // "" is no problem
	}{
		{"one rank", map[string][]int{"rank0": {1, 2, 3}}, []window.EngineWindow{engine("dp0-pid1", 1, 2, 3)}, 1, ""},
		{"a CPU worker's name", map[string][]int{"17-rank-0": {1, 2, 3}}, []window.EngineWindow{engine("dp0-pid1", 1, 2, 3)}, 1, ""},
		{"two ranks", map[string][]int{"dp0_pp0_tp0_dcp0_ep0_rank0": {4, 4}, "dp0_pp0_tp1_dcp0_ep1_rank1": {4, 4}},
			[]window.EngineWindow{engine("dp0-pid1", 4, 4)}, 2, ""},
		{"a step that is another", map[string][]int{"rank0": {1, 2, 9}}, []window.EngineWindow{engine("dp0-pid1", 1, 2, 3)}, 1, "labels and steps: "},
		{"ranks that differ", map[string][]int{"dp0_pp0_tp0_dcp0_ep0_rank0": {4, 4}, "dp0_pp0_tp1_dcp0_ep1_rank1": {4, 5}},
			[]window.EngineWindow{engine("dp0-pid1", 4, 4)}, 2, "differs from that of"},
		{"a step is not recorded", map[string][]int{"rank0": {1, 2, 3}}, []window.EngineWindow{engine("dp0-pid1", 1, 2)}, 1, "labels and steps: "},
		{"no marker", map[string][]int{"rank0": {1}}, nil, 1, "no engine has recorded"},
		{"no step", map[string][]int{"rank0": {1}}, []window.EngineWindow{engine("dp0-pid1")}, 1, "has recorded no step"},
		{"two engines", map[string][]int{"dp0_pp0_tp0_dcp0_ep0_rank0": {1, 2}, "dp1_pp0_tp0_dcp0_ep1_rank1": {5, 6}},
			[]window.EngineWindow{engine("dp0-pid1", 1, 2), engine("dp1-pid2", 5, 6)}, 2, ""},
		{"engines mixed up", map[string][]int{"dp0_pp0_tp0_dcp0_ep0_rank0": {5, 6}, "dp1_pp0_tp0_dcp0_ep1_rank1": {1, 2}},
			[]window.EngineWindow{engine("dp0-pid1", 1, 2), engine("dp1-pid2", 5, 6)}, 2, "labels and steps: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			var paths []string
			for name, batches := range c.traces {
				paths = append(paths, trace(t, dir, name, batches...))
			}
			found, err := Window(t.Context(), rules, window.Window{Engines: c.engines}, paths)
			if err != nil || len(found.Ranks) != c.ranks {
				t.Fatalf("%+v, %v", found, err)
			}
			said := strings.Join(found.Problems, "; ")
			if (c.want == "") != (said == "") || !strings.Contains(said, c.want) {
				t.Errorf("problems %q, want %q", said, c.want)
			}
		})
	}
}

func TestFilesThatAreNoTraces(t *testing.T) {
	rules, err := family.Default()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	whole := trace(t, dir, "rank0", 1, 2, 3)
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "rank1.2.pt.trace.json")
	if err := os.WriteFile(cut, text[:len(text)-30], 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "rank2.3.pt.trace.json")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := Window(t.Context(), rules, window.Window{Engines: []window.EngineWindow{engine("dp0-pid1", 1, 2, 3)}}, []string{whole, cut, empty})
	said := strings.Join(found.Problems, "\n")
	if err != nil || !strings.Contains(said, "rank1.2.pt.trace.json") || !strings.Contains(said, "rank2.3.pt.trace.json") {
		t.Errorf("%v: %s", err, said)
	}
}

// TestALooseWindow: labels may begin behind the first step and end before the last, and which steps they are of is told.
func TestALooseWindow(t *testing.T) {
	rules, err := family.Default()
	if err != nil {
		t.Fatal(err)
	}
	trace := trace(t, t.TempDir(), "rank0", 5, 6, 7)
	w := window.Window{Engines: []window.EngineWindow{engine("dp0-pid1", 3, 4, 5, 6, 7, 8)}}
	for _, loose := range []bool{false, true} {
		w.Loose = loose
		found, err := Window(t.Context(), rules, w, []string{trace})
		if err != nil || (len(found.Problems) == 0) != loose {
			t.Errorf("loose %t: %+v, %v", loose, found, err)
		}
		if got, ok := found.Labelled["dp0-pid1"]; ok != loose || loose && got != (window.Labelled{First: 103, Last: 105, Whole: true}) {
			t.Errorf("loose %t: labelled %v", loose, found.Labelled)
		}
	}
}
