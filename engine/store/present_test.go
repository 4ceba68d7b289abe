package store

import (
	"math"
	"testing"

	"opprof/engine/record"
)

// steady is a store with n steps of 10 ms, back to back, the first completing at wallNS + 20 ms.
func steady(n int64) *Store {
	s := New(Options{})
	for i := int64(1); i <= n; i++ {
		s.Line(0, step("dp0-pid1", i, i*10e6))
	}
	return s
}

func TestStates(t *testing.T) {
	last := int64(wallNS + 110e6)
	drained := steady(10)
	idle := step("dp0-pid1", 11, 110e6)
	idle.Step.Queues, idle.Step.Has, idle.Step.DecodeTokens = record.Queues{}, 0, 0
	drained.Line(0, idle)
	waiting := steady(10)
	stuck := step("dp0-pid1", 11, 110e6)
	stuck.Step.Queues = record.Queues{Waiting: 1}
	waiting.Line(0, stuck)
	closed := steady(10)
	closed.Line(0, &record.Line{Kind: record.KindFooter, Footer: record.Footer{EngineID: "dp0-pid1"}})
	replaced := steady(10)
	replaced.Line(1, step("dp0-pid2", 1, 5e9))
	for _, c := range []struct {
		name    string
		store   *Store
		q       Query
		want    string
		stalled int64
	}{
		{"finished run without a footer", steady(10), Query{}, "busy", 0},
		{"newest step is fresh", steady(10), Query{NowNS: last + 1e9}, "busy", 0},
		{"just not stalled", steady(10), Query{NowNS: last + StalledAfterNS}, "busy", 0},
		{"stalled", steady(10), Query{NowNS: last + StalledAfterNS + 1}, "stalled", StalledAfterNS + 1},
		{"idle however long", drained, Query{NowNS: last + 3600*second}, "idle", 0},
		{"waiting requests are requests", waiting, Query{NowNS: last + 3600*second}, "stalled", 3600*second - 10e6},
		{"footer", closed, Query{}, "finished", 0},
		{"before the footer", closed, Query{AtNS: wallNS + 50e6}, "busy", 0},
		{"a reader's clock that is behind", steady(10), Query{NowNS: last - 5e9}, "busy", 0},
		{"before the first step", steady(10), Query{AtNS: wallNS}, "unknown", 0},
		{"an engine whose rank has a new process", replaced, Query{NowNS: wallNS + 5e9 + 20e6}, "busy", 0},
		{"the same, before the new process", replaced, Query{AtNS: wallNS + 4e9}, "stalled", 4e9 - 110e6},
	} {
		f := c.store.Snapshot().Frame(Query{Columns: 10, AtNS: c.q.AtNS, NowNS: c.q.NowNS})
		if f.State.Name != c.want || f.State.StalledNS != c.stalled {
			t.Errorf("%s: %+v, want %s %d", c.name, f.State, c.want, c.stalled)
		}
	}
	f := replaced.Snapshot().Frame(Query{Columns: 10})
	if f.Engines[0].State.Name != "finished" || f.Engines[1].State.Name != "busy" || f.Now.Queues.Running != 4 {
		t.Errorf("a dead engine counts on: %+v", f.Now)
	}
}

func TestWallClockJumpIsNoStall(t *testing.T) {
	s := steady(10)
	l := step("dp0-pid1", 11, 110e6)
	l.Step.SubmitWallNS += 3600 * second // the machine's clock was set forward
	s.Line(0, l)
	if f := s.Snapshot().Frame(Query{Columns: 10, SpanNS: second, NowNS: wallNS + 3600*second + 130e6}); f.State.Name != "busy" || f.ToNS > wallNS+2*second {
		t.Errorf("%+v to %d", f.State, f.ToNS)
	}
}

func TestRates(t *testing.T) {
	for _, c := range []struct {
		name        string
		store       *Store
		q           Query
		known       bool
		steps, toks float64
	}{
		{"one step", steady(1), Query{}, false, 0, 0},
		{"two steps: the first only begins the time", steady(2), Query{}, true, 100, 400},
		{"shorter at the start", steady(101), Query{}, true, 100, 400},
		{"steady", steady(2000), Query{}, true, 100, 400},
		{"half of the time idle", steady(2000), Query{NowNS: wallNS + 2001*10e6 + RateSpanNS/2}, true, 50, 200},
		{"idle", steady(2000), Query{NowNS: wallNS + 2001*10e6 + RateSpanNS}, true, 0, 0},
		{"at a cursor", steady(2000), Query{AtNS: wallNS + 1000*10e6}, true, 100, 400},
		{"at a cursor before the first step", steady(2000), Query{AtNS: wallNS}, false, 0, 0},
	} {
		f := c.store.Snapshot().Frame(Query{Columns: 10, AtNS: c.q.AtNS, NowNS: c.q.NowNS})
		r := f.Rates
		if r.Known != c.known || math.Abs(r.StepsPerS-c.steps) > 1e-9 || math.Abs(r.DecodeTokPerS-c.toks) > 1e-9 || r != f.Engines[0].Rates {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
	// Steps that are no longer kept: whole seconds.
	s := New(Options{RingSteps: blockSteps})
	for i := int64(1); i <= 10*blockSteps; i++ {
		s.Line(0, step("dp0-pid1", i, i*10e6))
	}
	if f := s.Snapshot().Frame(Query{Columns: 10, AtNS: wallNS + 20500e6}); !f.Rates.Known || math.Abs(f.Rates.StepsPerS-100) > 1e-9 || f.Now.Known {
		t.Errorf("%+v %+v", f.Rates, f.Now)
	}
}

func TestRatesOfEnginesAddUp(t *testing.T) {
	s := steady(1000)
	for i := int64(1); i <= 1000; i++ {
		s.Line(1, step("dp1-pid2", i, i*10e6))
	}
	f := s.Snapshot().Frame(Query{Columns: 10})
	if math.Abs(f.Rates.StepsPerS-200) > 1e-9 || f.Now.Queues.Running != 8 || f.Now.DecodeTokens != 8 {
		t.Errorf("%+v %+v", f.Rates, f.Now)
	}
}

func TestNowOfEnginesIsSummed(t *testing.T) {
	s := New(Options{})
	a, b := step("dp0", 7, 10e6), step("dp1", 9, 20e6)
	a.Step.KV = record.KV{TotalBlocks: 100, UsedBlocks: 90, FreeBlocks: 10, Usage: 0.9}
	b.Step.KV = record.KV{TotalBlocks: 300, UsedBlocks: 30, FreeBlocks: 270, Usage: 0.1}
	a.Step.Has |= record.HasPrefixLocal | record.HasRecompute
	a.Step.Local, a.Step.RecomputeTokens = record.Prefix{Hits: 5}, 3
	b.Step.Graph.Mode = record.GraphNone
	s.Line(0, a)
	s.Line(1, b)
	sn := s.Snapshot()
	n := sn.Frame(Query{Columns: 4}).Now
	if n.KV != (record.KV{TotalBlocks: 400, UsedBlocks: 120, FreeBlocks: 280, Usage: 0.3}) {
		t.Errorf("KV %+v", n.KV)
	}
	if n.Local == nil || n.Local.Hits != 5 || *n.RecomputeTokens != 3 || n.ResumedRequests != nil || n.External != nil {
		t.Errorf("%+v", n)
	}
	if n.StepIndex != 9 || n.Graph.Mode != record.GraphNone || n.DecodeTokens != 8 {
		t.Errorf("newest step %+v", n)
	}
	if one := sn.Frame(Query{Columns: 4, Engine: "dp0"}); one.Now.DecodeTokens != 4 || one.Run.Counts.Steps != 1 || len(one.Engines) != 2 || one.Engines[0].Now.Local.Hits != 5 {
		t.Errorf("%+v", one.Now)
	}
}

func TestUnknownIsNotZero(t *testing.T) {
	n := steady(1).Snapshot().Frame(Query{Columns: 4})
	if n.Now.ResumedRequests != nil || n.Now.RecomputeTokens != nil || n.Now.Local != nil || n.Now.PeriodNS != nil || n.Now.ChunkTail {
		t.Errorf("%+v", n.Now)
	}
	c := n.Run.Counts
	if c.ResumedSteps != 0 || c.RecomputeSteps != 0 || c.LocalSteps != 0 || c.ChunkTailSteps != 0 || c.Steps != 1 {
		t.Errorf("%+v", c)
	}
}
