package capture

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"opprof/traces/family"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func defaults(t testing.TB) *family.Rules {
	t.Helper()
	r, err := family.Default()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func recorded(t testing.TB, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "traces", folder, "*.zst"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces of %s: %v", folder, err)
	}
	return files
}

func stream(folder string) string {
	return filepath.Join("..", "..", "testdata", "records", folder+".jsonl.zst")
}

// BenchmarkLoad reads and analyses whole folders. Throughput counts the packed bytes.
func BenchmarkLoad(b *testing.B) {
	for _, folder := range []string{"h200-tp1-experts", "h200-tp1", "h200-tp2"} {
		b.Run(folder, func(b *testing.B) {
			files := recorded(b, folder)
			var size int64
			for _, f := range files {
				s, err := os.Stat(f)
				if err != nil {
					b.Fatal(err)
				}
				size += s.Size()
			}
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Load(context.Background(), Input{Traces: files, Streams: []string{stream(folder)}, Rules: defaults(b)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
