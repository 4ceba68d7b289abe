package feed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/testdata"
)

func recording(t testing.TB, name string) []byte {
	t.Helper()
	data, err := testdata.Recording(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func put(t testing.TB, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func gz(t testing.TB, data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zst(t testing.TB, data []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

// lines reads everything.
func lines(t testing.TB, paths ...string) (steps []record.Step, places []store.Place, c Count) {
	t.Helper()
	f, err := Open(paths)
	if err != nil {
		t.Fatal(err)
	}
	c, err = f.Each(context.Background(), func(it *Item) error {
		if it.Line.Kind == record.KindStep {
			steps, places = append(steps, it.Line.Step), append(places, it.Place)
			if it.Engine != it.Line.Step.EngineID {
				t.Errorf("line %d is of %q, given for %q", it.Line.Number, it.Line.Step.EngineID, it.Engine)
			}
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Read() != f.Bytes() {
		t.Errorf("read %d bytes of %d", f.Read(), f.Bytes())
	}
	return steps, places, c
}

func TestPlacesAreThoseOfTheStore(t *testing.T) {
	for _, name := range testdata.Recordings() {
		data := recording(t, name)
		_, places, c := lines(t, put(t, filepath.Join(t.TempDir(), "opprof-v1-dp0-pid1-1.jsonl"), data))
		s := store.New(store.Options{})
		r := record.NewReader(bytes.NewReader(data), name)
		for r.Scan() {
			s.Line(0, r.Line())
		}
		want := s.Snapshot().Frame(store.Query{Columns: 1}).Run
		var sum, known, gaps int64
		for _, p := range places {
			if p.PeriodNS != store.UnknownNS {
				sum, known = sum+p.PeriodNS, known+1
			}
			if p.Gap {
				gaps++
			}
		}
		if got := (store.Counts{Steps: c.Steps, PeriodSumNS: sum, Gaps: gaps}); got.Steps != want.Counts.Steps || got.PeriodSumNS != want.Counts.PeriodSumNS || got.Gaps != want.Counts.Gaps || known != want.Period.N {
			t.Errorf("%s: %+v with %d known periods, the store has %+v", name, got, known, want)
		}
	}
}

func TestPartsFollowEachOther(t *testing.T) {
	data := recording(t, "h200-tp2-eager")
	want, wantPlaces, _ := lines(t, put(t, filepath.Join(t.TempDir(), "x.jsonl"), data))
	cut := func(share int) int { return bytes.IndexByte(data[len(data)*share/3:], '\n') + len(data)*share/3 + 1 }
	a, b := cut(1), cut(2)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	paths := []string{put(t, at("x.jsonl"), data[b:]), put(t, at("x.jsonl.1.gz"), gz(t, data[a:b])), put(t, at("x.jsonl.2.zst"), zst(t, data[:a])),
		put(t, at("x.jsonl.1"), data[a:b])} // and its copy is left out
	got, places, _ := lines(t, paths...)
	if !slices.Equal(got, want) || !slices.Equal(places, wantPlaces) {
		t.Errorf("%d steps in parts, %d in one piece, or they differ", len(got), len(want))
	}
}

func TestGrowthIsNotRead(t *testing.T) {
	data := recording(t, "h200-tp2-eager")
	half := bytes.IndexByte(data[len(data)/2:], '\n') + len(data)/2 + 1
	path := put(t, filepath.Join(t.TempDir(), "x.jsonl"), data[:half+30]) // a line is being written
	f, err := Open([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, data)
	c, err := f.Each(context.Background(), func(*Item) error { return nil }, nil)
	if err != nil || c.Torn != 1 || c.Bad != 0 || c.Lines != int64(bytes.Count(data[:half], []byte("\n")))+1 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestDamageIsCountedAndReadOnBehind(t *testing.T) {
	data := recording(t, "h200-tp2-eager")
	whole, _, _ := lines(t, put(t, filepath.Join(t.TempDir(), "x.jsonl"), data))
	for _, c := range []struct {
		name  string
		data  []byte
		check func(steps []record.Step, c Count) string
	}{
		{"a bad line in the middle", bytes.Replace(data, []byte(`{"schema":1,"engine_id"`), []byte(`{"schema:1,"engine_id"`), 1), func(steps []record.Step, c Count) string {
			if c.Bad != 1 || c.FirstBad == "" || len(steps) != len(whole)-1 {
				return fmt.Sprintf("%d bad, first %q, %d steps", c.Bad, c.FirstBad, len(steps))
			}
			return ""
		}},
		{"a compressed file that is cut", gz(t, data)[:len(gz(t, data))/2], func(steps []record.Step, c Count) string {
			if len(c.Problems) != 1 || len(steps) == 0 || len(steps) >= len(whole) || !slices.Equal(steps, whole[:len(steps)]) {
				return fmt.Sprintf("problems %v, %d steps", c.Problems, len(steps))
			}
			return ""
		}},
		{"not a stream", []byte("\x1f\x8bnonsense"), func(steps []record.Step, c Count) string {
			if len(c.Problems) != 1 {
				return fmt.Sprintf("problems %v", c.Problems)
			}
			return ""
		}},
		{"an unknown type", append([]byte(`{"type":"later","engine_id":"e"}`+"\n"), data...), func(steps []record.Step, c Count) string {
			if c.Unknown != 1 || len(steps) != len(whole) {
				return fmt.Sprintf("%d unknown", c.Unknown)
			}
			return ""
		}},
	} {
		f, err := Open([]string{put(t, filepath.Join(t.TempDir(), "x.jsonl"), c.data)})
		if err != nil {
			t.Fatal(err)
		}
		var steps []record.Step
		count, err := f.Each(context.Background(), func(it *Item) error {
			if it.Line.Kind == record.KindStep {
				steps = append(steps, it.Line.Step)
			}
			return nil
		}, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if wrong := c.check(steps, count); wrong != "" {
			t.Errorf("%s: %s", c.name, wrong)
		}
	}
}

func TestItEndsWithItsContextAndWithItsReader(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), "x.jsonl"), recording(t, "h200-tp1"))
	f, err := Open([]string{path, filepath.Join(t.TempDir(), "gone.jsonl")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	taken := 0
	_, err = f.Each(ctx, func(*Item) error {
		taken++
		cancel()
		return nil
	}, nil)
	if !errors.Is(err, context.Canceled) || taken > checkEvery {
		t.Errorf("%d lines after the end, %v", taken, err)
	}
	full := errors.New("full")
	if _, err := f.Each(context.Background(), func(*Item) error { return full }, nil); !errors.Is(err, full) {
		t.Errorf("a reader's error: %v", err)
	}
}

// Streams of several engines in any order are placed as the store places them.
func TestEnginesMixAsInTheStore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := NewPlacer(), store.New(store.Options{})
		var sum int64
		for range rapid.IntRange(1, 60).Draw(t, "lines") {
			stream := rapid.IntRange(0, 2).Draw(t, "stream")
			l := record.Line{Kind: record.KindStep}
			l.Step = record.Step{EngineID: rapid.SampledFrom([]string{"dp0-pid1", "dp1-pid2"}).Draw(t, "engine"), StepIndex: rapid.Int64Range(1, 6).Draw(t, "index"),
				SubmitMonoNS: rapid.Int64Range(1, 50).Draw(t, "submit")}
			l.Step.SubmitWallNS = l.Step.SubmitMonoNS + 1000
			l.Step.CompleteMonoNS = l.Step.SubmitMonoNS + rapid.Int64Range(0, 30).Draw(t, "took")
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				p.Restart(stream)
				s.Restart(stream, "cut")
			}
			if _, place := p.Place(stream, &l); place.PeriodNS != store.UnknownNS {
				sum += place.PeriodNS
			}
			s.Line(stream, &l)
		}
		if want := s.Snapshot().Frame(store.Query{Columns: 1}).Run.Counts.PeriodSumNS; sum != want {
			t.Fatalf("the periods add up to %d, in the store to %d", sum, want)
		}
	})
}
