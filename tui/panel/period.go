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
// mark above. The axis is logarithmic, since an export of a profiler window takes a thousand times as long as a decode step.
func periodPanel() Panel {
	return Panel{ID: layout.Period, Title: "step period  ms", Right: periodRight, Draw: drawPeriod}
}

func periodRight(in *Input) []string {
	q := in.Frame.Span.Period
	figures := []string{
		"p50 " + unit.Known(q.P50NS, unit.DurationMS),
		"p95 " + unit.Known(q.P95NS, unit.DurationMS),
		"p99 " + unit.Known(q.P99NS, unit.DurationMS),
		"max " + unit.Known(q.MaxNS, unit.DurationMS),
		precision(q),
	}
	var right []string
	for n := len(figures); n > 1; n-- {
		right = append(right, strings.Join(figures[:n], "  "))
	}
	return right
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
	s := chart.Series{
		Lines: []chart.Line{
			{Name: "p50", Role: theme.RolePeriod, Values: values(in, func(c *store.Column) chart.Value { return chart.OfInt(c.Period.P50NS) })},
			{Name: "p95", Role: theme.RolePeriodTail, Values: values(in, func(c *store.Column) chart.Value { return chart.OfInt(c.Period.P95NS) })},
		},
		Style:  chart.StyleColumn,
		Log:    true,
		Format: func(v float64) string { return unit.DurationMS(int64(v)) },
		Cursor: in.cursorColumn(),
	}
	h := g.H()
	if h >= 3 {
		h--
	}
	p := s.Draw(g.Sub(chart.Rect{W: g.W(), H: h}))
	in.drawAxis(g, h, p)
}
