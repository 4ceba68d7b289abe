package chart

import (
	"math"

	"opprof/engine/unit"
	"opprof/tui/theme"
)

// Line is one curve of a Series.
type Line struct {
	Name   string // drawn at its right end when Series.Names is set
	Values []Value
	Role   theme.Role
}

// Band is the space between two curves, such as the least and the largest value of a bucket.
type Band struct {
	Low, High []Value
	Role      theme.Role
}

// Style is how a Series draws its lines.
type Style uint8

// Styles.
const (
	StyleLine   Style = iota // braille dots joined by lines; one mark per line where braille is not to be expected
	StyleColumn              // the first line as columns in eighths, further lines as marks above them
)

// Series draws values over time: one column per value, the newest at the right, with a y axis on the left. The unit belongs into the title
// of the panel, or into Format.
type Series struct {
	Lines  []Line
	Band   *Band // drawn behind the lines; nil is none
	Style  Style
	Log    bool                 // logarithmic y axis; values not above its lower end sit on it
	Min    float64              // lower end of the axis; a Log axis with 0 begins below the least positive value
	Max    float64              // upper end; 0 rounds the largest value up
	Format func(float64) string // tick labels; nil prints the shortest numbers
	LabelW int                  // columns for tick labels, 0 is 5; panels one above the other share it to share one time axis
	Names  bool                 // write line names at the right end
	Cursor int                  // columns from the right, 1 is the newest; 0 has no cursor
	Whole  bool                 // values are counts: the axis begins at 0 and has whole numbers only
	Blanks []Blank              // what columns without a value mean, as long as the lines' values; nil is nothing
}

// Blank says how a column without a value is drawn.
type Blank uint8

// Blanks.
const (
	BlankNone   Blank = iota // empty: nothing happened
	BlankHatch               // dots: what happened is not known
	BlankDashed              // a line at the foot: what happens is not over
)

// Plot tells where the curves are, so that a time axis can be put below them.
type Plot struct{ X, W int }

const (
	defaultLabelW = 5
	minPlotW      = 8 // columns of curves for which names and then tick labels give way
)

// PlotOf returns the columns that curves get in a grid of w columns.
func (s Series) PlotOf(w int) Plot { return plotOf(w, s.LabelW, s.nameW()) }

func plotOf(w, labelW, rightW int) Plot {
	if labelW <= 0 {
		labelW = defaultLabelW
	}
	x := labelW + 1
	if w-x-rightW < minPlotW {
		rightW = 0
	}
	if w-x < minPlotW {
		x = 0
	}
	return Plot{X: x, W: max(0, w-x-rightW)}
}

func (s Series) nameW() int {
	if !s.Names {
		return 0
	}
	w := 0
	for _, l := range s.Lines {
		w = max(w, columns(l.Name)+1)
	}
	return w
}

// Draw fills g and returns where the curves are.
func (s Series) Draw(g *Grid) Plot {
	p := s.PlotOf(g.W())
	if p.W == 0 || g.H() == 0 {
		return p
	}
	a := s.axis(p.W)
	s.drawAxis(g, a, p)
	plot := g.Sub(Rect{X: p.X, W: p.W, H: g.H()})
	drawBlanks(plot, s.Blanks)
	switch {
	case s.Style == StyleColumn:
		s.drawColumns(plot, a)
	case g.Glyphs.Braille && !g.Glyphs.ASCII:
		s.drawBraille(plot, a)
	default:
		s.drawMarks(plot, a, s.Lines)
	}
	if p.X+p.W < g.W() {
		s.drawNames(g, a, p)
	}
	drawCursor(plot, s.Cursor)
	return p
}

// axis spans the values that are shown.
func (s Series) axis(w int) axis {
	s.Min, s.Max = drawable(s.Min), drawable(s.Max)
	high, low := math.Inf(-1), math.Inf(1)
	see := func(values []Value) {
		for _, v := range tail(values, w) {
			if !v.Known || s.Log && v.V <= 0 {
				continue
			}
			high, low = max(high, drawable(v.V)), min(low, drawable(v.V))
		}
	}
	for _, l := range s.Lines {
		see(l.Values)
	}
	if s.Band != nil {
		see(s.Band.Low)
		see(s.Band.High)
	}
	if high < low {
		high, low = 0, 0
	}
	if s.Log {
		return s.logAxis(low, high)
	}
	a := axis{low: s.Min, high: s.Max}
	if s.Max <= 0 {
		a.high = max(roundUp(high), s.Min+math.SmallestNonzeroFloat64)
	}
	if s.Whole {
		a.low, a.high = 0, max(1, math.Ceil(a.high))
	}
	return a
}

// drawBlanks fills the columns that mean something although they have no value.
func drawBlanks(g *Grid, blanks []Blank) {
	blanks = blanks[max(0, len(blanks)-g.W()):]
	for i, b := range blanks {
		x := g.W() - len(blanks) + i
		switch b {
		case BlankHatch:
			g.Fill(Rect{X: x, W: 1, H: g.H()}, g.Glyphs.Heat[0], theme.RoleDim)
		case BlankDashed:
			g.Set(x, g.H()-1, g.Glyphs.Horizontal, theme.RolePeriodTail)
		}
	}
}

func (s Series) logAxis(low, high float64) axis {
	if s.Max > 0 {
		high = s.Max
	}
	if s.Min > 0 {
		low = s.Min
	}
	a := axis{log: true}
	a.low, a.high = logEnds(low, high)
	if s.Max > a.low {
		a.high = s.Max
	}
	return a
}

func (s Series) drawAxis(g *Grid, a axis, p Plot) {
	if p.X == 0 {
		return
	}
	format := s.Format
	if format == nil {
		format = unit.Tick
	}
	h := g.H()
	ticks := linearTicks(a.low, a.high, max(1, min(5, (h-1)/2)))
	switch {
	case a.log:
		ticks = logTicks(a.low, a.high)
	case s.Whole:
		ticks = wholeTicks(a.high, max(1, min(5, (h-1)/2)))
	}
	for y := range h {
		g.Set(p.X-1, y, g.Glyphs.Vertical, theme.RoleAxis)
	}
	for _, t := range placeTicks(a, ticks, h, s.row) {
		g.TextRight(0, t.row, p.X-1, format(t.value), theme.RoleAxis)
		g.Set(p.X-1, t.row, g.Glyphs.TickLeft, theme.RoleAxis)
	}
}

// row is the line of a height: the one in which a column of that height ends, or that holds its dot.
func (s Series) row(height float64, h int) int {
	if s.Style == StyleColumn {
		return columnRow(height, h)
	}
	return rowOf(height, h)
}

// drawColumns draws the first line as columns and the others as marks where the columns leave room.
func (s Series) drawColumns(g *Grid, a axis) {
	if len(s.Lines) == 0 {
		return
	}
	first := s.Lines[0]
	values := tail(first.Values, g.W())
	for i, v := range values {
		if v.Known {
			v = Of(a.at(v.V))
		}
		column(g, g.W()-len(values)+i, v, 1, first.Role)
	}
	s.drawMarks(g, a, s.Lines[1:])
}

// drawMarks draws one rune per value. Of lines that meet in a cell the first is seen.
func (s Series) drawMarks(g *Grid, a axis, lines []Line) {
	s.drawWhiskers(g, a)
	skip := len(s.Lines) - len(lines)
	for i, l := range lines {
		mark := g.Glyphs.Lines[(i+skip)%len(g.Glyphs.Lines)]
		values := tail(l.Values, g.W())
		for j, v := range values {
			x := g.W() - len(values) + j
			if y := s.row(a.at(v.V), g.H()); v.Known && (g.Rune(x, y) == ' ' || g.Rune(x, y) == g.Glyphs.Vertical) {
				g.Set(x, y, mark, l.Role)
			}
		}
	}
}

// drawWhiskers draws the band as vertical lines in cells that are free.
func (s Series) drawWhiskers(g *Grid, a axis) {
	s.eachBand(g.W(), func(x int, low, high float64) {
		for y := s.row(a.at(high), g.H()); y <= s.row(a.at(low), g.H()); y++ {
			if g.Rune(x, y) == ' ' {
				g.Set(x, y, g.Glyphs.Vertical, s.Band.Role)
			}
		}
	})
}

// eachBand calls f for every column in which both ends of the band are known.
func (s Series) eachBand(w int, f func(x int, low, high float64)) {
	if s.Band == nil {
		return
	}
	low, high := tail(s.Band.Low, w), tail(s.Band.High, w)
	n := min(len(low), len(high))
	low, high = low[len(low)-n:], high[len(high)-n:]
	for i := range n {
		if low[i].Known && high[i].Known {
			f(w-n+i, min(low[i].V, high[i].V), max(low[i].V, high[i].V))
		}
	}
}

// drawNames writes each line's name at the height of its newest value, or on the nearest free line.
func (s Series) drawNames(g *Grid, a axis, p Plot) {
	taken := make(map[int]bool)
	for _, l := range s.Lines {
		v, ok := newest(l.Values)
		if !ok || len(taken) == g.H() {
			continue
		}
		row := nearestFree(s.row(a.at(v), g.H()), g.H(), taken)
		taken[row] = true
		g.Text(p.X+p.W+1, row, g.W(), l.Name, l.Role)
	}
}

// nearestFree returns the line closest to row that is not taken; one of the h lines must be free.
func nearestFree(row, h int, taken map[int]bool) int {
	for d := range h {
		for _, y := range [...]int{row - d, row + d} {
			if y >= 0 && y < h && !taken[y] {
				return y
			}
		}
	}
	return row
}

func newest(values []Value) (float64, bool) {
	for i := len(values) - 1; i >= 0; i-- {
		if values[i].Known {
			return values[i].V, true
		}
	}
	return 0, false
}

// drawCursor marks a column counted from the right: a line where the column is empty, reversed cells where it is not.
func drawCursor(g *Grid, fromRight int) {
	x := g.W() - fromRight
	if fromRight <= 0 || x < 0 {
		return
	}
	for y := range g.H() {
		if g.Rune(x, y) == ' ' {
			g.Set(x, y, g.Glyphs.Cursor, theme.RoleAccent)
			continue
		}
		g.Mark(Rect{X: x, Y: y, W: 1, H: 1}, theme.Reverse)
	}
}
