package vllm

import "strings"

// CompiledCold reports whether a line says that a graph was compiled anew, because the compile cache did not have it
// (vllm/compilation/backends.py; a graph from the cache is loaded without this line).
func CompiledCold(l LogLine) bool {
	return strings.HasPrefix(l.Message, "Compiling a graph for compile range")
}
