package family

import "strings"

// subject is what rules look at: a name's identifiers, as they are and in lower case.
type subject struct {
	text, lower string
	ascii       bool
}

func subjectOf(name string) subject {
	text := identifiers(name)
	return subject{text: text, lower: strings.ToLower(text), ascii: isASCII(text)}
}

// identifiers is the part of a name that says what the kernel is: without the list of parameters, whose types belong to others, and for a
// mangled name its identifiers, followed by the name itself.
func identifiers(name string) string {
	if strings.HasPrefix(name, "_Z") {
		return demangle(name[2:]) + " " + name
	}
	depth := 0
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '<':
			depth++
		case '>':
			depth = max(depth-1, 0)
		case '(':
			if depth > 0 || i == 0 || strings.HasPrefix(name[i:], "(anonymous") {
				continue
			}
			if before := name[:i]; !strings.HasSuffix(before, " ") && !strings.HasSuffix(before, "::") {
				return before
			}
		}
	}
	return name
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
