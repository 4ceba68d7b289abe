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
	return Panel{ID: layout.Context, Title: "context length  requests up to n tokens", Right: contextRight, Draw: drawContext}
}

func contextRight(in *Input) []string {
	var total int64
	for _, n := range in.Now.ContextHist {
		total += n
	}
	return []string{"total " + unit.Count(total), unit.Count(total)}
}

func drawContext(g *chart.Grid, in *Input) {
	if empty(g, in) {
		return
	}
	chart.Hist{
		Labels: contextLabels(), Counts: in.Now.ContextHist[:], Unknown: !in.Now.Known, Role: theme.RoleContext,
	}.Draw(g)
}

func contextLabels() []string {
	edges := record.ContextEdges()
	return unit.Edges(edges[:])
}

// contextTimePanel shows the same histogram over time: each column is the share of request-steps per bin in one time bucket.
func contextTimePanel() Panel {
	return Panel{ID: layout.ContextTime, Title: "context length over time  share of requests", Right: func(in *Input) []string {
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
	labels, rows := foldRows(contextLabels(), contextShares(in), lines)
	heat := g.Sub(chart.Rect{W: g.W(), H: lines})
	p := chart.Heat{Labels: labels, Rows: rows, Max: 1}.Draw(heat)
	markCursor(heat, p, in.cursorColumn())
	in.drawAxis(g, lines, p)
}

// contextShares returns one row per bin: its share of the request-steps of each column.
func contextShares(in *Input) [][]chart.Value {
	rows := make([][]chart.Value, record.ContextBins)
	for bin := range rows {
		rows[bin] = values(in, func(c *store.Column) chart.Value {
			var total int64
			for _, n := range c.Counts.ContextHist {
				total += n
			}
			return mean(c.Counts.ContextHist[bin], total)
		})
	}
	return rows
}

// foldRows adds neighbouring rows until there are at most n, with the labels that chart.Fold gives them.
func foldRows(labels []string, rows [][]chart.Value, n int) ([]string, [][]chart.Value) {
	if n <= 0 || len(rows) <= n {
		return labels, rows
	}
	folded, _ := chart.Fold(labels, make([]int64, len(labels)), n)
	out := make([][]chart.Value, n)
	for i := range n {
		out[i] = addRows(rows[i*len(rows)/n : (i+1)*len(rows)/n])
	}
	return folded, out
}

func addRows(rows [][]chart.Value) []chart.Value {
	sum := make([]chart.Value, len(rows[0]))
	copy(sum, rows[0])
	for _, r := range rows[1:] {
		for x, v := range r {
			if v.Known {
				sum[x] = chart.Of(sum[x].V + v.V)
			}
		}
	}
	return sum
}
