package compare

import (
	"math"

	"opprof/campaign/stat"
)

// blocksLeast is how many blocks the length of a block is chosen to leave.
const blocksLeast = 16

// knownLeast is the share of the weight whose spread between blocks must be known.
const knownLeast = 0.9

// estimate is a mean and the variance of that mean, by the spread between blocks.
type estimate struct {
	mean, variance float64
	blocks         int
}

// estimate is the mean of a cell, over blocks as long as its own steps ask for. Blocks hold different numbers of its steps, so the mean is a ratio of sums and its variance that of its
// linear part: m/(m-1) times the sum of ((sum_b - mean n_b)/n)^2 over m blocks.
func (c *cell) estimate() estimate {
	e := estimate{mean: c.mean()}
	level, _ := independent(c.deviations)
	var squares float64
	for b := range c.merged(level) {
		u := (float64(b.sum) - e.mean*float64(b.n)) / float64(c.n)
		squares += u * u
		e.blocks++
	}
	e.variance = spread(squares, e.blocks)
	return e
}

// spread is infinite for a single block: its variance is not known.
func spread(squares float64, blocks int) float64 {
	if blocks < 2 {
		return math.Inf(1)
	}
	return squares * float64(blocks) / float64(blocks-1)
}

// weigh is the mean over cells with the given weights, which are taken as fixed. Blocks hold steps of many cells, so that what moves the
// cells of a block together counts together. A cell with a single block says nothing about spread: those with several stand for it, if they
// have nearly all of the weight.
func weigh(t *tally, cells []*cell, weights []float64, level uint) estimate {
	var u [blocksKept]float64
	var seen [blocksKept]bool
	var e estimate
	var all, known float64
	for i, c := range cells {
		mean, blocks := c.mean(), 0
		e.mean += weights[i] * mean
		for b := range c.merged(level) {
			u[b.index] += weights[i] * (float64(b.sum) - mean*float64(b.n)) / float64(c.n)
			seen[b.index] = true
			blocks++
		}
		if all += weights[i]; blocks > 1 {
			known += weights[i]
		}
	}
	var squares float64
	for i := range u {
		squares += u[i] * u[i]
		if seen[i] {
			e.blocks++
		}
	}
	if e.variance = math.Inf(1); known >= knownLeast*all && known > 0 {
		e.variance = spread(squares, e.blocks) * (all / known) * (all / known)
	}
	return e
}

// independent is by how many levels the blocks of a series are merged until the deviations of neighbouring ones from the mean are not
// positively correlated any more. ok is false when they still are, beyond chance (one-sided 5 %), at the longest block that leaves enough of
// them.
func independent(deviations func(level uint) []float64) (level uint, ok bool) {
	for ; ; level++ {
		d := deviations(level)
		r := correlation(d)
		switch {
		case r <= 0:
			return level, true
		case len(d) < 2*blocksLeast:
			return level, r <= stat.NormalQuantile(0.95)/math.Sqrt(float64(len(d)))
		}
	}
}

// correlation is that of neighbouring values, whose mean is 0.
func correlation(d []float64) float64 {
	var products, squares float64
	for i, v := range d {
		squares += v * v
		if i > 0 {
			products += v * d[i-1]
		}
	}
	if squares == 0 {
		return 0
	}
	return products / squares
}

// deviations are those of the sums of a tally's blocks from what the means of their cells make.
func (t *tally) deviations(level uint) []float64 {
	var sums [blocksKept]float64
	var seen [blocksKept]bool
	for _, c := range t.cells {
		mean := c.mean()
		for b := range c.merged(level) {
			sums[b.index] += float64(b.sum) - mean*float64(b.n)
			seen[b.index] = true
		}
	}
	out := make([]float64, 0, blocksKept)
	for i, d := range sums {
		if seen[i] {
			out = append(out, d)
		}
	}
	return out
}

// deviations are those of the sums of a cell's blocks from what its mean makes.
func (c *cell) deviations(level uint) []float64 {
	var out []float64
	mean := c.mean()
	for b := range c.merged(level) {
		out = append(out, float64(b.sum)-mean*float64(b.n))
	}
	return out
}

// Change is how much larger B is than A, in percent of A, with its 95 % interval. It is computed on the logarithm of the ratio, so that
// exchanging A and B turns the sign of the logarithm and nothing else.
type Change struct {
	Pct  float64  `json:"pct"`
	Low  *float64 `json:"low_pct"` // null where there is no interval
	High *float64 `json:"high_pct"`
}

// excludesZero reports whether the interval leaves no difference out.
func (c *Change) excludesZero() bool {
	return c != nil && c.Low != nil && (*c.Low > 0 || *c.High < 0)
}

// change compares two means that are above 0; nil otherwise. The interval, of the given two-sided error, is by Student's t with Welch's
// degrees of freedom; there is none where a variance is not known.
func change(a, b estimate, alpha float64) *Change {
	if !(a.mean > 0) || !(b.mean > 0) {
		return nil
	}
	d := math.Log(b.mean) - math.Log(a.mean)
	out := &Change{Pct: pct(d)}
	if half, ok := half(relative(a), relative(b), alpha); ok {
		low, high := pct(d-half), pct(d+half)
		out.Low, out.High = &low, &high
	}
	return out
}

// relative is an estimate of the logarithm of a mean.
func relative(e estimate) estimate {
	return estimate{mean: math.Log(e.mean), variance: e.variance / (e.mean * e.mean), blocks: e.blocks}
}

// half is the half-width of the interval of a difference.
func half(a, b estimate, alpha float64) (float64, bool) {
	variance := a.variance + b.variance
	if math.IsInf(variance, 0) || math.IsNaN(variance) {
		return 0, false
	}
	if variance == 0 {
		return 0, true
	}
	df := variance * variance / (a.variance*a.variance/float64(a.blocks-1) + b.variance*b.variance/float64(b.blocks-1))
	return stat.TQuantile(1-alpha/2, max(1, int(df))) * math.Sqrt(variance), true
}

func pct(log float64) float64 { return 100 * math.Expm1(log) }
