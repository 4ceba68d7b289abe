package runner

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"

	"opprof/engine/serverconf"
	"opprof/engine/supervisor/process"
)

// Compiled implements Host. Triton compiles a kernel when a server first needs it, also under load, and keeps it in a cache, as a folder of
// its own that is not written to again (triton/runtime/cache.py).
func (h *host) Compiled(s serverconf.Server, compiled []string, from, to time.Time) int {
	n := 0
	for _, cache := range h.tritonCaches(s, compiled) {
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

// tritonCaches are beside vLLM's compile caches, one for each rank (vllm/compilation/compiler_interface.py), and where the server's environment
// says.
func (h *host) tritonCaches(s serverconf.Server, compiled []string) []string {
	get := func(name string) string {
		value, _ := process.Variable(h.environ, name)
		return cmp.Or(s.Env[name], value)
	}
	caches := []string{cmp.Or(get("TRITON_CACHE_DIR"), filepath.Join(cmp.Or(get("TRITON_HOME"), get("HOME")), ".triton", "cache"))}
	for _, dir := range compiled {
		ranks, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(dir)), "rank_*", "triton_cache"))
		if err == nil {
			caches = append(caches, ranks...)
		}
	}
	slices.Sort(caches)
	return slices.Compact(caches)
}
