package tui

import (
	"math"

	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/theme"
)

// overviewRow is one line, or more where there is room, over the whole run.
type overviewRow struct {
	label string
	role  theme.Role
	most  int // lines at most
	draw  func(g *chart.Grid)
}

const (
	rowLabels      = 8  // width of the labels above the panels
	rowLabelsWhole = 13 // and on the whole page
)

// shortestLog is the logarithm of the step period, in ns, at which a bar is nothing: 0.3 ms. Periods are drawn by their logarithm, since one long
// one would press all others flat.
const shortestLog = 5.5

// overviewArea is where the time of the whole run lies in the scrubber's rectangle: behind the labels, where there are any.
func (b *board) overviewArea(r chart.Rect) chart.Rect {
	labels := 0
	switch {
	case b.whole:
		labels = rowLabelsWhole
	case r.H > 3:
		labels = rowLabels
	}
	return chart.Rect{X: r.X + 1 + labels, Y: r.Y, W: r.W - 2 - labels, H: r.H - 1}
}

// scrubRect is where the line over the whole run stands.
func (b *board) scrubRect() chart.Rect {
	for _, box := range b.boxes {
		if box.ID == layout.Scrub {
			return box.Rect
		}
	}
	return chart.Rect{}
}

// drawOverview draws rows below the line of marks: as many as have room, the most telling first. It returns the lines that are in use.
func (b *board) drawOverview(g *chart.Grid, area chart.Rect, f *store.Frame) (used int) {
	y, lines := 1, area.H-1
	rows := b.overviewRows(f, area.W)
	rows = rows[:min(len(rows), lines)]
	heights := make([]int, len(rows))
	for left := lines; left > 0; {
		grown := false
		for i := range rows {
			if left > 0 && heights[i] < rows[i].most {
				heights[i]++
				left--
				grown = true
			}
		}
		if !grown {
			break
		}
	}
	for i, r := range rows {
		row := g.Sub(chart.Rect{X: area.X, Y: y, W: area.W, H: heights[i]})
		r.draw(row)
		g.Text(1, y+heights[i]-1, area.X-2, r.label, r.role)
		y += heights[i]
	}
	return y
}

func (b *board) overviewRows(f *store.Frame, w int) []overviewRow {
	spark := func(role theme.Role, top float64, of func(c *store.Column) chart.Value) func(*chart.Grid) {
		return func(g *chart.Grid) { chart.Spark{Values: folded(f, w, of), Role: role, Max: top}.Draw(g) }
	}
	marks := func(mark rune, role theme.Role, times []int64) func(*chart.Grid) {
		return func(g *chart.Grid) { drawMoments(g, f, mark, role, times) }
	}
	period := overviewRow{"period", theme.RolePeriod, 8, spark(theme.RolePeriod, 0, func(c *store.Column) chart.Value {
		if c.Period.P95NS == nil {
			return chart.Value{}
		}
		return chart.Of(max(0.1, math.Log10(float64(*c.Period.P95NS))-shortestLog))
	})}
	kv := overviewRow{"KV", theme.RoleKV, 8, spark(theme.RoleKV, 1, func(c *store.Column) chart.Value {
		if c.Counts.Steps == 0 {
			return chart.Value{}
		}
		return chart.Of(c.Counts.KVUsageMax)
	})}
	graph := overviewRow{"graph", theme.RoleText, 1, func(g *chart.Grid) { drawModes(g, f) }}
	if !b.whole {
		return []overviewRow{period, kv, graph}
	}
	period.label, kv.label, graph.label = "p95, log", "KV usage", "graph mode"
	steps := overviewRow{"steps", theme.RolePeriod, 6, spark(theme.RolePeriod, 0, func(c *store.Column) chart.Value { return countOf(c, c.Counts.Steps) })}
	preempted := overviewRow{"preemptions", theme.RolePreempt, 4, spark(theme.RolePreempt, 0, func(c *store.Column) chart.Value { return countOf(c, c.Counts.Preemptions) })}
	var stalls, gaps, windows []int64
	for i := range f.Columns {
		c := &f.Columns[i]
		if c.Counts.Stalls > 0 {
			stalls = append(stalls, c.StartNS)
		}
		if c.Counts.Gaps > 0 {
			gaps = append(gaps, c.StartNS)
		}
		if c.Perturbed {
			windows = append(windows, c.StartNS)
		}
	}
	for i := range f.Windows {
		windows = append(windows, f.Windows[i].StartNS)
	}
	rows := []overviewRow{
		period, kv, graph, steps, preempted,
		{"stalls", theme.RoleWarn, 1, marks('s', theme.RoleWarn, stalls)}, {"gaps", theme.RoleWarn, 1, marks('x', theme.RoleWarn, gaps)},
		{"windows", theme.RoleWindow, 1, marks('w', theme.RoleWindow, windows)}, {"bookmarks", theme.RoleAccent, 1, marks('b', theme.RoleAccent, b.remarks.moments)},
	}
	if found := b.hunt.found; found != nil && len(found.overview) == len(f.Columns) {
		rows = append(rows, overviewRow{"matches", theme.RoleKey, 4, func(g *chart.Grid) {
			i := 0
			chart.Spark{Role: theme.RoleKey, Values: folded(f, w, func(c *store.Column) chart.Value {
				i = int((c.StartNS - f.FromNS) / f.BucketNS)
				return countOf(c, found.overview[max(0, min(i, len(found.overview)-1))])
			})}.Draw(g)
		}})
	}
	return rows
}

func countOf(c *store.Column, n int64) chart.Value {
	if c.Counts.Steps == 0 {
		return chart.Value{}
	}
	return chart.Of(float64(n))
}

// folded is the largest value of the columns that fall on each of w places.
func folded(f *store.Frame, w int, of func(c *store.Column) chart.Value) []chart.Value {
	out := make([]chart.Value, w)
	n := len(f.Columns)
	for x := range out {
		from := x * n / max(w, 1)
		for i := from; i < max(from+1, (x+1)*n/w) && i < n; i++ {
			if v := of(&f.Columns[i]); v.Known && (!out[x].Known || v.V > out[x].V) {
				out[x] = v
			}
		}
	}
	return out
}

// drawMoments writes a mark at every moment.
func drawMoments(g *chart.Grid, f *store.Frame, mark rune, role theme.Role, times []int64) {
	s := chart.Scrub{FromNS: f.FromNS, ToNS: f.ToNS}
	for _, ns := range times {
		if x, ok := s.Column(ns, g.W()); ok {
			g.Set(x, g.H()-1, mark, role)
		}
	}
}

// drawModes writes the first letter of the graph mode in which most steps of each place ran.
func drawModes(g *chart.Grid, f *store.Frame) {
	n, w := len(f.Columns), g.W()
	for x := range w {
		var steps store.GraphSteps
		from := x * n / w
		for i := from; i < max(from+1, (x+1)*n/w) && i < n; i++ {
			for mode, k := range f.Columns[i].Counts.Graph {
				steps[mode] += k
			}
		}
		most := -1
		for mode, k := range steps {
			if k > 0 && (most < 0 || k > steps[most]) {
				most = mode
			}
		}
		if most < 0 {
			continue
		}
		mark, role := '?', theme.RoleGraphUnknown
		switch record.GraphMode(most) {
		case record.GraphFull:
			mark, role = 'F', theme.RoleGraphFull
		case record.GraphPiecewise:
			mark, role = 'P', theme.RoleGraphPiecewise
		case record.GraphNone:
			mark, role = 'N', theme.RoleGraphNone
		}
		g.Set(x, g.H()-1, mark, role)
	}
}
