package vllm

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func histogramOf(t *testing.T, text string) (Histogram, bool) {
	t.Helper()
	m, err := ReadMetrics(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return m.Histogram("h")
}

func TestHistograms(t *testing.T) {
	two := `h_bucket{engine="0",le="0.1"} 1
h_bucket{engine="0",le="+Inf"} 3
h_bucket{engine="1",le="0.1"} 2
h_bucket{engine="1",le="+Inf"} 2
h_count{engine="0"} 3
`
	h, ok := histogramOf(t, two)
	if !ok || !slices.Equal(h.Counts, []float64{3, 2}) || h.Count() != 5 {
		t.Errorf("two engines: %+v, %t", h, ok)
	}
	for name, text := range map[string]string{
		"none":           "g 1\n",
		"no last bucket": "h_bucket{le=\"0.1\"} 1\n",
		"falls":          "h_bucket{le=\"0.1\"} 3\nh_bucket{le=\"+Inf\"} 1\n",
		"no bound":       "h_bucket{le=\"x\"} 3\nh_bucket{le=\"+Inf\"} 1\n",
		"a bound of NaN": "h_bucket{le=\"NaN\"} 3\nh_bucket{le=\"+Inf\"} 1\n",
		"a value of NaN": "h_bucket{le=\"+Inf\"} NaN\n",
		"without end":    "h_bucket{le=\"+Inf\"} +Inf\n",
	} {
		if h, ok := histogramOf(t, text); ok {
			t.Errorf("%s: %+v", name, h)
		}
	}
	if _, _, ok := (Histogram{Bounds: []float64{1}, Counts: []float64{0}}).Bucket(0.5); ok {
		t.Error("a quantile of nothing")
	}
	if _, ok := h.Since(Histogram{Bounds: h.Bounds, Counts: []float64{4, 0}}); ok {
		t.Error("a counter that fell is taken for the same")
	}
}

// The bucket of a quantile is the one that the observation of that rank was counted in.
func TestQuantilesOfHistograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounds := []float64{0.1, 0.5, 2, math.Inf(1)}
		values := rapid.SliceOfN(rapid.Float64Range(0.001, 5), 1, 60).Draw(t, "values")
		q := rapid.Float64Range(0.01, 1).Draw(t, "q")
		h := Histogram{Bounds: bounds, Counts: make([]float64, len(bounds))}
		for _, v := range values {
			i := slices.IndexFunc(bounds, func(b float64) bool { return v <= b })
			h.Counts[i]++
		}
		slices.Sort(values)
		want := values[max(0, int(math.Ceil(q*float64(len(values))))-1)]
		if above, to, ok := h.Bucket(q); !ok || want <= above || want > to {
			t.Errorf("quantile %g of %v is %g; the bucket is %g to %g, %t", q, values, want, above, to, ok)
		}
	})
}
