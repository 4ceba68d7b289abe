package store

import (
	"testing"

	"opprof/engine/record"
)

// indexed cuts a recording into roll-ups of n steps, as an index does.
func indexed(t testing.TB, name string, n int) (part Part, steps []record.Step) {
	part = Part{Engine: "dp0", Stream: name}
	var q Sequence
	var rollups []*Rollup
	eachLine(t, name, func(l *record.Line) {
		switch l.Kind {
		case record.KindProfile:
			part.Profiles = append(part.Profiles, l.Profile)
		case record.KindFooter:
			f := l.Footer
			part.Footer = &f
		case record.KindStep:
			if len(steps)%n == 0 {
				rollups = append(rollups, &Rollup{})
			}
			p := q.Next(&l.Step)
			r := rollups[len(rollups)-1]
			r.Add(&l.Step, p)
			r.StartNS, r.EndNS = r.Counts.FirstNS, r.Counts.LastNS+1
			part.Before.OffsetNS, part.Before.Aligned = q.OffsetNS, true
			steps = append(steps, l.Step)
		}
	})
	part.Overview = NewOverview(rollups)
	return part, steps
}

func TestAssembledRunIsTheStoredRun(t *testing.T) {
	stored := load(t, "h200-tp1").Snapshot()
	part, steps := indexed(t, "h200-tp1", 64)
	const from, to = 2000, 5000
	part.Steps = steps[from:to]
	sn := Assemble(7, false, []Part{part})

	whole, want := sn.Frame(Query{Columns: 50}), stored.Frame(Query{Columns: 50})
	if whole.Version != 7 || whole.Run.Counts.Steps != want.Run.Counts.Steps || whole.Run.Counts.Preemptions != 18 || whole.Run.Counts.Graph != want.Run.Counts.Graph {
		t.Errorf("run %+v", whole.Run.Counts)
	}
	if whole.Span.Counts.Steps != want.Span.Counts.Steps || whole.Run.Period.Exact || whole.Run.Period.N != want.Run.Period.N {
		t.Errorf("the columns of the whole run hold %d steps", whole.Span.Counts.Steps)
	}
	if e := whole.Engines[0]; e.Steps != 6018 || e.FirstStep != 1 || e.LastStep != 7545 || e.Footer == nil || whole.State.Name != "finished" {
		t.Errorf("%+v", whole.Engines[0])
	}

	// Inside the whole steps everything is exact, and equal to what the store shows.
	at := steps[3500].CompleteMonoNS + part.Before.OffsetNS
	near := Query{Columns: 60, SpanNS: 8 * second, AtNS: at}
	got, exact := sn.Frame(near), stored.Frame(near)
	if !got.Span.Period.Exact || got.Span.Counts != exact.Span.Counts || got.BucketNS != exact.BucketNS || *got.Span.Period.P95NS != *exact.Span.Period.P95NS {
		t.Errorf("got  %+v\nwant %+v", got.Span.Counts, exact.Span.Counts)
	}
	if got.Now.StepIndex != exact.Now.StepIndex || *got.Now.PeriodNS != *exact.Now.PeriodNS || got.Rates != exact.Rates {
		t.Errorf("now %+v, want %+v", got.Now, exact.Now)
	}
	for i := range got.Columns {
		if got.Columns[i].Counts != exact.Columns[i].Counts || got.Columns[i].Perturbed != exact.Columns[i].Perturbed {
			t.Errorf("column %d:\n got %+v\nwant %+v", i, got.Columns[i], exact.Columns[i])
		}
	}

	// Windows: those among the whole steps know their longest step.
	for i, w := range want.Windows {
		g := whole.Windows[i]
		if g.AfterStep != w.AfterStep || g.StartNS != w.StartNS || (w.AfterStep > from && w.StopAfterStep < to && g.LongestNS != w.LongestNS) {
			t.Errorf("window %d: %+v, want %+v", i, g, w)
		}
	}

	// Far from them: the roll-ups, to within their width.
	if next, ok := sn.Find(EventPreemption, "", 0, true); !ok || next >= want.Run.Counts.LastPreemptionNS {
		t.Errorf("first preemption at %d", next)
	}
	if at, ok := sn.AtStep("", 10); !ok || at > want.Run.Counts.FirstNS+second {
		t.Errorf("step 10 at %d", at)
	}
	if early := sn.Frame(Query{Columns: 10, SpanNS: second, AtNS: want.Run.Counts.FirstNS + 5*second}); early.Now.Known {
		t.Error("a composition without a step")
	}
}

func TestAssembleFromProbes(t *testing.T) {
	part, _ := indexed(t, "h200-tp1", 64)
	levels := part.Overview.levels[0].sealed
	var probes []*Rollup
	for i := 0; i < len(levels); i += 4 {
		probes = append(probes, levels[i])
	}
	part.Overview = NewOverview(append(probes, nil, &Rollup{}))
	f := Assemble(1, true, []Part{part, {Engine: "empty"}}).Frame(Query{Columns: 40})
	if !f.Sampled || len(f.Engines) != 2 || f.Span.Counts.Steps != f.Run.Counts.Steps || f.Run.Counts.Steps != int64((len(levels)+3)/4*64) {
		t.Errorf("%d of %d steps, sampled %v", f.Span.Counts.Steps, f.Run.Counts.Steps, f.Sampled)
	}
}

func TestAssembleStepsAlone(t *testing.T) {
	part, steps := indexed(t, "h200-tp1", 64)
	part.Overview, part.Steps, part.Before = nil, steps, Sequence{}
	got, want := Assemble(1, false, []Part{part}).Frame(Query{Columns: 60}), load(t, "h200-tp1").Snapshot().Frame(Query{Columns: 60})
	if got.Run.Counts != want.Run.Counts || *got.Run.Period.P50NS != *want.Run.Period.P50NS || !got.Run.Period.Exact {
		t.Errorf("got  %+v\nwant %+v", got.Run.Counts, want.Run.Counts)
	}
}

// A day of 1,024-step roll-ups still makes a quick overview.
func TestOverviewOfManyRollups(t *testing.T) {
	var list []*Rollup
	const n = 47_000
	for i := range int64(n) {
		r := &Rollup{}
		r.Add(&record.Step{StepIndex: i, DecodeTokens: 1}, Place{TimeNS: wallNS + i*second, PeriodNS: 12e6})
		r.StartNS, r.EndNS = wallNS+i*second, wallNS+(i+1)*second
		list = append(list, r)
	}
	o := NewOverview(list)
	for i := range o.levels {
		var steps int64
		for _, r := range o.levels[i].sealed {
			steps += r.Counts.Steps
		}
		if steps != n {
			t.Errorf("level %d holds %d steps", i, steps)
		}
	}
	if top := o.levels[len(o.levels)-1]; len(top.sealed) > overviewBuckets {
		t.Errorf("%d roll-ups at the top", len(top.sealed))
	}
	f := Assemble(1, false, []Part{{Engine: "e", Overview: o}}).Frame(Query{Columns: 180})
	if f.Span.Counts.Steps != n || len(f.Columns) < 90 || f.Columns[50].Counts.Steps == 0 {
		t.Errorf("%d steps in %d columns", f.Span.Counts.Steps, len(f.Columns))
	}
}

// A roll-up over a night without requests counts where it ends, not in the middle of the night.
func TestRollupOverAnIdleStretch(t *testing.T) {
	var list []*Rollup
	add := func(fromNS, toNS int64) {
		r := &Rollup{StartNS: fromNS, EndNS: toNS}
		r.Add(&record.Step{DecodeTokens: 1}, Place{TimeNS: fromNS})
		r.Add(&record.Step{DecodeTokens: 1}, Place{TimeNS: toNS - 1})
		list = append(list, r)
	}
	for i := range int64(100) {
		add(wallNS+i*second, wallNS+(i+1)*second)
		add(wallNS+(3800+i)*second, wallNS+(3801+i)*second)
	}
	add(wallNS+100*second, wallNS+3800*second)
	f := Assemble(1, false, []Part{{Engine: "e", Overview: NewOverview(list)}}).Frame(Query{Columns: 200})
	if f.BucketNS > 32*second || f.Span.Counts.Steps != 402 {
		t.Errorf("%d steps in columns of %d ns", f.Span.Counts.Steps, f.BucketNS)
	}
	for i := range f.Columns {
		if c := &f.Columns[i]; c.Counts.Steps > 0 && c.StartNS > wallNS+101*second && c.StartNS+f.BucketNS < wallNS+3799*second {
			t.Errorf("%d steps in the night, at %d s", c.Counts.Steps, (c.StartNS-wallNS)/second)
		}
	}
}
