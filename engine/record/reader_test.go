package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// pieces returns at most size bytes with each Read, and now and then none.
type pieces struct {
	rest []byte
	size int
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	if p.n++; p.n%3 == 0 {
		return 0, nil
	}
	n := copy(b, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// seen is what a test compares of a line.
type seen struct {
	kind   Kind
	number int64
	offset int64
	length int
	torn   bool
	step   Step
}

func sawLine(l *Line) seen {
	s := seen{kind: l.Kind, number: l.Number, offset: l.Offset, length: l.Len, torn: l.Kind == KindBad && l.Err.TornTail}
	if l.Kind == KindStep {
		s.step = l.Step
	}
	return s
}

// splitOracle reads a stream by splitting it whole at its newlines.
func splitOracle(text []byte, maxLine int) (all []seen) {
	d, l := NewDecoder("oracle"), Line{}
	offset := int64(0)
	pieces := bytes.SplitAfter(text, []byte("\n"))
	for i, piece := range pieces {
		line := bytes.TrimSuffix(piece, []byte("\n"))
		l.Number, l.Offset = int64(i+1), offset
		offset += int64(len(piece))
		switch {
		case i == len(pieces)-1 && len(line) == 0:
			continue
		case len(line) > maxLine:
			l.Kind, l.Len, l.Err = KindBad, len(line), &LineError{}
		case i == len(pieces)-1:
			d.Last(line, &l)
		default:
			d.Decode(line, &l)
		}
		if l.Kind != KindBlank {
			all = append(all, sawLine(&l))
		}
	}
	return all
}

func readAll(t interface {
	Helper()
	Fatalf(string, ...any)
}, r *Reader) (all []seen) {
	t.Helper()
	for r.Scan() {
		all = append(all, sawLine(r.Line()))
	}
	if err := r.Err(); err != nil {
		t.Fatalf("%v", err)
	}
	return all
}

// mixture draws streams of good, damaged and odd lines.
func mixture(t *rapid.T) []byte {
	piece := rapid.OneOf(rapid.SampledFrom(writtenLines), rapid.SampledFrom(oddLines[:len(oddLines)-2]), rapid.StringN(0, 40, 100))
	text := []byte(strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "lines"), rapid.SampledFrom([]string{"\n", "\r\n", "\n\n"}).Draw(t, "newline")))
	if rapid.Bool().Draw(t, "ends") {
		text = append(text, '\n')
	}
	return text
}

func TestReaderAgainstSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := mixture(t)
		maxLine := rapid.SampledFrom([]int{1, 10, 100, 900, 1000, MaxLine}).Draw(t, "limit")
		size := rapid.SampledFrom([]int{1, 7, 500, 1 << 20}).Draw(t, "size")
		r := NewReaderSize(&pieces{rest: text, size: size}, "f", maxLine)
		got, want := readAll(t, r), splitOracle(text, maxLine)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got\n%+v\nwant\n%+v", got, want)
		}
		if r.Offset() != int64(len(text)) || r.Stats().Bytes != int64(len(text)) {
			t.Fatalf("offset %d, bytes %d, want %d", r.Offset(), r.Stats().Bytes, len(text))
		}
	})
}

// A line of exactly the limit is a line; one byte more is not.
func TestLineLimit(t *testing.T) {
	line := writtenLines[0]
	text := []byte(line + "\n" + line + "\n")
	for _, c := range []struct {
		limit int
		kind  Kind
	}{{len(line) - 1, KindBad}, {len(line), KindStep}, {len(line) + 1, KindStep}} {
		for _, size := range []int{1, 1 << 20} {
			got := readAll(t, NewReaderSize(&pieces{rest: text, size: size}, "f", c.limit))
			if len(got) != 2 || got[0].kind != c.kind || got[1].kind != c.kind || got[1].offset != int64(len(line)+1) {
				t.Errorf("limit %d: %+v", c.limit, got)
			}
		}
	}
}

func TestReaderStartsInTheMiddle(t *testing.T) {
	r := NewReader(strings.NewReader(writtenLines[0]+"\nbad\n"), "f")
	r.StartAt(5000, 12)
	if !r.Scan() || r.Line().Number != 13 || r.Line().Offset != 5000 {
		t.Errorf("%+v", r.Line())
	}
	want := fmt.Sprintf("f:14: byte %d: ", 5000+len(writtenLines[0])+1)
	if !r.Scan() || !strings.HasPrefix(r.Line().Err.Error(), want) {
		t.Errorf("%v, want %s", r.Line().Err, want)
	}
}

// An I/O error ends the stream after the lines before it; the line it cut off is not reported as torn.
func TestReaderReportsIOErrors(t *testing.T) {
	broken := errors.New("disk is gone")
	for _, text := range []string{writtenLines[0] + "\n", writtenLines[0] + "\n{\"sch"} {
		r := NewReader(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), "f")
		n := 0
		for r.Scan() {
			n++
		}
		if n != 1 || !errors.Is(r.Err(), broken) || r.Scan() {
			t.Errorf("%d lines, %v", n, r.Err())
		}
	}
	r := NewReader(noProgress{}, "f")
	if r.Scan() || !errors.Is(r.Err(), io.ErrNoProgress) {
		t.Error(r.Err())
	}
}

type noProgress struct{}

func (noProgress) Read([]byte) (int, error) { return 0, nil }

// A gigabyte without a newline takes no more memory than the limit and one line of loss.
func TestReaderMemoryIsBounded(t *testing.T) {
	zeros := io.LimitReader(zeroReader{}, 1<<28)
	r := NewReader(io.MultiReader(zeros, strings.NewReader("\n"+writtenLines[0]+"\n")), "f")
	got := readAll(t, r)
	if len(got) != 2 || got[0].kind != KindBad || got[0].length != 1<<28 || got[1].kind != KindStep || got[1].offset != 1<<28+1 {
		t.Errorf("%+v", got)
	}
	if len(r.buf) > MaxLine+1 {
		t.Errorf("the buffer grew to %d bytes", len(r.buf))
	}
}

type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func FuzzReader(f *testing.F) {
	f.Add([]byte(strings.Join(writtenLines, "\n")), 8192, 100)
	f.Add([]byte("\n\r\n"+writtenLines[0]+"\r\n{\"sche"), 2000, 7)
	f.Add(make([]byte, 300), 100, 1)
	f.Fuzz(func(t *testing.T, text []byte, maxLine, size int) {
		maxLine, size = 1+maxLine&0xffff, 1+size&0xfff
		r := NewReaderSize(&pieces{rest: text, size: size}, "f", maxLine)
		if got, want := readAll(t, r), splitOracle(text, maxLine); !reflect.DeepEqual(got, want) {
			t.Fatalf("limit %d, pieces of %d, %q:\ngot  %+v\nwant %+v", maxLine, size, text, got, want)
		}
		if n := r.Stats().Bytes; n != int64(len(text)) {
			t.Fatalf("%d bytes counted of %d", n, len(text))
		}
	})
}
