package chart

import (
	"github.com/NimbleMarkets/ntcharts/v2/canvas"
	"github.com/NimbleMarkets/ntcharts/v2/canvas/graph"

	"opprof/tui/theme"
)

const blankBraille = 0x2800

// drawBraille draws every line with dots, two across and four down in a cell. Where lines share a cell their dots are joined and the cell has
// the role of the first line.
func (s Series) drawBraille(g *Grid, a axis) {
	for _, l := range s.Lines {
		overlay(g, lineDots(g, a, tail(l.Values, g.W())), l.Role)
	}
	if s.Band != nil {
		dots := newDots(g)
		s.eachBand(g.W(), func(x int, low, high float64) {
			rise(dots, 2*x, dotOf(a.at(high), g.H()), dotOf(a.at(low), g.H()))
		})
		overlay(g, dots, s.Band.Role)
	}
}

// newDots returns an empty dot grid for g. Its own scaling is not used: dots are set by position, computed from values that are known and
// clamped, because the library's drawing loops do not end on NaN or infinities.
func newDots(g *Grid) *graph.BrailleGrid {
	return graph.NewBrailleGrid(g.W(), g.H(), 0, 1, 0, 1)
}

// lineDots joins neighbouring values that are known: each holds the two dots across of its cell, and the step to the next is shared
// between the two columns of dots that it lies between.
func lineDots(g *Grid, a axis, values []Value) *graph.BrailleGrid {
	dots := newDots(g)
	x := 2 * (g.W() - len(values))
	last := -1
	for _, v := range values {
		y := -1
		if v.Known {
			y = dotOf(a.at(v.V), g.H())
			rise(dots, x, y, y)
			rise(dots, x+1, y, y)
		}
		if y >= 0 && last >= 0 {
			middle := (last + y) / 2
			rise(dots, x-1, last, middle)
			rise(dots, x, middle, y)
		}
		last = y
		x += 2
	}
	return dots
}

// rise sets the dots of column x from line a to line b, in either order.
func rise(dots *graph.BrailleGrid, x, a, b int) {
	for y := min(a, b); y <= max(a, b); y++ {
		dots.Set(canvas.Point{X: x, Y: y})
	}
}

func overlay(g *Grid, dots *graph.BrailleGrid, role theme.Role) {
	for y, row := range dots.BraillePatterns() {
		for x, r := range row {
			if r == blankBraille {
				continue
			}
			if old := g.Rune(x, y); old > blankBraille && old <= blankBraille+0xff {
				g.Set(x, y, old|r, g.Role(x, y))
				continue
			}
			g.Set(x, y, r, role)
		}
	}
}
