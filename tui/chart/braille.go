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
			for y := dotOf(a.at(high), g.H()); y <= dotOf(a.at(low), g.H()); y++ {
				dots.Set(canvas.Point{X: 2 * x, Y: y})
			}
		})
		overlay(g, dots, s.Band.Role)
	}
}

// newDots returns an empty dot grid for g. Its own scaling is not used: dots are set by position, computed from values that are known and
// clamped, because the library's drawing loops do not end on NaN or infinities.
func newDots(g *Grid) *graph.BrailleGrid {
	return graph.NewBrailleGrid(g.W(), g.H(), 0, 1, 0, 1)
}

// lineDots joins neighbouring values that are known. A value alone between gaps is as wide as its cell.
func lineDots(g *Grid, a axis, values []Value) *graph.BrailleGrid {
	dots := newDots(g)
	left := g.W() - len(values)
	var last *canvas.Point
	for i, v := range values {
		if !v.Known {
			last = nil
			continue
		}
		p := canvas.Point{X: 2 * (left + i), Y: dotOf(a.at(v.V), g.H())}
		dots.Set(p)
		dots.Set(canvas.Point{X: p.X + 1, Y: p.Y})
		if last != nil {
			for _, q := range graph.GetLinePoints(*last, p) {
				dots.Set(q)
			}
		}
		last = &canvas.Point{X: p.X + 1, Y: p.Y}
	}
	return dots
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
