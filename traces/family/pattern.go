package family

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"
)

// pattern is one alternative of a rule's expression. Most are plain words, and those that are not hold one: a name without it need not be
// matched, which makes classifying some tens of times faster.
type pattern struct {
	fold bool                  // words are compared in lower case
	any  []word                // words, one of which must be in the name; nil when the expression has none
	rest func() *regexp.Regexp // compiled when first needed, which most never are; nil where a word is all there is to match
}

// newPattern takes an expression without alternatives at its top level.
func newPattern(text string) (pattern, error) {
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return pattern{}, err
	}
	words := required(re)
	p := pattern{fold: strings.HasPrefix(text, caseless)}
	for _, w := range words {
		p.any = append(p.any, newWord(w))
	}
	if re.Op == syntax.OpLiteral && (re.Flags&syntax.FoldCase != 0) == p.fold && isASCII(string(re.Rune)) {
		if !p.fold {
			p.any = []word{newWord(string(re.Rune))}
		}
		return p, nil
	}
	p.fold = true
	p.rest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) }) // it has been parsed above
	return p, nil
}

func (p *pattern) matches(s *subject) bool {
	text := s.text
	if p.fold {
		text = s.lower
	}
	if s.ascii || p.rest == nil {
		if p.any != nil && !holdsAny(s, text, p.any) {
			return false
		}
	}
	return p.rest == nil || p.rest().MatchString(s.text)
}

func holdsAny(s *subject, text string, words []word) bool {
	for i := range words {
		if words[i].in(s, text) {
			return true
		}
	}
	return false
}

// required are words in lower case of which every match of re holds at least one; nil when there are none.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if words := required(sub); words != nil && (best == nil || shortest(words) > shortest(best)) {
				best = words
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			words := required(sub)
			if words == nil {
				return nil
			}
			all = append(all, words...)
		}
		return all
	}
	return nil
}

func shortest(words []string) int {
	n := len(words[0])
	for _, w := range words[1:] {
		n = min(n, len(w))
	}
	return n
}

const caseless = "(?i)"

// alternatives cuts an expression at the bars that stand outside of groups and classes. A leading (?i) holds for all of them; an expression
// that sets other flags is left whole.
func alternatives(text string) []string {
	flags := ""
	rest, ok := strings.CutPrefix(text, caseless)
	if ok {
		flags = caseless
	}
	if strings.Contains(rest, "(?") || strings.Contains(rest, `\Q`) {
		return []string{text}
	}
	var out []string
	depth, class, from := 0, false, 0
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']' || i == from
		case c == '[':
			class = true
			if i+1 < len(rest) && rest[i+1] == '^' {
				i++
			}
			if i+1 < len(rest) && rest[i+1] == ']' {
				i++
			}
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth == 0:
			out = append(out, flags+rest[from:i])
			from = i + 1
		}
	}
	return append(out, flags+rest[from:])
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
