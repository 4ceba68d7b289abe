package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of values in a line, the line's own object included. A recorder nests three deep.
const maxDepth = 512

// scanner reads one line of JSON of any layout without reflection and without a tree. It accepts what encoding/json accepts: bytes
// that are not UTF-8 and lone surrogates inside strings become U+FFFD, control characters inside strings are errors. Unlike
// encoding/json it compares names exactly, refuses a known name that stands twice and bounds the depth.
//
// The first failure is kept and moves the scanner to the end, so that all loops stop.
type scanner struct {
	b       []byte
	i       int
	failed  bool
	at      int    // byte where the failure was found
	reason  string // what was expected and what was found
	depth   int    // objects with known members that are open
	scratch []byte // holds the last string that had to be unescaped
	open    []byte // skip: the brackets that are open
}

func (p *scanner) reset(line []byte) {
	p.b, p.i, p.depth, p.failed, p.reason = line, 0, 0, false, ""
}

// fail records the first failure.
func (p *scanner) fail(at int, reason string) {
	if p.failed {
		return
	}
	p.failed, p.at, p.reason = true, at, reason
	p.i = len(p.b)
}

// expected fails at the present position with what is there instead.
func (p *scanner) expected(what string) {
	if p.i >= len(p.b) {
		p.fail(p.i, "expected "+what+", found the end of the line")
		return
	}
	p.fail(p.i, "expected "+what+", found "+excerpt(p.b[p.i:]))
}

// excerpt quotes the first few bytes of b up to a separator.
func excerpt(b []byte) string {
	if zeros := len(b) - len(bytes.TrimLeft(b, "\x00")); zeros > 1 {
		return fmt.Sprintf("%d zero bytes", zeros)
	}
	n := 1
	for n < len(b) && n < 24 && !bytes.ContainsRune([]byte(",]}: \t\r\n"), rune(b[n])) {
		n++
	}
	return strconv.QuoteToASCII(string(b[:n]))
}

// space skips white space and returns the byte after it, 0 at the end of the line (and at a NUL, which no rule expects).
func (p *scanner) space() byte {
	for p.i < len(p.b) {
		switch c := p.b[p.i]; c {
		case ' ', '\t', '\r', '\n':
			p.i++
		default:
			return c
		}
	}
	return 0
}

// end fails unless only white space is left.
func (p *scanner) end() {
	if !p.failed && p.space() != 0 || p.i < len(p.b) {
		p.expected("the end of the line after the object")
	}
}

// text reads a string and returns its content without escapes, valid until the next call.
func (p *scanner) text() []byte {
	start := p.i + 1
	end, plain := p.stringEnd()
	if p.failed {
		return nil
	}
	if plain {
		return p.b[start : end-1]
	}
	p.scratch = unescape(p.scratch[:0], p.b[start:end-1])
	return p.scratch
}

// stringEnd moves behind the string that starts at the present position. Plain says that it holds neither escapes nor bytes outside ASCII.
func (p *scanner) stringEnd() (end int, plain bool) {
	if p.i >= len(p.b) || p.b[p.i] != '"' {
		p.expected("a string")
		return 0, false
	}
	plain = true
	for i := p.i + 1; ; {
		i += plainPrefix(p.b[i:])
		if i >= len(p.b) {
			p.i = i
			p.expected("the closing quote of a string")
			return 0, false
		}
		switch c := p.b[i]; {
		case c == '"':
			p.i = i + 1
			return p.i, plain
		case c == '\\':
			n := escapeLen(p.b[i:])
			if n == 0 {
				p.i = i
				p.expected("an escape of JSON")
				return 0, false
			}
			plain, i = false, i+n
		case c < ' ':
			p.i = i
			p.expected("no control character inside a string")
			return 0, false
		default:
			plain, i = false, i+1
		}
	}
}

// plainPrefix is the number of bytes before the first quote, backslash, control character or byte outside ASCII.
func plainPrefix(b []byte) int {
	const (
		ones      = 0x0101010101010101
		quotes    = '"' * ones
		backslash = '\\' * ones
	)
	i := 0
	for ; i <= len(b)-8; i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		q, e := x^quotes, x^backslash
		// A borrow can only mark bytes after the first true mark, which is the one that counts.
		if stop := ((q - ones) | (e - ones) | (x - ' '*ones) | x) & highBits; stop != 0 {
			return i + bits.TrailingZeros64(stop)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			return i
		}
	}
	return i
}

// escapeLen is the length of the escape at the start of b, 0 when it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b); ok {
			return 6
		}
	}
	return 0
}

// hex4 is the code unit of the \uXXXX at the start of b.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape appends the content of a string whose escapes are known to be valid.
func unescape(dst, b []byte) []byte {
	for len(b) > 0 {
		switch c := b[0]; {
		case c == '\\' && b[1] == 'u':
			r, _ := hex4(b)
			b = b[6:]
			if utf16.IsSurrogate(r) {
				low, _ := hex4(b)
				if r = utf16.DecodeRune(r, low); r != unicode.ReplacementChar {
					b = b[6:]
				}
			}
			dst = utf8.AppendRune(dst, r)
		case c == '\\':
			dst = append(dst, unescaped(b[1]))
			b = b[2:]
		default:
			r, n := utf8.DecodeRune(b)
			dst = utf8.AppendRune(dst, r)
			b = b[n:]
		}
	}
	return dst
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// word moves behind one of JSON's bare words.
func (p *scanner) word(w string) bool {
	if !at(p.b, p.i, w) {
		return false
	}
	p.i += len(w)
	return true
}

// skip moves behind any value and checks it.
func (p *scanner) skip() {
	p.open = p.open[:0]
	for p.opens() || !p.failed && p.another() {
	}
}

// opens reads what stands at the start of a value and reports whether another value has to follow at once: the first of an array or
// object that is not empty.
func (p *scanner) opens() bool {
	switch c := p.space(); {
	case c == '"':
		p.stringEnd()
	case c == '{' || c == '[':
		if p.depth+len(p.open) >= maxDepth {
			p.fail(p.i, fmt.Sprintf("expected at most %d nested values, found more", maxDepth))
			return false
		}
		p.i++
		if p.space() == c+2 { // '}' and ']' stand two behind their partners
			p.i++
			return false
		}
		p.open = append(p.open, c)
		if c == '{' {
			p.key()
		}
		return !p.failed
	case c == 't' && p.word("true"), c == 'f' && p.word("false"), c == 'n' && p.word("null"):
	case c == '-' || c-'0' <= 9:
		end := numberEnd(p.b, p.i)
		if end == miss {
			p.expected("a number of JSON")
			return false
		}
		p.i = end
	default:
		p.expected("a value")
	}
	return false
}

// another reads what stands after a value inside the open arrays and objects, and reports whether one more value follows.
func (p *scanner) another() bool {
	for len(p.open) > 0 {
		inner := p.open[len(p.open)-1]
		switch p.space() {
		case inner + 2:
			p.i++
			p.open = p.open[:len(p.open)-1]
		case ',':
			p.i++
			if inner == '{' {
				p.key()
			}
			return !p.failed
		default:
			p.expected("a comma or " + strconv.Quote(string(rune(inner+2))))
			return false
		}
	}
	return false
}

// key reads a member's name and the colon after it. The name is valid until the next string is read.
func (p *scanner) key() []byte {
	p.space()
	name := p.text()
	if p.space() != ':' {
		p.expected("a colon")
		return nil
	}
	p.i++
	return name
}
