package tail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"opprof/engine/record"
)

// memory is a disk with one file, of which a part is there.
type memory struct {
	data  []byte
	there int
}

func (m *memory) Open(string) (file, error)          { return m, nil }
func (m *memory) Stat() (fs.FileInfo, error)         { return state{int64(m.there)}, nil }
func (m *memory) Close() error                       { return nil }
func (m *memory) Same(fs.FileInfo, fs.FileInfo) bool { return true }
func (m *memory) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(m.data[:m.there]).ReadAt(p, at)
}

type memoryDisk struct{ *memory }

func (d memoryDisk) Stat(string) (fs.FileInfo, error) { return d.memory.Stat() }

// state is a file's state that changes with its size.
type state struct{ size int64 }

func (s state) Name() string       { return "stream" }
func (s state) Size() int64        { return s.size }
func (s state) Mode() fs.FileMode  { return 0o600 }
func (s state) ModTime() time.Time { return time.Unix(s.size, 0) }
func (s state) IsDir() bool        { return false }
func (s state) Sys() any           { return nil }

// full is a Sink that keeps all that makes a line.
type full struct{ lines []string }

func (g *full) Line(_ int, l *record.Line) { g.lines = append(g.lines, describeLine(l)) }
func (g *full) Restart(_ int, why string)  { g.lines = append(g.lines, "restart: "+why) }

func describeLine(l *record.Line) string {
	text := fmt.Sprintf("%d: byte %d, %d bytes, %s", l.Number, l.Offset, l.Len, word(l))
	if l.Kind == record.KindStep {
		text += fmt.Sprintf(" %+v", l.Step)
	}
	if l.Err != nil {
		text += " " + l.Err.Error()
	}
	return text
}

// asReader reads with a record.Reader.
func asReader(src io.Reader, maxLine int) ([]string, error) {
	r := record.NewReaderSize(src, "stream", maxLine)
	var lines []string
	for r.Scan() {
		lines = append(lines, describeLine(r.Line()))
	}
	return lines, r.Err()
}

// asTail reads with a Tailer while the data arrives: cuts are the sizes at which it polls.
func asTail(t rapidT, data []byte, cuts []int, maxLine int, passBytes int64) []string {
	m := &memory{data: data}
	tailer := New(func() ([]string, error) { return []string{"stream"}, nil }, Options{MaxLine: maxLine, PassBytes: passBytes})
	tailer.disk = memoryDisk{m}
	defer tailer.Close()
	var g full
	poll := func() {
		for {
			p, err := tailer.Poll(context.Background(), &g)
			if err != nil {
				t.Fatalf("poll: %v", err)
			}
			if !p.More {
				return
			}
		}
	}
	for _, cut := range cuts {
		m.there = cut
		poll()
	}
	m.there = len(data)
	poll()
	poll() // compressed data that grew by little is read when it rests
	poll()
	if err := tailer.Flush(context.Background(), &g); err != nil {
		t.Fatalf("flush: %v", err)
	}
	return g.lines
}

type rapidT interface {
	Fatalf(format string, args ...any)
}

func compare(t rapidT, want, got []string) {
	if len(want) != len(got) {
		t.Fatalf("%d lines, want %d\n%s\nwant\n%s", len(got), len(want), clip(got), clip(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("line %d is\n%s\nwant\n%s", i, got[i], want[i])
		}
	}
}

func clip(lines []string) string {
	text := strings.Join(lines, "\n")
	return text[:min(len(text), 2000)]
}

// content draws a stream of good, bad, blank, long and torn lines.
func drawStream(t *rapid.T) []byte {
	var b strings.Builder
	index := 1
	for range rapid.IntRange(0, 12).Draw(t, "lines") {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			b.WriteString(rapid.SampledFrom([]string{"\n", " \t\r\n", "{}\n", "[1]\n", "\x00\x00\n", "{\"type\":\"é\"}\n", "{\"schema\":9}\n"}).Draw(t, "odd"))
		case 1:
			b.WriteString(strings.Repeat("x", rapid.IntRange(1500, 5000).Draw(t, "long")) + "\n")
		case 2:
			b.WriteString(strings.ReplaceAll(step(index), "\n", "\r\n"))
			index++
		case 3:
			line := step(index)
			b.WriteString(line[:rapid.IntRange(0, len(line)-2).Draw(t, "torn")] + "\n")
		default:
			b.WriteString(step(index))
			index++
		}
	}
	text := b.String()
	return []byte(text[:len(text)-rapid.IntRange(0, min(len(text), 3000)).Draw(t, "cut")])
}

func TestAnyArrivalGivesTheReadersLines(t *testing.T) {
	pack := map[string]func(string) string{
		"plain": func(s string) string { return s },
		"gzip":  func(s string) string { return gzipped(t, s) },
		"zstd":  func(s string) string { return zstded(t, s) },
	}
	for kind, packed := range pack {
		t.Run(kind, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				text := drawStream(t)
				maxLine := rapid.IntRange(1000, 4000).Draw(t, "maxLine")
				want, err := asReader(bytes.NewReader(text), maxLine)
				if err != nil {
					t.Fatalf("reader: %v", err)
				}
				data := []byte(packed(string(text)))
				var cuts []int
				for at := 0; at < len(data); {
					at = min(len(data), at+rapid.IntRange(1, 3000).Draw(t, "arrives"))
					cuts = append(cuts, at)
				}
				got := asTail(t, data, cuts, maxLine, int64(rapid.IntRange(1, 5000).Draw(t, "pass")))
				if len(text) == 0 {
					want = nil
				}
				compare(t, want, got)
			})
		})
	}
}

// slowReader gives a few bytes at a time, as a Reader's source may.
type slowReader struct {
	data []byte
	n    int
}

func (r *slowReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.data[:min(r.n, len(r.data))])
	r.data = r.data[n:]
	return n, nil
}

func FuzzChunks(f *testing.F) {
	f.Add([]byte(steps(1, 3)), uint16(100), uint16(7), uint8(0))
	f.Add([]byte(steps(1, 2)+"{\n\n"+step(3)[:400]), uint16(1), uint16(900), uint8(1))
	f.Add(append([]byte("\x00\x00\r\n"), bytes.Repeat([]byte("y"), 3000)...), uint16(2000), uint16(1), uint8(2))
	f.Add([]byte(gzipMagic+"not a gzip"), uint16(5), uint16(3), uint8(0))
	f.Add([]byte(zstdMagic+"not a zstd"), uint16(5), uint16(3), uint8(0))
	f.Add([]byte(gzipped(f, steps(1, 5))), uint16(90), uint16(30), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, first, every uint16, pass uint8) {
		const maxLine = 2000
		var cuts []int
		for at := int(first); at < len(data); at += int(every) + 1 + len(data)/64 {
			cuts = append(cuts, at)
		}
		got := asTail(t, data, cuts, maxLine, int64(pass)+1)
		if bytes.HasPrefix(data, []byte(gzipMagic)) || bytes.HasPrefix(data, []byte(zstdMagic)) {
			return // only no panic, no hang
		}
		want, err := asReader(&slowReader{data, int(every) + 1}, maxLine)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		compare(t, want, got)
	})
}
