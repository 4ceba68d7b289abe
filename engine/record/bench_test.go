package record

import (
	"bytes"
	"testing"
)

// lines splits a stream into its lines without newlines.
func lines(b []byte) [][]byte { return bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n")) }

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

func BenchmarkDecode(b *testing.B) {
	text := stream(b, "h200-tp1")
	all := lines(text)
	d, l := NewDecoder("bench"), Line{}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for _, line := range all {
			d.Decode(line, &l)
		}
	}
	if s := d.Stats(); s.Fallback+s.Bad > 0 {
		b.Fatal(s)
	}
}

func BenchmarkTolerant(b *testing.B) {
	text := stream(b, "h200-tp1")
	all := lines(text)
	d, l := NewDecoder("bench"), Line{}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for _, line := range all {
			d.decodeTolerant(line, &l)
		}
	}
}

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
