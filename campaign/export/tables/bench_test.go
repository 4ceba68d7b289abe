package tables

import (
	"bytes"
	"io"
	"testing"

	"opprof/campaign/export/columnar"
	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/testdata"
)

// recording is the lines of a recorded server, repeated to at least size bytes.
func recording(t testing.TB, size int) []byte {
	t.Helper()
	one, err := testdata.Recording("h200-tp1")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Repeat(one, size/len(one)+1)
}

func read(t testing.TB, data []byte, take func(*record.Line)) {
	r := record.NewReader(bytes.NewReader(data), "recording")
	for r.Scan() {
		take(r.Line())
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkSteps compares reading with reading and writing the steps table, on one core.
func BenchmarkSteps(b *testing.B) {
	data := recording(b, 64<<20)
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			read(b, data, func(*record.Line) {})
		}
	})
	b.Run("export", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			var size counter
			w, err := columnar.NewWriter(&size, Steps(), nil, 0)
			if err != nil {
				b.Fatal(err)
			}
			rows := make([]Step, 0, columnar.BatchRows)
			var q store.Sequence
			read(b, data, func(l *record.Line) {
				if l.Kind != record.KindStep {
					return
				}
				rows = append(rows, Step{Step: l.Step, Place: q.Next(&l.Step), Line: l.Number})
				if len(rows) == cap(rows) {
					if err := w.Write(rows); err != nil {
						b.Fatal(err)
					}
					rows = rows[:0]
				}
			})
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(size)/float64(w.Rows()), "B/row")
		}
	})
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

var _ io.Writer = (*counter)(nil)
