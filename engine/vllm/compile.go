package vllm

import "strings"

// CompiledCold reports whether a line says that a graph was compiled anew, because the compile cache did not have it
// (vllm/compilation/backends.py; a graph from the cache is loaded without this line).
func CompiledCold(l LogLine) bool {
	return strings.HasPrefix(l.Message, "Compiling a graph for compile range")
}

// CompileCache is the folder that a line names as the compile cache of a rank (vllm/compilation/backends.py): ROOT/HASH/rank_N_M/NAME.
func CompileCache(l LogLine) (dir string, ok bool) {
	rest, ok := strings.CutPrefix(l.Message, "Using cache directory: ")
	if !ok {
		return "", false
	}
	dir, _, ok = strings.Cut(rest, " for vLLM's torch.compile")
	return dir, ok && strings.HasPrefix(dir, "/")
}
