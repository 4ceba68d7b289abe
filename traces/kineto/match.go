package kineto

import "bytes"

// matcher finds the end of a JSON value that may arrive in pieces: braces and brackets are counted outside strings only.
type matcher struct {
	depth   int
	started bool
	inStr   bool
	escaped bool
	scalar  bool
}

// end looks at b from the byte at from on and returns the length of the value that begins at b[0], or -1 when it has not ended yet.
func (m *matcher) end(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		c := b[i]
		if m.inStr {
			if m.escaped {
				m.escaped = false
				continue
			}
			if c != '"' && c != '\\' {
				j := bytes.IndexByte(b[i:], '"')
				if j < 0 {
					j = len(b) - i
				}
				if k := bytes.IndexByte(b[i:i+j], '\\'); k >= 0 {
					j = k
				}
				i += j - 1
				continue
			}
			if c == '\\' {
				m.escaped = true
				continue
			}
			m.inStr = false
			if m.depth == 0 {
				return i + 1
			}
			continue
		}
		switch c {
		case '"':
			if m.scalar {
				return i
			}
			m.inStr, m.started = true, true
		case '{', '[':
			m.depth++
			m.started = true
		case '}', ']':
			if m.scalar {
				return i
			}
			m.depth--
			if m.depth <= 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\r', '\t':
			if m.scalar {
				return i
			}
		default:
			if m.depth == 0 {
				m.scalar = true
			}
		}
	}
	return -1
}

// endAtEOF is the length of a bare number or word that the end of the stream closes, else -1.
func (m *matcher) endAtEOF(n int) int {
	if m.scalar && n > 0 {
		return n
	}
	return -1
}
