package stat

import (
	"math"
	"math/cmplx"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
)

// exactLimit is the most values whose resamples are enumerated: 12 values have 1.35 million count multisets.
const exactLimit = 12

// gridSteps is how finely the range of the values is cut where there are too many to enumerate. A mean is then off by at most half a
// step, which the upper quantile adds.
const gridSteps = 8192

// Resamples is the distribution of the mean over all n^n resamples of n values: exact up to 12 values, on a fine grid beyond. It is
// immutable.
type Resamples struct {
	x      []float64
	means  []float64 // sorted
	weight []float64 // probability of each
	slack  float64   // how much a mean may be too small
}

// NewResamples builds the distribution. The values are not changed.
func NewResamples(x []float64) *Resamples {
	r := &Resamples{x: slices.Clone(x)}
	switch {
	case len(x) == 0:
	case slices.Min(x) == slices.Max(x):
		r.means, r.weight = []float64{x[0]}, []float64{1}
	case len(x) <= exactLimit:
		r.enumerate()
	default:
		r.convolve()
	}
	return r
}

// enumerate walks the ways to draw n of n values with repetition as counts, each with its multinomial weight.
func (r *Resamples) enumerate() {
	n := len(r.x)
	logFactorial := make([]float64, n+1)
	for i := 2; i <= n; i++ {
		logFactorial[i] = logFactorial[i-1] + math.Log(float64(i))
	}
	base := logFactorial[n] - float64(n)*math.Log(float64(n))
	type draw struct{ mean, weight float64 }
	var draws []draw
	var walk func(i, left int, sum, logWeight float64)
	walk = func(i, left int, sum, logWeight float64) {
		if i == n-1 {
			draws = append(draws, draw{(sum + float64(left)*r.x[i]) / float64(n), math.Exp(logWeight - logFactorial[left])})
			return
		}
		for c := 0; c <= left; c++ {
			walk(i+1, left-c, sum+float64(c)*r.x[i], logWeight-logFactorial[c])
		}
	}
	walk(0, n, 0, base)
	slices.SortFunc(draws, func(a, b draw) int {
		switch {
		case a.mean < b.mean:
			return -1
		case a.mean > b.mean:
			return 1
		}
		return 0
	})
	r.means, r.weight = make([]float64, len(draws)), make([]float64, len(draws))
	for i, d := range draws {
		r.means[i], r.weight[i] = d.mean, d.weight
	}
}

// convolve adds n draws on a grid: the spectrum of one draw to the power of n. Of many draws only a window around the middle is computed,
// as their sum is hardly ever elsewhere; what is goes around the window's ends.
func (r *Resamples) convolve() {
	n := len(r.x)
	low, high := slices.Min(r.x), slices.Max(r.x)
	step := (high - low) / gridSteps
	at := make([]float64, n)
	for i, v := range r.x {
		at[i] = math.Round((v - low) / step)
	}
	first, size := 0, powerOfTwo(float64(n*gridSteps+1))
	if window := powerOfTwo(2 * reachSDs * (SD(at)*math.Sqrt(float64(n)) + gridSteps)); window < size {
		size = window
		first = max(0, int(Mean(at)*float64(n))-size/2)
	}
	p := make([]float64, size)
	for _, k := range at {
		p[int(k)] += 1 / float64(n)
	}
	transform := fourier.NewFFT(size)
	spectrum := transform.Coefficients(nil, p)
	for i, c := range spectrum {
		spectrum[i] = cmplx.Pow(c, complex(float64(n), 0))
	}
	p = transform.Sequence(p, spectrum)
	for i := first; i < first+size; i++ {
		if w := p[i%size] / float64(size); w > leastWeight {
			r.means = append(r.means, low+float64(i)*step/float64(n))
			r.weight = append(r.weight, w)
		}
	}
	r.slack = step / 2
}

// powerOfTwo is the smallest power of two that is not below x.
func powerOfTwo(x float64) int { return 1 << int(math.Ceil(math.Log2(x))) }

const (
	// reachSDs is how many standard deviations to either side of the middle a window has, and as many times the range of the values, which
	// a single value far from the others needs.
	reachSDs = 8
	// leastWeight is what the transform's rounding leaves where nothing is.
	leastWeight = 1e-17
)

// probabilityEpsilon absorbs the rounding of summed weights: probabilities that differ by less are the same.
const probabilityEpsilon = 1e-12

// Quantile is the smallest mean v with F(v) >= p. On a grid half a step is added, so that an upper bound is never too low.
func (r *Resamples) Quantile(p float64) float64 {
	var sum float64
	for i, w := range r.weight {
		sum += w
		if sum >= p-probabilityEpsilon {
			return r.means[i] + r.slack
		}
	}
	if len(r.means) == 0 {
		return math.NaN()
	}
	return r.means[len(r.means)-1] + r.slack
}

// UpperExpanded is the expanded-percentile upper bound of the mean at 1-alpha; NaN for fewer than two values.
func (r *Resamples) UpperExpanded(alpha float64) float64 {
	if len(r.x) < 2 {
		return math.NaN()
	}
	return r.Quantile(1 - ExpandedAlpha(len(r.x), alpha))
}

// position is P(T* < t) and P(T* = t) for the observed mean t, equal up to rounding.
func (r *Resamples) position() (below, equal float64) {
	t := Mean(r.x)
	tolerance := 1e-9 * (slices.Max(r.x) - slices.Min(r.x))
	for i, m := range r.means {
		switch {
		case m < t-tolerance:
			below += r.weight[i]
		case m <= t+tolerance:
			equal += r.weight[i]
		}
	}
	return below, equal
}

// BCa is the bias-corrected and accelerated p-quantile (Efron 1987), ties at the observed mean counted half. It covers too little at few
// values and is shown for information.
func (r *Resamples) BCa(p float64) float64 {
	below, equal := r.position()
	z0 := NormalQuantile(below + equal/2)
	a := acceleration(r.x)
	z := NormalQuantile(p)
	return r.Quantile(NormalCDF(z0 + (z0+z)/(1-a*(z0+z))))
}

// acceleration is sum L^3 / (6 (sum L^2)^1.5) with L = x - mean; 0 for equal values.
func acceleration(x []float64) float64 {
	m := Mean(x)
	var two, three float64
	for _, v := range x {
		l := v - m
		two += l * l
		three += l * l * l
	}
	if two == 0 {
		return 0
	}
	return three / (6 * math.Pow(two, 1.5))
}
