package compare

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/tail"
	"opprof/testdata"
)

const startWallNS = 1_790_000_000_000_000_000

// written is a stream that is written line by line, 10 ms a step.
type written struct {
	bytes.Buffer
	engine string
	index  int64
	nowNS  int64
}

func newWritten(engine string) *written { return &written{engine: engine, nowNS: 1_000_000_000} }

func (w *written) line(l record.Line) {
	w.Write(append(record.Append(nil, &l), '\n'))
}

func (w *written) header() {
	w.line(record.Line{Kind: record.KindHeader, Header: record.Header{Schema: 1, EngineID: w.engine, StartWallNS: startWallNS, Model: "m", TensorParallel: 1}})
}

// step writes a step that takes periodNS, changed by edit.
func (w *written) step(periodNS int64, edit func(*record.Step)) {
	w.index++
	s := record.Step{EngineID: w.engine, StepIndex: w.index, SubmitWallNS: startWallNS + w.nowNS - 5_000_000, SubmitMonoNS: w.nowNS - 5_000_000, ModelExecuted: true,
		ScheduledRequests: 4, DecodeBatchSize: 4, DecodeTokens: 4, Has: record.HasGraph, Graph: record.Graph{Hit: true, Mode: record.GraphFull, UnpaddedTokens: 4, BucketTokens: 4}}
	s.ContextHist[2] = 4
	w.nowNS += periodNS
	s.CompleteMonoNS = w.nowNS
	if edit != nil {
		edit(&s)
	}
	w.line(record.Line{Kind: record.KindStep, Step: s})
}

func (w *written) steps(n int) {
	for range n {
		w.step(10_000_000, nil)
	}
}

func (w *written) profile(action string, returnAfterNS int64) {
	w.line(record.Line{Kind: record.KindProfile, Profile: record.Profile{EngineID: w.engine, Action: action, AfterStep: w.index, WallNS: startWallNS + w.nowNS,
		MonoNS: w.nowNS, ReturnMonoNS: w.nowNS + returnAfterNS}})
}

// run puts streams into a run's folder and opens it.
func run(t testing.TB, streams map[string][]byte) *rundir.Run {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, rundir.Layer1Name), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range streams {
		if err := os.WriteFile(filepath.Join(dir, rundir.Layer1Name, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t testing.TB, r *rundir.Run, span string) *Reading {
	t.Helper()
	s, err := ParseSpan(span)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(t.Context(), r, "run", s)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func onlyStream(data []byte) map[string][]byte {
	return map[string][]byte{"opprof-v1-dp0-pid1-1.jsonl": data}
}

func TestWhatIsLeftOut(t *testing.T) {
	w := newWritten("dp0-pid1")
	w.header()
	w.steps(FirstSteps + 20) // the first ones are left out
	w.profile(record.ActionStart, 0)
	w.steps(5)                            // in the window
	w.profile(record.ActionStop, 1000000) // the call returns 1 ms later
	w.step(300_000_000, nil)              // shares that millisecond
	w.steps(10)
	w.index++ // one is lost
	w.steps(3)
	w.step(10_000_000, func(s *record.Step) {
		s.DecodeBatchSize, s.DecodeTokens, s.ScheduledRequests, s.ContextHist, s.Has = 0, 0, 0, [record.ContextBins]int64{}, 0
	})
	w.steps(2)
	w.WriteString("{not a step\n")
	w.WriteString(`{"schema":1,"engine_id":"dp0-pid1","step_in`)
	r := read(t, run(t, onlyStream(w.Bytes())), "")
	want := Excluded{First: FirstSteps, Perturbed: 6, Unknown: 1, Empty: 1, BadLines: 1, Torn: 1}
	if r.excluded != want || r.steps.n != 20+10+2+2 || r.engines != 1 {
		t.Errorf("%+v, %d steps compared, want %+v", r.excluded, r.steps.n, want)
	}
}

// A window that nobody stopped has no end, but the server's.
func TestWindowWithoutEnd(t *testing.T) {
	w := newWritten("dp0-pid1")
	w.header()
	w.steps(30)
	w.profile(record.ActionStart, 0)
	w.steps(40)
	w.index, w.nowNS = 0, 500_000_000 // a new server writes the file
	w.header()
	w.steps(25)
	r := read(t, run(t, onlyStream(w.Bytes())), "")
	if r.excluded.Perturbed != 40 || r.excluded.First != 2*FirstSteps || r.steps.n != 20+15 {
		t.Errorf("%+v, %d steps", r.excluded, r.steps.n)
	}
}

func TestNeighboursOfEagerSteps(t *testing.T) {
	w := newWritten("dp0-pid1")
	w.steps(FirstSteps + 5)
	w.step(70_000_000, func(s *record.Step) {
		s.PrefillTokens, s.PrefillRequests, s.Graph = 900, 1, record.Graph{Mode: record.GraphNone, UnpaddedTokens: 904, BucketTokens: 904}
	})
	w.steps(4)
	r := read(t, run(t, onlyStream(w.Bytes())), "")
	got := map[string]int64{}
	for k, c := range r.steps.cells {
		got[k.Kind().Graph+" "+k.Beside.String()] += c.n
	}
	want := map[string]int64{"FULL ": 4 + 3, "FULL eager after": 1, "NONE ": 1, "FULL eager before": 1}
	if len(got) != len(want) {
		t.Errorf("%v, want %v", got, want)
	}
	for k, n := range want {
		if got[k] != n {
			t.Errorf("%s: %d steps, want %d", k, got[k], n)
		}
	}
}

func TestSpans(t *testing.T) {
	w := newWritten("dp0-pid1")
	w.header()
	w.steps(200)
	r := run(t, onlyStream(w.Bytes()))
	clock := func(step int64) string {
		return time.Unix(0, startWallNS+1_000_000_000+step*10_000_000).UTC().Format(time.RFC3339Nano)
	}
	for span, want := range map[string]int64{
		"": 190, "..": 190, "11..": 190, "..50": 40, "101..150": 50, "400..": 0, "0s..490ms": 40, "1s..1490ms": 50, "1s..": 100,
		clock(101) + ".." + clock(110): 10, ".." + clock(20): 10,
	} {
		if got := read(t, r, span).steps.n; got != want {
			t.Errorf("%q holds %d steps, want %d", span, got, want)
		}
	}
	for _, bad := range []string{"5", "5..x", "9..3", "5..2s", "-1..", "1..2..3", "3s..1s", "0001-01-01T00:00:00Z.."} {
		if _, err := ParseSpan(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%q is taken (%v)", bad, err)
		}
	}
}

// Every step is compared or left out once, whatever the span, and disjoint spans make the whole.
func TestEveryStepCountsOnce(t *testing.T) {
	data, err := testdata.Recording("h200-tp1-literal")
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, onlyStream(data))
	all := int64(bytes.Count(data, []byte(`"step_index"`)))
	whole := read(t, r, "")
	if n := whole.seen(); n != all || whole.steps.n < all/2 {
		t.Fatalf("%d of %d steps are counted", n, all)
	}
	rapid.Check(t, func(t *rapid.T) {
		cut := rapid.Int64Range(0, all+10).Draw(t, "cut")
		first, second := rapidRead(t, r, Span{unit: spanSteps, to: cut}), rapidRead(t, r, Span{unit: spanSteps, from: cut + 1, to: 1 << 60})
		if first.seen() != all || second.seen() != all || first.steps.n+second.steps.n != whole.steps.n || first.steps.sum+second.steps.sum != whole.steps.sum {
			t.Fatalf("%d + %d steps, want %d", first.steps.n, second.steps.n, whole.steps.n)
		}
	})
}

func rapidRead(t *rapid.T, r *rundir.Run, s Span) *Reading {
	got, err := Read(t.Context(), r, "run", s)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (r *Reading) seen() int64 {
	e := &r.excluded
	return r.steps.n + e.Outside + e.First + e.Empty + e.Unknown + e.Perturbed + e.Crowded + e.Stalls
}

// A rotated stream, and the engines of a data-parallel server, are one run.
func TestPartsAndEngines(t *testing.T) {
	one, two := newWritten("dp0-pid1"), newWritten("dp1-pid2")
	one.header()
	one.steps(60)
	first := slices.Clone(one.Bytes())
	one.Reset()
	one.steps(40)
	two.header()
	two.steps(100)
	r := read(t, run(t, map[string][]byte{"opprof-v1-dp0-pid1-1.jsonl.1": first, "opprof-v1-dp0-pid1-1.jsonl": one.Bytes(), "opprof-v1-dp1-pid2-1.jsonl": two.Bytes()}), "")
	if r.steps.n != 2*90 || r.engines != 2 || r.excluded != (Excluded{First: 2 * FirstSteps}) {
		t.Errorf("%d steps of %d engines, %+v", r.steps.n, r.engines, r.excluded)
	}
}

// A pause in which requests were there is told, with its time, and is in no step: not one that a window's export made, nor one of an idle server.
func TestPausesBetweenSteps(t *testing.T) {
	const held = 26_000_000_000
	w := newWritten("dp0-pid1")
	pause := func(edit func(*record.Step)) {
		w.nowNS += held
		w.step(10_000_000, func(s *record.Step) {
			s.SubmitMonoNS, s.SubmitWallNS = s.CompleteMonoNS-10_000_000, startWallNS+s.CompleteMonoNS-10_000_000
			if edit != nil {
				edit(s)
			}
		})
	}
	w.header()
	w.steps(40)
	pause(nil)
	w.steps(10)
	pause(func(s *record.Step) { // nothing but new requests
		s.DecodeBatchSize, s.DecodeTokens, s.PrefillRequests, s.PrefillTokens, s.Chunks.Unsplit, s.Chunks.Tokens = 0, 0, 4, 4, 4, 4
	})
	w.steps(10)
	w.profile(record.ActionStart, 0)
	w.steps(5)
	w.profile(record.ActionStop, held)
	pause(nil)
	w.steps(10)
	r := read(t, run(t, map[string][]byte{"opprof-v1-dp0-pid1-1.jsonl": w.Bytes()}), "")
	if e := &r.excluded; e.Pauses != 1 || e.PausedNS != held || e.Stalls != 0 {
		t.Errorf("%+v", e)
	}
	c := Compare(r, r)
	if text := strings.Join(c.remarks(), "\n"); !strings.Contains(text, "1 with 26.0 s of A, 1 with 26.0 s of B") {
		t.Error(text)
	}
}

func TestServersThatDiffer(t *testing.T) {
	a, b := reading("a", nil), reading("b", nil)
	a.headers = []*record.Header{{Model: "m", TensorParallel: 1, GraphMode: "FULL", VLLMVersion: "0.24.0"}}
	b.headers = []*record.Header{{Model: "m", TensorParallel: 2, GraphMode: "NONE"}}
	a.run.Manifest = &rundir.Manifest{Versions: map[string]string{"driver": "570", "vllm": "0.1"}, GPUs: []rundir.GPU{{Name: "H20"}}}
	b.run.Manifest = &rundir.Manifest{Versions: map[string]string{"driver": "580", "vllm": "0.24.0"}, GPUs: []rundir.GPU{{Name: "H20"}, {Name: "H20"}}}
	want := []Difference{{"tensor parallel", "1", "2"}, {"CUDA graph mode", "FULL", "NONE"}, {"driver", "570", "580"}, {"GPUs", "1: H20", "2: H20"}}
	if got := differences(a, b); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := differences(a, a); len(got) != 0 {
		t.Errorf("a run differs from itself: %v", got)
	}
}

// Names from outside are text, never markup.
func TestHostileNames(t *testing.T) {
	const name = `</title><script>alert(1)</script>|"&<img src=x>`
	r := reading(name, []value{{keyN(1), 1, 1}})
	r.problems = []string{name}
	c := Compare(r, r)
	var page bytes.Buffer
	if err := c.WriteHTML(&page, 0); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script>alert", "<img src=x"} {
		if strings.Contains(page.String(), bad) {
			t.Errorf("the page holds %s", bad)
		}
	}
	if !strings.Contains(page.String(), "&lt;script&gt;alert(1)") {
		t.Error("the page does not show the name")
	}
}

// BenchmarkRead sets reading for a comparison beside reading alone.
func BenchmarkRead(b *testing.B) {
	data, err := testdata.Recording("h200-tp1")
	if err != nil {
		b.Fatal(err)
	}
	r := run(b, onlyStream(data))
	b.Run("compare", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			read(b, r, "")
		}
	})
	b.Run("lines", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			t := tail.New(r.ListStreams, tail.Options{PassBytes: passBytes})
			if _, err := t.Poll(b.Context(), &originSink{seen: map[int]bool{}}); err != nil {
				b.Fatal(err)
			}
			t.Close()
		}
	})
}
