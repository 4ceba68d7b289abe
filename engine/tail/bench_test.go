package tail

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"opprof/engine/record"
	"opprof/testdata"
)

type discard struct{}

func (discard) Line(int, *record.Line) {}
func (discard) Restart(int, string)    {}

// BenchmarkPoll compares reading a file through a Tailer with a record.Reader over the same bytes in memory.
func BenchmarkPoll(b *testing.B) {
	data, err := testdata.Recording("h200-tp2")
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
	b.Run("tailer", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			t := New(func() ([]string, error) { return []string{path}, nil }, Options{})
			for more := true; more; {
				p, err := t.Poll(context.Background(), discard{})
				if err != nil {
					b.Fatal(err)
				}
				more = p.More
			}
			t.Close()
		}
	})
	b.Run("reader", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			r := record.NewReader(bytes.NewReader(data), "stream")
			for r.Scan() {
			}
			if r.Err() != nil {
				b.Fatal(r.Err())
			}
		}
	})
}
