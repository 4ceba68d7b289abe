package unit

import (
	"math"
	"strconv"
)

// Percent prints a ratio with one digit behind the point: 0.602 is "60.2 %". Exactly 0 and everything that rounds to 100 or more has none.
func Percent(ratio float64) string {
	p := ratio * 100
	switch {
	case math.IsNaN(p) || math.IsInf(p, 0):
		return Unknown
	case p == 0:
		return "0 %"
	}
	s := strconv.FormatFloat(p, 'f', 1, 64)
	if countDigits(s) > 3 {
		s = strconv.FormatFloat(p, 'f', 0, 64)
	}
	return s + " %"
}

// Share prints part of total as Percent; "-" when total is 0.
func Share(part, total int64) string {
	if total == 0 {
		return Unknown
	}
	return Percent(float64(part) / float64(total))
}

// Bytes prints a size with a decimal prefix: 512 B, 44.0 GB.
func Bytes(n int64) string {
	if n > -1000 && n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	mantissa, prefix, ok := scale(float64(n), 1000, decimalPrefixes+"PE")
	if !ok {
		return Count(n) + " B"
	}
	return mantissa + " " + prefix + "B"
}

// Edge prints an edge of a histogram of tokens as engineers name it: whole thousands, cut and not rounded: 128, 1k, 16k, 131k.
func Edge(tokens int64) string {
	switch {
	case tokens > -1000 && tokens < 1000:
		return strconv.FormatInt(tokens, 10)
	case tokens > -1e6 && tokens < 1e6:
		return strconv.FormatInt(tokens/1000, 10) + "k"
	default:
		return strconv.FormatInt(tokens/1e6, 10) + "M"
	}
}

// Edges labels the bins of a histogram whose upper edges are given and whose last bin is open: 128, 1k, ..., 131k, >131k.
func Edges(upper []int64) []string {
	labels := make([]string, 0, len(upper)+1)
	for _, e := range upper {
		labels = append(labels, Edge(e))
	}
	if len(upper) > 0 {
		labels = append(labels, ">"+labels[len(upper)-1])
	}
	return labels
}
