package record

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// miss is the position that the reading functions return when the text is not what they expect. It lies behind every line, so that a
// chain of them fails once and stays failed without a branch after each call.
const miss = 1 << 62

const (
	asciiZeros = 0x3030303030303030
	highBits   = 0x8080808080808080
)

// digits8 looks at the eight bytes of x, the first in the low byte, as a little-endian load gives them. It returns them with '0'
// subtracted, and how many of them, from the first on, are decimal digits.
func digits8(x uint64) (values uint64, n int) {
	values = x ^ asciiZeros
	// A digit plus 0x76 stays below 0x80. A carry reaches only bytes after the first one that is no digit.
	other := ((values + 0x7676767676767676) | values) & highBits
	return values, bits.TrailingZeros64(other) / 8
}

// join8 is the number that eight digit values spell, the most significant in the low byte: pairs, then fours, then all eight.
func join8(v uint64) uint64 {
	v = v*10 + v>>8
	return ((v&0x000000ff000000ff)*(100+1000000<<32) + (v>>16&0x000000ff000000ff)*(1+10000<<32)) >> 32
}

// number reads a decimal integer without sign or leading zeros, at most the largest int64, and returns it with the position after its
// last digit, or miss.
func number(b []byte, i int) (int64, int) {
	if i > len(b)-8 {
		return numberNearEnd(b, i)
	}
	v, n := digits8(binary.LittleEndian.Uint64(b[i:]))
	if n == 1 {
		return int64(v & 0xff), i + 1
	}
	if n == 0 || v&0xff == 0 {
		return 0, miss
	}
	if n < 8 {
		return int64(join8(v << (64 - 8*uint(n)))), i + n
	}
	return longNumber(b, i+8, join8(v))
}

// longNumber goes on with an integer after its first eight digits.
func longNumber(b []byte, i int, head uint64) (int64, int) {
	n := 8
	if i <= len(b)-8 {
		if v, m := digits8(binary.LittleEndian.Uint64(b[i:])); m == 8 {
			head, n, i = head*100000000+join8(v), 16, i+8
		}
	}
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		if n++; n > 19 {
			return 0, miss
		}
		head = head*10 + uint64(b[i]-'0')
	}
	if head > math.MaxInt64 {
		return 0, miss
	}
	return int64(head), i
}

func numberNearEnd(b []byte, i int) (int64, int) {
	if i >= len(b) || b[i]-'0' > 9 || b[i] == '0' && i+1 < len(b) && b[i+1]-'0' <= 9 {
		return 0, miss
	}
	var v int64
	for ; i < len(b) && b[i]-'0' <= 9; i++ { // fewer than eight digits
		v = v*10 + int64(b[i]-'0')
	}
	return v, i
}

// decimal reads a JSON number as the float64 nearest to it, exactly as strconv.ParseFloat does, and returns it with the position after
// it, or miss when there is no number or it is out of range.
func decimal(b []byte, i int) (float64, int) {
	if i+2 < len(b) && b[i+1] == '.' && b[i]-'0' <= 9 {
		w, digits, end := fraction(b, i+2)
		whole := uint64(b[i] - '0')
		if digits > 0 && (digits <= 18 || digits == 19 && whole == 0) && !(end < len(b) && b[end]|0x20 == 'e') {
			return quotient(whole*tens[digits]+w, digits), end
		}
	}
	end := numberEnd(b, i)
	if end == miss {
		return 0, miss
	}
	f, err := strconv.ParseFloat(string(b[i:end]), 64)
	if err != nil {
		return 0, miss
	}
	return f, end
}

// fraction reads the digits after a decimal point. The value is meaningless when there are more than 19 of them.
func fraction(b []byte, i int) (w uint64, digits, end int) {
	start := i
	for i <= len(b)-8 {
		v, n := digits8(binary.LittleEndian.Uint64(b[i:]))
		if n < 8 {
			if n > 0 {
				w = w*tens[n] + join8(v<<(64-8*uint(n)))
			}
			return w, i + n - start, i + n
		}
		w, i = w*100000000+join8(v), i+8
	}
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		w = w*10 + uint64(b[i]-'0')
	}
	return w, i - start, i
}

// tens holds the powers of ten that a uint64 can hold.
var tens = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// quotient is w / 10^digits rounded to the nearest float64, ties to even; digits <= 19.
func quotient(w uint64, digits int) float64 {
	d := tens[digits]
	if w < 1<<53 {
		// Both operands are exact (10^19 = 5^19 * 2^19 and 5^19 < 2^53), so that the division rounds once.
		return float64(w) / float64(d)
	}
	// Otherwise divide integers: both normalised, the 128-bit dividend below divisor * 2^64, a quotient of at least 62 bits. The
	// remainder becomes a sticky bit far below the 53 bits that are kept, so that the conversion rounds as the exact value would.
	shiftW, shiftD := bits.LeadingZeros64(w), bits.LeadingZeros64(d)
	w <<= uint(shiftW)
	q, r := bits.Div64(w>>1, w<<63, d<<uint(shiftD))
	if r != 0 {
		q |= 1
	}
	power := uint64(1023 + 1 - 64 + shiftD - shiftW)
	return float64(q) * math.Float64frombits(power<<52)
}

// numberEnd returns the position after the JSON number at b[i:], or miss.
func numberEnd(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b) || b[i]-'0' > 9:
		return miss
	case b[i] == '0':
		i++
	default:
		i = digitsEnd(b, i)
	}
	if i < len(b) && b[i] == '.' {
		if i+1 >= len(b) || b[i+1]-'0' > 9 {
			return miss
		}
		i = digitsEnd(b, i+1)
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i >= len(b) || b[i]-'0' > 9 {
			return miss
		}
		i = digitsEnd(b, i)
	}
	return i
}

func digitsEnd(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}
