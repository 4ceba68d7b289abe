package stat

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// Power is the probability that the t bound of n pairs at 1-alpha lies below limit, when the true mean is mean and pairs vary by sd.
func Power(n int, mean, sd, limit, alpha float64) float64 {
	switch {
	case n < 2:
		return 0
	case sd == 0 && mean < limit:
		return 1
	case sd == 0:
		return 0
	}
	df := float64(n - 1)
	shift := (limit - mean) / sd * math.Sqrt(float64(n))
	critical := TQuantile(1-alpha, n-1)
	chi := distuv.ChiSquared{K: df}
	// P(Z + shift > critical sqrt(V/df)) over V by its quantiles: the integrand is smooth on (0, 1).
	return quad.Fixed(func(u float64) float64 {
		return NormalCDF(shift - critical*math.Sqrt(chi.Quantile(u)/df))
	}, 0, 1, 64, nil, 0)
}

// maxPairs bounds a search; a campaign of more is never run.
const maxPairs = 2000

// PairsNeeded is the smallest number of pairs that decides with the given power at this noise, if the true mean is mean. ok is false when
// no affordable number does: the effect is too near the limit, or beyond it.
func PairsNeeded(mean, sd, limit, alpha, power float64) (int, bool) {
	if math.IsNaN(sd) || math.IsNaN(mean) || mean >= limit {
		return 0, false
	}
	high := 2
	for Power(high, mean, sd, limit, alpha) < power {
		if high *= 2; high > maxPairs {
			return 0, false
		}
	}
	low := max(high/2, 2)
	for low < high {
		mid := (low + high) / 2
		if Power(mid, mean, sd, limit, alpha) >= power {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low, true
}
