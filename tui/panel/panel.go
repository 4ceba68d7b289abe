package panel

import (
	"time"
	"unicode/utf8"

	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
)

// Input is what panels draw. A panel's picture depends on nothing else, so that it can be kept as long as the input stays the same.
type Input struct {
	Frame  *store.Frame       // the visible stretch of time; never nil
	Now    store.Instant      // composition at the cursor
	Rates  store.Rates        // before the cursor
	Run    rundir.Description // identity of the run
	Zone   *time.Location     // for clock times; nil is UTC
	Engine string             // selected engine; "" is all
	// CursorNS is the moment that Now speaks about, ns since 1970, when it is not the right edge of the frame; else 0.
	CursorNS int64
}

// Panel is one part of a page. Draw fills the inside of the panel's box from its top left cell, whatever its size; a line that does not
// fit is left out whole, least important last.
type Panel struct {
	ID    layout.ID
	Title string // with the unit of its figures
	// Right returns texts for the right end of the title line, best first: the first that fits is shown. It may be nil.
	Right func(in *Input) []string
	Draw  func(g *chart.Grid, in *Input)
}

// All returns the panels by id.
func All() map[layout.ID]Panel {
	all := map[layout.ID]Panel{}
	for _, p := range []Panel{
		periodPanel(), loadPanel(), batchPanel(), queuesPanel(), contextPanel(), contextTimePanel(), chunkPanel(), kvPanel(), graphPanel(),
		pressurePanel(), prefixPanel(), preemptPanel(), stepPanel(), windowsPanel(), enginesPanel(),
	} {
		all[p.ID] = p
	}
	return all
}

// Frame draws the border of a panel with its title, and returns the window inside.
func (p Panel) Frame(g *chart.Grid, in *Input, focus bool) *chart.Grid {
	right := ""
	if p.Right != nil {
		right = fit(p.Right(in), g.W()-9-utf8.RuneCountInString(p.Title))
	}
	return g.Box(p.Title, right, focus)
}

// fit returns the first text of at most w columns, "" if there is none.
func fit(texts []string, w int) string {
	for _, t := range texts {
		if utf8.RuneCountInString(t) <= w {
			return t
		}
	}
	return ""
}

// empty says that there is nothing to draw yet, and reports whether that is so.
func empty(g *chart.Grid, in *Input) bool {
	if in.Now.Known || in.Frame.Run.Counts.Steps > 0 {
		return false
	}
	note(g, 0, "no step yet")
	return true
}

// values takes one figure from every column, unknown where no step completed.
func values(in *Input, of func(c *store.Column) chart.Value) []chart.Value {
	out := make([]chart.Value, len(in.Frame.Columns))
	for i := range in.Frame.Columns {
		if c := &in.Frame.Columns[i]; c.Counts.Steps > 0 {
			out[i] = of(c)
		}
	}
	return out
}

// mean is sum per step as a chart value.
func mean(sum, steps int64) chart.Value {
	if steps == 0 {
		return chart.Value{}
	}
	return chart.Of(float64(sum) / float64(steps))
}

// cursorColumn counts the cursor's column from the right, 1 is the last; 0 when there is no cursor in the picture.
func (in *Input) cursorColumn() int {
	f := in.Frame
	if in.CursorNS == 0 || f.BucketNS <= 0 || in.CursorNS < f.FromNS || in.CursorNS > f.ToNS {
		return 0
	}
	return 1 + int((f.ToNS-max(in.CursorNS, f.FromNS+1))/f.BucketNS)
}

// spanLabel names the visible stretch of time.
func (in *Input) spanLabel() string {
	if in.Frame.ToNS <= in.Frame.FromNS {
		return unit.Unknown
	}
	return unit.Duration(in.Frame.ToNS - in.Frame.FromNS)
}

// axis is the time axis of every chart over time.
func (in *Input) axis() chart.TimeAxis {
	f := in.Frame
	return chart.TimeAxis{FromNS: f.FromNS, ToNS: f.ToNS, BucketNS: f.BucketNS, Live: f.Live, Loc: in.Zone}
}

// drawAxis puts the time axis on line y below the curves of p.
func (in *Input) drawAxis(g *chart.Grid, y int, p chart.Plot) {
	if y < g.H() {
		in.axis().Draw(g.Sub(chart.Rect{X: p.X, Y: y, W: p.W, H: 1}))
	}
}
