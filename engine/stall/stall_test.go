package stall

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const ms = 1_000_000

// steps have the spans, in ms, from index 101 on.
func steps(spans ...int64) []Step {
	var out []Step
	for i, s := range spans {
		out = append(out, Step{Index: int64(101 + i), SpanNS: s * ms})
	}
	return out
}

func TestExport(t *testing.T) {
	ten := steps(22, 22, 23, 22, 21, 22, 40, 22, 22, 148)
	for _, c := range []struct {
		name     string
		labelled []Step
		behind   *Step
		stop     *Stop
		want     int64 // ms; -1 unknown
	}{
		// The last labelled step completes 137 ms after the one before it, the next 100 ms later: one export, two periods.
		{"over two periods", ten, &Step{111, 237 * ms}, &Stop{120, 12 * ms}, 215},
		{"over one period", steps(22, 22, 22, 23), &Step{105, 222 * ms}, nil, 200},
		{"a labelled step that compiled a kernel is none of it", steps(22, 1800, 22, 22, 148), &Step{106, 237 * ms}, nil, 215},
		{"one at a time", steps(4, 4, 5, 4), &Step{105, 365 * ms}, &Stop{150, ms}, 361},
		{"nothing is held up", steps(22, 22, 22), &Step{104, 21 * ms}, nil, 0},
		{"the stop writes the traces", ten, nil, &Stop{110, 26_000 * ms}, 26_000},
		{"and the step behind it tells nothing", ten, &Step{111, 22 * ms}, &Stop{110, 26_000 * ms}, 26_000},
		{"a stop that comes later does not", ten, &Step{111, 237 * ms}, &Stop{111, 26_000 * ms}, 215},
		{"a stop of unknown length", ten, &Step{111, 237 * ms}, &Stop{AfterStep: 110}, -1},
		{"no label", nil, &Step{101, 237 * ms}, &Stop{120, 3 * ms}, -1},
		{"no label, and stopped at once", nil, nil, &Stop{100, 3 * ms}, -1},
		{"one label", steps(22), &Step{102, 237 * ms}, nil, -1},
		{"two labels", steps(22, 137), &Step{103, 237 * ms}, nil, 215},
		{"no step behind", ten, nil, nil, -1},
		{"no step behind, and a stop later on", ten, nil, &Stop{120, 3 * ms}, -1},
		{"the step behind has no record", ten, &Step{112, 237 * ms}, nil, -1},
		{"clocks that contradict each other", ten, &Step{111, -1}, nil, -1},
		{"no labelled step has a known span", steps(0, 0, 0), &Step{104, 237 * ms}, nil, -1},
		{"some have", steps(0, 22, 0, 137), &Step{105, 237 * ms}, nil, 215},
	} {
		got, ok := Export(c.labelled, c.behind, c.stop)
		if !ok {
			got = -ms
		}
		if got != c.want*ms {
			t.Errorf("%s: %d ns, want %d ms", c.name, got, c.want)
		}
	}
}

// TestTheMedianIsOfAnyOrder: the order of the labelled steps but the last is nothing to the figure, and as many are shorter as longer than what is
// taken off.
func TestTheMedianIsOfAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := rapid.SliceOfN(rapid.Int64Range(1, 1000), 2, 20).Draw(t, "spans")
		behind := &Step{Index: 101 + int64(len(spans)), SpanNS: 5000 * ms}
		a, ok := Export(steps(spans...), behind, nil)
		shuffled := slices.Concat(rapid.Permutation(spans[:len(spans)-1]).Draw(t, "order"), spans[len(spans)-1:])
		if b, _ := Export(steps(shuffled...), behind, nil); !ok || a != b {
			t.Fatalf("%d and %d ns", a, b)
		}
		shorter, longer, usual := 0, 0, (behind.SpanNS-a)/ms
		for _, s := range spans[:len(spans)-1] {
			if s < usual {
				shorter++
			} else if s > usual {
				longer++
			}
		}
		if half := len(spans) / 2; shorter > half || longer > half || !slices.Contains(spans, usual) {
			t.Fatalf("%d are shorter and %d longer than %d of %v", shorter, longer, usual, spans)
		}
	})
}
