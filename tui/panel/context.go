package panel

import (
	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/theme"
)

// contextPanel shows the context lengths of the requests in the step at the cursor.
func contextPanel() Panel {
	return Panel{ID: layout.Context, Titles: []string{"context length  requests by upper edge, tokens", "context length  requests"}, Right: contextRight, Draw: drawContext}
}

func contextRight(in *Input) []string {
	total := unit.Count(sumOf(in.Now.ContextHist[:]))
	return []string{total + " requests now", total + " now"}
}

func drawContext(g *chart.Grid, in *Input) {
	if empty(g, in) {
		return
	}
	groups, labels := foldBins(contextLabels(), in.Frame.Run.Counts.ContextHist[:], g.H())
	chart.Hist{Labels: labels, Counts: foldCounts(groups, in.Now.ContextHist[:]), Unknown: !in.Now.Known, Role: theme.RoleContext}.Draw(g)
}

func contextLabels() []string {
	edges := record.ContextEdges()
	return unit.Edges(edges[:])
}

// contextTimePanel shows the same histogram over time: each column is the share of request-steps per bin in one time bucket.
func contextTimePanel() Panel {
	return Panel{ID: layout.ContextTime, Titles: []string{"context length over time  share of requests by upper edge, tokens", "context length over time  share of requests", "context over time  share", "context over time"}, Right: func(in *Input) []string {
		return []string{in.spanLabel()}
	}, Draw: drawContextTime}
}

func drawContextTime(g *chart.Grid, in *Input) {
	if empty(g, in) {
		return
	}
	lines := g.H()
	if lines >= 4 {
		lines--
	}
	groups, labels := foldBins(contextLabels(), in.Frame.Run.Counts.ContextHist[:], lines)
	lines = len(groups)
	h := in.history(g.W() - AxisWidth)
	p := chart.Heat{Labels: labels, Rows: contextShares(h, groups), Max: 1, Cursor: h.cursor()}.Draw(g.Sub(chart.Rect{W: g.W(), H: lines}))
	h.drawAxis(g, lines, p)
}

// contextShares returns one row per group of bins: its share of the request-steps of each column.
func contextShares(h history, groups [][2]int) [][]chart.Value {
	rows := make([][]chart.Value, len(groups))
	for i, bins := range groups {
		rows[i] = h.ratio(func(c *store.Counts) (part, whole int64) {
			return sumOf(c.ContextHist[bins[0]:bins[1]]), sumOf(c.ContextHist[:])
		})
	}
	return rows
}
