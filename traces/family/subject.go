package family

import "strings"

// subject is what rules look at: a name's identifiers, as they are and in lower case, and which three-letter pieces they have.
type subject struct {
	text, lower string
	ascii       bool
	pieces      pieces
}

func subjectOf(name string) *subject {
	text := identifiers(name)
	s := &subject{text: text, lower: strings.ToLower(text), ascii: isASCII(text)}
	for i := 0; i+pieceLen <= len(s.lower); i++ {
		p := pieceOf(s.lower[i:])
		s.pieces[p/64] |= 1 << (p % 64)
	}
	return s
}

// pieces is a set of three-letter pieces by a hash: a name that lacks a word's first piece lacks the word. Names of cutlass kernels run to
// thousands of bytes, and there are hundreds of words.
type pieces [pieceKinds / 64]uint64

const (
	pieceLen   = 3
	pieceKinds = 1 << 14
)

// pieceOf is the hash of the first three bytes of text in lower case, which has at least as many.
func pieceOf(text string) uint32 {
	return (uint32(text[0])*0x9E3 ^ uint32(text[1])*0x85 ^ uint32(text[2])) % pieceKinds
}

// word is a word with the hash of its first piece.
type word struct {
	text  string
	piece int32 // -1 for words too short to have one
}

func newWord(text string) word {
	if len(text) < pieceLen {
		return word{text, -1}
	}
	return word{text, int32(pieceOf(strings.ToLower(text)))}
}

// in reports whether text, which is s as it is or in lower case, holds the word.
func (w *word) in(s *subject, text string) bool {
	if w.piece >= 0 && s.pieces[w.piece/64]&(1<<(w.piece%64)) == 0 {
		return false
	}
	return strings.Contains(text, w.text)
}

// identifiers is the part of a name that says what the kernel is: without the list of parameters, whose types belong to others, and for a
// mangled name its identifiers, followed by the name itself.
func identifiers(name string) string {
	if strings.HasPrefix(name, "_Z") {
		return demangle(name[2:]) + " " + name
	}
	if end := parameters(name); end > 0 {
		return name[:end]
	}
	return name
}

// parameters is where the list of parameters of a demangled name opens; -1 when it has none. Comparisons such as (8)>(0) stand within
// parentheses, so a > closes the < that was opened last only when no parenthesis was opened since.
func parameters(name string) int {
	var open []byte
	for i := 0; i < len(name); i++ {
		switch c := name[i]; c {
		case '<':
			open = append(open, c)
		case '>':
			if n := len(open); n > 0 && open[n-1] == '<' && name[i-1] != '-' {
				open = open[:n-1]
			}
		case '(':
			before := name[:i]
			if len(open) == 0 && i > 0 && !strings.HasSuffix(before, " ") && !strings.HasSuffix(before, "::") && !strings.HasSuffix(before, "operator") {
				return i
			}
			open = append(open, c)
		case ')':
			for n := len(open); n > 0; n = len(open) {
				top := open[n-1]
				open = open[:n-1]
				if top == '(' {
					break
				}
			}
		}
	}
	return -1
}

// demangle lists the identifiers of an Itanium-mangled name, separated as in the source: _ZN5aiter3fooIfE is "aiter::foo". Template
// arguments that are numbers (Li256E) are passed over.
func demangle(s string) string {
	var parts []string
	for i := 0; i < len(s); {
		if s[i] < '1' || s[i] > '9' {
			i++
			continue
		}
		n, end := 0, i
		for end < len(s) && s[end] >= '0' && s[end] <= '9' && n < len(s) {
			n = n*10 + int(s[end]-'0')
			end++
		}
		if isLiteral(s[:i]) || end+n > len(s) || !isIdentifier(s[end:end+n]) {
			i = end
			continue
		}
		parts = append(parts, s[end:end+n])
		i = end + n
	}
	return strings.Join(parts, "::")
}

// isLiteral reports whether what follows before is the value of a template argument: L, a type's letter, perhaps n for a minus.
func isLiteral(before string) bool {
	before = strings.TrimSuffix(before, "n")
	n := len(before)
	return n >= 2 && before[n-2] == 'L' && before[n-1] >= 'a' && before[n-1] <= 'z'
}

func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9' || i == 0) {
			return false
		}
	}
	return s != ""
}
