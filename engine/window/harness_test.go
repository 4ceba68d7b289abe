package window

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"opprof/engine/control"
	"opprof/engine/record"
)

const second = 1_000_000_000

// bench drives a controller and keeps what it decided.
type bench struct {
	t   testing.TB
	c   *Controller
	now int64
	log []string
}

func newBench(t testing.TB, ranks int) *bench {
	s := Defaults()
	s.Ranks = ranks
	return &bench{t: t, c: New(s), now: 1000 * second}
}

func (b *bench) take(actions []Action) []Action {
	for _, a := range actions {
		switch a.Kind {
		case PostStart:
			b.log = append(b.log, fmt.Sprintf("start %d", a.N))
		case PostStop:
			b.log = append(b.log, fmt.Sprintf("stop %d", a.N))
		case Inspect:
			b.log = append(b.log, fmt.Sprintf("inspect %d %d", a.N, len(a.Paths)))
		case Changed:
			b.log = append(b.log, fmt.Sprintf("%d %s", a.N, a.Window.State))
		}
	}
	return actions
}

func (b *bench) arm(t control.Trigger, count int) {
	b.t.Helper()
	_, a, err := b.c.Arm(b.now, t, count)
	if err != nil {
		b.t.Fatal(err)
	}
	b.take(a)
}

func (b *bench) step(engine string, index int64, batch int64) {
	b.now += second / 100
	period := int64(second / 100)
	b.take(b.c.Step(b.now, &record.Step{EngineID: engine, StepIndex: index, DecodeBatchSize: batch, CompleteMonoNS: 2 * period}, &period))
}

func (b *bench) tick(seconds int64) {
	b.now += seconds * second
	b.take(b.c.Tick(b.now))
}

func (b *bench) state(n int) Window { return b.c.Windows()[n-1] }

// open brings window n to recording: the start answered, the marker seen after a step.
func (b *bench) open(n int, after int64) {
	b.take(b.c.StartReturned(b.now, n, nil))
	b.take(b.c.Marker(b.now, b.now, &record.Profile{EngineID: "dp0", Action: record.ActionStart, AfterStep: after}))
}

func files(n int, complete bool) (out []File) {
	for i := range n {
		out = append(out, File{Path: fmt.Sprintf("rank%d.json", i), Bytes: 10, Complete: complete})
	}
	return out
}

func ranks(n int, labels int64) (i Inspection) {
	for r := range n {
		i.Ranks = append(i.Ranks, InspectedRank{Path: fmt.Sprintf("rank%d.json", r), Rank: int64(r), Labels: labels})
	}
	return i
}

// labelled says that the labels are of these steps of the engine.
func (i Inspection) labelled(first, last int64) Inspection {
	i.Labelled = map[string]Labelled{"dp0": {First: first, Last: last, Whole: true}}
	return i
}

func (b *bench) expect(want ...string) {
	b.t.Helper()
	if !slices.Equal(b.log, want) {
		b.t.Errorf("decided\n %q\nwant\n %q", b.log, want)
	}
}

func errorOf(ok bool) error {
	if ok {
		return nil
	}
	return errors.New("refused")
}
