// Package stat holds the statistics of paired measurements: the exact bootstrap of a mean, bounds on it, and how many pairs a decision
// needs. It draws no random numbers: the same data give the same answer, bit for bit.
package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Mean is the arithmetic mean; NaN for no values.
func Mean(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// SD is the sample standard deviation (divisor n-1); NaN for fewer than two values. Equal values give exactly 0.
func SD(x []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	if slices.Min(x) == slices.Max(x) {
		return 0
	}
	m := Mean(x)
	var sum float64
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(x)-1))
}

// TQuantile is the p-quantile of Student's t with df degrees of freedom.
func TQuantile(p float64, df int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(df)}.Quantile(p)
}

// NormalCDF is the standard normal distribution function.
func NormalCDF(x float64) float64 { return distuv.UnitNormal.CDF(x) }

// NormalQuantile is its inverse.
func NormalQuantile(p float64) float64 { return distuv.UnitNormal.Quantile(p) }

// UpperT is the one-sided upper confidence bound of the mean at 1-alpha by Student's t; NaN for fewer than two values.
func UpperT(x []float64, alpha float64) float64 {
	n := len(x)
	if n < 2 {
		return math.NaN()
	}
	return Mean(x) + TQuantile(1-alpha, n-1)*SD(x)/math.Sqrt(float64(n))
}

// ExpandedAlpha is the tail that makes a percentile bootstrap bound as wide as a t interval of n values would be (Hesterberg 2015, "What
// Teachers Should Know about the Bootstrap"): Phi(-sqrt(n/(n-1)) t[1-alpha, n-1]).
func ExpandedAlpha(n int, alpha float64) float64 {
	f := float64(n)
	return NormalCDF(-math.Sqrt(f/(f-1)) * TQuantile(1-alpha, n-1))
}

// SignFlip is the exact one-sided p-value of the hypothesis that the mean is at least limit, by flipping the signs of x - limit in all
// ways: the share of flips whose mean is at most the observed one. At n values it cannot be below 2^-n. NaN beyond 24 values.
func SignFlip(x []float64, limit float64) float64 {
	n := len(x)
	if n == 0 || n > 24 {
		return math.NaN()
	}
	var observed float64
	for _, v := range x {
		observed += v - limit
	}
	atMost := 0
	tolerance := 1e-12 * math.Abs(observed)
	for mask := range 1 << n {
		var sum float64
		for i, v := range x {
			if mask>>i&1 == 1 {
				sum -= v - limit
			} else {
				sum += v - limit
			}
		}
		if sum <= observed+tolerance {
			atMost++
		}
	}
	return float64(atMost) / float64(int(1)<<n)
}

// Quantile7 is the p-quantile by linear interpolation between order statistics (type 7, numpy's default). The values are not changed.
func Quantile7(x []float64, p float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	h := p * float64(len(s)-1)
	i := int(h)
	if i+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[i] + (h-float64(i))*(s[i+1]-s[i])
}
