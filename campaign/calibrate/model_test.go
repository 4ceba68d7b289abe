package calibrate

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"opprof/campaign/stat"
	"opprof/traces/family"
)

// noise is a seeded stream of standard normal numbers.
func noise(seed uint64) func() float64 {
	return func() float64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return stat.NormalQuantile((float64(seed>>11) + 0.5) / (1 << 53))
	}
}

// truth is a server whose steps cost exactly what the terms say: 64 experts of which a token picks 4.
func truth(c *Composition) (out [family.Count]float64) {
	out[family.Attention] = 5e5 + 500*c.Work() + 20*c.Context + 0.2*c.Prefill*c.MeanContext()
	out[family.ExpertGEMM] = 1e5 + 8e6*(1-math.Exp(-c.Tokens/16)) + 3000*c.Work()
	out[family.DenseGEMM] = 9e5 + 2000*c.Work()
	out[family.Sampling] = 7e3 + 200*c.Requests
	return out
}

func decodeStep(requests, context float64) Composition {
	return Composition{Decode: requests, Tokens: requests, Bucket: math.Ceil(requests/8) * 8, Requests: requests, Context: requests * context, Graph: "FULL", ContextMedian: contextBin(context)}
}

func prefillStep(tokens, context float64) Composition {
	return Composition{Prefill: tokens, Tokens: tokens, Bucket: tokens, Requests: 1, Context: context, Graph: "NONE", ContextMedian: contextBin(context)}
}

func sampleOf(window int, c Composition, factor float64) Sample {
	s := Sample{Window: window, Composition: c}
	for f, v := range truth(&c) {
		s.FamilyNS[f] = v * factor
		s.BusyNS += v * factor
	}
	s.SumNS = s.BusyNS
	return s
}

// server draws a set of windows of eight steps. Steps of a window are alike; between windows times vary by windowSD, within one by stepSD.
func server(seed uint64, windows int, windowSD, stepSD float64) *Set {
	draw := noise(seed)
	set := &Set{Ranks: 1}
	for w := range windows {
		set.Windows = append(set.Windows, fmt.Sprint("w", w))
		off := windowSD * draw()
		requests, context := float64(1+(w*37)%90), float64(200+(w*997)%6000)
		for k := range 8 {
			c := decodeStep(requests, context+float64(k))
			if w%4 == 3 {
				c = prefillStep(float64(500+(w*1733+k*911)%7500), float64(600+(w*1733+k*911)%15000))
			}
			set.Samples = append(set.Samples, sampleOf(w, c, math.Exp(off+stepSD*draw())))
		}
	}
	return set
}

func TestWhatIsExactIsFoundExactly(t *testing.T) {
	set := server(1, 16, 0, 0)
	c := New(set)
	for i := range set.Samples {
		s := &set.Samples[i]
		for f := range family.Count {
			if got := c.Models[f].Predict(&s.Composition); math.Abs(got-s.FamilyNS[f]) > 1e-6*s.FamilyNS[f]+1e-6 {
				t.Fatalf("%s of %+v: %v, want %v", f, s.Composition, got, s.FamilyNS[f])
			}
		}
	}
	if got := c.Models[family.ExpertGEMM].Saturation; math.Abs(got-16) > 1e-9 {
		t.Errorf("weights are touched by %v tokens, want 16", got)
	}
	if mean, largest, ok := MeanAbs(c.Held.Busy); !ok || largest > 1e-6 {
		t.Errorf("held out: %v, largest %v", mean, largest)
	}
}

// Errors come from whole windows: if every window is off by some 10 %, that is the error, although each step has seven near copies.
func TestHeldOutErrorsAreOfWindows(t *testing.T) {
	set := server(7, 24, 0.10, 0.001)
	held := NewHeldOut(set)
	var square float64
	for _, e := range held.Busy {
		square += e.LogErr * e.LogErr / float64(len(held.Busy))
		if e.Steps != 8 || e.Spread > 0.02 {
			t.Errorf("%+v", e)
		}
	}
	if sd := math.Sqrt(square); sd < 0.05 || sd > 0.20 {
		t.Errorf("held-out errors of %.3f, windows vary by 0.10", sd)
	}
	alone := &Set{Ranks: 1, Windows: set.Windows[:1], Samples: set.Samples[:8]}
	if h := NewHeldOut(alone); len(h.Busy) != 0 {
		t.Errorf("a single window was held out: %+v", h.Busy)
	}
}

// A further step of a further window lies in the interval as often as promised.
func TestIntervalHoldsFurtherSteps(t *testing.T) {
	held, asked := 0, 0
	for seed := range uint64(40) {
		c := New(server(seed+1, 20, 0.05, 0.02))
		draw := noise(seed + 1000)
		for range 5 {
			x := decodeStep(20+10*math.Abs(draw()), 2000)
			a, err := c.Ask(Question{Decode: x.Decode, Context: 2000, Graph: "FULL", Bucket: x.Bucket})
			if err != nil {
				t.Fatal(err)
			}
			if !a.Inside {
				continue
			}
			s := sampleOf(0, x, math.Exp(0.05*draw()+0.02*draw()))
			asked++
			if s.BusyNS >= *a.Busy.LowNS && s.BusyNS <= *a.Busy.HighNS {
				held++
			}
		}
	}
	if share := float64(held) / float64(asked); asked < 100 || share < 0.90 {
		t.Errorf("%d of %d further steps lie in the interval, promised are 95 %%", held, asked)
	}
}

func TestIntervalNeedsThreeWindows(t *testing.T) {
	e := WindowError{LogErr: 0.1, Spread: 0.02, Steps: 8}
	if _, ok := Interval([]WindowError{e, e}); ok {
		t.Error("an interval from two windows")
	}
	half, ok := Interval([]WindowError{e, e, e})
	if want := stat.TQuantile(0.975, 3) * math.Sqrt(0.01+0.0004); !ok || math.Abs(half-want) > 1e-12 {
		t.Errorf("%v, want %v", half, want)
	}
	if _, _, ok := MeanAbs(nil); ok {
		t.Error("a mean of nothing")
	}
	mean, largest, _ := MeanAbs([]WindowError{{LogErr: math.Log(2)}, {LogErr: math.Log(0.8)}})
	if math.Abs(mean-0.375) > 1e-12 || math.Abs(largest-0.5) > 1e-12 {
		t.Errorf("predictions of a half and of 5/4: mean error %v, largest %v", mean, largest)
	}
}

func TestHull(t *testing.T) {
	var samples []Sample
	for _, c := range []Composition{decodeStep(8, 1000), decodeStep(64, 1000), decodeStep(8, 4000), decodeStep(64, 4000), prefillStep(4000, 4000)} {
		samples = append(samples, Sample{Composition: c})
	}
	h := NewHull(samples)
	for _, c := range []struct {
		x    Composition
		want bool
	}{
		{decodeStep(8, 1000), true},
		{decodeStep(30, 2000), true},
		{decodeStep(64, 4000), true},
		{decodeStep(65, 4000), true}, // within what a bin's width hides
		{decodeStep(80, 4000), false},
		{decodeStep(30, 9000), false},
		{decodeStep(1, 1000), false},
		{prefillStep(4000, 4000), true},
		{prefillStep(8000, 8000), false},
		{Composition{Decode: 30, Tokens: 30, Requests: 30, Context: 60000, Graph: "PIECEWISE"}, false},
	} {
		if got := h.Holds(&c.x); got != c.want {
			t.Errorf("%+v: held %t", c.x, got)
		}
	}
}

func TestMixturesAreInsideTheHull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "n")
		var samples []Sample
		for range n {
			samples = append(samples, Sample{Composition: Composition{Decode: rapid.Float64Range(0, 256).Draw(t, "d"), Prefill: rapid.Float64Range(0, 8192).Draw(t, "p"),
				Context: rapid.Float64Range(0, 1e6).Draw(t, "c"), Graph: "FULL"}})
		}
		h := NewHull(samples)
		var at [3]float64
		var sum float64
		for i := range samples {
			w := rapid.Float64Range(0.01, 1).Draw(t, "w")
			sum += w
			for k, v := range coordinates(&samples[i].Composition) {
				at[k] += w * v
			}
		}
		x := Composition{Decode: at[0] / sum, Prefill: at[1] / sum * at[1] / sum, Context: at[2] / sum * at[2] / sum, Graph: "FULL"}
		if !h.Holds(&x) {
			t.Fatalf("%+v is a mixture of %d steps and held to be outside", x, n)
		}
		far := Composition{Decode: 1000, Prefill: x.Prefill, Context: x.Context, Graph: "FULL"}
		if h.Holds(&far) {
			t.Fatalf("1000 requests, 256 were seen at most, and held to be inside")
		}
	})
}
