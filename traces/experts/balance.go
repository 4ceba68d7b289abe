package experts

import (
	"cmp"
	"math"
	"slices"
)

// Balance says how evenly choices fell on the experts of a layer. The pointers are nil where nothing was chosen.
type Balance struct {
	Choices     int64    `json:"choices"`
	Entropy     *float64 `json:"entropy_bits"`       // of the share of each expert; log2(experts) when all are equal
	Evenness    *float64 `json:"entropy_normalised"` // entropy over log2(experts), in [0,1]; null for one expert
	MaxOverMean *float64 `json:"max_over_mean"`      // 1 when all are equal
	CV          *float64 `json:"cv"`                 // coefficient of variation: population standard deviation over mean
	TopShare    *float64 `json:"top_k_share"`        // share of choices that fell on the k busiest experts, in [0,1]
	Busiest     *int     `json:"busiest_expert"`     // lowest id among equals
	BusiestN    int64    `json:"busiest_choices"`
	Unused      int      `json:"unused_experts"` // experts that were never chosen
}

// NewBalance sums up the choices of each expert. k is how many of the busiest share TopShare.
func NewBalance(counts []int64, k int) Balance {
	var b Balance
	for e, c := range counts {
		b.Choices += c
		if c == 0 {
			b.Unused++
		}
		if c > b.BusiestN {
			b.BusiestN, b.Busiest = c, &e
		}
	}
	if b.Choices == 0 {
		return b
	}
	n := float64(len(counts))
	mean := float64(b.Choices) / n
	var entropy, square float64
	for _, c := range counts {
		if c > 0 {
			p := float64(c) / float64(b.Choices)
			entropy -= p * math.Log2(p)
		}
		square += (float64(c) - mean) * (float64(c) - mean)
	}
	entropy = max(entropy, 0)
	b.Entropy = &entropy
	if len(counts) > 1 {
		evenness := min(entropy/math.Log2(n), 1)
		b.Evenness = &evenness
	}
	maxOverMean, cv := float64(b.BusiestN)/mean, math.Sqrt(square/n)/mean
	b.MaxOverMean, b.CV = &maxOverMean, &cv
	share := topShare(counts, k, b.Choices)
	b.TopShare = &share
	return b
}

func topShare(counts []int64, k int, total int64) float64 {
	sorted := slices.Clone(counts)
	slices.SortFunc(sorted, func(a, b int64) int { return cmp.Compare(b, a) })
	var top int64
	for _, c := range sorted[:min(k, len(sorted))] {
		top += c
	}
	return float64(top) / float64(total)
}

// Heat averages the choices of a layer over groups of neighbouring experts, relative to the layer's mean: 1 is an even share. There are at most
// columns groups, whose sizes differ by at most one expert. It is nil where nothing was chosen.
func Heat(counts []int64, columns int) []float64 {
	var total int64
	for _, c := range counts {
		total += c
	}
	n := min(columns, len(counts))
	if total == 0 || n < 1 {
		return nil
	}
	mean := float64(total) / float64(len(counts))
	out := make([]float64, n)
	for i := range out {
		from, to := i*len(counts)/n, (i+1)*len(counts)/n
		var sum int64
		for _, c := range counts[from:to] {
			sum += c
		}
		out[i] = float64(sum) / float64(to-from) / mean
	}
	return out
}
