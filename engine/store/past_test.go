package store

import (
	"testing"

	"opprof/engine/record"
)

// pastStep is step i of a server that completes one every 10 ms.
func pastStep(i int64) *record.Line {
	l := &record.Line{Kind: record.KindStep}
	l.Step = record.Step{
		EngineID: "dp0", StepIndex: i, SubmitWallNS: 1_000_000_000_000 + i*10_000_000, SubmitMonoNS: i * 10_000_000, CompleteMonoNS: i*10_000_000 + 8_000_000,
		ScheduledRequests: 1, DecodeBatchSize: 1, DecodeTokens: 1 + i%7, Preemptions: i % 100 / 99,
	}
	return l
}

// A store that was given the end of a stream and roll-ups of what lies before tells the same of the whole run, and of columns at least as
// wide as the roll-ups, as one that was given every step; but for the period of the first step behind the roll-ups.
func TestPastCompletesAStore(t *testing.T) {
	const steps, cut = 60_000, 51_200
	whole, end := New(Options{RingSteps: 4096}), New(Options{RingSteps: 4096})
	var rollups []*Rollup
	var q Sequence
	for i := int64(1); i <= steps; i++ {
		l := pastStep(i)
		whole.Line(0, l)
		if i > cut {
			end.Line(0, l)
			continue
		}
		place := q.Next(&l.Step)
		if (i-1)%1024 == 0 {
			rollups = append(rollups, &Rollup{StartNS: place.TimeNS})
		}
		r := rollups[len(rollups)-1]
		r.Add(&l.Step, place)
		r.EndNS = place.TimeNS + 1
	}
	end.Past(Part{Engine: "dp0", Overview: NewOverview(rollups)})

	all := Query{Columns: 20, NowNS: 1_000_000_000_000 + steps*10_000_000}
	want, got := whole.Snapshot().Frame(all), end.Snapshot().Frame(all)
	if got.BucketNS != want.BucketNS || len(got.Columns) != len(want.Columns) {
		t.Fatalf("columns: %d of %d ns, want %d of %d", len(got.Columns), got.BucketNS, len(want.Columns), want.BucketNS)
	}
	missing := want.Run.Counts.PeriodSumNS - got.Run.Counts.PeriodSumNS
	if missing <= 0 || missing > 10_000_000 {
		t.Errorf("the sum of periods lacks %d ns, want one period", missing)
	}
	got.Run.Counts.PeriodSumNS = want.Run.Counts.PeriodSumNS
	if got.Run.Counts != want.Run.Counts {
		t.Errorf("run:  %+v\nwant: %+v", got.Run.Counts, want.Run.Counts)
	}
	if got.Run.Period.N != want.Run.Period.N-1 || got.Run.Period.Unknown != want.Run.Period.Unknown+1 {
		t.Errorf("%d periods and %d unknown, want one more and one less than %d and %d",
			got.Run.Period.N, got.Run.Period.Unknown, want.Run.Period.N, want.Run.Period.Unknown)
	}
	if e, w := got.Engines[0], want.Engines[0]; e.Steps != w.Steps || e.FirstStep != w.FirstStep || e.LastStep != w.LastStep {
		t.Errorf("engine: %d steps, %d to %d; want %d, %d to %d", e.Steps, e.FirstStep, e.LastStep, w.Steps, w.FirstStep, w.LastStep)
	}
	var total, near int64
	for i := range got.Columns {
		total += got.Columns[i].Counts.Steps
		if d := got.Columns[i].Counts.Steps - want.Columns[i].Counts.Steps; d >= -2048 && d <= 2048 {
			near++
		}
	}
	if total != steps || near != int64(len(got.Columns)) {
		t.Errorf("columns hold %d steps, %d of %d near the true count", total, near, len(got.Columns))
	}

	// What is read afterwards goes on as before.
	for i := int64(steps + 1); i <= steps+3000; i++ {
		whole.Line(0, pastStep(i))
		end.Line(0, pastStep(i))
	}
	if got, want := end.Snapshot().Frame(Query{Columns: 20}).Run.Counts.Steps, int64(steps+3000); got != want {
		t.Errorf("%d steps, want %d", got, want)
	}
	live := Query{SpanNS: 20_000_000_000, Columns: 40}
	if got, want := end.Snapshot().Frame(live), whole.Snapshot().Frame(live); got.Span.Counts != want.Span.Counts {
		t.Errorf("the last 20 s: %+v\nwant %+v", got.Span.Counts, want.Span.Counts)
	}
}

func TestPastWithoutStepsIsNothing(t *testing.T) {
	s := New(Options{})
	version := s.Snapshot().Version()
	s.Past(Part{Engine: "dp0"})
	s.Past(Part{Engine: "dp0", Overview: NewOverview(nil)})
	if got := s.Snapshot(); got.Version() != version || len(got.Frame(Query{Columns: 10}).Engines) != 0 {
		t.Errorf("an engine came of nothing")
	}
	r := &Rollup{StartNS: 5, EndNS: 9}
	r.Add(&record.Step{StepIndex: 1}, Place{TimeNS: 7, PeriodNS: UnknownNS})
	s.Past(Part{Engine: "dp0", Overview: NewOverview([]*Rollup{r})})
	if f := s.Snapshot().Frame(Query{Columns: 10}); f.Run.Counts.Steps != 1 || f.Engines[0].Steps != 1 || f.Now.Known {
		t.Errorf("a past without a stream: %+v", f.Run.Counts)
	}
}
