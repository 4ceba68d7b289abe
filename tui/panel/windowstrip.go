package panel

import (
	"fmt"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"opprof/engine/unit"
	"opprof/traces/family"
	"opprof/traces/interval"
	"opprof/traces/rank"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// Strip is one iteration of a rank over time: a line for each stream, a cell for each stretch of time, with the family that used most of it.
type Strip struct {
	Of        Side
	Iteration int
	Zoom      int     // each doubles the scale
	At        float64 // left edge as a share of the iteration, in [0,1]
}

// span is what is shown: the iteration's device work, or the part of it that was zoomed to.
func (p Strip) span() interval.Span {
	r := p.iteration()
	if r == nil || r.Span.Len() <= 0 {
		return interval.Span{}
	}
	whole := r.Span.Len()
	length := max(whole>>p.Zoom, 1)
	from := r.Span.Start + int64(p.At*float64(whole))
	from = max(r.Span.Start, min(from, r.Span.End-length))
	return interval.Span{Start: from, End: from + length}
}

func (p Strip) iteration() *rank.Iteration {
	its := p.Of.Window.Detail.Iterations
	if p.Iteration < 0 || p.Iteration >= len(its) {
		return nil
	}
	return its[p.Iteration].Ranks[p.Of.Rank]
}

// Scale says what one of w cells stands for.
func (p Strip) Scale(w int) string {
	s := p.span()
	if s.Len() <= 0 || w <= stripNames {
		return ""
	}
	return unit.Duration(s.Len()/int64(w-stripNames)) + " a cell"
}

// stripNames is the width of the names of streams.
const stripNames = 11

// lane is one stream of a strip.
type lane struct {
	stream uint16
	cells  []laneCell
	busyNS int64
	n      int
}

// laneCell is how much of a cell each family used.
type laneCell struct {
	ns    [family.Count]int64
	union interval.Meter
	busy  int64
}

// Draw fills g: the lanes, the CPU range of the label where it overlaps, an axis and the legend.
func (p Strip) Draw(g *chart.Grid) {
	t := p.Of.Window.Timelines[p.Of.Rank]
	span := p.span()
	switch {
	case p.iteration() == nil || span.Len() <= 0:
		note(g, 0, "no device work in this iteration")
		return
	case t == nil:
		note(g, 0, "reading the events of this window; one of too many gives none")
		return
	}
	w := g.W() - stripNames
	if w < 8 {
		return
	}
	lanes := p.lanes(t, span, w)
	rows := g.H() - 2
	for y, l := range lanes[:max(0, min(len(lanes), rows))] {
		p.lane(g.Row(y), t, &l, span, w)
	}
	if len(lanes) > rows {
		g.TextRight(0, 0, stripNames-1, "+"+strconv.Itoa(len(lanes)-rows), theme.RoleDim)
	}
	axisY := min(len(lanes), max(0, rows))
	p.axis(g.Sub(chart.Rect{X: stripNames, Y: axisY, W: w, H: 1}), span)
	familyLegend(g, stripNames, axisY+1)
	key := fmt.Sprintf("%c idle   a less than half", g.Glyphs.Heat[0])
	if x := stripNames + legendWidth() + 3; x+utf8.RuneCountInString(key) <= g.W() {
		g.Text(x, axisY+1, g.W()-x, key, theme.RoleDim)
	}
}

// lanes are the streams with work in the span, busiest first.
func (p Strip) lanes(t *rank.Timeline, span interval.Span, w int) []lane {
	byStream := map[uint16]*lane{}
	for i := range t.Events {
		e := &t.Events[i]
		if int(e.Iteration) != p.Iteration || e.EndNS() <= span.Start || e.StartNS >= span.End {
			continue
		}
		l := byStream[e.Stream]
		if l == nil {
			l = &lane{stream: e.Stream, cells: make([]laneCell, w)}
			byStream[e.Stream] = l
		}
		l.add(e, span)
	}
	var out []lane
	for _, l := range byStream {
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b lane) int {
		if a.busyNS != b.busyNS {
			return int(max(-1, min(1, b.busyNS-a.busyNS)))
		}
		return int(a.stream) - int(b.stream)
	})
	return out
}

// add spreads an event over the cells that it touches.
func (l *lane) add(e *rank.Event, span interval.Span) {
	w := int64(len(l.cells))
	l.n++
	l.busyNS += e.DurNS
	from, to := max(e.StartNS, span.Start)-span.Start, min(e.EndNS(), span.End)-span.Start
	first, last := from*w/span.Len(), min(w-1, max(from, to-1)*w/span.Len())
	for i := first; i <= last; i++ {
		part := interval.Span{Start: max(from, i*span.Len()/w), End: min(to, (i+1)*span.Len()/w)}
		if part.Len() <= 0 {
			continue
		}
		c := &l.cells[i]
		c.ns[e.Family] += part.Len()
		c.busy += c.union.Add(part)
	}
}

func (p Strip) lane(g *chart.Grid, t *rank.Timeline, l *lane, span interval.Span, w int) {
	g.Text(0, 0, stripNames-1, "stream "+strconv.FormatInt(t.Streams[l.stream].Stream, 10), theme.RoleDim)
	cell := max(1, span.Len()/int64(w))
	for x := range l.cells {
		c := &l.cells[x]
		if c.busy == 0 {
			g.Set(stripNames+x, 0, g.Glyphs.Heat[0], theme.RoleDim)
			continue
		}
		most := family.Other
		for f := range family.Count {
			if c.ns[f] > c.ns[most] {
				most = f
			}
		}
		look := lookOf(most)
		if c.busy*2 < cell {
			g.Set(stripNames+x, 0, unicode.ToLower(look.letter), look.role)
		} else {
			g.SetAttr(stripNames+x, 0, look.letter, look.role, theme.Reverse)
		}
	}
}

// axis labels milliseconds since the iteration's first device work.
func (p Strip) axis(g *chart.Grid, span interval.Span) {
	from := span.Start - p.iteration().Span.Start
	const apart = 16
	parts := max(1, g.W()/apart)
	for i := range parts {
		x := i * g.W() / parts
		label := unit.DurationMS(from+span.Len()*int64(x)/int64(g.W())) + " ms"
		g.Set(x, 0, g.Glyphs.TickDown, theme.RoleAxis)
		g.Text(x+1, 0, apart-2, label, theme.RoleAxis)
	}
	end := unit.DurationMS(from+span.Len()) + " ms"
	g.TextRight(0, 0, g.W(), " "+end+string(g.Glyphs.TickDown), theme.RoleAxis)
}

// StripHeight is how many lines a strip of an iteration needs.
func StripHeight(of Side, iteration int) int {
	t := of.Window.Timelines[of.Rank]
	if t == nil {
		return 3
	}
	streams := map[uint16]bool{}
	for i := range t.Events {
		if int(t.Events[i].Iteration) == iteration {
			streams[t.Events[i].Stream] = true
		}
	}
	return len(streams) + 2
}
