package calibrate

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"opprof/engine/record"
)

func TestMeanContext(t *testing.T) {
	var hist [record.ContextBins]int64
	if _, ok := MeanContext(hist); ok {
		t.Error("no request has a mean")
	}
	edges := record.ContextEdges()
	hist[0], hist[1] = 1, 3
	want := (float64(edges[0])/2 + 3*float64(edges[0]+edges[1])/2) / 4
	if got, ok := MeanContext(hist); !ok || math.Abs(got-want) > 1e-9 {
		t.Errorf("%v, want %v", got, want)
	}
}

// Every row of the table has a step that it is asked by, and the answer names the row.
func TestTypicalStepsAreOfTheirRow(t *testing.T) {
	c := New(server(3, 24, 0.02, 0.005))
	for i := range c.Table {
		a, err := c.Ask(c.Typical(&c.Table[i]))
		if err != nil || !a.Inside {
			t.Fatalf("%+v: %+v, %v", c.Table[i].Cell, a, err)
		}
		if a.Cell == nil || a.Cell.Decode != c.Table[i].Decode || a.Cell.Bucket != c.Table[i].Bucket {
			t.Errorf("%+v: %+v", c.Table[i].Cell, a.Cell)
		}
	}
	if a, err := c.Ask(c.Newest()); err != nil || !a.Inside {
		t.Errorf("%+v, %v", a, err)
	}
	for _, mode := range c.Modes() {
		if b := c.Buckets(mode); !slices.IsSorted(b) || (mode == "NONE") != (len(b) == 0) {
			t.Errorf("%s: %v", mode, b)
		}
	}
}

func TestLearnEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := learn(ctx, server(3, 4, 0, 0)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if l, err := Learn(context.Background(), nil); err != nil || len(l.Sets) != 0 || l.Windows != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

// An answer must not hold a screen up.
func BenchmarkAsk(b *testing.B) {
	c := New(server(3, 100, 0.02, 0.005))
	b.Logf("%d steps", len(c.Set.Samples))
	for b.Loop() {
		if _, err := c.Ask(Question{Decode: 40, Context: 2000}); err != nil {
			b.Fatal(err)
		}
	}
}
