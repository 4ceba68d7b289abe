package store

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"opprof/engine/record"
)

const wallNS = 1_790_000_000 * second

// step is a line of a step that takes 10 ms and is submitted when the one before completes.
func step(id string, index, startNS int64) *record.Line {
	l := &record.Line{Kind: record.KindStep}
	l.Step = record.Step{
		EngineID: id, StepIndex: index, SubmitMonoNS: startNS, CompleteMonoNS: startNS + 10e6, SubmitWallNS: wallNS + startNS,
		DecodeTokens: 4, Queues: record.Queues{Running: 4}, Has: record.HasGraph, Graph: record.Graph{Mode: record.GraphFull},
	}
	return l
}

func marker(id, action string, after, monoNS int64) *record.Line {
	return &record.Line{Kind: record.KindProfile, Profile: record.Profile{EngineID: id, Action: action, AfterStep: after, MonoNS: monoNS, WallNS: wallNS + monoNS}}
}

func TestLinesOfEveryKind(t *testing.T) {
	s := New(Options{})
	s.Name(0, "layer1/a.jsonl")
	bad := &record.Line{Kind: record.KindBad, Err: &record.LineError{}}
	s.Line(0, bad)
	s.Line(1, bad)
	if f := s.Snapshot().Frame(Query{}); f.Loss.BadLines != 2 || len(f.Engines) != 0 || f.State.Name != "unknown" {
		t.Errorf("bad lines alone: %+v", f)
	}
	header := &record.Line{Kind: record.KindHeader, Header: record.Header{EngineID: "dp0-pid1", Model: "m", ContextEdges: []int64{128}}}
	s.Line(0, header)
	header.Header.Model, header.Header.ContextEdges[0] = "reused", 1
	for i := int64(1); i <= 3; i++ {
		s.Line(0, step("dp0-pid1", i, i*10e6))
	}
	s.Line(0, &record.Line{Kind: record.KindUnknown})
	s.Line(0, &record.Line{Kind: record.KindBlank})
	s.Line(0, &record.Line{Kind: record.KindBad, Err: &record.LineError{TornTail: true}})
	s.Line(0, &record.Line{Kind: record.KindDummyStep, Dummy: record.DummyStep{EngineID: "dp0-pid1"}})
	s.Line(0, bad)
	s.Line(0, &record.Line{Kind: record.KindFooter, Footer: record.Footer{EngineID: "dp0-pid1", Encoded: 9, Dropped: 2}})
	f := s.Snapshot().Frame(Query{Columns: 10})
	e := f.Engines[0]
	if e.Header.Model != "m" || e.Header.ContextEdges[0] != 128 {
		t.Errorf("the header changed with the reader's line: %+v", e.Header)
	}
	if want := (Loss{BadLines: 2, Unknown: 1, Dropped: 2, TornTails: 1}); e.Loss != want {
		t.Errorf("loss %+v, want %+v", e.Loss, want)
	}
	if want := (Loss{BadLines: 3, Unknown: 1, Dropped: 2, TornTails: 1}); f.Loss != want {
		t.Errorf("loss of all %+v, want %+v", f.Loss, want)
	}
	if e.Stream != "layer1/a.jsonl" || e.Dummies != 1 || e.FirstStep != 1 || e.LastStep != 3 || e.Steps != 3 || e.Footer.Encoded != 9 {
		t.Errorf("%+v", e)
	}
	if f.State.Name != "finished" || f.State.SinceNS != wallNS+40e6 || f.Run.Counts.Steps != 3 {
		t.Errorf("%+v %+v", f.State, f.Run.Counts)
	}
}

func TestVersionsAndSnapshots(t *testing.T) {
	s := New(Options{})
	empty := s.Snapshot()
	if s.Snapshot() != empty {
		t.Error("nothing changed, yet the snapshot is another")
	}
	s.Line(0, step("a", 1, 10e6))
	one := s.Snapshot()
	s.Line(0, step("a", 2, 20e6))
	two := s.Snapshot()
	if one.Version() <= empty.Version() || two.Version() <= one.Version() {
		t.Errorf("versions %d %d %d", empty.Version(), one.Version(), two.Version())
	}
	for i := int64(3); i < 3*blockSteps; i++ {
		s.Line(0, step("a", i, i*10e6))
	}
	for n, sn := range []*Snapshot{empty, one, two} {
		if f := sn.Frame(Query{Columns: 5}); f.Run.Counts.Steps != int64(n) || f.Span.Counts.Steps != int64(n) {
			t.Errorf("snapshot %d now holds %d steps", n, f.Run.Counts.Steps)
		}
	}
}

// A snapshot keeps what it shows when the ring goes round, though the writer reuses blocks that no snapshot holds.
func TestSnapshotsOutliveTheRing(t *testing.T) {
	s := New(Options{RingSteps: 2 * blockSteps})
	index := int64(0)
	write := func(n int) {
		for range n {
			index++
			s.Line(0, step("a", index, index*10e6))
		}
	}
	write(3*blockSteps + 100)
	old := s.Snapshot()
	before := old.Frame(Query{Columns: 50})
	write(7*blockSteps + 13)
	after := old.Frame(Query{Columns: 50})
	if before.Now.StepIndex != 3*blockSteps+100 || after.Now.StepIndex != before.Now.StepIndex || *after.Span.Period.P50NS != *before.Span.Period.P50NS {
		t.Errorf("%+v, then %+v", before.Now, after.Now)
	}
	for i := range before.Columns {
		if before.Columns[i].Counts != after.Columns[i].Counts {
			t.Errorf("column %d changed", i)
		}
	}
	if at, ok := old.AtStep("a", 3*blockSteps); !ok || at != wallNS+(3*blockSteps+1)*10e6 {
		t.Errorf("step of the old ring at %d, %v", at, ok)
	}
	if f := s.Snapshot().Frame(Query{Columns: 50}); f.Run.Counts.Steps != index || f.Span.Counts.Steps != index {
		t.Errorf("%d of %d steps", f.Span.Counts.Steps, index)
	}
}

func TestStreamsOfOneEngine(t *testing.T) {
	t.Run("a rotated file continues", func(t *testing.T) {
		s := New(Options{})
		s.Name(0, "old")
		s.Name(1, "new")
		s.Line(0, step("a", 1, 10e6))
		s.Line(0, step("a", 2, 20e6))
		s.Line(1, step("a", 3, 30e6))
		f := s.Snapshot().Frame(Query{Columns: 9})
		if f.Run.Period.N != 2 || f.Loss != (Loss{}) || len(f.Engines) != 1 || f.Engines[0].Stream != "new" || f.Engines[0].LastStep != 3 {
			t.Errorf("%+v %+v", f.Run.Period, f.Engines)
		}
	})
	t.Run("an older file read later", func(t *testing.T) {
		s := New(Options{})
		for i := int64(10); i < 15; i++ {
			s.Line(1, step("a", i, i*10e6))
		}
		for i := int64(1); i < 10; i++ {
			s.Line(0, step("a", i, i*10e6))
		}
		f := s.Snapshot().Frame(Query{Columns: 9})
		if f.Run.Counts.Steps != 14 || f.Span.Counts.Steps != 14 || f.Loss != (Loss{}) || f.Engines[0].LastStep != 14 || f.Engines[0].FirstStep != 1 || f.Now.StepIndex != 14 {
			t.Errorf("%+v %+v", f.Run.Counts, f.Engines[0])
		}
	})
	t.Run("a file begun again", func(t *testing.T) {
		s := New(Options{})
		s.Line(0, step("a", 1, 10e6))
		s.Line(0, step("a", 2, 20e6))
		s.Restart(0, "file was cut")
		s.Line(0, step("a", 3, 30e6))
		f := s.Snapshot().Frame(Query{Columns: 9})
		if f.Run.Period.N != 1 || f.Run.Counts.Gaps != 1 {
			t.Errorf("%+v %+v", f.Run.Period, f.Run.Counts)
		}
	})
	t.Run("a restart inside the stream", func(t *testing.T) {
		s := New(Options{})
		for _, i := range []int64{1, 2, 3} {
			s.Line(0, step("a", i, i*10e6))
		}
		late := step("a", 1, 1e6) // another boot
		late.Step.SubmitWallNS = wallNS + 100e6
		s.Line(0, late)
		f := s.Snapshot().Frame(Query{Columns: 9})
		if f.Engines[0].Loss.Backward != 1 || f.Now.StepIndex != 1 || f.Now.TimeNS != wallNS+110e6 || f.Now.PeriodNS != nil || f.Run.Counts.Gaps != 1 {
			t.Errorf("%+v %+v", f.Engines[0].Loss, f.Now)
		}
	})
	t.Run("two engines in one stream", func(t *testing.T) {
		s := New(Options{})
		for i := int64(1); i <= 5; i++ {
			s.Line(0, step("a", i, i*10e6))
			s.Line(0, step("b", i, i*10e6))
		}
		f := s.Snapshot().Frame(Query{Columns: 9})
		if len(f.Engines) != 2 || f.Run.Period.N != 8 || f.Loss != (Loss{}) {
			t.Errorf("%+v %+v", f.Run.Period, f.Loss)
		}
	})
}

func TestDamagedStepsAreCounted(t *testing.T) {
	s := New(Options{})
	ok := step("a", 1, 10e6)
	s.Line(0, ok)
	off := step("a", 2, 20e6)
	off.Step.CompleteMonoNS = -wallNS * 2
	s.Line(0, off)
	huge := step("a", 3, 30e6)
	huge.Step.DecodeTokens, huge.Step.KV.Usage = 1<<40, 1e300
	s.Line(0, huge)
	f := s.Snapshot().Frame(Query{Columns: 9})
	if f.Loss.Unplaced != 1 || f.Engines[0].Steps != 3 || f.Run.Counts.Steps != 2 || f.Run.Counts.DecodeTokens != 1<<40+4 || f.Now.DecodeTokens != 1<<40 || f.Run.Counts.KVUsageMax != 0 {
		t.Errorf("%+v %+v", f.Loss, f.Run.Counts)
	}
}

func TestTooManyEngines(t *testing.T) {
	s := New(Options{})
	for i := range int64(maxEngines + 3) {
		s.Line(0, step(fmt.Sprintf("e%05d", i), 1, 10e6))
	}
	f := s.Snapshot().Frame(Query{Columns: 3})
	if len(f.Engines) != maxEngines || f.Loss.Unplaced != 3 || f.Run.Counts.Steps != maxEngines {
		t.Errorf("%d engines, loss %+v", len(f.Engines), f.Loss)
	}
}

// One writer, several readers: what each reader sees is whole, and versions never go back.
func TestReadersBesideTheWriter(t *testing.T) {
	s := New(Options{RingSteps: 2 * blockSteps})
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			var version uint64
			for n := 0; ; n++ {
				sn := s.Snapshot()
				f := sn.Frame(Query{Columns: 40, SpanNS: int64(n%3) * 20 * second})
				if f.Version < version {
					t.Errorf("version %d after %d", f.Version, version)
				}
				version = f.Version
				if f.Run.Counts.Steps > 0 && (f.Now.StepIndex != f.Run.Counts.Steps || f.Span.Counts.Steps > f.Run.Counts.Steps) {
					t.Errorf("step %d is the newest of %d", f.Now.StepIndex, f.Run.Counts.Steps)
				}
				sn.Find(EventGraphMiss, "", 0, true)
				sn.AtStep("", 5)
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := int64(1); i <= 8*blockSteps; i++ {
		l := step("a", i, i*10e6)
		if i%700 == 0 {
			l.Step.Graph.Mode = record.GraphNone
			l.Step.ScheduledRequests = 1 << 20
			s.Line(0, marker("a", []string{"start", "stop"}[i/700%2], i, i*10e6))
		}
		s.Line(0, l)
	}
	close(stop)
	readers.Wait()
}

// Whatever the numbers in the lines, every step is counted once and every frame can be printed.
func TestAnyLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(Options{RingSteps: 1})
		var steps int64
		for range rapid.IntRange(1, 60).Draw(t, "lines") {
			l := record.Line{Kind: record.Kind(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 3, 4, 5, 6}).Draw(t, "kind"))}
			id := rapid.SampledFrom([]string{"", "a", "dp0-pid1", "dp0-pid2"}).Draw(t, "id")
			l.Header.EngineID, l.Profile.EngineID, l.Dummy.EngineID, l.Footer.EngineID = id, id, id, id
			l.Profile.Action = rapid.SampledFrom([]string{"start", "stop", "?"}).Draw(t, "action")
			l.Profile.MonoNS, l.Profile.WallNS, l.Profile.AfterStep = rapid.Int64().Draw(t, "mono"), rapid.Int64().Draw(t, "wall"), rapid.Int64().Draw(t, "after")
			l.Step = anyStep(t)
			l.Step.EngineID = id
			if rapid.Bool().Draw(t, "clocks") {
				l.Step.SubmitWallNS, l.Step.SubmitMonoNS, l.Step.CompleteMonoNS = rapid.Int64().Draw(t, "w"), rapid.Int64().Draw(t, "s"), rapid.Int64().Draw(t, "c")
			}
			l.Step.KV.Usage = rapid.Float64().Draw(t, "usage")
			if l.Kind == record.KindStep {
				steps++
			}
			stream := rapid.IntRange(-1, 3).Draw(t, "stream")
			s.Line(stream, &l)
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				s.Restart(stream, "cut")
			}
		}
		sn := s.Snapshot()
		for range 3 {
			q := Query{
				AtNS: rapid.Int64().Draw(t, "at"), SpanNS: rapid.Int64().Draw(t, "span"), NowNS: rapid.Int64().Draw(t, "now"),
				Columns: rapid.IntRange(-1, 5000).Draw(t, "columns"),
			}
			if rapid.Bool().Draw(t, "whole") {
				q.AtNS, q.SpanNS = 0, 0
			}
			f := sn.Frame(q)
			if f.Run.Counts.Steps+f.Loss.Unplaced != steps {
				t.Fatalf("%d steps counted and %d unplaced of %d", f.Run.Counts.Steps, f.Loss.Unplaced, steps)
			}
			if q.SpanNS <= 0 && f.Span.Counts.Steps != f.Run.Counts.Steps {
				t.Fatalf("%d of %d steps in the columns", f.Span.Counts.Steps, f.Run.Counts.Steps)
			}
			if _, err := json.Marshal(f); err != nil {
				t.Fatal(err)
			}
			ev := Event(rapid.IntRange(0, 6).Draw(t, "event"))
			from := rapid.Int64().Draw(t, "from")
			if at, ok := sn.Find(ev, "", from, true); ok && at <= from {
				t.Fatalf("event %d at %d is not after %d", ev, at, from)
			}
			if at, ok := sn.Find(ev, "", from, false); ok && at >= from {
				t.Fatalf("event %d at %d is not before %d", ev, at, from)
			}
			sn.AtStep("", rapid.Int64().Draw(t, "step"))
		}
	})
}
