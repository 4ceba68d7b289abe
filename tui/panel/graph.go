package panel

import (
	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/theme"
)

// graphPanel shows in which CUDA-graph mode steps ran: the share of the visible steps, the share over time, and how many of the tokens of
// the captured sizes were padding.
func graphPanel() Panel {
	return Panel{ID: layout.Graph, Titles: []string{"CUDA graph  share of steps", "CUDA graph  steps", "CUDA graph"}, Right: graphRight, Draw: drawGraph}
}

func graphRight(in *Input) []string {
	if g := in.Now.Graph; g != nil {
		return []string{"now " + g.Mode.String(), g.Mode.String()}
	}
	return []string{"now " + unit.Unknown}
}

// graphModes are the modes in the order of the panel, with their short names.
func graphModes() []graphMode {
	return []graphMode{
		{record.GraphFull, "FULL", theme.RoleGraphFull},
		{record.GraphPiecewise, "PIECE", theme.RoleGraphPiecewise},
		{record.GraphNone, "NONE", theme.RoleGraphNone},
		{record.GraphOther, "other", theme.RoleGraphUnknown},
	}
}

type graphMode struct {
	mode record.GraphMode
	name string
	role theme.Role
}

func drawGraph(g *chart.Grid, in *Input) {
	if empty(g, in) {
		return
	}
	span := &in.Frame.Span.Counts
	var list []trend
	for _, m := range graphModes() {
		if m.mode == record.GraphOther && in.Frame.Run.Counts.Graph[m.mode] == 0 {
			continue
		}
		name := m.name
		if g.W() >= 50 {
			name = m.mode.String()
		}
		list = append(list, trend{
			label: name, value: unit.Share(span.Graph[m.mode], knownModes(span)), role: m.role, max: 1, format: wholePercent,
			of: func(c *store.Counts) chart.Value { return mean(c.Graph[m.mode], knownModes(c)) },
		})
	}
	foot := 1
	if g.H() >= len(list)+2 {
		foot = 2
	}
	bands := max(len(list), g.H()-foot)
	trends(g.Sub(chart.Rect{W: g.W(), H: bands}), in, list...)
	graphFoot(g.Sub(chart.Rect{Y: bands, W: g.W(), H: g.H() - bands}), in)
}

// knownModes counts the steps whose mode the server reported.
func knownModes(c *store.Counts) int64 {
	var n int64
	for m, steps := range c.Graph {
		if record.GraphMode(m) != record.GraphUnknown {
			n += steps
		}
	}
	return n
}

func graphFoot(g *chart.Grid, in *Input) {
	span := &in.Frame.Span.Counts
	padding := field{name: "padding", value: unit.Share(span.GraphPadding, span.GraphBucket), role: theme.RoleText}
	unknown := field{name: "unknown", value: unit.Short(span.Graph[record.GraphUnknown]), role: theme.RoleGraphUnknown}
	if g.H() < 2 {
		line(g, 0, padding, unknown)
		return
	}
	padding.unit = "of " + unit.Short(span.GraphBucket) + " bucket tokens"
	line(g, 0, padding, unknown)
	now := in.Now.Graph
	if now == nil {
		line(g, 1, field{name: "now", value: unit.Unknown, role: theme.RoleText})
		return
	}
	line(g, 1, field{name: "now", value: now.Mode.String(), role: theme.RoleText},
		field{name: "bucket", value: unit.Count(now.BucketTokens), unit: "tok", role: theme.RoleText},
		field{name: "padding", value: unit.Count(now.PaddingTokens), role: theme.RoleText})
}
