package tui

import (
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"opprof/tui/chart"
	"opprof/tui/theme"
)

// field is one line of text that is edited, with a cursor. It is drawn into a grid, as everything is.
type field struct {
	input textinput.Model
	only  func(rune) bool // nil takes every rune

	proposed bool // the text is a proposal: typing replaces it
}

// newField returns a field with a text and the cursor behind it. It takes at most so many runes.
func newField(text string, most int, only func(rune) bool) field {
	in := textinput.New()
	in.CharLimit = most
	in.SetVirtualCursor(false)
	in.KeyMap.Paste = key.NewBinding() // it would start a program that reads the clipboard; the terminal sends what is pasted
	in.Focus()
	in.SetValue(text)
	in.CursorEnd()
	return field{input: in, only: only}
}

func digit(r rune) bool { return r >= '0' && r <= '9' }

// String is the text without blanks around it.
func (f *field) String() string { return strings.TrimSpace(f.input.Value()) }

// insert puts text at the cursor, or in the place of a proposal; runes that do not belong there are left out.
func (f *field) insert(s string) {
	if f.proposed {
		f.input.Reset()
		f.proposed = false
	}
	s = strings.Map(func(r rune) rune {
		if f.only != nil && !f.only(r) {
			return -1
		}
		return r
	}, chart.Sanitize(s))
	f.input, _ = f.input.Update(tea.PasteMsg{Content: s})
}

// key edits.
func (f *field) key(msg tea.KeyPressMsg) {
	if msg.Text != "" {
		f.insert(msg.Text)
		return
	}
	f.proposed = false
	f.input, _ = f.input.Update(msg)
}

func (f *field) move(by int) {
	f.proposed = false
	f.input.SetCursor(f.input.Position() + by)
}

// word is the name that the cursor stands behind, "" for none.
func (f *field) word() string {
	text := []rune(f.input.Value())
	at := f.input.Position()
	from := at
	for from > 0 && nameRune(text[from-1]) {
		from--
	}
	return strings.TrimLeft(string(text[from:at]), "0123456789.")
}

func nameRune(r rune) bool {
	return r == '_' || r == '.' || digit(r) || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// visible is the part of the text around the cursor that fits into w columns, and the cursor's place in it.
func (f *field) visible(w int) (text string, cursor int) {
	r, at := []rune(f.input.Value()), f.input.Position()
	from := max(0, at-w+1)
	return string(r[from:min(len(r), from+w)]), at - from
}

// draw writes the part of the text around the cursor into w columns.
func (f *field) draw(g *chart.Grid, x, y, w int, focus bool) {
	if w <= 0 {
		return
	}
	text, cursor := f.visible(w)
	n := utf8.RuneCountInString(text)
	g.Text(x, y, w, text+strings.Repeat("_", max(0, w-n)), theme.RoleDim)
	g.Text(x, y, w, text, theme.RoleText)
	switch {
	case focus && f.proposed:
		g.Mark(chart.Rect{X: x, Y: y, W: max(1, n), H: 1}, theme.Reverse)
	case focus:
		g.Mark(chart.Rect{X: x + cursor, Y: y, W: 1, H: 1}, theme.Reverse)
	}
}
