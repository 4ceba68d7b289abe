package rundir

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestManifestRoundTrip(t *testing.T) {
	dir, yes, s, w := t.TempDir(), true, 3.5, 700.0
	want := &Manifest{
		Schema: ManifestSchema, ID: "id", Versions: map[string]string{"vllm": "0.24.0"}, Model: Model{Name: "M"},
		Parallel: Parallel{TP: 4, DP: 2, PP: 1}, Argv: []string{"vllm", "serve"}, Env: map[string]string{"A": "b"},
		GPUs:  []GPU{{UUID: "GPU-1", Name: "H20", Clocks: map[string]int64{"sm": 1980}, PowerCap: &w}},
		Cache: Cache{Prefix: &yes, CompileS: &s}, Windows: []ManifestWindow{{N: 1, State: "verified"}}, Exit: &Exit{State: "stopped"},
	}
	if err := WriteManifest(dir, want); err != nil {
		t.Fatal(err)
	}
	got, problems := ReadManifest(dir)
	if len(problems) != 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %q", got, problems)
	}
	st, err := os.Stat(filepath.Join(dir, ManifestName))
	if err != nil || st.Mode().Perm() != FileMode {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestManifestFaults(t *testing.T) {
	for _, c := range []struct {
		name, text string
		problem    string // "" for none
		id         string // what is still known
	}{
		{"unknown fields", `{"id":"x","later":{"a":[1]},"schema":1}`, "", "x"},
		{"one field of another type", `{"argv":"not a list","id":"x"}`, `field "argv"`, "x"},
		{"two fields of another type", `{"argv":1,"gpus":7,"id":"x"}`, `field "gpus"`, "x"},
		{"newer schema", `{"schema":2,"id":"x"}`, "use a newer opprof", "x"},
		{"nulls", `{"id":null,"gpus":null,"exit":null}`, "", ""},
		{"cut", `{"id":"x","ar`, "expected a JSON object", ""},
		{"empty", ``, "expected a JSON object", ""},
		{"zeros", "\x00\x00\x00", "expected a JSON object", ""},
		{"null", `null`, "found null", ""},
		{"a list", `[]`, "expected a JSON object", ""},
		{"deep", `{"id":` + strings.Repeat("[", 20000), "expected a JSON object", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, map[string]string{ManifestName: c.text, "layer1/a.jsonl": stream})
			r, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if c.problem == "" && len(r.Problems) > 0 || c.problem != "" && !strings.Contains(strings.Join(r.Problems, "\n"), c.problem) {
				t.Errorf("problems %q, want %q", r.Problems, c.problem)
			}
			if c.id != "" && r.ID != c.id {
				t.Errorf("id %q, want %q", r.ID, c.id)
			}
			if len(r.Streams) != 1 {
				t.Errorf("streams %q", r.Streams)
			}
		})
	}
}

func TestWriteAtomicLeavesTheOldFile(t *testing.T) {
	dir := tree(t, map[string]string{"f": "old"})
	fault := errors.New("disk full")
	err := WriteAtomic(filepath.Join(dir, "f"), func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		return fault
	})
	if !errors.Is(err, fault) || !strings.Contains(err.Error(), "cannot write") {
		t.Errorf("error %v", err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "f")); string(text) != "old" {
		t.Errorf("file now holds %q", text)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"schema":1,"id":"x","gpus":[{"uuid":"u"}],"exit":{"state":"s"}}`))
	f.Add([]byte(`{"argv":{},"env":[]}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, problems := decodeManifest("run.json", data)
		if m == nil && len(problems) == 0 {
			t.Error("no manifest and no reason")
		}
		if m != nil && !json.Valid(data) {
			t.Error("a manifest out of invalid JSON")
		}
	})
}

func TestExit(t *testing.T) {
	for want, e := range map[string]Exit{
		"stopped: ordered by a client": {State: "stopped", Reason: "stopped: ordered by a client"},
		"failed: out of memory":        {State: "failed", Reason: "out of memory"},
		"stopped":                      {State: "stopped"},
	} {
		if got := e.String(); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
}
