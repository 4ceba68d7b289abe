package chart

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"opprof/tui/theme"
)

func TestSanitize(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "step 4,412", "step 4,412"},
		{"empty", "", ""},
		{"colour", "a\x1b[31;1mb\x1b[0mc", "abc"},
		{"cursor up and erase", "a\x1b[2A\x1b[Kb", "ab"},
		{"title with BEL", "a\x1b]0;owned\x07b", "ab"},
		{"link with ST", "a\x1b]8;;http://x\x1b\\b", "ab"},
		{"clipboard without end keeps the text visible", "a\x1b]52;c;AAAA", "a52;c;AAAA"},
		{"DCS", "a\x1bP+q544e\x1b\\b", "ab"},
		{"CSI cut off", "a\x1b[31", "a"},
		{"CSI with a line end inside", "a\x1b[3\n1mb", "a 1mb"},
		{"ESC at the end", "a\x1b", "a"},
		{"charset", "a\x1b(0b", "ab"},
		{"reset", "a\x1bcb", "ab"},
		{"two ESC", "a\x1b\x1b[31mb", "ab"},
		{"C1 CSI as a rune", "a\u009b31mb", "ab"},
		{"C1 CSI as a byte", "a\x9b31mb", "ab"},
		{"C1 OSC as a rune with ST", "a\u009d0;x\u009cb", "ab"},
		{"other C1", "a\u0085b", "a?b"},
		{"bell, backspace, delete", "a\a\b\x7fb", "a???b"},
		{"NUL", "a\x00b", "a?b"},
		{"tab to the next stop", "ab\tc\td", "ab  c   d"},
		{"tab at a stop", "abcd\te", "abcd    e"},
		{"line ends", "a\r\nb\nc\rd", "a b c d"},
		{"bidi override", "a\u202eb\u202cc", "abc"},
		{"bidi isolate", "a\u2066b\u2069c", "abc"},
		{"zero width", "a\u200bb\u200dc\ufeffd", "abcd"},
		{"combining accent", "e\u0301x", "ex"},
		{"variation selector", "\u25cf\ufe0f", "\u25cf"},
		{"wide", "模型", "??"},
		{"fullwidth", "Ａ", "?"},
		{"emoji", "🚀 x", "? x"},
		{"emoji with modifier", "👍🏽", "??"},
		{"flag", "🇩🇪", "??"},
		{"emoji of one column", "©▶", "??"},
		{"right to left", "שלום", "????"},
		{"Hangul parts", "\u1100\u1161\u11a8", "???"},
		{"Thai", "กำ", "??"},
		{"private use", "\ue0b0", "?"},
		{"line separator", "a\u2028b", "a b"},
		{"no-break space", "a\u00a0b", "a b"},
		{"invalid UTF-8", "a\xff\xfeb", "a??b"},
		{"surrogate", "a\xed\xa0\x80b", "a???b"},
		{"letters", "Größe µs Ωλ жук", "Größe µs Ωλ жук"},
		{"progress bar", "█▉▌▏ 42%|", "█▉▌▏ 42%|"},
	} {
		if got := Sanitize(c.in); got != c.want {
			t.Errorf("%s: Sanitize(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

// All runes that a cell may hold are one column, alone and one after the other.
func TestSingleColumnRunes(t *testing.T) {
	var all strings.Builder
	n := 0
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if safeRune(r) != r {
			continue
		}
		if w := ansi.StringWidth(string(r)); w != 1 {
			t.Errorf("%U %q is %d columns", r, r, w)
		}
		if w := ansi.StringWidthWc(string(r)); w != 1 {
			t.Errorf("%U %q is %d columns by wcwidth", r, r, w)
		}
		if Sanitize(string(r)) != string(r) {
			t.Errorf("%U %q may be in a cell and is not in text", r, r)
		}
		if b := asciiRune(r); b < ' ' || b > '~' {
			t.Errorf("%U is written as byte %#x in ASCII", r, b)
		}
		all.WriteRune(r)
		n++
	}
	if w := ansi.StringWidth(all.String()); w != n || n < 2000 {
		t.Errorf("%d runes together are %d columns", n, w)
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s    string
		w    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abc", 1, "…"}, {"a", 1, "a"}, {"abc", 0, ""}, {"abc", -1, ""}, {"äöü", 2, "ä…"}, {"", 5, ""}} {
		if got := Cut(c.s, c.w, '…'); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.s, c.w, got, c.want)
		}
	}
}

// FuzzText writes any text into a grid: every line keeps its width, and only the theme's own sequences reach the terminal.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[31mred", "\x1b]0;t\x07", "a\tb\r\nc", "模型🚀👍🏽", "e\u0301\u200d\u202e", "\xff\xc2\x9b1m", "\x1b]52;c;", "กำ\u1100\u1161"} {
		f.Add(s, 20, 3)
	}
	glyphs := []theme.Glyphs{theme.UnicodeGlyphs(), theme.ASCIIGlyphs()}
	themes := theme.All()
	f.Fuzz(func(t *testing.T, s string, w, x int) {
		w = max(0, w%60)
		for _, gl := range glyphs {
			g := NewGrid(w, 4, gl)
			in := g.Box(s, s, true)
			in.Text(x%70, 0, w, s, theme.RoleBad)
			in.TextRight(x%70, 1, 10, s, theme.RoleSelected)
			g.Text(0, 1, w, s, theme.RoleText)
			for i, r := range s {
				in.Set(i%max(1, w), 1, r, theme.Role(r))
			}
			checkWidth(t, g)
			for _, th := range themes {
				checkRender(t, g, th)
			}
			if n := in.Text(0, 0, w, s, theme.RoleText); n > in.W() {
				t.Fatalf("Text says %d columns of %d", n, in.W())
			}
		}
		if clean := Sanitize(s); Sanitize(clean) != clean || ansi.StringWidth(clean) != utf8.RuneCountInString(clean) {
			t.Fatalf("Sanitize(%q) = %q is not one column a rune", s, clean)
		}
	})
}

// checkWidth asserts that every line of the plain picture is as wide as the grid, measured by graphemes and by wcwidth.
func checkWidth(t interface{ Fatalf(string, ...any) }, g *Grid) {
	lines := strings.Split(g.Plain(), "\n")
	if len(lines) != max(1, g.H()) {
		t.Fatalf("%d lines of %d", len(lines), g.H())
	}
	for _, l := range lines {
		if g.H() > 0 && (ansi.StringWidth(l) != g.W() || ansi.StringWidthWc(l) != g.W()) {
			t.Fatalf("line %q is %d columns of %d", l, ansi.StringWidth(l), g.W())
		}
		for _, r := range l {
			if r < ' ' || r >= 0x7f && r < 0xa0 || g.Glyphs.ASCII && r > '~' {
				t.Fatalf("line %q holds %U", l, r)
			}
		}
	}
}

// checkRender asserts that the styled picture, less the pens of the theme, is the plain one.
func checkRender(t interface{ Fatalf(string, ...any) }, g *Grid, th *theme.Theme) {
	rest := g.Render(th)
	pens := make(map[string]bool)
	for r := range theme.NumRoles {
		for a := range theme.Attr(4) {
			p := th.Pen(r, a)
			pens[p.Open], pens[p.Close] = true, true
		}
	}
	var plain strings.Builder
	for {
		text, tail, ok := strings.Cut(rest, "\x1b")
		plain.WriteString(text)
		if !ok {
			break
		}
		seq, after, _ := strings.Cut(tail, "m")
		if !pens["\x1b"+seq+"m"] {
			t.Fatalf("%s: sequence %q is no pen of the theme", th.Name, "\x1b"+seq+"m")
		}
		rest = after
	}
	if plain.String() != g.Plain() {
		t.Fatalf("%s: styled text\n%q\nis not the plain one\n%q", th.Name, plain.String(), g.Plain())
	}
}
