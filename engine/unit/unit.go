// Package unit prints quantities in few columns and stable widths: counts, rates, durations, sizes, shares, clock times and histogram
// edges. Prefixes are decimal. The thresholds between forms follow the printed rounding, so that nothing is ever printed as 1000k.
// What is not known prints as "-". The output is ASCII and the same in every locale.
package unit

import (
	"math"
	"strconv"
)

// Unknown is how a value that is not known is printed.
const Unknown = "-"

// Known prints *p with f, or "-" when p is nil.
func Known[T any](p *T, f func(T) string) string {
	if p == nil {
		return Unknown
	}
	return f(*p)
}

// Count prints an exact count with thousands separators: 4,096.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	first := 0
	if n < 0 {
		first = 1
	}
	out := make([]byte, 0, len(s)+len(s)/3)
	for i := range len(s) {
		if i > first && (len(s)-i)%3 == 0 {
			out = append(out, ',')
		}
		out = append(out, s[i])
	}
	return string(out)
}

// Short prints a count in at most five columns (six when negative): up to 9,999 exactly, then with three significant digits and a prefix,
// as in 18.4k.
func Short(n int64) string {
	if n > -10000 && n < 10000 {
		return Count(n)
	}
	return Number(float64(n))
}

// Number prints v with three significant digits and a prefix where it needs one: 0.25, 84.6, 2.36k, 18.4M. Numbers beyond 999T and below
// 0.001 are in exponent form.
func Number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Unknown
	}
	mantissa, prefix, ok := scale(v, 1000, decimalPrefixes)
	if !ok {
		return strconv.FormatFloat(v, 'e', 1, 64)
	}
	return mantissa + prefix
}

// Rate prints a rate: Rate(2360, "tok/s") is "2.36k tok/s".
func Rate(v float64, per string) string { return Number(v) + " " + per }
