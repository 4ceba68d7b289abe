package unit

import (
	"math"
	"strconv"
)

// Percent prints a ratio with one digit behind the point, from 100 on with none: 0.602 is "60.2 %". Exactly zero is "0 %", and what
// rounds to it is "0.0 %".
func Percent(ratio float64) string {
	p := ratio * 100
	if math.IsNaN(p) || math.IsInf(p, 0) {
		return Unknown
	}
	if p == 0 {
		return "0 %"
	}
	s := strconv.FormatFloat(p, 'f', 1, 64)
	if wholeDigits(s) > 2 {
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
	mantissa, prefix, _ := scale(float64(n), decimalPrefixes) // int64 ends at 9.2 E
	return mantissa + " " + prefix + "B"
}

// Edge prints an edge of a histogram of tokens as engineers name it: whole thousands, cut and not rounded: 128, 1k, 16k, 131k.
func Edge(tokens int64) string {
	switch {
	case tokens > -1e3 && tokens < 1e3:
		return strconv.FormatInt(tokens, 10)
	case tokens > -1e6 && tokens < 1e6:
		return strconv.FormatInt(tokens/1e3, 10) + "k"
	default:
		return strconv.FormatInt(tokens/1e6, 10) + "M"
	}
}

// Edges labels the bins of a histogram whose upper edges are given and whose last bin is open: 128, 1k, ..., 131k, >131k. An edge whose
// short name is that of the edge before it is printed whole.
func Edges(upper []int64) []string {
	labels := make([]string, 0, len(upper)+1)
	for i, e := range upper {
		label := Edge(e)
		if i > 0 && label == Edge(upper[i-1]) {
			label = Count(e)
		}
		labels = append(labels, label)
	}
	if n := len(labels); n > 0 {
		labels = append(labels, ">"+labels[n-1])
	}
	return labels
}
