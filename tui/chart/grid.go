package chart

import (
	"strings"
	"unicode/utf8"

	"opprof/tui/theme"
)

// Rect is a rectangle of cells. A rect with W or H below one is empty.
type Rect struct{ X, Y, W, H int }

// Empty reports whether the rect has no cell.
func (r Rect) Empty() bool { return r.W <= 0 || r.H <= 0 }

// In reports whether cell x, y lies in the rect.
func (r Rect) In(x, y int) bool { return x >= r.X && y >= r.Y && x < r.X+r.W && y < r.Y+r.H }

// Cut returns the part of r that lies in s; the zero Rect when there is none.
func (r Rect) Cut(s Rect) Rect {
	x, y := max(r.X, s.X), max(r.Y, s.Y)
	c := Rect{X: x, Y: y, W: min(r.X+r.W, s.X+s.W) - x, H: min(r.Y+r.H, s.Y+s.H) - y}
	if c.Empty() {
		return Rect{}
	}
	return c
}

type cell struct {
	r    rune
	role theme.Role
	attr theme.Attr
}

// Grid is a rectangle of styled cells, or a window onto one. It is not safe for concurrent use.
type Grid struct {
	Glyphs theme.Glyphs // what borders and charts are drawn with

	cells  []cell // of the whole, shared by windows
	stride int
	at     Rect // this window's place in cells
}

// NewGrid returns a grid of w by h blank cells. Negative sizes are taken as zero.
func NewGrid(w, h int, g theme.Glyphs) *Grid {
	w, h = max(0, w), max(0, h)
	grid := &Grid{Glyphs: g, cells: make([]cell, w*h), stride: w, at: Rect{W: w, H: h}}
	grid.Clear()
	return grid
}

// W returns the width in columns.
func (g *Grid) W() int { return g.at.W }

// H returns the height in lines.
func (g *Grid) H() int { return g.at.H }

// Bounds returns the grid's own rect, at 0, 0.
func (g *Grid) Bounds() Rect { return Rect{W: g.at.W, H: g.at.H} }

// Clear blanks every cell.
func (g *Grid) Clear() { g.Fill(g.Bounds(), ' ', theme.RoleText) }

// Sub returns a window onto the part of r that lies in g. It shares the cells.
func (g *Grid) Sub(r Rect) *Grid {
	r = r.Cut(g.Bounds())
	s := *g
	s.at = Rect{X: g.at.X + r.X, Y: g.at.Y + r.Y, W: r.W, H: r.H}
	return &s
}

// Row returns line y as a window of height one; empty when there is no such line.
func (g *Grid) Row(y int) *Grid { return g.Sub(Rect{Y: y, W: g.at.W, H: 1}) }

// Set puts one rune into a cell. Cells outside the grid are ignored, runes that are not one plain column are replaced.
func (g *Grid) Set(x, y int, r rune, role theme.Role) { g.SetAttr(x, y, r, role, 0) }

// SetAttr is Set with attributes.
func (g *Grid) SetAttr(x, y int, r rune, role theme.Role, a theme.Attr) {
	if x < 0 || y < 0 || x >= g.at.W || y >= g.at.H {
		return
	}
	g.cells[(g.at.Y+y)*g.stride+g.at.X+x] = cell{r: safeRune(r), role: role, attr: a}
}

// Rune returns the rune of a cell, or 0 outside.
func (g *Grid) Rune(x, y int) rune { return g.cell(x, y).r }

// Role returns the role of a cell, or RoleText outside.
func (g *Grid) Role(x, y int) theme.Role { return g.cell(x, y).role }

func (g *Grid) cell(x, y int) cell {
	if x < 0 || y < 0 || x >= g.at.W || y >= g.at.H {
		return cell{}
	}
	return g.cells[(g.at.Y+y)*g.stride+g.at.X+x]
}

// Fill puts r into every cell of the part of rect that lies in g.
func (g *Grid) Fill(rect Rect, r rune, role theme.Role) {
	rect = rect.Cut(g.Bounds())
	c := cell{r: safeRune(r), role: role}
	for y := rect.Y; y < rect.Y+rect.H; y++ {
		row := g.cells[(g.at.Y+y)*g.stride+g.at.X:]
		for x := rect.X; x < rect.X+rect.W; x++ {
			row[x] = c
		}
	}
}

// Restyle gives the cells of rect another role and adds attributes, keeping their runes: a cursor, a selected row.
func (g *Grid) Restyle(rect Rect, role theme.Role, a theme.Attr) {
	rect = rect.Cut(g.Bounds())
	for y := rect.Y; y < rect.Y+rect.H; y++ {
		row := g.cells[(g.at.Y+y)*g.stride+g.at.X:]
		for x := rect.X; x < rect.X+rect.W; x++ {
			row[x].role = role
			row[x].attr |= a
		}
	}
}

// Mark adds attributes to the cells of rect and keeps runes and roles.
func (g *Grid) Mark(rect Rect, a theme.Attr) {
	rect = rect.Cut(g.Bounds())
	for y := rect.Y; y < rect.Y+rect.H; y++ {
		row := g.cells[(g.at.Y+y)*g.stride+g.at.X:]
		for x := rect.X; x < rect.X+rect.W; x++ {
			row[x].attr |= a
		}
	}
}

// Paste copies src with its top left cell at x, y. What does not fit is left out.
func (g *Grid) Paste(x, y int, src *Grid) {
	to := Rect{X: x, Y: y, W: src.at.W, H: src.at.H}.Cut(g.Bounds())
	for row := range to.H {
		dst := g.cells[(g.at.Y+to.Y+row)*g.stride+g.at.X+to.X:]
		from := src.cells[(src.at.Y+to.Y-y+row)*src.stride+src.at.X+to.X-x:]
		copy(dst[:to.W], from[:to.W])
	}
}

// Text writes s, sanitised, from x, y to the right, at most w columns and never past the grid; what is too long ends in an ellipsis. It
// returns the number of columns written.
func (g *Grid) Text(x, y, w int, s string, role theme.Role) int {
	return g.TextAttr(x, y, w, s, role, 0)
}

// TextAttr is Text with attributes.
func (g *Grid) TextAttr(x, y, w int, s string, role theme.Role, a theme.Attr) int {
	w = min(w, g.at.W-max(x, 0))
	if w <= 0 || y < 0 || y >= g.at.H {
		return 0
	}
	s = Cut(Sanitize(s), w, g.Glyphs.Ellipsis)
	n := 0
	for _, r := range s {
		g.SetAttr(x+n, y, r, role, a)
		n++
	}
	return n
}

// TextRight writes s so that it ends before column x+w, and returns the columns written.
func (g *Grid) TextRight(x, y, w int, s string, role theme.Role) int {
	s = Cut(Sanitize(s), w, g.Glyphs.Ellipsis)
	return g.Text(x+w-utf8.RuneCountInString(s), y, w, s, role)
}

// Span is a piece of a line with its own style.
type Span struct {
	S    string
	Role theme.Role
	Attr theme.Attr
}

// Spans writes pieces one after the other, at most w columns, and returns the columns written. A line that ends in an ellipsis goes on, also
// where the end of a piece is that of the line.
func (g *Grid) Spans(x, y, w int, spans ...Span) int {
	w = min(w, g.at.W-max(x, 0))
	n := 0
	for _, s := range spans {
		switch blank := strings.Trim(s.S, " ") == ""; {
		case blank:
			s.S = s.S[:max(0, min(len(s.S), w-n))]
		case n >= w && n > 0:
			g.Set(x+n-1, y, g.Glyphs.Ellipsis, s.Role)
			return n
		}
		n += g.TextAttr(x+n, y, w-n, s.S, s.Role, s.Attr)
	}
	return n
}

// Box draws a border with a title on the left and a text on the right of its upper edge, and returns the window inside. With focus the
// border has the focus role. A grid smaller than 2 by 2 gets no border and has no inside.
func (g *Grid) Box(title, right string, focus bool) *Grid {
	w, h := g.at.W, g.at.H
	if w < 2 || h < 2 {
		return g.Sub(Rect{})
	}
	border, heading := theme.RoleBorder, theme.RoleTitle
	if focus {
		border, heading = theme.RoleFocus, theme.RoleFocus
	}
	gl := &g.Glyphs
	for x := 1; x < w-1; x++ {
		g.Set(x, 0, gl.Horizontal, border)
		g.Set(x, h-1, gl.Horizontal, border)
	}
	for y := 1; y < h-1; y++ {
		g.Set(0, y, gl.Vertical, border)
		g.Set(w-1, y, gl.Vertical, border)
	}
	g.Set(0, 0, gl.TopLeft, border)
	g.Set(w-1, 0, gl.TopRight, border)
	g.Set(0, h-1, gl.BottomLeft, border)
	g.Set(w-1, h-1, gl.BottomRight, border)
	g.edge(0, title, right, heading)
	return g.Sub(Rect{X: 1, Y: 1, W: w - 2, H: h - 2})
}

// Divide draws a line with a title through a box at line y of the boxed grid (not of its inside).
func (g *Grid) Divide(y int, title, right string, focus bool) {
	if y <= 0 || y >= g.at.H-1 {
		return
	}
	border, heading := theme.RoleBorder, theme.RoleTitle
	if focus {
		border, heading = theme.RoleFocus, theme.RoleFocus
	}
	for x := 1; x < g.at.W-1; x++ {
		g.Set(x, y, g.Glyphs.Horizontal, border)
	}
	g.Set(0, y, g.Glyphs.TeeLeft, border)
	g.Set(g.at.W-1, y, g.Glyphs.TeeRight, border)
	g.edge(y, title, right, heading)
}

// edge writes title and right text into a horizontal line. The title wins; the right text is left out when it does not fit whole.
func (g *Grid) edge(y int, title, right string, role theme.Role) {
	room := g.at.W - 4 // corner and one cell of line on either side
	n := 0
	if title = Sanitize(title); title != "" && room > 2 {
		n = g.Text(2, y, room, " "+Cut(title, room-2, g.Glyphs.Ellipsis)+" ", role)
	}
	right = Sanitize(right)
	if rw := utf8.RuneCountInString(right) + 2; right != "" && n+rw < room {
		g.Text(g.at.W-2-rw, y, rw, " "+right+" ", theme.RoleText)
	}
}

// Plain returns the runes, lines joined by newlines, for tests and for terminals that cannot do more.
func (g *Grid) Plain() string {
	var b strings.Builder
	b.Grow((g.at.W + 1) * g.at.H)
	for y := range g.at.H {
		if y > 0 {
			b.WriteByte('\n')
		}
		for x := range g.at.W {
			g.writeRune(&b, g.cell(x, y).r)
		}
	}
	return b.String()
}

// Render returns the grid as styled text, lines joined by newlines, every line exactly as wide as the grid. Neighbours of equal looks
// share one sequence, and every line ends with the terminal's plain style.
func (g *Grid) Render(t *theme.Theme) string {
	var b strings.Builder
	b.Grow(g.at.H * (g.at.W*2 + 64))
	for y := range g.at.H {
		if y > 0 {
			b.WriteByte('\n')
		}
		g.renderLine(&b, t, y)
	}
	return b.String()
}

func (g *Grid) renderLine(b *strings.Builder, t *theme.Theme, y int) {
	start := (g.at.Y+y)*g.stride + g.at.X
	pen := &theme.Pen{Blank: true}
	for _, c := range g.cells[start : start+g.at.W] {
		p := t.Pen(c.role, c.attr)
		if p != pen && !(c.r == ' ' && p.Blank && pen.Blank) {
			if pen.Open != p.Open {
				b.WriteString(pen.Close)
				b.WriteString(p.Open)
			}
			pen = p
		}
		g.writeRune(b, c.r)
	}
	b.WriteString(pen.Close)
}

func (g *Grid) writeRune(b *strings.Builder, r rune) {
	switch {
	case r < utf8.RuneSelf:
		b.WriteByte(byte(r))
	case g.Glyphs.ASCII:
		b.WriteByte(asciiRune(r))
	default:
		b.WriteRune(r)
	}
}
