package unit

import (
	"math"
	"strconv"
)

const decimalPrefixes = " kMGT"

// scale returns v divided by the largest power of base whose prefix is known and that leaves at least one, with three significant digits.
// It is not ok for a value that no prefix brings below base.
func scale(v, base float64, prefixes string) (mantissa, prefix string, ok bool) {
	for i := range len(prefixes) {
		if s := significant(v); math.Abs(v) < base && !tooLong(s) {
			if i == 0 {
				return s, "", true
			}
			return s, prefixes[i : i+1], true
		}
		v /= base
	}
	return "", "", false
}

// significant prints v with three significant digits, never more than three of them behind the point.
func significant(v float64) string {
	if v == 0 {
		return "0"
	}
	for digits := 3; digits > 0; digits-- {
		s := strconv.FormatFloat(v, 'f', digits, 64)
		if n := countDigits(s); n <= 3 || digits == 3 && math.Abs(v) < 1 && n <= 4 && math.Abs(v) < 0.0995 {
			return s
		}
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

func countDigits(s string) int {
	n, leading := 0, true
	for i := range len(s) {
		switch {
		case s[i] == '0' && leading:
		case s[i] >= '0' && s[i] <= '9':
			leading = false
			n++
		}
	}
	return n
}

// tooLong reports a mantissa that rounding has carried to 1000.
func tooLong(s string) bool { return countDigits(s) > 3 }
