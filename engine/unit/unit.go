// Package unit prints quantities in few columns and stable widths: counts, rates, durations, sizes, shares, clock times and histogram
// edges. Prefixes are decimal. Where a form changes follows the printed digits and not the value, so that nothing is ever printed as
// 1000k. What is not known prints as "-". The output is ASCII and the same in every locale.
package unit

import (
	"math"
	"strconv"
	"strings"
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

// Number prints v with three significant digits and a prefix where it needs one, in at most five columns (six when negative): 0.250, 84.6,
// 2.36k, 18.4M. Zero is "0" and what rounds to it is "0.000". Beyond 999T it falls back to exponents; NaN and infinities are unknown.
func Number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Unknown
	}
	mantissa, prefix, ok := scale(v, decimalPrefixes[:5])
	if !ok {
		return strconv.FormatFloat(v, 'e', 1, 64)
	}
	return mantissa + prefix
}

// Tick prints a round number as short as it is: 0.5, 120, 2.5k, 1e-04. It is meant for the labels of an axis.
func Tick(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Unknown
	}
	mantissa, prefix, ok := scale(v, decimalPrefixes[:5])
	if !ok {
		return strconv.FormatFloat(v, 'e', 0, 64)
	}
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	if v != 0 && strings.TrimLeft(mantissa, "-0") == "" {
		return strconv.FormatFloat(v, 'e', 0, 64)
	}
	return mantissa + prefix
}

// Rate prints a rate: Rate(2360, "tok/s") is "2.36k tok/s".
func Rate(v float64, per string) string {
	if s := Number(v); s != Unknown {
		return s + " " + per
	}
	return Unknown
}

// Left pads s, which is ASCII, with blanks on its right to w columns. What is longer stays whole.
func Left(s string, w int) string { return s + blanks(w-len(s)) }

// Right pads s, which is ASCII, with blanks on its left to w columns. What is longer stays whole.
func Right(s string, w int) string { return blanks(w-len(s)) + s }

func blanks(n int) string { return strings.Repeat(" ", max(0, n)) }
