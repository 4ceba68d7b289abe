package panel

import (
	"fmt"
	"strings"

	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/theme"
)

// periodPanel shows the time from one completed step to the next: the median of each time bucket as a column, its 95th percentile as a
// mark above, and another mark for a longest step far beyond that. The axis is logarithmic, since an export of a profiler window takes a thousand times as long as a decode step.
func periodPanel() Panel {
	return Panel{ID: layout.Period, Titles: []string{"step period  ms"}, Right: periodRight, Draw: drawPeriod}
}

// periodRight are the period of the step at the cursor, and the figures of the visible time, each behind the mark that the chart draws it with.
func periodRight(in *Input) []string {
	q := in.Frame.Span.Period
	figures := []string{
		"█ p50 " + unit.Known(q.P50NS, unit.DurationMS),
		"× p95 " + unit.Known(q.P95NS, unit.DurationMS),
		"p99 " + unit.Known(q.P99NS, unit.DurationMS),
		"+ max " + unit.Known(q.MaxNS, unit.DurationMS),
		precision(q),
	}
	if in.Now.Known {
		figures = append([]string{"now " + unit.Known(in.Now.PeriodNS, unit.DurationMS)}, figures...)
	}
	var right []string
	for n := len(figures); n > 1; n-- {
		right = append(right, strings.Join(figures[:n], "  "), strings.Join(figures[:n], " "))
	}
	return append(right, figures[0])
}

// precision says how percentiles were computed.
func precision(q store.Quantiles) string {
	switch {
	case q.N == 0:
		return ""
	case q.Exact:
		return "exact"
	}
	return fmt.Sprintf("within %.2g %%", q.ErrorPct)
}

func drawPeriod(g *chart.Grid, in *Input) {
	if empty(g, in) {
		return
	}
	w := g.W() - AxisWidth
	s := chart.Series{
		Lines: []chart.Line{
			{Name: "p50", Role: theme.RolePeriod, Values: periods(in, w, func(q *store.Quantiles) *int64 { return q.P50NS })},
			{Name: "p95", Role: theme.RolePeriodTail, Values: periods(in, w, func(q *store.Quantiles) *int64 { return q.P95NS })},
			{Name: "max", Role: theme.RolePeriodTail, Values: periods(in, w, outlier)},
		},
		Style:  chart.StyleColumn,
		Log:    true,
		Format: func(v float64) string { return unit.Tick(v / 1e6) },
		LabelW: AxisWidth - 1,
	}
	h := in.history(w)
	s.Cursor, s.Blanks = h.cursor(), h.blanks()
	lines := g.H()
	if lines >= 3 {
		lines--
	}
	marks := lines >= 4 && h.marked()
	if marks {
		lines--
	}
	p := s.Draw(g.Sub(chart.Rect{W: g.W(), H: lines}))
	if marks {
		h.drawMarks(g.Sub(chart.Rect{X: p.X, Y: lines, W: p.W, H: 1}))
		lines++
	}
	h.drawAxis(g, lines, p)
}

// outlier is the longest period where it took more than twice as long as the 95th percentile: a stall among many steps.
func outlier(q *store.Quantiles) *int64 {
	if q.MaxNS == nil || q.P95NS == nil || *q.MaxNS <= 2**q.P95NS {
		return nil
	}
	return q.MaxNS
}

// periods takes one percentile from each group of columns. Percentiles of several columns cannot be merged: the largest stands for them.
func periods(in *Input, w int, of func(q *store.Quantiles) *int64) []chart.Value {
	h := in.history(w)
	out := make([]chart.Value, len(h.groups))
	for i := range in.Frame.Columns {
		c := &in.Frame.Columns[i]
		v := chart.OfInt(of(&c.Period))
		if at := h.group(c.StartNS); at >= 0 && v.Known && (!out[at].Known || v.V > out[at].V) {
			out[at] = v
		}
	}
	return h.spread(out)
}
