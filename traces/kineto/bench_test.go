package kineto

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func BenchmarkOpen(b *testing.B) {
	files, _ := filepath.Glob("/work/shared/recordings/*/kineto/*.gz")
	for _, f := range files {
		b.Run(filepath.Base(filepath.Dir(filepath.Dir(f)))+"/"+filepath.Base(f)[:30], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				t, err := Open(context.Background(), f, Options{})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(t.Bytes)
				if t.FaultCount > 0 {
					b.Fatal(t.Faults)
				}
			}
		})
	}
	_ = os.Args
}
