package unit

import (
	"math"
	"strconv"
	"strings"
)

// decimalPrefixes are for powers of 1000, from none upwards.
const decimalPrefixes = " kMGTPE"

// scale divides v by 1000 until three digits hold its whole part as printed, and returns that with the prefix. It is not ok when no
// prefix is large enough.
func scale(v float64, prefixes string) (mantissa, prefix string, ok bool) {
	for i := range len(prefixes) {
		if s := significant(v); wholeDigits(s) <= 3 {
			return s, strings.TrimSpace(prefixes[i : i+1]), true
		}
		v /= 1000
	}
	return "", "", false
}

// significant prints v with three significant digits, never more than three of them behind the point. Whether a form is short enough is
// decided on the printed digits, because rounding may add one: 9.995 is 9.99 or 10.0 as its binary value has it, never 9.995 or 10.00.
func significant(v float64) string {
	if v == 0 {
		return "0"
	}
	for decimals := 3; decimals > 0; decimals-- {
		s := strconv.FormatFloat(v, 'f', decimals, 64)
		whole := wholeDigits(s)
		if whole+decimals <= 3 || decimals == 3 && math.Abs(v) < 1 && s != "1.000" && s != "-1.000" {
			return s
		}
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// wholeDigits counts the digits before the point of a printed number.
func wholeDigits(s string) int {
	s = strings.TrimPrefix(s, "-")
	if point := strings.IndexByte(s, '.'); point >= 0 {
		return point
	}
	return len(s)
}
