package chart

import (
	"math"
	"strconv"
	"strings"
	"time"

	"opprof/engine/unit"
	"opprof/tui/theme"
)

// TimeAxis is the line below charts over time. Each label stands at the column of its bucket: the distance from now in a live picture, clock
// times in a review.
type TimeAxis struct {
	FromNS   int64 // left edge of the first column, ns since 1970
	ToNS     int64 // right edge of the last column
	BucketNS int64 // width of a column
	Live     bool
	Loc      *time.Location // for clock times; nil is UTC
	Cursor   int            // columns from the right, 1 is the newest; 0 has no cursor
}

const labelGap = 3 // columns of line at least between two labels

// Draw fills the first line of g, one column per bucket, the newest at the right.
func (a TimeAxis) Draw(g *Grid) {
	for x := range g.W() {
		g.Set(x, 0, g.Glyphs.Horizontal, theme.RoleAxis)
	}
	if a.BucketNS <= 0 || a.ToNS <= a.FromNS {
		return
	}
	if a.Live {
		a.drawAges(g)
	} else {
		a.drawClock(g)
	}
	if a.Cursor > 0 {
		a.drawCursor(g, g.W()-a.Cursor)
	}
}

// drawCursor points up at the column, or reverses the cell where a label is.
func (a TimeAxis) drawCursor(g *Grid, x int) {
	if g.Rune(x, 0) == g.Glyphs.Horizontal {
		g.Set(x, 0, g.Glyphs.Triangle, theme.RoleAccent)
		return
	}
	g.Restyle(Rect{X: x, W: 1, H: 1}, theme.RoleAccent, theme.Reverse)
}

// span is the time that the columns cover, from the first bucket shown to the right edge.
func (a TimeAxis) span(w int) int64 {
	buckets := (a.ToNS - a.FromNS + a.BucketNS - 1) / a.BucketNS
	return min(buckets, int64(w)) * a.BucketNS
}

// drawAges labels the right edge "now" and whole steps before it.
func (a TimeAxis) drawAges(g *Grid) {
	const now = " now"
	span := a.span(g.W())
	step := a.step(len(age(span)) + 2 + labelGap)
	free := g.W() - len(now)
	g.TextRight(0, 0, g.W(), now, theme.RoleAxis)
	for ns := step; ns <= span; ns += step {
		label := " " + age(ns) + " "
		x := g.W() - int((ns+a.BucketNS/2)/a.BucketNS) - len(label)/2
		x = max(x, g.W()-int(span/a.BucketNS))
		if x+len(label) < free && x >= 0 {
			g.Text(x, 0, len(label), label, theme.RoleAxis)
			free = x - 1
		}
	}
}

// drawClock labels whole steps of the local clock, each beginning in the column of its time.
func (a TimeAxis) drawClock(g *Grid) {
	loc := a.Loc
	if loc == nil {
		loc = time.UTC
	}
	span := a.span(g.W())
	layout := clockLayout(a.BucketNS, span)
	step := a.step(len(layout) + labelGap)
	layout = clockLayout(step, span)
	first := a.ToNS - span
	_, offset := time.Unix(0, first).In(loc).Zone()
	shift := int64(offset) * int64(time.Second)
	at := (first+shift+step-1)/step*step - shift
	free := 0
	for ; at < a.ToNS; at += step {
		label := time.Unix(0, at).In(loc).Format(layout)
		x := g.W() - int((a.ToNS-at+a.BucketNS-1)/a.BucketNS)
		if x >= free && x+1+len(label) <= g.W() {
			g.Set(x, 0, g.Glyphs.TickDown, theme.RoleAxis)
			g.Text(x+1, 0, len(label), label, theme.RoleAxis)
			free = x + len(label) + 2
		}
	}
}

func clockLayout(stepNS, spanNS int64) string {
	switch {
	case stepNS >= int64(24*time.Hour):
		return "01-02"
	case spanNS > int64(24*time.Hour):
		return "01-02 15:04"
	case stepNS >= int64(time.Minute):
		return "15:04"
	case stepNS >= int64(time.Second):
		return "15:04:05"
	default:
		return "15:04:05.000"
	}
}

// step returns the shortest round time that leaves each label w columns. It need not be a whole number of buckets: a label stands in the
// column that holds its time, and moves by whole columns as the right edge does.
func (a TimeAxis) step(w int) int64 {
	least := float64(w) * float64(a.BucketNS)
	for _, s := range roundTimes() {
		if float64(s) >= least {
			return s
		}
	}
	const day = int64(24 * time.Hour)
	return max(1, int64(math.Ceil(min(least, math.MaxInt64/2)/float64(day)))) * day
}

func roundTimes() []int64 {
	var out []int64
	for _, ms := range [...]int64{1, 2, 5, 10, 20, 50, 100, 200, 500} {
		out = append(out, ms*1e6)
	}
	for _, s := range [...]int64{1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400, 172800, 432000, 864000} {
		out = append(out, s*1e9)
	}
	return out
}

// age prints a time before now: -0.5s, -40s, -2m30s, -3h, -2d.
func age(ns int64) string {
	if ns < 120*int64(time.Second) {
		return "-" + unit.Tick(float64(ns)/1e9) + "s"
	}
	var b strings.Builder
	b.WriteByte('-')
	s := ns / 1e9
	for _, u := range [...]struct {
		s    int64
		name string
	}{{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}} {
		if n := s / u.s; n > 0 {
			b.WriteString(strconv.FormatInt(n, 10) + u.name)
			s -= n * u.s
		}
	}
	return b.String()
}
