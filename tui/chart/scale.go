package chart

import (
	"math"
	"slices"
)

// axis maps values to heights: 0 at the lower end, 1 at the upper.
type axis struct {
	low, high float64
	log       bool
}

// at returns the height of v in [0,1]; values outside the axis are drawn on its ends.
func (a axis) at(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		if v <= low {
			return 0
		}
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	if high <= low || math.IsNaN(v) {
		return 0
	}
	return max(0, min(1, (v-low)/(high-low)))
}

// drawable brings an end of an axis into the range in which rounding up and powers of ten stay finite. NaN is 0.
func drawable(v float64) float64 {
	const limit = 1e300
	if math.IsNaN(v) {
		return 0
	}
	return max(-limit, min(limit, v))
}

// roundTops are the leading figures of the upper end of an axis. They are close enough to waste at most a third of the height, and far enough
// apart for the axis to stand still while values wander.
var roundTops = [...]float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10}

// roundUp returns the smallest round top that is not below v; 1 for what is not positive.
func roundUp(v float64) float64 {
	if v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 1
	}
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range roundTops {
		if m*decade >= v*(1-1e-12) {
			return m * decade
		}
	}
	return 10 * decade
}

// linearTicks returns at most n+1 round values from low to high, both ends included when they are round.
func linearTicks(low, high float64, n int) []float64 {
	if n < 1 || high <= low {
		return []float64{low}
	}
	if low == 0 {
		parts := 1
		for k := 2; k <= n; k++ {
			if isRound(high / float64(k)) {
				parts = k
			}
		}
		ticks := make([]float64, parts+1)
		for i := range ticks {
			ticks[i] = high * float64(i) / float64(parts)
		}
		return ticks
	}
	step := roundStep((high - low) / float64(n))
	var ticks []float64
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9 && len(ticks) <= n; i++ {
		ticks = append(ticks, i*step)
	}
	return ticks
}

// wholeTicks returns at most n+1 evenly spaced whole numbers from 0 to high, which is one.
func wholeTicks(high float64, n int) []float64 {
	parts := 1
	for k := 2; k <= n; k++ {
		if math.Mod(high, float64(k)) == 0 && isRound(high/float64(k)) {
			parts = k
		}
	}
	ticks := make([]float64, parts+1)
	for i := range ticks {
		ticks[i] = high / float64(parts) * float64(i)
	}
	return ticks
}

// isRound reports that v has at most two significant figures, or a five as the third.
func isRound(v float64) bool {
	m := 2 * v / math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Abs(m-math.Round(m)) < 1e-6
}

// roundStep returns the smallest of 1, 2, 5 times a power of ten that is not below v.
func roundStep(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range [...]float64{1, 2, 5} {
		if m*decade >= v*(1-1e-12) {
			return m * decade
		}
	}
	return 10 * decade
}

// logTicks returns the powers of ten from low to high, or 1-2-5 steps where fewer than two decades are shown.
func logTicks(low, high float64) []float64 {
	steps := []float64{1}
	if high/low < 100 {
		steps = []float64{1, 2, 5}
	}
	var ticks []float64
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	for e := first; e <= last; e++ {
		for _, s := range steps {
			if t := s * math.Pow10(e); t >= low*(1-1e-9) && t <= high*(1+1e-9) {
				ticks = append(ticks, t)
			}
		}
	}
	if len(ticks) == 0 || ticks[len(ticks)-1] < high*(1-1e-9) {
		ticks = append(ticks, high)
	}
	return ticks
}

// maxDecades is how far down a logarithmic axis reaches: one tiny value must not flatten the others.
const maxDecades = 4

// logEnds widens the positive values seen to 1-2-5 ends one to four decades apart.
func logEnds(low, high float64) (float64, float64) {
	if !(high > 0) || math.IsInf(high, 0) {
		return 1, 10
	}
	if !(low > 0) {
		low = high / 10
	}
	low = max(low, high/math.Pow(10, maxDecades))
	low, high = roundDown125(low), roundStep(high)
	if high < low*10 {
		high = low * 10
	}
	return low, high
}

func roundDown125(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range [...]float64{5, 2} {
		if m*decade <= v*(1+1e-12) {
			return m * decade
		}
	}
	return decade
}

// tickRow is the label of one line of an axis.
type tickRow struct {
	row   int
	value float64
}

// placeTicks puts ticks on lines of a plot h lines high. The ends win, then those further up; no two are on one line.
func placeTicks(a axis, ticks []float64, h int, rowOf func(height float64, h int) int) []tickRow {
	var out []tickRow
	add := func(v float64) {
		row := rowOf(a.at(v), h)
		if !slices.ContainsFunc(out, func(t tickRow) bool { return t.row == row }) {
			out = append(out, tickRow{row: row, value: v})
		}
	}
	if n := len(ticks); n > 0 && h > 0 {
		add(ticks[n-1])
		add(ticks[0])
		for i := n - 2; i > 0; i-- {
			add(ticks[i])
		}
	}
	return out
}

// dotOf returns the line of braille dots, 0 uppermost, for a height in [0,1] in a plot of h lines.
func dotOf(height float64, h int) int { return int(math.Round((1 - height) * float64(4*h-1))) }

// columnRow returns the line in which a column ends.
func columnRow(height float64, h int) int {
	eighths := max(1, int(math.Round(height*float64(h*8))))
	return h - 1 - (eighths-1)/8
}

// rowOf returns the line for a height: the one that holds its dot.
func rowOf(height float64, h int) int { return dotOf(height, h) / 4 }
