package search

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"opprof/engine/index"
	"opprof/engine/query"
)

func BenchmarkSearch(b *testing.B) {
	data := long(b, "0", 100_000, 6)
	path := write(b, filepath.Join(b.TempDir(), "opprof-a.jsonl"), data)
	for _, text := range []string{"prefill_tokens > 4096 && kv.usage > 0.9", "max(waiting, running) > 100"} {
		q, err := query.Compile(text)
		if err != nil {
			b.Fatal(err)
		}
		for _, indexed := range []bool{false, true} {
			if indexed {
				saveIndex(b, path, int64(len(data)))
			}
			b.Run(fmt.Sprintf("%s/index=%t", text, indexed), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					s := New(q, Options{})
					if err := s.Extend(b.Context(), []string{path}); err != nil {
						b.Fatal(err)
					}
					s.Close()
				}
			})
			_ = os.Remove(path + index.Extension)
		}
	}
}
