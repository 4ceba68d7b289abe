package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"opprof/engine/index"
	"opprof/engine/query"
	"opprof/engine/record"
	"opprof/engine/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func recording(t testing.TB, name string) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("..", "..", "testdata", "records", name+".jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	data, err := io.ReadAll(d)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// long is a stream of n steps like a recorded one, with losses, pauses and a restart. Busy stretches are rare, so that blocks differ.
func long(t testing.TB, engine string, n int, seed uint64) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	var step record.Step
	lines := record.NewReader(bytes.NewReader(recording(t, "h200-tp1")), "recording")
	for lines.Scan() && step.StepIndex == 0 {
		if l := lines.Line(); l.Kind == record.KindStep {
			step = l.Step
		}
	}
	var out []byte
	step.EngineID = engine
	for i := range n {
		step.StepIndex++
		step.DroppedBefore = 0
		if r.IntN(997) == 0 {
			step.DroppedBefore, step.StepIndex = 2, step.StepIndex+2
		}
		period := int64(10_000_000 + r.IntN(3_000_000))
		if r.IntN(2000) == 0 {
			period = 700_000_000
		}
		step.SubmitMonoNS, step.CompleteMonoNS = step.CompleteMonoNS-1_000_000, step.CompleteMonoNS+period
		step.SubmitWallNS = step.SubmitMonoNS + 1_790_000_000_000_000_000
		step.Queues.Waiting = int64(r.IntN(5))
		step.PrefillTokens, step.KV.Usage = 0, float64(i%5000)/10_000
		if i/1500%4 == 3 {
			step.PrefillTokens = int64(r.IntN(8192))
			step.KV.Usage = 0.5 + float64(r.IntN(500))/1000
		}
		if i == n/2 {
			step.StepIndex = 1
		}
		out = record.Append(out, &record.Line{Kind: record.KindStep, Step: step})
		out = append(out, '\n')
	}
	return out
}

// brute asks every line of files, one after the other, as one sequence of each engine.
func brute(t testing.TB, text, engine string, files ...[]byte) (c Counts, hits []Hit) {
	t.Helper()
	q, err := query.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	sequences := map[string]*store.Sequence{}
	for _, data := range files {
		r := record.NewReader(bytes.NewReader(data), "x")
		for r.Scan() {
			if r.Line().Kind != record.KindStep {
				continue
			}
			s := &r.Line().Step
			if sequences[s.EngineID] == nil {
				sequences[s.EngineID] = &store.Sequence{}
			}
			p := sequences[s.EngineID].Next(s)
			if engine != "" && s.EngineID != engine {
				continue
			}
			c.Steps++
			var period *int64
			if p.PeriodNS >= 0 {
				period = &p.PeriodNS
			}
			switch q.Ask(s, period) {
			case query.Yes:
				c.Matches++
				hits = append(hits, Hit{s.EngineID, s.StepIndex, p.TimeNS})
			case query.Unknown:
				c.Unknown++
			}
		}
	}
	return c, hits
}

func write(t testing.TB, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// saveIndex builds the index of a stream's first bytes.
func saveIndex(t testing.TB, path string, size int64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := index.NewBuilder()
	if err := b.Extend(t.Context(), f, size, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Index().Save(path+index.Extension, f); err != nil {
		t.Fatal(err)
	}
}

func start(t testing.TB, text string, o Options, paths ...string) *Search {
	t.Helper()
	q, err := query.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	s := New(q, o)
	t.Cleanup(s.Close)
	if err := s.Extend(t.Context(), paths); err != nil {
		t.Fatal(err)
	}
	return s
}

func same(t testing.TB, what string, s *Search, want Counts, hits []Hit) {
	t.Helper()
	got, done := s.Counts()
	if !done || got.Steps != want.Steps || got.Matches != want.Matches || got.Unknown != want.Unknown {
		t.Errorf("%s: %d steps, %d matches, %d unknown (done %t); asking every step finds %d, %d, %d", what, got.Steps, got.Matches, got.Unknown, done, want.Steps, want.Matches, want.Unknown)
	}
	walk := walked(t, s)
	slices.SortStableFunc(hits, func(a, b Hit) int { return int(a.AtNS - b.AtNS) })
	if !slices.Equal(walk, hits) {
		t.Errorf("%s: walking finds %d matches, asking every step %d", what, len(walk), len(hits))
	}
}

// walked goes from match to match, forward and back again.
func walked(t testing.TB, s *Search) []Hit {
	t.Helper()
	var list []Hit
	at := int64(-1)
	for {
		h, ok, err := s.Next(t.Context(), at, true)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		list = append(list, h)
		at = h.AtNS
		if n, exact, err := s.Rank(t.Context(), at); err != nil || exact && n != int64(len(list)) {
			t.Fatalf("match %d has rank %d (%v)", len(list), n, err)
		}
	}
	at++
	for i := len(list) - 1; i >= 0; i-- {
		h, ok, err := s.Next(t.Context(), at, false)
		if err != nil || !ok || h != list[i] {
			t.Fatalf("back from %d: %v (%t, %v), want %v", at, h, ok, err, list[i])
		}
		at = h.AtNS
	}
	return list
}

var expressions = []string{
	"prefill_tokens > 4096 && kv.usage > 0.9", "period_ms > 500", "kv.usage > 0.99", "not (prefill_tokens <= 8000)", `graph.mode != "FULL"`,
	"waiting + running < 0", "abs(waiting) > 3 && prefill_tokens > 7000", "recompute_tokens > 5", "step_index == 77", "dropped > 0", "period_ms < 1 or waiting == 9",
}

func TestSearchIsAskingEveryStep(t *testing.T) {
	data := long(t, "0", 3500, 7)
	for _, text := range expressions {
		want, hits := brute(t, text, "", data)
		plain := write(t, filepath.Join(t.TempDir(), "opprof-a.jsonl"), data)
		same(t, text, start(t, text, Options{}, plain), want, hits)
		saveIndex(t, plain, int64(len(data)))
		s := start(t, text, Options{}, plain)
		same(t, text+" with an index", s, want, hits)
		few := start(t, text, Options{kept: 1}, plain)
		same(t, text+" without kept matches", few, want, hits)
	}
}

func TestIndexSparesReading(t *testing.T) {
	data := long(t, "0", 20_000, 3)
	path := write(t, filepath.Join(t.TempDir(), "opprof-a.jsonl"), data)
	saveIndex(t, path, int64(len(data)))
	for text, most := range map[string]float64{"prefill_tokens > 9000": 0.1, "kv.usage > 2": 0.1, "waiting >= 0": 1} {
		c, _ := start(t, text, Options{}, path).Counts()
		if share := float64(c.Read) / float64(len(data)); share > most {
			t.Errorf("%s reads %.0f %% of the stream", text, 100*share)
		}
		if c.Bytes != int64(len(data)) || c.Size != c.Bytes {
			t.Errorf("%s: %d of %d bytes searched, the stream has %d", text, c.Bytes, c.Size, len(data))
		}
	}
}

func TestStreamsOfAnyKind(t *testing.T) {
	a, b := long(t, "0", 3000, 1), long(t, "1", 2500, 2)
	const text = "prefill_tokens > 6000"
	all, hits := brute(t, text, "", a, b)
	one, own := brute(t, text, "1", b)
	dir := t.TempDir()
	pa, pb := write(t, filepath.Join(dir, "opprof-a.jsonl"), a), write(t, filepath.Join(dir, "opprof-b.jsonl"), b)
	s := start(t, text, Options{}, pa, pb)
	if c, _ := s.Counts(); c.Matches != all.Matches || c.Steps != all.Steps {
		t.Errorf("two engines: %d of %d, want %d of %d", c.Matches, c.Steps, all.Matches, all.Steps)
	}
	same(t, "one of two engines", start(t, text, Options{Engine: "1"}, pa, pb), one, own)

	var mixed []byte
	la, lb := bytes.SplitAfter(a, []byte("\n")), bytes.SplitAfter(b, []byte("\n"))
	for i := range max(len(la), len(lb)) {
		for _, lines := range [][][]byte{la, lb} {
			if i < len(lines) {
				mixed = append(mixed, lines[i]...)
			}
		}
	}
	want, hits2 := brute(t, text, "", mixed)
	pm := write(t, filepath.Join(t.TempDir(), "opprof-m.jsonl"), mixed)
	if c, _ := start(t, text, Options{}, pm).Counts(); c.Matches != want.Matches || len(hits2) != len(hits) {
		t.Errorf("engines mixed in one stream: %d matches, want %d", c.Matches, want.Matches)
	}

	packed := &bytes.Buffer{}
	z, _ := zstd.NewWriter(packed)
	_, _ = z.Write(b)
	_ = z.Close()
	pz := write(t, filepath.Join(t.TempDir(), "opprof-b.jsonl.zst"), packed.Bytes())
	same(t, "compressed", start(t, text, Options{}, pz), one, own)
	torn := write(t, filepath.Join(t.TempDir(), "opprof-b.jsonl.zst"), packed.Bytes()[:packed.Len()/2])
	if c, done := start(t, text, Options{}, torn).Counts(); !done || c.Steps == 0 || c.Steps >= one.Steps {
		t.Errorf("a torn compressed stream: %d steps searched (done %t)", c.Steps, done)
	}
}

func TestRotatedPartsAreOneSequence(t *testing.T) {
	data := long(t, "0", 2000, 5)
	cut := bytes.IndexByte(data[len(data)/2:], '\n') + len(data)/2 + 1
	dir := t.TempDir()
	newer := write(t, filepath.Join(dir, "opprof-a.jsonl"), data[cut:])
	older := write(t, filepath.Join(dir, "opprof-a.jsonl.1"), data[:cut])
	want, hits := brute(t, "period_ms > 12.5", "", data)
	same(t, "two parts", start(t, "period_ms > 12.5", Options{}, newer, older), want, hits)
}

// However a file grows, what was found is what is there.
func TestGrowingAndReplacedFiles(t *testing.T) {
	data := long(t, "0", 1200, 11)
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(t.TempDir(), "opprof-a.jsonl")
		q, err := query.Compile("waiting == 3 && period_ms > 11")
		if err != nil {
			rt.Fatal(err)
		}
		s := New(q, Options{})
		defer s.Close()
		size := 0
		for range rapid.IntRange(1, 4).Draw(rt, "passes") {
			size = min(len(data), size+rapid.IntRange(0, len(data)/2).Draw(rt, "grown"))
			write(t, path, data[:size])
			if size > 0 && rapid.IntRange(0, 5).Draw(rt, "indexed") == 0 {
				saveIndex(t, path, int64(size))
			}
			if err := s.Extend(t.Context(), []string{path}); err != nil {
				rt.Fatal(err)
			}
			whole := data[:bytes.LastIndexByte(data[:size], '\n')+1]
			want, hits := brute(t, "waiting == 3 && period_ms > 11", "", whole)
			got, _ := s.Counts()
			if got.Matches != want.Matches || got.Unknown != want.Unknown || got.Steps != want.Steps {
				rt.Fatalf("%d bytes: %+v, want %+v", size, got, want)
			}
			if len(hits) > 0 {
				if h, ok, err := s.Next(t.Context(), hits[len(hits)-1].AtNS-1, true); err != nil || !ok || h != hits[len(hits)-1] {
					rt.Fatalf("the last match is %v (%t, %v), want %v", h, ok, err, hits[len(hits)-1])
				}
			}
		}
		other := long(t, "9", 40+size/900, 1)
		write(t, path, other)
		if err := s.Extend(t.Context(), []string{path}); err != nil {
			rt.Fatal(err)
		}
		want, _ := brute(t, "waiting == 3 && period_ms > 11", "", other)
		if got, _ := s.Counts(); got.Steps != want.Steps || got.Matches != want.Matches {
			rt.Fatalf("after the file was replaced: %+v, want %+v", got, want)
		}
		if err := s.Extend(t.Context(), nil); err != nil {
			rt.Fatal(err)
		}
		if got, _ := s.Counts(); got.Steps != 0 || got.Matches != 0 || got.Bytes != 0 {
			rt.Fatalf("after the file has gone: %+v", got)
		}
	})
}

// A search that was called off goes on where it ended.
func TestCalledOff(t *testing.T) {
	data := long(t, "0", 6000, 2)
	path := write(t, filepath.Join(t.TempDir(), "opprof-a.jsonl"), data)
	q, err := query.Compile("waiting == 3")
	if err != nil {
		t.Fatal(err)
	}
	s := New(q, Options{})
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Extend(ctx, []string{path}); !errors.Is(err, context.Canceled) {
		t.Fatalf("called off: %v", err)
	}
	if _, done := s.Counts(); done {
		t.Error("a search that was called off says that it is done")
	}
	if err := s.Extend(t.Context(), []string{path}); err != nil {
		t.Fatal(err)
	}
	want, hits := brute(t, "waiting == 3", "", data)
	same(t, "after it was called off", s, want, hits)
}

func TestMarksCountEveryMatch(t *testing.T) {
	data := long(t, "0", 5000, 4)
	path := write(t, filepath.Join(t.TempDir(), "opprof-a.jsonl"), data)
	s := start(t, "waiting == 3", Options{}, path)
	_, hits := brute(t, "waiting == 3", "", data)
	for _, width := range []int64{1, 1_000_000, 3_000_000_000} {
		from := hits[len(hits)/3].AtNS
		marks := s.Marks(from, width, 40)
		want := make([]int64, 40)
		for _, h := range hits {
			if d := h.AtNS - from; d >= 0 && d < 40*width {
				want[d/width]++
			}
		}
		if !slices.Equal(marks, want) {
			t.Errorf("columns of %d ns: %v, want %v", width, marks, want)
		}
	}
}
