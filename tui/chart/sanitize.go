package chart

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	replacement = '?' // stands for a rune that is not one plain column
	tabWidth    = 4
	esc         = 0x1b
)

// Sanitize returns s as a line of runes that each take exactly one column of any terminal and do nothing else. Escape sequences and
// invisible runes go; tabs become spaces to the next multiple of four, line ends and other blanks one space; control characters, invalid
// UTF-8, wide runes, emoji, scripts that join or run from right to left become "?". This is the one place where text from outside is made
// safe for the screen.
func Sanitize(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	column := 0
	put := func(r rune) {
		b.WriteRune(r)
		column++
	}
	for i := 0; i < len(s); {
		if s[i] >= ' ' && s[i] <= '~' {
			put(rune(s[i]))
			i++
			continue
		}
		if n := sequenceLen(s[i:]); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case r == '\t':
			for put(' '); column%tabWidth != 0; {
				put(' ')
			}
		case r == '\r' && strings.HasPrefix(s[i:], "\n"):
		case r == '\n' || r == '\r' || r == '\v' || r == '\f' || unicode.Is(unicode.Z, r):
			put(' ')
		case invisible(r):
		default:
			put(safeRune(r))
		}
	}
	return b.String()
}

// Cut returns sanitised text s in at most w columns, the last one an ellipsis when something is missing.
func Cut(s string, w int, ellipsis rune) string {
	if w <= 0 {
		return ""
	}
	n := 0
	last := 0
	for i := range s {
		n++
		if n == w {
			last = i
		}
		if n > w {
			return s[:last] + string(ellipsis)
		}
	}
	return s
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// sequenceLen returns the length of the control sequence at the start of s, 0 if there is none. A string sequence without its end (OSC,
// DCS and the like) counts as its introducer only, so that it cannot swallow the text behind it.
func sequenceLen(s string) int {
	kind, n := introducer(s)
	switch kind {
	case '[':
		return n + csiLen(s[n:])
	case ']', 'P', 'X', '^', '_':
		return n + stringLen(s[n:])
	case esc:
		return n + escapeLen(s[n:])
	}
	return 0
}

// introducer recognises the start of a sequence in its 7-bit (ESC and a letter) and 8-bit form (a C1 rune, or its bare byte).
func introducer(s string) (kind byte, n int) {
	if s == "" {
		return 0, 0
	}
	switch {
	case s[0] == esc && len(s) > 1 && strings.IndexByte("[]PX^_", s[1]) >= 0:
		return s[1], 2
	case s[0] == esc:
		return esc, 1
	case s[0] == 0xc2 && len(s) > 1:
		return c1Kind(s[1]), 2
	default:
		return c1Kind(s[0]), 1
	}
}

func c1Kind(b byte) byte {
	switch b {
	case 0x9b, 0x9d, 0x90, 0x98, 0x9e, 0x9f:
		return b - 0x40
	}
	return 0
}

func csiLen(s string) int {
	n := 0
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x3f {
		n++
	}
	if n < len(s) && s[n] >= 0x40 && s[n] <= 0x7e {
		n++
	}
	return n
}

// escapeLen is the rest of a short escape: intermediates and one final byte.
func escapeLen(s string) int {
	n := 0
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f {
		n++
	}
	if n < len(s) && s[n] >= 0x30 && s[n] <= 0x7e {
		n++
	}
	return n
}

// stringLen returns the length up to and with the terminator (BEL, ESC \ or ST); 0 without one.
func stringLen(s string) int {
	for i := range len(s) {
		switch {
		case s[i] == 0x07:
			return i + 1
		case s[i] == esc && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		case s[i] == 0xc2 && i+1 < len(s) && s[i+1] == 0x9c:
			return i + 2
		}
	}
	return 0
}

// invisible runes are dropped: marks that combine with the rune before them, and format characters such as joiners and bidi controls.
func invisible(r rune) bool {
	return r > unicode.MaxASCII && (unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || unicode.Is(unicode.Variation_Selector, r))
}

// safeRune returns r if it is one plain column in every terminal, else the replacement.
func safeRune(r rune) rune {
	switch {
	case r >= ' ' && r <= '~':
		return r
	case r >= 0x2500 && r <= 0x259f || r >= 0x2800 && r <= 0x28ff: // what charts are made of
		return r
	case r > unicode.MaxASCII && unicode.Is(&singleColumn, r) && unicode.IsGraphic(r):
		return r
	}
	return replacement
}

// singleColumn are the blocks of runes that terminals agree on: alphabets from left to right without joining, punctuation, mathematical
// and technical symbols, box drawing, blocks and braille, less the runes that also have an emoji form.
var singleColumn = unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00a1, 0x00a8, 1}, {0x00aa, 0x00ac, 1}, {0x00af, 0x02ff, 1}, // Latin; without (c), (r) and the soft hyphen
		{0x0370, 0x0482, 1}, {0x048a, 0x0556, 1}, {0x0561, 0x0587, 1}, // Greek, Cyrillic, Armenian
		{0x10a0, 0x10ff, 1}, {0x1e00, 0x1fff, 1}, // Georgian, Latin and Greek additions
		{0x2010, 0x2027, 1}, {0x2030, 0x203b, 1}, {0x203d, 0x2048, 1}, {0x204a, 0x205e, 1}, // punctuation
		{0x2070, 0x209c, 1}, {0x20a0, 0x20c0, 1}, // super- and subscripts, currency
		{0x2100, 0x2121, 1}, {0x2123, 0x2138, 1}, {0x213a, 0x218b, 1}, // letter-like, number forms; without TM and information
		{0x2190, 0x2193, 1}, {0x219a, 0x21a8, 1}, {0x21ab, 0x22ff, 1}, // arrows, mathematics
		{0x2300, 0x2319, 1}, {0x231c, 0x2327, 1}, {0x232b, 0x23ce, 1}, {0x23d0, 0x23e8, 1}, // technical; without clocks and angle brackets
		{0x2500, 0x25a9, 1}, {0x25ac, 0x25b5, 1}, {0x25b7, 0x25bf, 1}, {0x25c1, 0x25fa, 1}, {0x25ff, 0x25ff, 1}, // boxes, blocks, shapes
		{0x2713, 0x2713, 1}, {0x2715, 0x2715, 1}, {0x2717, 0x2718, 1}, // check and cross
		{0x2800, 0x28ff, 1}, // braille
	},
	LatinOffset: 2,
}

// asciiRune returns what a rune of a grid is written as where only ASCII may be: the nearest character, or the replacement.
func asciiRune(r rune) byte {
	switch {
	case r < utf8.RuneSelf:
		return byte(r)
	case r == '│' || r == '┃' || r == '┤' || r == '├':
		return '|'
	case r == '█' || r == '▄' || r == '▓' || r == '▒':
		return '#'
	case r == '–' || r == '—' || r == '─' || r == '━' || r == '‐' || r == '‑':
		return '-'
	case r > 0x2500 && r < 0x2580: // the other lines of boxes
		return '+'
	}
	for _, p := range [...]struct {
		runes string
		ascii byte
	}{
		{"‘’‚′", '\''}, {"“”„″", '"'}, {"…", '~'}, {"·•∙●", '*'}, {"×", 'x'}, {"←‹◄", '<'}, {"→›►", '>'}, {"↑▲", '^'}, {"↓▼", 'v'}, {"µμ", 'u'}, {"−", '-'},
	} {
		if strings.ContainsRune(p.runes, r) {
			return p.ascii
		}
	}
	return replacement
}
