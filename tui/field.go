package tui

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"opprof/tui/chart"
	"opprof/tui/theme"
)

// field is one line of text that is edited, with a cursor.
type field struct {
	text []rune
	at   int // the cursor stands before this rune
	most int // longest text, in runes
	only func(rune) bool

	proposed bool // the text is a proposal: typing replaces it
}

func newField(text string, most int, only func(rune) bool) field {
	r := []rune(text)
	return field{text: r, at: len(r), most: most, only: only}
}

func digit(r rune) bool { return r >= '0' && r <= '9' }

func (f *field) String() string { return strings.TrimSpace(string(f.text)) }

// insert puts text at the cursor, or in the place of a proposal; runes that do not belong there are left out.
func (f *field) insert(s string) {
	if f.proposed {
		f.text, f.at, f.proposed = nil, 0, false
	}
	for _, r := range chart.Sanitize(s) {
		if len(f.text) >= f.most || f.only != nil && !f.only(r) {
			continue
		}
		f.text = append(f.text[:f.at], append([]rune{r}, f.text[f.at:]...)...)
		f.at++
	}
}

// key edits, and reports whether the key was one that does.
func (f *field) key(msg tea.KeyPressMsg) bool {
	if msg.Text == "" {
		f.proposed = false
	}
	switch msg.String() {
	case "backspace":
		if f.at > 0 {
			f.text = append(f.text[:f.at-1], f.text[f.at:]...)
			f.at--
		}
	case "delete":
		if f.at < len(f.text) {
			f.text = append(f.text[:f.at], f.text[f.at+1:]...)
		}
	case "home", "ctrl+a":
		f.at = 0
	case "end", "ctrl+e":
		f.at = len(f.text)
	case "ctrl+u":
		f.text, f.at = f.text[f.at:], 0
	case "ctrl+w":
		f.deleteWord()
	default:
		if msg.Text == "" {
			return false
		}
		f.insert(msg.Text)
	}
	return true
}

func (f *field) deleteWord() {
	to := f.at
	for f.at > 0 && f.text[f.at-1] == ' ' {
		f.at--
	}
	for f.at > 0 && f.text[f.at-1] != ' ' {
		f.at--
	}
	f.text = append(f.text[:f.at], f.text[to:]...)
}

func (f *field) move(by int) {
	f.proposed = false
	f.at = max(0, min(f.at+by, len(f.text)))
}

// word is the name that the cursor stands behind, "" for none.
func (f *field) word() string {
	from := f.at
	for from > 0 && nameRune(f.text[from-1]) {
		from--
	}
	return strings.TrimLeft(string(f.text[from:f.at]), "0123456789.")
}

func nameRune(r rune) bool {
	return r == '_' || r == '.' || digit(r) || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// draw writes the part of the text around the cursor into w columns.
func (f *field) draw(g *chart.Grid, x, y, w int, focus bool) {
	if w <= 0 {
		return
	}
	from := max(0, f.at-w+1)
	text := string(f.text[from:min(len(f.text), from+w)])
	role := theme.RoleText
	g.Text(x, y, w, text+strings.Repeat("_", max(0, w-utf8.RuneCountInString(text))), theme.RoleDim)
	g.Text(x, y, w, text, role)
	switch {
	case focus && f.proposed:
		g.Mark(chart.Rect{X: x, Y: y, W: max(1, utf8.RuneCountInString(text)), H: 1}, theme.Reverse)
	case focus:
		g.Mark(chart.Rect{X: x + f.at - from, Y: y, W: 1, H: 1}, theme.Reverse)
	}
}
