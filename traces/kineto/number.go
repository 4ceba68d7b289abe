package kineto

import (
	"bytes"
	"math"
	"strconv"
)

// parseNS reads microseconds with decimals as integer nanoseconds, exactly: digits past the third decimal are rounded half up. A file
// whose times are nanoseconds already is recognised by their size (absolute microseconds stay below 1e17 until the year 5138).
func parseNS(b []byte) (int64, bool) {
	neg := false
	if len(b) > 0 && b[0] == '-' {
		neg, b = true, b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	var v int64
	i := 0
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		if v > (math.MaxInt64-9)/10 {
			return 0, false
		}
		v = v*10 + int64(b[i]-'0')
	}
	if i == 0 {
		return 0, false
	}
	if i == len(b) {
		if v < nanoseconds {
			v *= 1000
		}
		return signed(v, neg), true
	}
	if b[i] != '.' {
		return parseExponent(b, neg)
	}
	if v > math.MaxInt64/1000-1 {
		return 0, false
	}
	frac, ok := thousandths(b[i+1:])
	if !ok {
		return parseExponent(b, neg)
	}
	return signed(v*1000+frac, neg), true
}

// nanoseconds is from where on a time without decimals is one of nanoseconds since 1970.
const nanoseconds = 1e17

// isNanoseconds reports whether an event's time, and so its duration, is in nanoseconds.
func isNanoseconds(ts []byte) bool {
	const length = 18 // digits of 1e17
	if len(ts) < length || bytes.IndexByte(ts, '.') >= 0 {
		return false
	}
	v, ok := parseInt(ts)
	return ok && v >= nanoseconds
}

// thousandths reads decimals as thousandths, rounded half up.
func thousandths(b []byte) (int64, bool) {
	var v int64
	for i := range 3 {
		v *= 10
		if i < len(b) {
			if b[i] < '0' || b[i] > '9' {
				return 0, false
			}
			v += int64(b[i] - '0')
		}
	}
	for i := 3; i < len(b); i++ {
		if b[i] < '0' || b[i] > '9' {
			return 0, false
		}
	}
	if len(b) > 3 && b[3] >= '5' {
		v++
	}
	return v, true
}

// parseExponent is for the rare writer that uses 1.7e+15.
func parseExponent(b []byte, neg bool) (int64, bool) {
	if bytes.IndexByte(b, 'e') < 0 && bytes.IndexByte(b, 'E') < 0 {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil || math.IsNaN(v) || math.Abs(v) > math.MaxInt64/2000 {
		return 0, false
	}
	return signed(int64(math.Round(v*1000)), neg), true
}

func signed(v int64, neg bool) int64 {
	if neg {
		return -v
	}
	return v
}

func parseInt(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 32 {
		return 0, false
	}
	v, err := strconv.ParseInt(string(bytes.Trim(b, `"`)), 10, 64)
	return v, err == nil
}

func parseUint32(b []byte) (uint32, bool) {
	if len(b) == 0 || len(b) > 10 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return uint32(v), v <= math.MaxUint32
}

// triple reads "x, y, z"; what is missing or not a number is 0.
func triple(b []byte) (v [3]int32) {
	for i := range v {
		b = bytes.TrimLeft(b, " \n\t")
		n := 0
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		if x, err := strconv.ParseInt(string(b[:n]), 10, 32); err == nil {
			v[i] = int32(x)
		}
		_, b, _ = bytes.Cut(b[n:], []byte{','})
	}
	return v
}
