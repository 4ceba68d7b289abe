package stat

import "math"

// Crossover is the estimate of an effect from pairs run in both orders, with the effect of the order itself taken out (Hills and
// Armitage 1979): the mean of the two orders' means.
type Crossover struct {
	AB, BA   int     // pairs of each order
	Estimate float64 // mean of the two means
	Order    float64 // half the difference of the two means: what running second adds
	SE       float64 // NaN with fewer than three pairs
	DF       int
}

// NewCrossover computes it from the values of the pairs that ran A first and of those that ran B first. It has no estimate unless both
// orders occur.
func NewCrossover(ab, ba []float64) (Crossover, bool) {
	c := Crossover{AB: len(ab), BA: len(ba), DF: len(ab) + len(ba) - 2, SE: math.NaN()}
	if len(ab) == 0 || len(ba) == 0 {
		return c, false
	}
	m1, m2 := Mean(ab), Mean(ba)
	c.Estimate, c.Order = (m1+m2)/2, (m1-m2)/2
	if c.DF > 0 {
		ss := squares(ab, m1) + squares(ba, m2)
		pooled := math.Sqrt(ss / float64(c.DF))
		c.SE = pooled / 2 * math.Sqrt(1/float64(len(ab))+1/float64(len(ba)))
	}
	return c, true
}

// Upper is the one-sided upper bound of the estimate at 1-alpha; NaN without degrees of freedom.
func (c Crossover) Upper(alpha float64) float64 {
	if c.DF < 1 {
		return math.NaN()
	}
	return c.Estimate + TQuantile(1-alpha, c.DF)*c.SE
}

func squares(x []float64, mean float64) (sum float64) {
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return sum
}
