package stat

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// number reads a reference value: a number, or the string "Inf".
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	if string(b) == `"Inf"` {
		*n = number(math.Inf(1))
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

type reference struct {
	Sets map[string]struct {
		Order []string
		D     []float64
		N     int
		Mean  float64
		SD    float64 `json:"sd"`
		T     struct {
			Upper975 number `json:"upper975_onesided"`
			Upper95  number `json:"upper95_onesided"`
		} `json:"t"`
		SignFlip  float64 `json:"signflip_p_H0_ge_3pct"`
		Crossover *struct {
			Estimate float64 `json:"estimate"`
			Order    float64 `json:"period_effect"`
			SE       float64 `json:"se"`
			DF       int     `json:"df"`
			Upper975 float64 `json:"upper975_onesided"`
		}
		Exact struct {
			Multisets  int
			PLess      float64 `json:"p_lt"`
			PEqual     float64 `json:"p_eq"`
			Accel      float64
			Probs      []float64
			Percentile []float64
			BCa        []float64 `json:"bca_midrank"`
		}
		Expanded struct {
			Upper975 float64 `json:"upper975_onesided"`
			Alpha975 float64 `json:"alpha_for_upper975_onesided"`
			Upper95  float64 `json:"upper95_onesided"`
		} `json:"expanded_percentile"`
	}
	Helpers struct {
		Q7    struct{ X, P, V []float64 } `json:"quantile_type7"`
		QNorm struct{ P, V []float64 }
		PNorm struct{ X, V []float64 }
		QT975 struct {
			DF []int
			V  []float64
		} `json:"qt975"`
	}
}

func load(t *testing.T) reference {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "stat", "gate-reference.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r reference
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Sets) < 9 {
		t.Fatalf("%d reference sets", len(r.Sets))
	}
	return r
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s = %.15g, reference %.15g", what, got, want)
	}
}

// TestReference holds every exact number against R, scipy and brute force.
func TestReference(t *testing.T) {
	for name, s := range load(t).Sets {
		t.Run(name, func(t *testing.T) {
			near(t, "mean", Mean(s.D), s.Mean)
			near(t, "sd", SD(s.D), s.SD)
			if s.SD > 0 { // R gives no t interval for equal values
				near(t, "t bound", UpperT(s.D, 0.025), float64(s.T.Upper975))
				near(t, "t bound at 0.95", UpperT(s.D, 0.05), float64(s.T.Upper95))
				near(t, "sign flip", SignFlip(s.D, math.Log(1.03)), s.SignFlip)
			}
			near(t, "expanded alpha", ExpandedAlpha(len(s.D), 0.025), s.Expanded.Alpha975)
			near(t, "expanded bound", NewResamples(s.D).UpperExpanded(0.025), s.Expanded.Upper975)
			near(t, "expanded bound at 0.95", NewResamples(s.D).UpperExpanded(0.05), s.Expanded.Upper95)
			r := NewResamples(s.D)
			for i, p := range s.Exact.Probs {
				near(t, "percentile", r.Quantile(p), s.Exact.Percentile[i])
				if SD(s.D) > 0 && i < len(s.Exact.BCa) {
					near(t, "BCa", r.BCa(p), s.Exact.BCa[i])
				}
			}
			if SD(s.D) > 0 {
				less, equal := r.position()
				near(t, "P(T*<t)", less, s.Exact.PLess)
				near(t, "P(T*=t)", equal, s.Exact.PEqual)
				near(t, "acceleration", acceleration(s.D), s.Exact.Accel)
			}
			if s.Crossover != nil {
				var ab, ba []float64
				for i, o := range s.Order {
					if o == "AB" {
						ab = append(ab, s.D[i])
					} else {
						ba = append(ba, s.D[i])
					}
				}
				c, ok := NewCrossover(ab, ba)
				if !ok || c.DF != s.Crossover.DF {
					t.Fatalf("crossover %+v, %v", c, ok)
				}
				near(t, "crossover", c.Estimate, s.Crossover.Estimate)
				near(t, "order effect", c.Order, s.Crossover.Order)
				near(t, "crossover se", c.SE, s.Crossover.SE)
				near(t, "crossover bound", c.Upper(0.025), s.Crossover.Upper975)
			}
		})
	}
}

func TestHelpers(t *testing.T) {
	h := load(t).Helpers
	for i, p := range h.Q7.P {
		near(t, "type 7 quantile", Quantile7(h.Q7.X, p), h.Q7.V[i])
	}
	for i, p := range h.QNorm.P {
		near(t, "normal quantile", NormalQuantile(p), h.QNorm.V[i])
	}
	for i, x := range h.PNorm.X {
		near(t, "normal cdf", NormalCDF(x), h.PNorm.V[i])
	}
	for i, df := range h.QT975.DF {
		near(t, "t quantile", TQuantile(0.975, df), h.QT975.V[i])
	}
}

// TestBruteForce draws all n^n resamples one by one.
func TestBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "n")
		x := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(-8, 8).Draw(t, "x")) / 64 }), n, n).Draw(t, "x")
		var means []float64
		index := make([]int, n)
		for {
			var sum float64
			for _, i := range index {
				sum += x[i]
			}
			means = append(means, sum/float64(n))
			k := 0
			for k < n {
				if index[k]++; index[k] < n {
					break
				}
				index[k] = 0
				k++
			}
			if k == n {
				break
			}
		}
		slices.Sort(means)
		r := NewResamples(x)
		for _, p := range []float64{0.01, 0.025, 0.5, 0.9, 0.975, 0.999} {
			want := means[int(math.Ceil(p*float64(len(means))-1e-9))-1]
			if got := r.Quantile(p); math.Abs(got-want) > 1e-12 {
				t.Fatalf("quantile %v of %v = %v, all resamples say %v", p, x, got, want)
			}
		}
	})
}

// TestGridNearExact: beyond enumeration a bound is never below the exact one and at most a step above it.
func TestGridNearExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-0.05, 0.05), 6, 8).Draw(t, "x")
		exact := NewResamples(x)
		grid := &Resamples{x: x}
		span := slices.Max(x) - slices.Min(x)
		if span < 1e-6 {
			t.Skip("equal values are a point")
		}
		grid.convolve()
		for _, p := range []float64{0.025, 0.5, 0.975, 0.998} {
			e, g := exact.Quantile(p), grid.Quantile(p)
			if g < e-1e-12 || g > e+2*span/gridSteps {
				t.Fatalf("quantile %v: grid %v, exact %v, step %v", p, g, e, span/gridSteps)
			}
		}
	})
}

// Beyond what is computed whole, a bound stays where the values' own distribution has it: that of draws of 0 and 1 is binomial.
func TestManyDraws(t *testing.T) {
	for _, c := range []struct{ n, ones int }{{200, 40}, {3000, 1}, {3000, 1500}} {
		x := make([]float64, c.n)
		for i := range c.ones {
			x[i] = 1
		}
		exact := distuv.Binomial{N: float64(c.n), P: float64(c.ones) / float64(c.n)}
		r := NewResamples(x)
		for _, p := range []float64{0.025, 0.5, 0.975} {
			want := 0
			for exact.CDF(float64(want)) < p {
				want++
			}
			if got := r.Quantile(p) * float64(c.n); math.Abs(got-float64(want)) > float64(c.n)/gridSteps+1e-6 {
				t.Errorf("%d ones of %d: quantile %v is %v, want %d", c.ones, c.n, p, got, want)
			}
		}
	}
}

func TestEdges(t *testing.T) {
	same := []float64{0.01, 0.01, 0.01}
	if got := NewResamples(same).UpperExpanded(0.025); got != 0.01 {
		t.Errorf("bound of equal values: %v", got)
	}
	if got := UpperT(same, 0.025); got != 0.01 {
		t.Errorf("t bound of equal values: %v", got)
	}
	for _, x := range [][]float64{nil, {1}} {
		if !math.IsNaN(UpperT(x, 0.025)) || !math.IsNaN(NewResamples(x).UpperExpanded(0.025)) || !math.IsNaN(SD(x)) {
			t.Errorf("bounds of %v are numbers", x)
		}
	}
	if _, ok := NewCrossover([]float64{1}, nil); ok {
		t.Error("a crossover of one order")
	}
}

// TestPairsNeeded holds the table of pairs for a power of 0.80 at one-sided 0.025 against values simulated elsewhere.
func TestPairsNeeded(t *testing.T) {
	for _, c := range []struct {
		sd, overhead float64
		want, slack  int
	}{
		{0.5, 0, 3, 0}, {1, 0, 4, 0}, {1, 1, 5, 0}, {1, 2, 11, 1}, {2, 0, 6, 0}, {2, 1, 11, 1}, {2, 2, 35, 1}, {3, 0, 11, 1}, {3, 2, 77, 2}, {5, 0, 25, 1}, {5, 2, 209, 4},
	} {
		got, ok := PairsNeeded(math.Log1p(c.overhead/100), c.sd/100, math.Log(1.03), 0.025, 0.8)
		if !ok || got < c.want-c.slack || got > c.want+c.slack {
			t.Errorf("sd %v %%, overhead %v %%: %d pairs, expected %d", c.sd, c.overhead, got, c.want)
		}
	}
	if _, ok := PairsNeeded(math.Log(1.03), 0.01, math.Log(1.03), 0.025, 0.8); ok {
		t.Error("an effect at the limit can be decided")
	}
}

func TestPowerGrowsWithPairs(t *testing.T) {
	last := 0.0
	for n := 2; n < 40; n++ {
		p := Power(n, 0.005, 0.02, math.Log(1.03), 0.025)
		if p < last-1e-9 || p > 1 {
			t.Errorf("power of %d pairs is %v after %v", n, p, last)
		}
		last = p
	}
}
