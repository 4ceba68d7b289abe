package rundir

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const stream = `{"schema":1}` + "\n"

// tree makes the named files under a new folder; a name that ends in / is a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, DirMode); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), DirMode); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), FileMode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func relative(t *testing.T, dir string, paths []string) string {
	t.Helper()
	names := make([]string, len(paths))
	for i, p := range paths {
		name, err := filepath.Rel(dir, p)
		if err != nil {
			t.Fatal(err)
		}
		names[i] = name
	}
	return strings.Join(names, " ")
}

func TestOpenFindsWhatIsThere(t *testing.T) {
	const engine0, engine1 = "layer1/opprof-v1-dp0-pid7-1.jsonl", "layer1/opprof-v1-dp1-pid8-1.jsonl"
	trace := "kineto/dp0_rank0.17.pt.trace.json.gz"
	for _, c := range []struct {
		name, open      string
		files           []string
		streams, traces string
		log             bool
	}{
		{"run folder", "run", []string{"run/run.json", "run/journal.jsonl", "run/server.log", "run/" + engine1, "run/" + engine0, "run/" + trace},
			"run/" + engine0 + " run/" + engine1, "run/" + trace, true},
		{"run folder without manifest", "run", []string{"run/" + engine0}, "run/" + engine0, "", false},
		{"run folder before its first stream", "run", []string{"run/layer1/", "run/server.log"}, "", "", true},
		{"layer1 folder of a run", "run/layer1", []string{"run/" + engine0, "run/server.log", "run/" + trace}, "run/" + engine0, "run/" + trace, true},
		{"layer1 folder of nothing", "x/layer1", []string{"x/" + engine0, "x/b.pt.trace.json"}, "x/" + engine0, "", false},
		{"empty layer1 folder", "x/layer1", []string{"x/layer1/"}, "", "", false},
		{"one stream", "a.jsonl", []string{"a.jsonl", "b.jsonl"}, "a.jsonl", "", false},
		{"one gzip stream", "a.jsonl.gz", []string{"a.jsonl.gz", "a.jsonl"}, "a.jsonl.gz", "", false},
		{"one zstd stream", "a.jsonl.zst", []string{"a.jsonl.zst"}, "a.jsonl.zst", "", false},
		{"a stream of another name", "steps.log", []string{"steps.log"}, "steps.log", "", false},
		{"one trace", "r.pt.trace.json", []string{"r.pt.trace.json", "b.jsonl"}, "", "r.pt.trace.json", false},
		{"bare folder, deep", "x", []string{"x/a/b/c/s.jsonl"}, "x/a/b/c/s.jsonl", "", false},
		{"bare folder, two streams", "x", []string{"x/b.jsonl.zst", "x/a.jsonl"}, "x/a.jsonl x/b.jsonl.zst", "", false},
		{"only traces", "x", []string{"x/r1.pt.trace.json.gz", "x/sub/r0.pt.trace.json", "x/other.json"}, "", "x/r1.pt.trace.json.gz x/sub/r0.pt.trace.json", false},
		{"recorder's streams win over other JSONL", "run", []string{"run/" + engine0, "run/layer1/notes.jsonl"}, "run/" + engine0, "", false},
		{"plain wins over its compressed twin", "x", []string{"x/a.jsonl", "x/a.jsonl.gz", "x/a.jsonl.zst"}, "x/a.jsonl", "", false},
		{"rotated parts, oldest first", "x", []string{"x/a.jsonl", "x/a.jsonl.1", "x/a.jsonl.10.gz", "x/a.jsonl.2.gz"},
			"x/a.jsonl.10.gz x/a.jsonl.2.gz x/a.jsonl.1 x/a.jsonl", "", false},
		{"load generator's JSONL is no stream", "run", []string{"run/" + engine0, "run/bench/requests.jsonl", "run/journal.jsonl"}, "run/" + engine0, "", false},
		{"streams in the run's root", "run", []string{"run/run.json", "run/s.jsonl"}, "run/s.jsonl", "", false},
		{"a folder around one run", "x", []string{"x/run/" + engine0}, "x/run/" + engine0, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{}
			for _, f := range c.files {
				files[f] = stream
			}
			dir := tree(t, files)
			r, err := Open(filepath.Join(dir, c.open))
			if err != nil {
				t.Fatal(err)
			}
			if got := relative(t, dir, r.Streams); got != c.streams {
				t.Errorf("streams %q, want %q", got, c.streams)
			}
			if got := relative(t, dir, r.Traces); got != c.traces {
				t.Errorf("traces %q, want %q", got, c.traces)
			}
			if (r.ServerLog != "") != c.log {
				t.Errorf("server log %q, want one: %v", r.ServerLog, c.log)
			}
			again, err := r.ListStreams()
			if err != nil || strings.Join(again, " ") != strings.Join(r.Streams, " ") {
				t.Errorf("listed again: %q, %v, want %q", again, err, r.Streams)
			}
		})
	}
}

func TestOpenRefusesWithAWayOut(t *testing.T) {
	dir := tree(t, map[string]string{
		"empty/": "", "text.txt": "hello", "file/a.jsonl": stream,
		"runs/one/layer1/a.jsonl": stream, "runs/two/run.json": "{}",
	})
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ open, wants string }{
		{"", "no path given"},
		{filepath.Join(dir, "nothing"), "does not exist; name a run folder"},
		{filepath.Join(dir, "empty"), "looked 3 levels down for run.json"},
		{filepath.Join(dir, "text.txt"), "not a Layer-1 stream"},
		{filepath.Join(dir, "file", "a.jsonl", "b"), "not a directory"},
		{filepath.Join(dir, "runs"), "holds 2 runs (one, two); name one"},
		{filepath.Join(dir, "loop"), "too many"},
		{os.DevNull, "neither a file nor a folder"},
	} {
		if _, err := Open(c.open); err == nil || !strings.Contains(err.Error(), c.wants) || !strings.HasPrefix(err.Error(), "cannot open run: ") {
			t.Errorf("Open(%q) = %v, want %q", c.open, err, c.wants)
		}
	}
}

func TestListStreamsSeesNewFiles(t *testing.T) {
	dir := tree(t, map[string]string{"layer1/": ""})
	r, err := Open(dir)
	if err != nil || len(r.Streams) != 0 {
		t.Fatalf("%v, %v", r, err)
	}
	path := filepath.Join(dir, "layer1", "opprof-v1-dp0-pid1-1.jsonl")
	if err := os.WriteFile(path, []byte(stream), FileMode); err != nil {
		t.Fatal(err)
	}
	if got, err := r.ListStreams(); err != nil || !reflect.DeepEqual(got, []string{path}) {
		t.Errorf("got %q, %v", got, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := r.ListStreams(); err == nil {
		t.Errorf("a vanished run lists %q and no error", got)
	}
}

func TestDescribe(t *testing.T) {
	dir := tree(t, map[string]string{
		"layer1/a.jsonl": stream, "kineto/r.pt.trace.json": "{}",
		"run.json": `{"schema":1,"id":"the-id","model":{"name":"M"},"versions":{"vllm":"0.24.0"},"parallel":{"tp":2,"dp":1,"pp":1,"ep":true},"cache":{"prefix":false},"exit":{"state":"stopped"}}`,
	})
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := r.Describe()
	if d.ID != "the-id" || d.Model != "M" || d.VLLMVersion != "0.24.0" || d.TensorParallel != 2 || !d.ExpertParallel || d.Kind != "finished" ||
		d.PrefixCaching == nil || *d.PrefixCaching || len(d.Streams) != 1 || d.Streams[0].Bytes != int64(len(stream)) ||
		!reflect.DeepEqual(d.Traces, []string{"kineto/r.pt.trace.json"}) || len(d.Problems) != 0 {
		t.Errorf("%+v", d)
	}
}

// The name of a model is the one that it is served by; what was loaded is kept beside it.
func TestServes(t *testing.T) {
	for _, tt := range []struct{ name, records, model, path string }{
		{"tiny", "/models/tiny", "tiny", "/models/tiny"},
		{"tiny", "tiny", "tiny", ""},
		{"", "/models/tiny", "/models/tiny", ""},
		{"tiny", "", "tiny", ""},
	} {
		d := Description{Model: tt.name}
		d.Serves(tt.records)
		if d.Model != tt.model || d.ModelPath != tt.path {
			t.Errorf("%q, records %q: %q from %q, want %q from %q", tt.name, tt.records, d.Model, d.ModelPath, tt.model, tt.path)
		}
	}
}

// A run that began last stands first, whatever the names; the journal's word goes before the streams'.
func TestListOrdersByBeginning(t *testing.T) {
	root := tree(t, map[string]string{
		"tp1-eager/layer1/dp0.jsonl": `{"kind":"header","start_wall_ns":200}` + "\n" + `{"kind":"step"}` + "\n",
		"tp1-eager/layer1/dp1.jsonl": `{"kind":"header","start_wall_ns":190}` + "\n",
		"20260101-a/journal.jsonl":   `{"seq":1,"wall_ns":300}` + "\n" + `{"seq":2,"wall_ns":900}` + "\n",
		"20260101-a/layer1/x.jsonl":  `{"start_wall_ns":1}` + "\n",
		"zz-broken/journal.jsonl":    `{"seq":1,"wall_ns":` + "\n",
		"zz-torn/layer1/x.jsonl":     `{"start_wall_ns":999`,
		"zy/layer1/":                 "",
		"camp/campaign.toml":         "", "camp/journal.jsonl": `{"seq":1,"wall_ns":5000}` + "\n",
		"camp/runs/later/journal.jsonl": `{"seq":1,"wall_ns":250}` + "\n",
	})
	runs, err := List(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range runs {
		got = append(got, fmt.Sprintf("%s %d", r.ID, r.BeganNS))
	}
	if want := "20260101-a 300, later 250, tp1-eager 190, zz-torn 0, zz-broken 0, zy 0"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, ", "), want)
	}
}

func TestListOrdersRunsAndCampaigns(t *testing.T) {
	root := tree(t, map[string]string{
		"20260101-a/run.json": `{"id":"20260101-a"}`, "20260301-b/layer1/": "", "notes/x.txt": "",
		"camp/campaign.toml": "", "camp/journal.jsonl": "", "camp/runs/20260201-c/run.json": "{",
	})
	runs, err := List(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range runs {
		got = append(got, r.Campaign+"/"+r.ID)
	}
	if want := "/20260301-b camp/20260201-c /20260101-a"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if runs[1].Manifest != nil || len(runs[1].Problems) != 1 {
		t.Errorf("broken manifest: %+v", runs[1])
	}
	if none, err := List(filepath.Join(root, "none")); len(none) != 0 || err != nil {
		t.Errorf("missing root: %v, %v", none, err)
	}
}
