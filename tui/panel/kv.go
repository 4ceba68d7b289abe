package panel

import (
	"math"
	"strconv"

	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/theme"
)

// kvWarn is the share of used KV blocks from which preemptions are near.
const kvWarn = 0.95

// kvPanel shows the block pool of the KV cache: used of total at the cursor, its mean over time, and the highest usage with its time.
func kvPanel() Panel {
	return Panel{ID: layout.KV, Titles: []string{"KV cache  blocks", "KV  blocks"}, Right: func(in *Input) []string {
		if !in.Now.Known {
			return nil
		}
		return []string{unit.Percent(in.Now.KV.Usage)}
	}, Draw: drawKV}
}

func drawKV(g *chart.Grid, in *Input) {
	if empty(g, in) {
		return
	}
	kv := in.Now.KV
	used := unit.Count(kv.UsedBlocks) + " of " + unit.Count(kv.TotalBlocks)
	g.Text(0, 0, g.W(), used, theme.RoleKV)
	chart.Meter{Value: chart.Of(kv.Usage), Max: 1, Role: theme.RoleKV, Warn: kvWarn}.Draw(g.Row(1))
	last := g.H() - 1
	if last >= 2 {
		kvMax(g.Row(last), in)
	}
	history := g.Sub(chart.Rect{Y: 2, W: g.W(), H: last - 2})
	usage := func(c *store.Counts) chart.Value { return chart.Of(c.KVUsageSum / float64(c.Steps)) }
	if history.H() < 4 {
		spark(history, in.history(history.W()), trend{of: usage, max: 1, role: theme.RoleKV})
		return
	}
	h := in.history(history.W() - AxisWidth)
	p := chart.Series{
		Lines: []chart.Line{{Name: "mean", Values: h.values(usage), Role: theme.RoleKV}}, Style: chart.StyleColumn, Max: 1,
		Format: wholePercent, LabelW: AxisWidth - 1, Cursor: h.cursor(),
	}.Draw(history.Sub(chart.Rect{W: history.W(), H: history.H() - 1}))
	h.drawAxis(history, history.H()-1, p)
}

// wholePercent labels an axis of shares.
func wholePercent(v float64) string { return strconv.Itoa(int(math.Round(v*100))) + " %" }

// kvMax writes the highest usage of the visible time, and of the run where there is room.
func kvMax(g *chart.Grid, in *Input) {
	span, run := &in.Frame.Span.Counts, &in.Frame.Run.Counts
	if span.Steps == 0 {
		line(g, 0, field{name: "max", value: unit.Unknown, role: theme.RoleText})
		return
	}
	line(g, 0,
		field{name: "max", value: unit.Percent(span.KVUsageMax), unit: unit.ClockSeconds(span.KVUsageMaxNS, in.Zone), role: theme.RoleKV},
		field{name: "run", value: unit.Percent(run.KVUsageMax), role: theme.RoleKV})
}
