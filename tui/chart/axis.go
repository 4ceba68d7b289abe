package chart

import (
	"time"

	"opprof/engine/unit"
	"opprof/tui/theme"
)

// TimeAxis is the line below charts over time: labels at whole buckets, relative to now in a live picture and clock times in a review.
type TimeAxis struct {
	FromNS   int64 // left edge of the first column
	ToNS     int64 // right edge of the last column
	BucketNS int64 // width of a column
	Live     bool
	Loc      *time.Location // for clock times; nil is UTC
}

// Draw fills the first line of g: as many columns as there are buckets, ending at the right.
func (a TimeAxis) Draw(g *Grid) {
	for x := range g.W() {
		g.Set(x, 0, g.Glyphs.Horizontal, theme.RoleAxis)
	}
	right := "now"
	if !a.Live {
		right = unit.ClockSeconds(a.ToNS, a.Loc)
	}
	g.TextRight(0, 0, g.W(), right, theme.RoleAxis)
}

// Event is a mark on a Scrub.
type Event struct {
	NS   int64
	Role theme.Role
	Rune rune // the mark itself, which tells kinds apart without colour
}

// Scrub is the overview of a whole run: a spark line of some value, the part that the page shows, the cursor, and marks of events. One
// line draws all of it, two lines put the marks above.
type Scrub struct {
	FromNS, ToNS         int64 // the run
	ViewFromNS, ViewToNS int64 // what the page shows
	CursorNS             int64
	Values               []Value // over the run, any number, spread evenly
	Events               []Event
	Role                 theme.Role
}

// Draw fills g.
func (s Scrub) Draw(g *Grid) {
	if g.Bounds().Empty() {
		return
	}
	last := g.Row(g.H() - 1)
	Spark{Values: s.Values, Role: s.Role}.Draw(last)
	for _, e := range s.Events {
		if x, ok := s.x(e.NS, g.W()); ok {
			g.Set(x, 0, e.Rune, e.Role)
		}
	}
	if x, ok := s.x(s.CursorNS, g.W()); ok {
		last.Mark(Rect{X: x, W: 1, H: 1}, theme.Reverse)
	}
}

// x returns the column of a time.
func (s Scrub) x(ns int64, w int) (int, bool) {
	if s.ToNS <= s.FromNS || ns < s.FromNS || ns > s.ToNS || w <= 0 {
		return 0, false
	}
	return min(w-1, int(float64(ns-s.FromNS)/float64(s.ToNS-s.FromNS)*float64(w))), true
}

// At returns the time at the middle of column x of w: the place a click or a cursor step means.
func (s Scrub) At(x, w int) int64 {
	if w <= 0 || s.ToNS <= s.FromNS {
		return s.FromNS
	}
	x = max(0, min(w-1, x))
	return s.FromNS + int64((float64(x)+0.5)/float64(w)*float64(s.ToNS-s.FromNS))
}
