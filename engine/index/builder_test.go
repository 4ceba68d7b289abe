package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"opprof/engine/record"
	"opprof/engine/store"
)

var recordings = []string{"h200-tp1", "h200-tp2", "h200-tp2-eager", "h200-tp1-experts", "h200-tp1-literal"}

func TestIndexAgainstBruteForce(t *testing.T) {
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			data := recording(t, name)
			checkIndex(t, indexed(t, data), data)
		})
	}
}

// hurt is a recording with bad, blank, long, foreign and zero lines, without an end.
func hurt(t testing.TB) []byte {
	data := recording(t, "h200-tp1-literal")
	lines := bytes.SplitAfter(data, []byte("\n"))
	var out []byte
	for i, line := range lines {
		switch i {
		case 3:
			out = append(out, "nonsense\n{\"step_index\":1}\n\n\n"...)
		case 700:
			out = append(out, bytes.Repeat([]byte("x"), record.MaxLine+3)...)
			out = append(out, '\n')
		case 900:
			out = append(out, strings.Repeat("{\"type\":\"note\"}\n", 3)+strings.Repeat("\x00", 5000)+"\n"...)
		case 1500:
			out = append(out, bytes.Repeat([]byte(strings.Repeat("bad ", 100)+"\n"), 30_000)...)
		}
		out = append(out, line...)
	}
	return append(out, lines[1][:300]...)
}

func TestIndexOfAHurtStream(t *testing.T) {
	data := hurt(t)
	x := indexed(t, data)
	checkIndex(t, x, data)
	if x.FirstBadLine() != 4 || x.Engines()[0].Loss.Unknown != 3 {
		t.Errorf("first bad line %d, loss %+v", x.FirstBadLine(), x.Engines()[0].Loss)
	}
}

func TestAnyGrowthGivesTheSameIndex(t *testing.T) {
	data := recording(t, "h200-tp2")[:5<<19]
	want := indexed(t, data)
	rapid.Check(t, func(rt *rapid.T) {
		b := NewBuilder()
		sizes := append(rapid.SliceOfN(rapid.IntRange(0, len(data)), 0, 4).Draw(rt, "sizes"), len(data))
		slices.Sort(sizes)
		for _, size := range sizes {
			if err := b.Extend(context.Background(), bytes.NewReader(data[:size]), int64(size), nil); err != nil {
				rt.Fatal(err)
			}
			x := b.Index()
			if whole := int64(bytes.LastIndexByte(data[:size], '\n') + 1); x.Size() != whole {
				rt.Fatalf("%d bytes cover %d, want %d", size, x.Size(), whole)
			}
			if rapid.Bool().Draw(rt, "saved") {
				var file bytes.Buffer
				if err := x.write(&file, bytes.NewReader(data)); err != nil {
					rt.Fatal(err)
				}
				loaded, err := verify(bytes.NewReader(file.Bytes()), int64(file.Len()), bytes.NewReader(data), int64(len(data)))
				if err != nil {
					rt.Fatal(err)
				}
				if b, err = Resume(loaded); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if err := b.Extend(context.Background(), bytes.NewReader(data), int64(len(data)), nil); err != nil {
			rt.Fatal(err)
		}
		sameIndex(t, b.Index(), want)
	})
}

func TestOneStreamOfTwoEngines(t *testing.T) {
	one, two := recording(t, "h200-tp1"), recording(t, "h200-tp2-eager")
	data := append(append([]byte{}, one...), two...)
	x := indexed(t, data)
	if len(x.Engines()) != 2 || x.Engines()[1].ID == x.Engines()[0].ID {
		t.Fatalf("engines %+v", x.Engines())
	}
	alone := indexed(t, two)
	for _, c := range []struct {
		engine string
		want   *Index
		steps  int64
	}{{x.Engines()[0].ID, indexed(t, one), 6018}, {x.Engines()[1].ID, alone, 548}} {
		got, err := x.Rollups(c.engine, math.MinInt64, math.MaxInt64, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.want.Rollups(c.engine, math.MinInt64, math.MaxInt64, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := merged(got), merged(want); a.Counts.Steps != c.steps || !bytes.Equal(a.AppendBinary(nil), b.AppendBinary(nil)) {
			t.Errorf("%s: %d steps, want %d", c.engine, a.Counts.Steps, b.Counts.Steps)
		}
	}
	checkLevels(t, x)
}

func merged(list []*store.Rollup) *store.Rollup {
	sum := &store.Rollup{}
	for _, r := range list {
		sum.Merge(r)
	}
	return sum
}

func TestAlternatingEnginesAreRefused(t *testing.T) {
	lines := bytes.SplitAfter(recording(t, "h200-tp2-eager"), []byte("\n"))[1:400]
	var data []byte
	for i, line := range lines {
		data = append(data, bytes.Replace(line, []byte(`"engine_id":"dp0`), fmt.Appendf(nil, `"engine_id":"dp%d`, i%2), 1)...)
	}
	err := NewBuilder().Extend(t.Context(), bytes.NewReader(data), int64(len(data)), nil)
	if !errors.Is(err, ErrMixed) {
		t.Errorf("got %v", err)
	}
}

// faulty fails at a byte.
type faulty struct {
	io.ReaderAt
	at  int64
	err error
}

func (f *faulty) ReadAt(p []byte, off int64) (int, error) {
	if f.err == nil || off+int64(len(p)) <= f.at {
		return f.ReaderAt.ReadAt(p, off)
	}
	n, err := f.ReaderAt.ReadAt(p[:max(0, f.at-off)], off)
	if err == nil {
		err = f.err
	}
	return n, err
}

func TestBuildGoesOnAfterAnErrorOrACancel(t *testing.T) {
	data := recording(t, "h200-tp1")
	fault := errors.New("input/output error")
	r := &faulty{bytes.NewReader(data), int64(len(data)) / 2, fault}
	b := NewBuilder()
	if err := b.Extend(t.Context(), r, int64(len(data)), nil); !errors.Is(err, fault) {
		t.Fatalf("got %v", err)
	}
	if n := b.Covered(); n == 0 || n > int64(len(data))/2 {
		t.Errorf("covers %d bytes", n)
	}
	r.err = nil
	ctx, cancel := context.WithCancel(t.Context())
	var done []int64
	err := b.Extend(ctx, r, int64(len(data)), func(at, size int64) {
		done = append(done, at)
		cancel()
	})
	if !errors.Is(err, context.Canceled) || len(done) == 0 {
		t.Fatalf("got %v after %v", err, done)
	}
	if err := b.Extend(t.Context(), r, int64(len(data)), nil); err != nil {
		t.Fatal(err)
	}
	sameIndex(t, b.Index(), indexed(t, data))
}

func TestEmptyStreams(t *testing.T) {
	for _, text := range []string{"", "{", "\n", "\n\n", "bad\n", "bad"} {
		x := indexed(t, []byte(text))
		checkIndex(t, x, []byte(text))
		if parts, err := x.Parts("s"); err != nil || len(parts) != 0 {
			t.Errorf("%q: %v, %v", text, parts, err)
		}
		if _, ok, err := x.Find(t.Context(), strings.NewReader(text), store.EventGap, "", 0, true); ok || err != nil {
			t.Errorf("%q: found %v, %v", text, ok, err)
		}
	}
}

func TestAPauseEndsABlock(t *testing.T) {
	r := record.NewReader(bytes.NewReader(recording(t, "h200-tp2-eager")), "stream")
	var data []byte
	steps, pause := 0, int64(0)
	for r.Scan() {
		l := r.Line()
		if l.Kind == record.KindStep {
			if steps++; steps == 201 || steps == 210 { // the second comes too soon after the first
				pause += 60_000_000_000
			}
			l.Step.SubmitWallNS, l.Step.SubmitMonoNS, l.Step.CompleteMonoNS = l.Step.SubmitWallNS+pause, l.Step.SubmitMonoNS+pause, l.Step.CompleteMonoNS+pause
		}
		data = append(record.Append(data, l), '\n')
	}
	x := indexed(t, data)
	checkIndex(t, x, data)
	var got []int64
	for _, b := range x.Blocks() {
		got = append(got, b.Steps)
	}
	if want := []int64{200, 348}; !slices.Equal(got, want) {
		t.Errorf("blocks of %v steps, want %v", got, want)
	}
}
