package runner

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"opprof/engine/regular"
	"opprof/engine/serverconf"
	"opprof/engine/vllm"
)

// Compiled implements Host. Triton compiles a kernel when a server first needs it, also under load, and keeps it in a cache, as a folder of
// its own that is not written to again (triton/runtime/cache.py).
func (h *host) Compiled(s serverconf.Server, log string, from, to time.Time) int {
	n := 0
	for _, cache := range h.tritonCaches(s, log) {
		entries, err := os.ReadDir(cache)
		if err != nil {
			continue // a server that compiles nothing has none
		}
		for _, e := range entries {
			if st, err := e.Info(); err == nil && st.IsDir() && !st.ModTime().Before(from) && !st.ModTime().After(to) {
				n++
			}
		}
	}
	return n
}

// tritonCaches are beside vLLM's compile cache, one for each rank, if the log names one (vllm/compilation/compiler_interface.py), and where
// the server's environment says.
func (h *host) tritonCaches(s serverconf.Server, log string) []string {
	get := func(name string) string { return cmp.Or(s.Env[name], lookup(h.environ, name)) }
	caches := []string{cmp.Or(get("TRITON_CACHE_DIR"), filepath.Join(cmp.Or(get("TRITON_HOME"), get("HOME")), ".triton", "cache"))}
	for _, dir := range compileCaches(log) {
		ranks, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(dir)), "rank_*", "triton_cache"))
		if err == nil {
			caches = append(caches, ranks...)
		}
	}
	slices.Sort(caches)
	return slices.Compact(caches)
}

// compileCaches are the folders that a server's log names.
func compileCaches(log string) []string {
	f, err := regular.Open(log)
	if err != nil {
		return nil
	}
	defer f.Close()
	var dirs []string
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if dir, ok := vllm.CompileCache(vllm.ParseLogLine(in.Text())); ok {
			dirs = append(dirs, filepath.Clean(dir))
		}
	}
	return dirs
}

// lookup is a variable of an environment; "" where it is not set.
func lookup(environ []string, name string) string {
	for _, e := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}
