package runner

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"opprof/engine/serverconf"
)

func TestKernelsThatTritonCompiles(t *testing.T) {
	root := t.TempDir()
	from := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	to := from.Add(time.Minute)
	entry := func(at time.Time, path ...string) {
		t.Helper()
		dir := filepath.Join(append([]string{root}, path...)...)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
	}
	entry(from.Add(-time.Second), "home", ".triton", "cache", "EARLIER")
	entry(from, "home", ".triton", "cache", "FIRST")
	entry(to, "home", ".triton", "cache", "LAST")
	entry(to.Add(time.Second), "home", ".triton", "cache", "LATER")
	entry(from.Add(time.Second), "own", "A")
	entry(from.Add(time.Second), "torch", "ab12", "rank_0_0", "triton_cache", "A")
	entry(from.Add(time.Second), "torch", "ab12", "rank_1_0", "triton_cache", "A")
	entry(from.Add(time.Second), "torch", "ab12", "rank_1_0", "triton_cache", "B")
	entry(from.Add(time.Second), "torch", "ab12", "rank_0_0", "inductor_cache", "C")
	entry(from.Add(time.Second), "torch", "other", "rank_0_0", "triton_cache", "C")
	file := filepath.Join(root, "own", "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, from, from); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "server.log")
	line := "(EngineCore pid=9) INFO 11-30 07:51:21 [backends.py:1089] Using cache directory: " + filepath.Join(root, "torch", "ab12", "rank_0_0", "backbone") + " for vLLM's torch.compile\n"
	if err := os.WriteFile(path, []byte("ready\n"+line+line), 0o600); err != nil {
		t.Fatal(err)
	}
	cold, log, err := compilation(path)
	if err != nil || cold || len(log) != 2 {
		t.Fatalf("cold %t, caches %v: %v", cold, log, err)
	}
	home := "HOME=" + filepath.Join(root, "home")
	for name, c := range map[string]struct {
		environ []string
		env     map[string]string
		log     []string // compile caches that it names
		want    int
	}{
		"at home":                     {[]string{home}, nil, nil, 2},
		"at home and beside graphs":   {[]string{home}, nil, log, 5},
		"where the environment says":  {[]string{home, "TRITON_CACHE_DIR=/nowhere", "TRITON_CACHE_DIR=" + filepath.Join(root, "own")}, nil, nil, 1},
		"where the file says":         {[]string{home}, map[string]string{"TRITON_CACHE_DIR": filepath.Join(root, "own")}, log, 4},
		"below a home of its own":     {[]string{"HOME=/nowhere"}, map[string]string{"TRITON_HOME": filepath.Join(root, "home")}, nil, 2},
		"in a cache that nobody made": {[]string{"HOME=/nowhere"}, nil, []string{filepath.Join(root, "none", "rank_0_0", "backbone")}, 0},
	} {
		h := &host{environ: c.environ}
		if got := h.Compiled(serverconf.Server{Env: c.env}, c.log, from, to); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestACompilationBeforeALineThatCannotBeRead: what was read before the damage counts.
func TestACompilationBeforeALineThatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.log")
	line := "(EngineCore pid=1) INFO 11-30 04:01:00 [backends.py:393] Compiling a graph for compile range (1, 8192) takes 12.34 s\n"
	if err := os.WriteFile(path, append([]byte(line), make([]byte, 2<<20)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if cold, _, err := compilation(path); !cold || err == nil {
		t.Errorf("cold %t, %v", cold, err)
	}
}
