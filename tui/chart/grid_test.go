package chart

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"opprof/tui/theme"
)

func anyRect(t *rapid.T, name string) Rect {
	n := rapid.IntRange(-4, 12)
	return Rect{X: n.Draw(t, name+"X"), Y: n.Draw(t, name+"Y"), W: n.Draw(t, name+"W"), H: n.Draw(t, name+"H")}
}

func TestRectCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyRect(t, "a"), anyRect(t, "b")
		c := a.Cut(b)
		for y := -5; y < 26; y++ {
			for x := -5; x < 26; x++ {
				if c.In(x, y) != (a.In(x, y) && b.In(x, y)) {
					t.Fatalf("%v cut by %v is %v: wrong at %d, %d", a, b, c, x, y)
				}
			}
		}
		if c.W < 0 || c.H < 0 {
			t.Fatalf("%v has a negative size", c)
		}
	})
}

// Pasting a window of a grid is copying it cell by cell.
func TestPaste(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := NewGrid(9, 7, theme.UnicodeGlyphs())
		for y := range 7 {
			for x := range 9 {
				src.Set(x, y, rune('a'+(x*7+y)%26), theme.Role(x))
			}
		}
		part := src.Sub(anyRect(t, "part"))
		got, want := NewGrid(8, 8, theme.UnicodeGlyphs()), NewGrid(8, 8, theme.UnicodeGlyphs())
		to := anyRect(t, "to")
		got.Paste(to.X, to.Y, part)
		for y := range part.H() {
			for x := range part.W() {
				want.Set(to.X+x, to.Y+y, part.Rune(x, y), part.Role(x, y))
			}
		}
		if got.Render(theme.Dark()) != want.Render(theme.Dark()) {
			t.Fatalf("got\n%s\nwant\n%s", got.Plain(), want.Plain())
		}
	})
}

func TestTextPlaces(t *testing.T) {
	check := func(want string, draw func(g *Grid)) {
		t.Helper()
		g := NewGrid(10, 1, theme.UnicodeGlyphs())
		draw(g)
		if got := g.Plain(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	text := func(x, w int, s string) func(*Grid) {
		return func(g *Grid) { g.Text(x, 0, w, s, theme.RoleText) }
	}
	check("abc       ", text(0, 10, "abc"))
	check("ab…       ", text(0, 3, "abcd"))
	check("        a…", text(8, 5, "abc"))
	check("          ", text(10, 5, "abc"))
	check("          ", text(0, 0, "abc"))
	check("          ", text(0, -1, "abc"))
	check("     abc  ", func(g *Grid) { g.TextRight(2, 0, 6, "abc", theme.RoleText) })
	check("  a…      ", func(g *Grid) { g.TextRight(2, 0, 2, "abc", theme.RoleText) })
	check("ab cd ef… ", func(g *Grid) {
		n := g.Spans(0, 0, 9, Span{S: "ab "}, Span{S: "cd "}, Span{S: "efgh"}, Span{S: "never"})
		if n != 9 {
			t.Errorf("Spans says %d columns", n)
		}
	})
}

func TestBox(t *testing.T) {
	check := func(w, h int, title, right, want string) {
		t.Helper()
		g := NewGrid(w, h, theme.UnicodeGlyphs())
		in := g.Box(title, right, false)
		if got := g.Plain(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if w > 2 && h > 2 && (in.W() != w-2 || in.H() != h-2) {
			t.Errorf("%dx%d has %dx%d inside", w, h, in.W(), in.H())
		}
	}
	check(20, 3, "kv", "60 %", "╭─ kv ────── 60 % ─╮\n│                  │\n╰──────────────────╯")
	check(12, 2, "kv blocks", "60 %", "╭─ kv bl… ─╮\n╰──────────╯")
	check(6, 2, "kv", "", "╭────╮\n╰────╯")
	check(2, 2, "kv", "x", "╭╮\n╰╯")
	check(1, 1, "kv", "x", " ")
	check(0, 0, "kv", "x", "")
}

func TestDivide(t *testing.T) {
	g := NewGrid(12, 4, theme.UnicodeGlyphs())
	g.Box("a", "", false)
	g.Divide(2, "b", "", false)
	g.Divide(0, "no", "", false)
	g.Divide(3, "no", "", false)
	if want := "╭─ a ──────╮\n│          │\n├─ b ──────┤\n╰──────────╯"; g.Plain() != want {
		t.Errorf("got\n%s\nwant\n%s", g.Plain(), want)
	}
}

// Neighbours of one look share a sequence; blanks belong to whatever stands before them.
func TestRenderMakesRuns(t *testing.T) {
	th := theme.Dark()
	bad, key := th.Pen(theme.RoleBad, 0), th.Pen(theme.RoleKey, 0)
	g := NewGrid(12, 1, theme.UnicodeGlyphs())
	g.Text(2, 0, 3, "abc", theme.RoleBad)
	g.Text(6, 0, 2, "de", theme.RoleBad)
	g.Text(8, 0, 1, "f", theme.RoleKey)
	want := "  " + bad.Open + "abc de" + bad.Close + key.Open + "f   " + key.Close
	if got := g.Render(th); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	g.Mark(Rect{X: 10, W: 1, H: 1}, theme.Reverse)
	if got := g.Render(th); !strings.Contains(got, th.Pen(theme.RoleText, theme.Reverse).Open+" ") {
		t.Errorf("a reversed blank is lost: %q", got)
	}
	if got := g.Render(theme.Plain()); got != g.Plain() {
		t.Errorf("plain theme writes %q", got)
	}
}

func TestRestyleKeepsRunes(t *testing.T) {
	g := NewGrid(5, 1, theme.UnicodeGlyphs())
	g.Text(0, 0, 5, "hello", theme.RoleText)
	g.Restyle(Rect{X: 1, W: 99, H: 1}, theme.RoleSelected, theme.Bold)
	if g.Plain() != "hello" || g.Role(0, 0) != theme.RoleText || g.Role(4, 0) != theme.RoleSelected {
		t.Errorf("got %q with roles %d and %d", g.Plain(), g.Role(0, 0), g.Role(4, 0))
	}
}

func TestASCIIGridWritesASCII(t *testing.T) {
	g := NewGrid(12, 1, theme.ASCIIGlyphs())
	g.Text(0, 0, 12, "→ “é”…×│█µ", theme.RoleText)
	if got, want := g.Plain(), `> "?"~x|#u  `; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A line of pieces is cut as if it were one text, wherever the pieces end; blanks that have no room are no loss.
func TestSpansAreCutAsOneText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var spans []Span
		text := ""
		for _, s := range rapid.SliceOfN(rapid.StringMatching("[a-z]{0,6}"), 0, 5).Draw(t, "pieces") {
			spans = append(spans, Span{S: s, Role: theme.Role(len(spans))})
			text += s
		}
		w := rapid.IntRange(0, 14).Draw(t, "w")
		g := NewGrid(12, 1, theme.UnicodeGlyphs())
		n := g.Spans(0, 0, w, append(spans, Span{S: "   "})...)
		want := Cut(text, min(w, 12), '…')
		if got := strings.TrimRight(g.Plain(), " "); got != want || n > w {
			t.Fatalf("%q in %d columns: %q of %d, want %q", text, w, got, n, want)
		}
	})
}
