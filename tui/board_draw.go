package tui

import (
	"strings"
	"unicode/utf8"

	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

// draw pastes the panels onto the screen. A panel is drawn again only when its rectangle or the picture changed; borders, which the focus
// colours, are drawn every time.
func (b *board) draw(g *chart.Grid) {
	if b.canvas == nil || b.glyphs != g.Glyphs {
		b.glyphs = g.Glyphs
		b.canvas = chart.NewGrid(b.width, b.height, g.Glyphs)
		clear(b.drawn)
	}
	in := b.input()
	if in == nil {
		g.Text(2, 3, g.W()-4, "waiting for the first step of "+b.shown.run.Path, theme.RoleDim)
		return
	}
	var focused layout.Box
	for _, box := range b.boxes {
		switch box.ID {
		case layout.Header, layout.Tabs, layout.Footer:
		case layout.Scrub:
			b.drawScrub(b.canvas.Sub(box.Rect))
		case b.focus:
			focused = box
		default:
			b.drawBox(box, false)
		}
	}
	if focused.ID != "" {
		b.drawBox(focused, true)
	}
	b.joinBorders()
	g.Paste(0, 0, b.canvas)
}

func (b *board) drawBox(box layout.Box, focus bool) {
	p, ok := b.panels[box.ID]
	if !ok {
		return
	}
	in := b.input()
	inside := p.Frame(b.canvas.Sub(box.Rect), in, focus)
	as := drawnAs{b.serial, box.Rect}
	if b.drawn[box.ID] == as {
		return
	}
	b.drawn[box.ID] = as
	b.renders[box.ID]++
	inside.Clear()
	p.Draw(inside, in)
}

// joinBorders turns the corners between the panels of a stack into tees.
func (b *board) joinBorders() {
	gl := &b.canvas.Glyphs
	for _, box := range b.boxes {
		if !box.Joined {
			continue
		}
		for _, end := range []struct {
			x   int
			tee rune
		}{{box.Rect.X, gl.TeeLeft}, {box.Rect.X + box.Rect.W - 1, gl.TeeRight}} {
			b.canvas.Set(end.x, box.Rect.Y, end.tee, b.canvas.Role(end.x, box.Rect.Y))
		}
	}
}

// drawScrub draws the line over the whole run.
func (b *board) drawScrub(g *chart.Grid) {
	g.Clear()
	f := b.overview
	if f == nil || f.ToNS <= f.FromNS {
		text := "reading the whole run"
		if in := b.input(); in != nil && panel.Recordless(&in.Run) {
			text = "no records: its recorder was off, or they are not in the run's folder; the log and server pages tell what there is"
		}
		g.Text(1, 0, g.W()-2, text, theme.RoleDim)
		return
	}
	in := b.input()
	area := b.overviewArea(g.Bounds())
	s := chart.Scrub{
		FromNS: f.FromNS, ToNS: f.ToNS, ViewFromNS: in.Frame.FromNS, ViewToNS: in.Frame.ToNS, CursorNS: b.cursorNS(),
		Values: overviewValues(f), Events: b.overviewEvents(f), Unknown: overviewUnknown(f), Role: theme.RolePeriod,
	}
	if area.X > 1 {
		s.Values = nil
		area.H = b.drawOverview(g, area, f)
	}
	s.Draw(g.Sub(area))
	b.scrubLegend(g.Row(g.H()-1), f)
}

// overviewValues is the number of steps a second over the run: what a reader looks for first is when the server worked.
func overviewValues(f *store.Frame) []chart.Value {
	values := make([]chart.Value, len(f.Columns))
	for i := range f.Columns {
		c := &f.Columns[i]
		if c.Counts.Steps > 0 {
			values[i] = chart.Of(float64(c.Counts.Steps))
		}
	}
	return values
}

// overviewUnknown are the parts of the run of which there is no record.
func overviewUnknown(f *store.Frame) []bool {
	unknown := make([]bool, len(f.Columns))
	for i := range f.Columns {
		unknown[i] = f.Columns[i].Silence == store.SilenceMissing
	}
	return unknown
}

func (b *board) overviewEvents(f *store.Frame) []chart.Event {
	var events []chart.Event
	if found := b.hunt.found; found != nil && len(found.overview) == len(f.Columns) {
		for i := range f.Columns {
			if found.overview[i] > 0 {
				events = append(events, chart.Event{NS: f.Columns[i].StartNS + f.BucketNS/2, Role: theme.RoleKey, Rune: 'f'})
			}
		}
	}
	for i := range f.Columns {
		c := &f.Columns[i]
		at := c.StartNS + f.BucketNS/2
		if c.Counts.Preemptions > 0 {
			events = append(events, chart.Event{NS: at, Role: theme.RolePreempt, Rune: 'p'})
		}
		if c.Counts.Stalls > 0 {
			events = append(events, chart.Event{NS: at, Role: theme.RoleWarn, Rune: 's'})
		}
	}
	for i := range f.Columns {
		if c := &f.Columns[i]; c.Counts.Gaps > 0 {
			events = append(events, chart.Event{NS: c.StartNS + f.BucketNS/2, Role: theme.RoleWarn, Rune: 'x'})
		}
	}
	for _, ns := range b.remarks.moments {
		events = append(events, chart.Event{NS: ns, Role: theme.RoleAccent, Rune: 'b'})
	}
	for _, w := range f.Windows {
		events = append(events, chart.Event{NS: w.StartNS, Role: theme.RoleWindow, Rune: 'w'})
	}
	return events
}

// saidFor is how long a line of the server log stands instead of the legend.
const saidFor = 10_000_000_000

// scrubLegend writes the ends of the run and what the marks mean.
func (b *board) scrubLegend(g *chart.Grid, f *store.Frame) {
	g.Text(1, 0, g.W(), unit.ClockSeconds(f.FromNS, b.zone), theme.RoleAxis)
	g.TextRight(0, 0, g.W()-1, unit.ClockSeconds(f.ToNS, b.zone), theme.RoleAxis)
	if b.hunt.expr != "" {
		const ends = 10
		b.searchLine(g.Sub(chart.Rect{X: ends, W: g.W() - 2*ends, H: 1}))
		return
	}
	if b.said != nil && b.time.cursorNS != 0 && b.time.cursorNS-b.said.WallNS < saidFor {
		const ends = 10 // a clock and a blank on either side
		panel.LogLine(g.Sub(chart.Rect{X: ends, W: g.W() - 2*ends, H: 1}), b.said)
		return
	}
	legend := []chart.Span{
		{S: "steps  ", Role: theme.RolePeriod}, {S: "", Role: theme.RoleDim}, {S: "w", Role: theme.RoleWindow}, {S: " window  ", Role: theme.RoleDim},
		{S: "s", Role: theme.RoleWarn}, {S: " stall  ", Role: theme.RoleDim}, {S: "p", Role: theme.RolePreempt}, {S: " preemption  ", Role: theme.RoleDim},
		{S: "x", Role: theme.RoleWarn}, {S: " gap  ", Role: theme.RoleDim}, {S: string(g.Glyphs.Heat[0]), Role: theme.RoleWarn}, {S: " no record  ", Role: theme.RoleDim},
		{S: "b", Role: theme.RoleAccent}, {S: " bookmark", Role: theme.RoleDim},
	}
	if g.W() > 0 && b.overviewArea(b.scrubRect()).X > 1 {
		legend[0].S = "" // the rows have names
	}
	for ; len(legend) > 0; legend = legend[:len(legend)-2] {
		n := 0
		for _, s := range legend {
			n += utf8.RuneCountInString(s.S)
		}
		if x := (g.W() - n) / 2; x > 10 {
			g.Spans(x, 0, n, legend...)
			return
		}
	}
}

// copied are the lines of the focused panel under a line that says what and when.
func (b *board) copied() []string {
	in := b.input()
	if in == nil {
		return nil
	}
	for _, box := range b.boxes {
		if box.ID != b.focus {
			continue
		}
		p := b.panels[box.ID]
		g := chart.NewGrid(box.Rect.W-2, box.Rect.H-2, b.glyphs)
		p.Draw(g, in)
		head := p.Title() + "  " + in.Run.ID + "  step " + unit.Count(in.Now.StepIndex) + "  " + unit.Date(in.Now.TimeNS, b.zone)
		if p.Right != nil {
			if right := p.Right(in); len(right) > 0 {
				head += "  " + right[0]
			}
		}
		return append([]string{head}, strings.Split(strings.TrimRight(g.Plain(), " \n"), "\n")...)
	}
	return nil
}
