package chart

import "opprof/tui/theme"

// Event is a mark on a Scrub.
type Event struct {
	NS   int64
	Rune rune // tells kinds apart without colour
	Role theme.Role
}

// Scrub is the overview of a whole run: some value over its length, the part that the page shows, the cursor and marks of events. With two
// lines or more, events and the shown part have the first and the value the rest; in one line they lie on it.
type Scrub struct {
	FromNS, ToNS         int64   // the run
	ViewFromNS, ViewToNS int64   // what the page shows; equal is nothing
	CursorNS             int64   // 0 is none
	Values               []Value // over the run, evenly spread, any number; a column shows the largest of its values
	Events               []Event // later ones are drawn over earlier ones
	Unknown              []bool  // as Values: nothing is known of this part of the run
	Role                 theme.Role
}

// Draw fills g.
func (s Scrub) Draw(g *Grid) {
	w, h := g.W(), g.H()
	if w == 0 || h == 0 {
		return
	}
	low := g.Sub(Rect{Y: min(1, h-1), W: w, H: max(1, h-1)})
	Spark{Values: spread(s.Values, w), Role: s.Role}.Draw(low)
	s.drawUnknown(low)
	head := g.Row(0)
	if h > 1 {
		head.Fill(head.Bounds(), g.Glyphs.Horizontal, theme.RoleDim)
	}
	s.drawExtent(head, h > 1)
	for _, e := range s.Events {
		if x, ok := s.Column(e.NS, w); ok {
			head.Set(x, 0, e.Rune, e.Role)
		}
	}
	if x, ok := s.Column(s.CursorNS, w); ok {
		drawCursor(low, w-x)
	}
}

// drawUnknown hatches the columns of which nothing is known.
func (s Scrub) drawUnknown(g *Grid) {
	n := len(s.Unknown)
	for x := range g.W() {
		if n > 0 && s.Unknown[x*n/g.W()] && g.Rune(x, g.H()-1) == ' ' {
			g.Set(x, g.H()-1, g.Glyphs.Heat[0], theme.RoleWarn)
		}
	}
}

// drawExtent marks the shown part: a thick line, or just its ends where the line is in use.
func (s Scrub) drawExtent(g *Grid, filled bool) {
	from, ok1 := s.Column(max(s.ViewFromNS, s.FromNS), g.W())
	to, ok2 := s.Column(min(s.ViewToNS, s.ToNS), g.W())
	if !ok1 || !ok2 || s.ViewToNS <= s.ViewFromNS {
		return
	}
	if filled {
		g.Fill(Rect{X: from, W: to - from + 1, H: 1}, g.Glyphs.Extent, theme.RoleAccent)
	}
	g.Set(from, 0, g.Glyphs.ExtentLeft, theme.RoleAccent)
	g.Set(to, 0, g.Glyphs.ExtentRight, theme.RoleAccent)
}

// Column returns the column of a time in w columns; not ok outside of the run.
func (s Scrub) Column(ns int64, w int) (int, bool) {
	if s.ToNS <= s.FromNS || ns < s.FromNS || ns > s.ToNS || w <= 0 {
		return 0, false
	}
	return min(w-1, int(float64(ns-s.FromNS)/float64(s.ToNS-s.FromNS)*float64(w))), true
}

// At returns the time in the middle of column x of w, which a click or a step of the cursor means.
func (s Scrub) At(x, w int) int64 {
	if w <= 0 || s.ToNS <= s.FromNS {
		return s.FromNS
	}
	x = max(0, min(w-1, x))
	return s.FromNS + int64((float64(x)+0.5)/float64(w)*float64(s.ToNS-s.FromNS))
}

// spread fits values to w columns: the largest of each column's values, or the same value over several columns.
func spread(values []Value, w int) []Value {
	n := len(values)
	if n == 0 || w <= 0 {
		return nil
	}
	out := make([]Value, w)
	for x := range w {
		from := x * n / w
		to := max(from+1, (x+1)*n/w)
		if v, ok := highest(values[from:to]); ok {
			out[x] = Of(v)
		}
	}
	return out
}
