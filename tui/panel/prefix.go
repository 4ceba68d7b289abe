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
	return Panel{ID: layout.Prefix, Titles: []string{"prefix cache  share of looked-up tokens", "prefix cache  hit tokens", "prefix cache"}, Draw: drawPrefix}
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
	return Panel{ID: layout.Preempt, Titles: []string{"preemptions, stalls"}, Right: func(in *Input) []string {
		last := "last " + unit.ClockSeconds(in.Frame.Run.Counts.LastPreemptionNS, in.Zone)
		return []string{"last preemption " + unit.ClockSeconds(in.Frame.Run.Counts.LastPreemptionNS, in.Zone), last, ""}
	}, Draw: drawPreempt}
}

func drawPreempt(g *chart.Grid, in *Input) {
	if empty(g, in) {
		return
	}
	run, span := &in.Frame.Run, &in.Frame.Span
	rows := []countRow{
		counted("preempted", run.Counts.Preemptions, span.Counts.Preemptions, theme.RolePreempt, "requests"),
		counted("stalls", run.Counts.Stalls, span.Counts.Stalls, theme.RoleWarn, "of 0.5 s or more"),
		{name: "recomputed", run: unlessUnknown(run, run.Counts.RecomputeSteps, run.Counts.RecomputeTokens),
			span: unlessUnknown(span, span.Counts.RecomputeSteps, span.Counts.RecomputeTokens), role: theme.RoleText, remark: "tokens"},
		{name: "resumed", run: unlessUnknown(run, run.Counts.ResumedSteps, run.Counts.ResumedRequests),
			span: unlessUnknown(span, span.Counts.ResumedSteps, span.Counts.ResumedRequests), role: theme.RoleText, remark: "requests"},
		{name: "longest step", run: unit.Known(run.Period.MaxNS, unit.Duration), span: unit.Known(span.Period.MaxNS, unit.Duration), role: theme.RoleText},
		counted("dropped", run.Counts.Dropped, span.Counts.Dropped, theme.RoleWarn, "records"),
		counted("gaps", run.Counts.Gaps, span.Counts.Gaps, theme.RoleWarn, "in the record"),
	}
	countRows(g.Sub(chart.Rect{W: g.W(), H: min(g.H(), len(rows))}), rows)
	free := g.Sub(chart.Rect{Y: len(rows), W: g.W(), H: g.H() - len(rows)})
	trends(free, in, trend{label: "preempted", role: theme.RolePreempt, of: func(c *store.Counts) chart.Value { return chart.Of(float64(c.Preemptions)) }})
}

// countRow is a figure of the run and of the visible time.
type countRow struct {
	name, run, span string
	role            theme.Role
	remark          string
}

func counted(name string, run, span int64, role theme.Role, remark string) countRow {
	return countRow{name, unit.Short(run), unit.Short(span), inked(run, role), remark}
}

// unlessUnknown is a sum that only some recorders write: "-" when no step of the stretch had it.
func unlessUnknown(s *store.Summary, steps, sum int64) string {
	if steps == 0 && s.Counts.Steps > 0 {
		return unit.Unknown
	}
	return unit.Short(sum)
}

// countRows writes rows under each other: run, visible time, remark.
func countRows(g *chart.Grid, rows []countRow) {
	const nameW, valueW = 12, 7
	for y, r := range rows {
		g.Text(0, y, nameW, r.name, theme.RoleDim)
		g.TextRight(nameW, y, valueW, r.run, r.role)
		if g.W() < 38 {
			g.TextRight(nameW+valueW, y, valueW, r.span, r.role)
			continue
		}
		g.Text(nameW+valueW+1, y, 3, "run", theme.RoleDim)
		g.TextRight(nameW+valueW+4, y, valueW, r.span, r.role)
		x := nameW + 2*valueW + 5
		g.Text(x, y, 4, "span", theme.RoleDim)
		if x += 6; x+len(r.remark) <= g.W() {
			g.Text(x, y, len(r.remark), r.remark, theme.RoleDim)
		}
	}
}

// pressurePanel is Prefix and Preempt in four lines.
func pressurePanel() Panel {
	return Panel{ID: layout.Pressure, Titles: []string{"prefix, preemption"}, Draw: drawPressure}
}

func drawPressure(g *chart.Grid, in *Input) {
	if empty(g, in) {
		return
	}
	span, run := &in.Frame.Span.Counts, &in.Frame.Run.Counts
	line(g, 0, field{name: "hits", value: hitRate(span.Local, span.LocalSteps), role: theme.RolePrefix},
		field{name: "run", value: hitRate(run.Local, run.LocalSteps), role: theme.RolePrefix})
	line(g, 1, field{name: "preempted", value: unit.Short(run.Preemptions), role: inked(run.Preemptions, theme.RolePreempt)},
		field{name: "span", value: unit.Short(span.Preemptions), role: inked(span.Preemptions, theme.RolePreempt)})
	line(g, 2, field{name: "recomputed", value: unlessUnknown(&in.Frame.Run, run.RecomputeSteps, run.RecomputeTokens), unit: "tok", role: theme.RoleText})
	line(g, 3, field{name: "stalls", value: unit.Short(run.Stalls), role: theme.RoleText},
		field{name: "max", value: unit.Known(in.Frame.Run.Period.MaxNS, unit.Duration), role: theme.RoleText})
	line(g, 4, field{name: "last preemption", value: unit.ClockSeconds(run.LastPreemptionNS, in.Zone), role: theme.RoleText})
	line(g, 5, field{name: "external", value: hitRate(span.External, span.ExternalSteps), role: theme.RoleText})
}
