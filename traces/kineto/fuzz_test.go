package kineto

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"
)

// FuzzRead: whatever the bytes, reading ends, does not panic, and what it keeps is consistent.
func FuzzRead(f *testing.F) {
	f.Add([]byte(pretty(kernelLine("k", "1.000", "1.000", 1), launchLine("0.500", 1))))
	f.Add([]byte(compact(kernelCompact("k", "1.000", "1.000", 1))))
	f.Add([]byte(`{"traceEvents":[{"ph":"X","cat":"kernel","name":"a"b","ts":1,"dur":2}]}`))
	f.Add([]byte("{\"traceEvents\": [\n {\n  \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"\\"))
	faults, err := filepath.Glob(filepath.Join("testdata", "faults", "*.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range faults {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := Read(context.Background(), bytes.NewReader(data), "rank0", Options{MaxBytes: 1 << 20})
		if err != nil {
			return
		}
		for i := range tr.Events.Len() {
			e := tr.Events.At(i)
			if int(e.Name) >= len(tr.Names) || int(e.Shape) >= len(tr.Shapes) || int(e.Stream) >= len(tr.Streams) {
				t.Fatalf("event %d points outside its tables: %+v", i, e)
			}
		}
		if int64(len(tr.Faults)) > tr.FaultCount || tr.Bytes > int64(len(data))+1 && !isCompressed(data) {
			t.Fatalf("faults %d of %d, bytes %d of %d", len(tr.Faults), tr.FaultCount, tr.Bytes, len(data))
		}
	})
}

func isCompressed(b []byte) bool {
	return bytes.HasPrefix(b, []byte{0x1f, 0x8b}) || bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd})
}

type written struct {
	Name string
	TS   int64
	Dur  int64
	Corr uint32
}

// TestEveryLayoutReadsAlike writes the same events with encoding/json, compact and indented, and by hand as Kineto does.
func TestEveryLayoutReadsAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "n")
		var want []written
		var events []map[string]any
		var lines []string
		for i := range n {
			w := written{Name: rapid.StringMatching(`[a-zA-Z_:<>() {}\[\],]{1,40}`).Draw(t, "name"), TS: rapid.Int64Range(1, 1e15).Draw(t, "ts"),
				Dur: rapid.Int64Range(0, 1e9).Draw(t, "dur"), Corr: uint32(i + 1)}
			want = append(want, w)
			ts, dur := micros(w.TS), micros(w.Dur)
			lines = append(lines, kernelLine(w.Name, ts, dur, i+1))
			events = append(events, map[string]any{"ph": "X", "cat": "kernel", "name": w.Name, "pid": 0, "tid": 7, "ts": json.Number(ts), "dur": json.Number(dur),
				"args": map[string]any{"correlation": i + 1, "stream": 7, "device": 0}})
		}
		doc := map[string]any{"traceEvents": events, "baseTimeNanoseconds": 1}
		small, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		wide, err := json.MarshalIndent(doc, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		for layout, text := range map[string][]byte{"compact": small, "indented": wide, "Kineto": []byte(pretty(lines...))} {
			if n == 0 && layout != "Kineto" {
				continue // a nil list is written as null
			}
			tr, err := Read(context.Background(), bytes.NewReader(text), "rank0", Options{})
			if err != nil || tr.FaultCount != 0 || tr.Events.Len() != n {
				t.Fatalf("%s: %d of %d events, faults %v, %v", layout, tr.Events.Len(), n, tr.Faults, err)
			}
			for i, w := range want {
				e := tr.Events.At(i)
				if got := (written{tr.Names[e.Name], e.StartNS, e.DurNS, e.Correlation}); got != w {
					t.Fatalf("%s: event %d is %+v, want %+v", layout, i, got, w)
				}
			}
		}
	})
}

// micros writes nanoseconds as microseconds with three decimals.
func micros(ns int64) string {
	b, _ := json.Marshal(ns / 1000)
	frac := ns % 1000
	return string(b) + "." + string([]byte{byte('0' + frac/100), byte('0' + frac/10%10), byte('0' + frac%10)})
}
