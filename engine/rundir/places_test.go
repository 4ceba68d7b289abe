package rundir

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestPlaces(t *testing.T) {
	dir := func(n int) string { return "/" + strings.Repeat("d", n-1) }
	const tail = len("/opprof/id.sock")
	check := func(env, want string, place func(Places) (string, error)) {
		t.Helper()
		vars := map[string]string{}
		for _, kv := range strings.Fields(env) {
			k, v, _ := strings.Cut(kv, "=")
			vars[k] = v
		}
		got, err := place(Places{Env: func(k string) string { return vars[k] }, UID: 1000})
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want && !(strings.HasSuffix(want, "…") && strings.HasPrefix(got, strings.TrimSuffix(want, "…"))) {
			t.Errorf("%s: got %q, want %q", env, got, want)
		}
	}
	socket := func(p Places) (string, error) { return p.Socket("id") }
	check("OPPROF_RUNS=/r/ HOME=/h", "/r", Places.Runs)
	check("XDG_STATE_HOME=/s HOME=/h", "/s/opprof/runs", Places.Runs)
	check("XDG_STATE_HOME=relative HOME=/h", "/h/.local/state/opprof/runs", Places.Runs)
	check("", "error: cannot place runs: …", Places.Runs)
	check("XDG_RUNTIME_DIR=/run/user/1000", "/run/user/1000/opprof/id.sock", socket)
	check("HOME=/h", "/tmp/opprof-1000/id.sock", socket)
	check("XDG_RUNTIME_DIR="+dir(107-tail), dir(107-tail)+"/opprof/id.sock", socket)
	check("XDG_RUNTIME_DIR="+dir(108-tail), "/tmp/opprof-1000/id.sock", socket)
	check("HOME=/h", "/h/.cache/opprof/index", Places.IndexCache)
	check("XDG_CACHE_HOME=/c", "/c/opprof/overlay/0.24.0-p-s", func(p Places) (string, error) { return p.Overlay("0.24.0", "p", "s") })
	check("XDG_CONFIG_HOME=/c", "/c/opprof/config.toml", Places.Preferences)
	for _, id := range []string{"", ".", "..", "a/b", "a\x00"} {
		check("HOME=/h", "error: run id …", func(p Places) (string, error) { return p.Socket(id) })
	}
	check("HOME=/h", "error: cannot place socket: …", func(p Places) (string, error) { return p.Socket(strings.Repeat("x", 100)) })
}

func TestNewID(t *testing.T) {
	day := time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC)
	for model, want := range map[string]string{
		"Qwen/Qwen3-30B-A3B": `^20260309-Qwen3-30B-A3B-tp2-[0-9a-f]{4}$`,
		"/models/my model!/": `^20260309-mymodel-tp2-[0-9a-f]{4}$`,
		"..":                 `^20260309-model-tp2-[0-9a-f]{4}$`,
		"":                   `^20260309-model-tp2-[0-9a-f]{4}$`,
	} {
		if got := NewID(day, model, 2); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("NewID(%q) = %q, want %s", model, got, want)
		}
	}
}

func TestStreamName(t *testing.T) {
	for _, c := range []struct {
		path, base string
		age        int
		ok         bool
	}{
		{"d/a.jsonl", "d/a.jsonl", 0, true},
		{"d/a.jsonl.gz", "d/a.jsonl", 0, true},
		{"d/a.jsonl.3", "d/a.jsonl", 3, true},
		{"d/a.jsonl.3.zst", "d/a.jsonl", 3, true},
		{"d/a.jsonl.opidx", "", 0, false},
		{"d/a.jsonl.tmp", "", 0, false},
		{"d/a.json", "", 0, false},
		{"d/a.gz", "", 0, false},
		{"d/.jsonl", "", 0, false},
		{"d/journal.jsonl", "", 0, false},
		{"d/journal.jsonl.1", "", 0, false},
		{"d/a.1", "", 0, false},
	} {
		base, age, ok := StreamName(c.path)
		if ok != c.ok || ok && (base != c.base || age != c.age) {
			t.Errorf("StreamName(%q) = %q, %d, %v", c.path, base, age, ok)
		}
	}
}
