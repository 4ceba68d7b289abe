package chart

import (
	"math"

	"opprof/tui/theme"
)

// Line is one curve of a Series.
type Line struct {
	Name   string // drawn at its right end when Series.Names is set
	Values []Value
	Role   theme.Role
}

// Style is how a Series draws its lines.
type Style uint8

const (
	StyleLine   Style = iota // braille dots joined by lines; marks where braille is not to be expected
	StyleColumn              // the first line as columns in eighths, further lines as marks above them
)

// Series draws values over time: one column per value, the newest at the right, with a y axis on the left.
type Series struct {
	Lines  []Line
	Style  Style
	Log    bool                 // logarithmic y axis; values not above zero sit on its lower end
	Min    float64              // lower end of the axis; for Log the smallest positive value is taken when 0
	Max    float64              // upper end; 0 takes the largest value, rounded up to a tick
	Format func(float64) string // tick labels; nil prints plain numbers
	LabelW int                  // columns for tick labels, 0 is 5; panels one above the other share it to share one time axis
	Names  bool                 // write line names at the right end
	Cursor int                  // columns from the right, 1 is the newest; 0 has no cursor
}

// Plot tells where the curves are, so that a time axis can be put below them.
type Plot struct{ X, W int }

// PlotOf returns the columns that curves get in a grid of w columns.
func (s Series) PlotOf(w int) Plot {
	x := min(max(0, w), s.labelW()+1)
	return Plot{X: x, W: max(0, w-x)}
}

func (s Series) labelW() int {
	if s.LabelW > 0 {
		return s.LabelW
	}
	return 5
}

// Draw fills g and returns where the curves are.
func (s Series) Draw(g *Grid) Plot {
	p := s.PlotOf(g.W())
	if p.W == 0 || g.H() == 0 {
		return p
	}
	plot := g.Sub(Rect{X: p.X, W: p.W, H: g.H()})
	top := s.Max
	for _, l := range s.Lines {
		if t, ok := highest(tail(l.Values, p.W)); s.Max <= 0 && ok {
			top = math.Max(top, t)
		}
	}
	for _, l := range s.Lines {
		Spark{Values: l.Values, Max: top, Role: l.Role}.Draw(plot)
	}
	return p
}
