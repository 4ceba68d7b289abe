package panel

import (
	"strconv"

	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// Position is what the tab line says about the moment and the stretch of time that a page shows.
type Position struct {
	Pages    []string // names in order of their keys
	Visible  int
	Mode     string // live, frozen, past, review
	Live     bool   // the picture moves on
	Frozen   bool   // the reader has stopped the picture
	BehindNS int64  // between a frozen picture and the newest step
	In       *Input // nil before the first picture, or on a page without a time axis
}

// TabAt is the page whose name stands at a column of the second line, by its place from 0.
func TabAt(width int, gl theme.Glyphs, p Position, x int) (int, bool) {
	for _, t := range place(tabPieces(&gl, p, width), width) {
		if t.tab > 0 && x >= t.x && x < t.x+t.width() {
			return t.tab - 1, true
		}
	}
	return 0, false
}

// Tabs draws the second line: pages on the left; step, clock time, mode and visible stretch of time on the right.
func Tabs(g *chart.Grid, p Position) { drawPieces(g, tabPieces(&g.Glyphs, p, g.W())) }

// momentWeight is that of the least of step, clock and mode. Where these have no room, the other pages stand by their numbers.
const momentWeight = 80

func tabPieces(gl *theme.Glyphs, p Position, width int) []piece {
	wanted := func(pieces []piece) int {
		n := 0
		for _, q := range pieces {
			if q.right && q.weight >= momentWeight {
				n++
			}
		}
		return n
	}
	full := namedPieces(gl, p, true)
	if wanted(place(full, width)) == wanted(full) {
		return full
	}
	return namedPieces(gl, p, false)
}

// namedPieces are the second line with the names of all pages, or with that of the visible one alone.
func namedPieces(gl *theme.Glyphs, p Position, all bool) []piece {
	var pieces []piece
	for i, name := range p.Pages {
		role, attr, weight := theme.RoleDim, theme.Attr(0), 97 // what stands at the right goes first
		if i == p.Visible {
			role, attr, weight = theme.RoleAccent, theme.Bold|theme.Reverse, 98
		}
		text := " " + strconv.Itoa(i+1) + " "
		if all || i == p.Visible {
			text += name + " "
		}
		pieces = append(pieces, piece{weight: weight, tab: i + 1, spans: []chart.Span{{S: text, Role: role, Attr: attr}}})
	}
	if p.In != nil {
		pieces = append(pieces, moment(gl, p)...)
	}
	return pieces
}

func moment(gl *theme.Glyphs, p Position) []piece {
	in := p.In
	right := func(weight int, spans ...chart.Span) piece { return piece{weight: weight, right: true, spans: spans} }
	var pieces []piece
	if in.Engine != "" {
		pieces = append(pieces, right(70, chart.Span{S: "engine ", Role: theme.RoleDim}, chart.Span{S: in.Engine, Role: theme.RoleAccent}))
	}
	if in.Now.Known {
		pieces = append(pieces,
			right(85, chart.Span{S: "step ", Role: theme.RoleDim}, chart.Span{S: unit.Count(in.Now.StepIndex), Role: theme.RoleText}),
			right(momentWeight, chart.Span{S: unit.Clock(in.Now.TimeNS, in.Zone), Role: theme.RoleText}))
	}
	mark, role := string(gl.Play), theme.RoleGood
	if !p.Live {
		mark, role = string(gl.Pause), theme.RoleWarn
	}
	pieces = append(pieces, right(95, chart.Span{S: mark + " " + p.Mode, Role: role, Attr: theme.Bold}))
	span := "span " + in.spanLabel()
	if in.Frame.BucketNS > 0 {
		pieces = append(pieces, right(75, chart.Span{S: span, Role: theme.RoleText}))
		pieces = append(pieces, right(10, chart.Span{S: unit.Duration(in.Frame.BucketNS) + " a column", Role: theme.RoleDim}))
	}
	if in.Frame.Sampled {
		pieces = append(pieces, right(78, chart.Span{S: "sampled", Role: theme.RoleWarn}))
	}
	return pieces
}
