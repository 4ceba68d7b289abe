package vllm

import "testing"

func TestCompilation(t *testing.T) {
	for _, c := range []struct {
		line  string
		cold  bool
		cache string // "" is none
	}{
		{"(EngineCore pid=1) INFO 11-30 04:01:00 [backends.py:393] Compiling a graph for compile range (1, 8192) takes 12.34 s", true, ""},
		{"(EngineCore pid=1) INFO 11-30 07:51:21 [backends.py:1089] Using cache directory: /c/torch_compile_cache/a9/rank_0_0/backbone for vLLM's torch.compile", false, "/c/torch_compile_cache/a9/rank_0_0/backbone"},
		{"(EngineCore pid=1) INFO 11-30 07:51:21 [backends.py:1089] Using cache directory: backbone for vLLM's torch.compile", false, ""},
		{"(EngineCore pid=1) INFO 11-30 07:51:21 [backends.py:1089] Using cache directory: /c/torch_compi", false, ""},
		{"ready", false, ""},
	} {
		l := ParseLogLine(c.line)
		cache, ok := CompileCache(l)
		if CompiledCold(l) != c.cold || ok != (c.cache != "") || ok && cache != c.cache {
			t.Errorf("%s: cold %v, cache %q %v", c.line, CompiledCold(l), cache, ok)
		}
	}
}
