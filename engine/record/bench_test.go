package record

import (
	"bytes"
	"encoding/json"
	"testing"
)

// The benchmarks of one run are compared with each other: BenchmarkScanNewlines is the floor, BenchmarkEncodingJSON the usual way.

// lines splits a stream into its lines without newlines.
func lines(b []byte) [][]byte { return bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n")) }

// BenchmarkScanNewlines finds the lines and reads nothing of them.
func BenchmarkScanNewlines(b *testing.B) {
	text := stream(b, "h200-tp1")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		n := 0
		for rest := text; len(rest) > 0; n++ {
			rest = rest[bytes.IndexByte(rest, '\n')+1:]
		}
		if n != 6034 {
			b.Fatal(n)
		}
	}
}

// benchmarkLines decodes the lines of a recorded stream one by one.
func benchmarkLines(b *testing.B, decode func(*Decoder, []byte, *Line)) {
	text := stream(b, "h200-tp1")
	all := lines(text)
	d, l := NewDecoder("bench"), Line{}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for _, line := range all {
			decode(d, line, &l)
		}
	}
	if s := d.Stats(); s.Bad > 0 || s.Steps == 0 {
		b.Fatal(s)
	}
}

func BenchmarkDecode(b *testing.B) { benchmarkLines(b, (*Decoder).Decode) }

func BenchmarkTolerant(b *testing.B) { benchmarkLines(b, (*Decoder).decodeTolerant) }

// BenchmarkEncodingJSON reads two fields of every line with the standard library, for comparison.
func BenchmarkEncodingJSON(b *testing.B) {
	text := stream(b, "h200-tp1")
	all := lines(text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for _, line := range all {
			var step struct {
				PrefillTokens int64 `json:"prefill_tokens"`
				KV            struct {
					Usage float64 `json:"usage"`
				} `json:"kv"`
			}
			if err := json.Unmarshal(line, &step); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkRead reads a stream through a Reader, without and with every invariant.
func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		name  string
		check bool
	}{{"decode", false}, {"check", true}} {
		b.Run(c.name, func(b *testing.B) {
			text := stream(b, "h200-tp1")
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				r, check := NewReader(bytes.NewReader(text), "bench"), NewChecker()
				for r.Scan() {
					if c.check {
						check.Add(r.Line())
					}
				}
				if s := r.Stats(); s.Steps != 6018 || s.Fallback+s.Bad > 0 {
					b.Fatal(s)
				}
			}
		})
	}
}
