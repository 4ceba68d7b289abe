package panel

import (
	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/theme"
)

// prefixPanel shows which share of the looked-up prompt tokens the prefix cache had: over the visible time, over the run, and over time.
func prefixPanel() Panel {
	return Panel{ID: layout.Prefix, Title: "prefix cache  hit tokens", Draw: drawPrefix}
}

// hitRate is hits of queries, "-" when no step knew them or nothing was looked up.
func hitRate(p record.Prefix, steps int64) string {
	if steps == 0 {
		return unit.Unknown
	}
	return unit.Share(p.Hits, p.Queries)
}

func drawPrefix(g *chart.Grid, in *Input) {
	if empty(g, in) {
		return
	}
	span, run := &in.Frame.Span.Counts, &in.Frame.Run.Counts
	line(g, 0,
		field{name: "hits", value: hitRate(span.Local, span.LocalSteps), unit: "in " + in.spanLabel(), role: theme.RolePrefix},
		field{name: "run", value: hitRate(run.Local, run.LocalSteps), role: theme.RolePrefix})
	last := g.H() - 1
	if last < 1 {
		return
	}
	line(g, last,
		field{name: "external", value: hitRate(span.External, span.ExternalSteps), role: theme.RoleText},
		field{name: "looked up", value: queries(span.Local, span.LocalSteps), unit: "tok", role: theme.RoleText})
	spark(g.Sub(chart.Rect{Y: 1, W: g.W(), H: last - 1}), in.history(g.W()), trend{max: 1, role: theme.RolePrefix, of: hitRatio})
}

func queries(p record.Prefix, steps int64) string {
	if steps == 0 {
		return unit.Unknown
	}
	return unit.Short(p.Queries)
}

// hitRatio is unknown where nothing was looked up.
func hitRatio(c *store.Counts) chart.Value { return mean(c.Local.Hits, c.Local.Queries) }

// preemptPanel shows how often requests lost their KV blocks, what that cost, and how often serving stood still.
func preemptPanel() Panel {
	return Panel{ID: layout.Preempt, Title: "preemptions, stalls", Right: func(in *Input) []string {
		return []string{"in run, in " + in.spanLabel()}
	}, Draw: drawPreempt}
}

func drawPreempt(g *chart.Grid, in *Input) {
	if empty(g, in) {
		return
	}
	rows := []countRow{
		preemptions(in),
		{"stalls", count(in, func(c *store.Counts) int64 { return c.Stalls }), "of 0.5 s or more"},
		{"recomputed", count(in, func(c *store.Counts) int64 { return c.RecomputeTokens }), "tok"},
		{"resumed", count(in, func(c *store.Counts) int64 { return c.ResumedRequests }), "req"},
		{"longest step", [2]string{
			unit.Known(in.Frame.Run.Period.MaxNS, unit.Duration), unit.Known(in.Frame.Span.Period.MaxNS, unit.Duration)}, ""},
		{"dropped", count(in, func(c *store.Counts) int64 { return c.Dropped }), "records"},
	}
	countRows(g.Sub(chart.Rect{W: g.W(), H: min(g.H(), len(rows))}), rows)
	if free := g.Sub(chart.Rect{Y: len(rows), W: g.W(), H: g.H() - len(rows)}); free.H() > 0 {
		trends(free, in, trend{label: "preempted", role: theme.RolePreempt,
			of: func(c *store.Counts) chart.Value { return chart.Of(float64(c.Preemptions)) }})
	}
}

func preemptions(in *Input) countRow {
	r := countRow{"preempted", count(in, func(c *store.Counts) int64 { return c.Preemptions }), "last -"}
	if at := in.Frame.Run.Counts.LastPreemptionNS; at != 0 {
		r.remark = "last " + unit.ClockSeconds(at, in.Zone)
	}
	return r
}

// countRow is a figure of the run and of the visible time.
type countRow struct {
	name    string
	runSpan [2]string
	remark  string
}

func count(in *Input, of func(c *store.Counts) int64) [2]string {
	return [2]string{unit.Short(of(&in.Frame.Run.Counts)), unit.Short(of(&in.Frame.Span.Counts))}
}

func countRows(g *chart.Grid, rows []countRow) {
	const nameW, valueW = 12, 8
	for y, r := range rows {
		role := theme.RoleText
		if r.name == "preempted" {
			role = theme.RolePreempt
		}
		g.Text(0, y, nameW, r.name, theme.RoleDim)
		g.TextRight(nameW, y, valueW, r.runSpan[0], role)
		g.TextRight(nameW+valueW, y, valueW, r.runSpan[1], role)
		if w := len(r.remark); nameW+2*valueW+2+w <= g.W() {
			g.Text(nameW+2*valueW+2, y, w, r.remark, theme.RoleDim)
		}
	}
}

// pressurePanel is Prefix and Preempt in four lines.
func pressurePanel() Panel {
	return Panel{ID: layout.Pressure, Title: "prefix, preemption", Draw: drawPressure}
}

func drawPressure(g *chart.Grid, in *Input) {
	if empty(g, in) {
		return
	}
	span, run := &in.Frame.Span.Counts, &in.Frame.Run.Counts
	line(g, 0, field{name: "hits", value: hitRate(span.Local, span.LocalSteps), role: theme.RolePrefix},
		field{name: "run", value: hitRate(run.Local, run.LocalSteps), role: theme.RolePrefix})
	line(g, 1, field{name: "preempted", value: unit.Short(run.Preemptions), role: theme.RolePreempt},
		field{name: "now", value: unit.Count(in.Now.Preemptions), role: theme.RolePreempt})
	line(g, 2, field{name: "recomputed", value: unit.Short(run.RecomputeTokens), unit: "tok", role: theme.RoleText})
	line(g, 3, field{name: "stalls", value: unit.Short(run.Stalls), role: theme.RoleText},
		field{name: "max", value: unit.Known(in.Frame.Run.Period.MaxNS, unit.Duration), role: theme.RoleText})
	line(g, 4, field{name: "last preemption", value: unit.ClockSeconds(run.LastPreemptionNS, in.Zone), role: theme.RoleText})
	line(g, 5, field{name: "external", value: hitRate(span.External, span.ExternalSteps), role: theme.RoleText})
}
