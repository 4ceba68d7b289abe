package theme

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// Theme is a style for each role and a set of glyphs. It is immutable and cheap to pass by pointer.
type Theme struct {
	Name   string
	Glyphs Glyphs

	styles [NumRoles]lipgloss.Style
	pens   [NumRoles][numAttrs]Pen
}

// Pen is a style as the sequence that switches it on. Open is "" when cells of the role look like plain text; otherwise the text that
// follows it must be closed with Close.
type Pen struct {
	Open  string
	Close string
	// Blank says that a space drawn with the pen looks like a space drawn with any other: no background, underline or reverse.
	Blank bool
}

// Style returns the style of r. An unknown role looks like RoleText.
func (t *Theme) Style(r Role) lipgloss.Style {
	if r >= NumRoles {
		r = RoleText
	}
	return t.styles[r]
}

// Pen returns how cells of role r with attributes a are written.
func (t *Theme) Pen(r Role, a Attr) *Pen {
	if r >= NumRoles {
		r = RoleText
	}
	return &t.pens[r][a%numAttrs]
}

// WithGlyphs returns the theme drawn with g.
func (t *Theme) WithGlyphs(g Glyphs) *Theme {
	c := *t
	c.Glyphs = g
	return &c
}

// newTheme computes styles and pens of a palette. With plain set, cells are written without any sequence, attributes included.
func newTheme(name string, inks [NumRoles]ink, plain bool) *Theme {
	t := &Theme{Name: name, Glyphs: UnicodeGlyphs()}
	for r := range NumRoles {
		t.styles[r] = inks[r].style()
		for a := range Attr(numAttrs) {
			t.pens[r][a] = newPen(t.styles[r], a)
			if plain {
				t.pens[r][a] = Pen{Blank: true}
			}
		}
		if plain {
			t.styles[r] = lipgloss.NewStyle()
		}
	}
	return t
}

func newPen(s lipgloss.Style, a Attr) Pen {
	if a&Bold != 0 {
		s = s.Bold(true)
	}
	if a&Reverse != 0 {
		s = s.Reverse(!s.GetReverse())
	}
	open, closing, _ := strings.Cut(s.Render("x"), "x")
	_, noBackground := s.GetBackground().(lipgloss.NoColor)
	return Pen{Open: open, Close: closing, Blank: noBackground && !s.GetReverse() && !s.GetUnderline()}
}
