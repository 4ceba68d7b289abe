package store

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"opprof/engine/record"
)

// placed is a step with what the oracle knows of it.
type placed struct {
	engine   string
	step     record.Step
	timeNS   int64
	periodNS int64
	pauseNS  int64
}

// genRun draws the steps of some engines, with their own clocks, gaps, idle times and late lines, as they reach the store.
func genRun(t *rapid.T, s *Store) []placed {
	var all []placed
	engines := rapid.IntRange(1, 3).Draw(t, "engines")
	for e := range engines {
		id := fmt.Sprintf("dp%d-pid%d", e, 100+e)
		mono := rapid.Int64Range(1, 1e15).Draw(t, "mono")
		offset := 1_790_000_000*second + rapid.Int64Range(-2*second, 2*second).Draw(t, "clock") - mono
		var last *record.Step
		index, done := rapid.Int64Range(1, 50).Draw(t, "first"), mono
		for range rapid.IntRange(0, 150).Draw(t, "steps") {
			var l record.Line
			l.Step = genStep(t)
			st := &l.Step
			st.EngineID, st.StepIndex = id, index
			index += rapid.SampledFrom([]int64{1, 1, 1, 1, 1, 1, 1, 3}).Draw(t, "next")
			st.SubmitMonoNS = done - rapid.Int64Range(0, 5e6).Draw(t, "ahead") + rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 2e9}).Draw(t, "idle")
			st.CompleteMonoNS = max(done, st.SubmitMonoNS) + rapid.Int64Range(0, 1<<rapid.IntRange(10, 30).Draw(t, "bits")).Draw(t, "took")
			st.SubmitWallNS = st.SubmitMonoNS + offset
			period, pause := int64(-1), int64(0)
			if last != nil && st.StepIndex == last.StepIndex+1 && st.DroppedBefore == 0 {
				period = st.CompleteMonoNS - max(last.CompleteMonoNS, st.SubmitMonoNS)
				if was := st.SubmitMonoNS - last.CompleteMonoNS; was > 0 && (st.DecodeBatchSize > 0 || st.Chunks.Middle+st.Chunks.Final > 0 ||
					st.Has&record.HasResumed != 0 && st.ResumedRequests > 0) {
					pause = was
				}
			}
			s.Line(e, &l)
			kept := l.Step
			last, done = &kept, st.CompleteMonoNS
			all = append(all, placed{id, kept, st.CompleteMonoNS + offset, period, pause})
		}
	}
	return all
}

func genStep(t *rapid.T) record.Step {
	n := func(name string, most int64) int64 { return rapid.Int64Range(0, most).Draw(t, name) }
	s := record.Step{
		ScheduledRequests: n("scheduled", 70), DecodeBatchSize: n("decode", 64), DecodeTokens: n("decode tokens", 100000), PrefillTokens: n("prefill", 3),
		Preemptions: max(0, n("preemptions", 12)-10), Queues: record.Queues{Running: n("running", 3), Waiting: n("waiting", 100000)},
		KV:            record.KV{TotalBlocks: 100, UsedBlocks: 50, FreeBlocks: 50, Usage: rapid.Float64Range(0, 1).Draw(t, "usage")},
		Has:           record.Presence(rapid.IntRange(0, 255).Draw(t, "has")),
		Graph:         record.Graph{Mode: record.GraphMode(n("mode", 4)), BucketTokens: n("bucket", 9)},
		DroppedBefore: max(0, n("dropped", 30)-28),
	}
	s.ContextHist[n("bin", 11)] = s.ScheduledRequests
	s.Local.Hits = n("hits", 1<<33)
	return s
}

// check compares a summary with the steps that it should hold.
func check(t *rapid.T, what string, got *Summary, steps []placed) {
	t.Helper()
	var want Counts
	var periods []int64
	for i := range steps {
		p := &steps[i]
		want.Steps++
		want.DecodeTokens += p.step.DecodeTokens
		want.Preemptions += p.step.Preemptions
		want.DecodeBatchMax = max(want.DecodeBatchMax, p.step.DecodeBatchSize)
		want.WaitingMax = max(want.WaitingMax, p.step.Queues.Waiting)
		want.KVUsageMax = max(want.KVUsageMax, p.step.KV.Usage)
		want.Dropped += p.step.DroppedBefore
		for k, n := range p.step.ContextHist {
			want.ContextHist[k] += n
		}
		mode := record.GraphUnknown
		if p.step.Known(record.HasGraph) {
			mode = p.step.Graph.Mode
		}
		want.Graph[mode]++
		if p.step.Known(record.HasPrefixLocal) {
			want.LocalSteps++
			want.Local.Hits += p.step.Local.Hits
		}
		if p.periodNS >= 0 {
			periods = append(periods, p.periodNS)
		}
		if p.periodNS >= StallNS || p.pauseNS >= StallNS {
			want.Stalls++
		}
	}
	c := got.Counts
	c = Counts{
		Steps: c.Steps, DecodeTokens: c.DecodeTokens, Preemptions: c.Preemptions, DecodeBatchMax: c.DecodeBatchMax, WaitingMax: c.WaitingMax,
		KVUsageMax: c.KVUsageMax, Dropped: c.Dropped, ContextHist: c.ContextHist, Graph: c.Graph, LocalSteps: c.LocalSteps,
		Local: record.Prefix{Hits: c.Local.Hits}, Stalls: c.Stalls,
	}
	if c != want {
		t.Fatalf("%s:\n got %+v\nwant %+v", what, c, want)
	}
	q := &got.Period
	if q.N != int64(len(periods)) || q.Unknown != int64(len(steps)-len(periods)) {
		t.Fatalf("%s: %d known and %d unknown periods of %d steps", what, q.N, q.Unknown, len(steps))
	}
	if q.N == 0 {
		if q.P50NS != nil || q.MaxNS != nil {
			t.Fatalf("%s: percentiles of nothing", what)
		}
		return
	}
	for k, ns := range []int64{*q.P50NS, *q.P95NS, *q.P99NS, *q.MaxNS} {
		wantNS := rankOf(periods, []int64{50, 95, 99, 100}[k])
		limit := 0.0
		if !q.Exact && k < 3 {
			limit = q.ErrorPct / 100 * float64(wantNS)
		}
		if math.Abs(float64(ns-wantNS)) > limit {
			t.Fatalf("%s: percentile %d is %d, want %d (exact %v)", what, k, ns, wantNS, q.Exact)
		}
	}
}

func between(steps []placed, engine string, from, to int64) []placed {
	var list []placed
	for _, p := range steps {
		if (engine == "" || p.engine == engine) && p.timeNS >= from && p.timeNS < to {
			list = append(list, p)
		}
	}
	return list
}

// Every column, the span and the run are the sums of the steps in them, of one engine or of all, whole steps or roll-ups.
func TestFramesAreSumsOfSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(Options{RingSteps: RingSteps})
		steps := genRun(t, s)
		for _, e := range s.engines {
			if rapid.Bool().Draw(t, "forgets") && e.open.len() > 4 {
				forget(e, rapid.IntRange(1, e.open.len()-1).Draw(t, "keep"))
			}
		}
		sn := s.Snapshot()
		q := Query{
			Engine:  rapid.SampledFrom([]string{"", "dp0-pid100", "dp1-pid101", "none"}).Draw(t, "engine"),
			Columns: rapid.IntRange(1, 60).Draw(t, "columns"),
			SpanNS:  rapid.SampledFrom([]int64{0, 0, 1, 1e8, second, 7 * second, 100 * second, 1e15}).Draw(t, "span"),
		}
		if len(steps) > 0 && rapid.Bool().Draw(t, "cursor") {
			q.AtNS = rapid.SampledFrom(steps).Draw(t, "at").timeNS
		}
		f := sn.Frame(q)
		for i := range f.Columns {
			c := &f.Columns[i]
			if c.StartNS != f.FromNS+int64(i)*f.BucketNS || c.StartNS%f.BucketNS != 0 {
				t.Fatalf("column %d begins at %d", i, c.StartNS)
			}
			check(t, fmt.Sprintf("column %d", i), &Summary{c.Counts, c.Period}, between(steps, q.Engine, c.StartNS, c.StartNS+f.BucketNS))
		}
		if len(f.Columns) > q.Columns || f.ToNS != f.FromNS+int64(len(f.Columns))*f.BucketNS {
			t.Fatalf("%d columns from %d to %d", len(f.Columns), f.FromNS, f.ToNS)
		}
		check(t, "span", &f.Span, between(steps, q.Engine, f.FromNS, f.ToNS))
		run := between(steps, q.Engine, 0, lastAxisNS)
		check(t, "run", &f.Run, run)
		if q.SpanNS == 0 && f.Span.Counts != f.Run.Counts {
			t.Fatal("the whole run is not in the columns")
		}
		checkNow(t, f, q, run)
		if _, err := json.Marshal(f); err != nil {
			t.Fatal(err)
		}
		if again := sn.Frame(q); !reflect.DeepEqual(f, again) {
			t.Fatal("the same query gave another frame")
		}
	})
}

// forget drops the oldest steps of the ring down to the newest few, as whole blocks are dropped in a long run.
func forget(e *engine, keep int) {
	old := e.open.view()
	e.open = newBlock(keep)
	from := old.len() - keep
	for i := range old.times {
		if i < from {
			e.coverNS = max(e.coverNS, old.times[i])
			continue
		}
		var s record.Step
		old.step(i, &s)
		e.open.add(&s, old.place(i))
	}
	e.version++
}

func checkNow(t *rapid.T, f *Frame, q Query, run []placed) {
	at := q.AtNS
	if at == 0 && len(run) > 0 {
		at = slices.MaxFunc(run, func(a, b placed) int { return compare(a.timeNS, b.timeNS) }).timeNS
	}
	newest := map[string]placed{}
	for _, p := range run {
		if p.timeNS <= at && p.timeNS >= newest[p.engine].timeNS {
			newest[p.engine] = p
		}
	}
	var decode, running int64
	for i := range f.Engines {
		row := &f.Engines[i]
		p, ok := newest[row.ID]
		if !ok || !row.Now.Known {
			continue // another engine, or its steps of that time are gone
		}
		if row.Now.StepIndex != p.step.StepIndex || row.Now.DecodeTokens != p.step.DecodeTokens || (row.Now.Local != nil) != p.step.Known(record.HasPrefixLocal) {
			t.Fatalf("now of %s: %+v, want %+v", row.ID, row.Now, p.step)
		}
		decode += row.Now.DecodeTokens
		running += row.Now.Queues.Running
	}
	if f.Now.Known && (f.Now.DecodeTokens != decode || f.Now.Queues.Running != running) {
		t.Fatalf("now of all: %+v", f.Now)
	}
}

// Percentiles of engines are those of all their steps, and of one engine whose steps are the same.
func TestMergingEnginesIsConcatenation(t *testing.T) {
	two := load(t, "h200-tp1", "h200-tp2").Snapshot().Frame(Query{Columns: 10})
	var periods []int64
	var want Counts
	for _, name := range []string{"h200-tp1", "h200-tp2"} {
		q := Sequence{}
		eachLine(t, name, func(l *record.Line) {
			if l.Kind == record.KindStep {
				p := q.Next(&l.Step)
				want.Add(&l.Step, p)
				if p.PeriodNS >= 0 {
					periods = append(periods, p.PeriodNS)
				}
			}
		})
	}
	q := two.Run.Period
	if *q.P50NS != rankOf(periods, 50) || *q.P95NS != rankOf(periods, 95) || *q.P99NS != rankOf(periods, 99) || *q.MaxNS != slices.Max(periods) || !q.Exact {
		t.Errorf("%d %d %d %d", *q.P50NS, *q.P95NS, *q.P99NS, *q.MaxNS)
	}
	if two.Run.Counts != want {
		t.Errorf("got  %+v\nwant %+v", two.Run.Counts, want)
	}
	if len(two.Engines) != 2 || two.Engines[0].Steps+two.Engines[1].Steps != two.Run.Counts.Steps {
		t.Errorf("rows %+v", two.Engines)
	}
}

func TestFrameOfNothing(t *testing.T) {
	for _, q := range []Query{{}, {Columns: 180, SpanNS: 60 * second}, {Columns: -5, AtNS: -1}, {AtNS: math.MaxInt64, SpanNS: math.MaxInt64, NowNS: math.MaxInt64, Columns: math.MaxInt}} {
		f := New(Options{}).Snapshot().Frame(q)
		text, err := json.Marshal(f)
		if err != nil || f.State.Name != "unknown" || len(f.Columns) != 0 || f.Now.Known || f.Rates.Known || f.Run.Period.P50NS != nil {
			t.Errorf("%+v: %v %+v", q, err, f)
		}
		for _, list := range []string{`"engines":[]`, `"columns":[]`, `"windows":[]`} {
			if !strings.Contains(string(text), list) {
				t.Errorf("no %s in %s", list, text)
			}
		}
		// The same extremes on a store that holds something.
		s := New(Options{})
		l := record.Line{Step: pace{1, 5, 10, 0}.step(1000)}
		s.Line(0, &l)
		if f := s.Snapshot().Frame(q); f.Run.Counts.Steps != 1 {
			t.Errorf("%+v: %+v", q, f.Run.Counts)
		}
	}
}
