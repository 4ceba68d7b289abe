package panel

import (
	"unicode/utf8"

	"opprof/engine/record"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/theme"
)

// stepPanel shows every field of the step at the cursor.
func stepPanel() Panel {
	return Panel{ID: layout.Step, Titles: []string{"step"}, Right: func(in *Input) []string {
		if !in.Now.Known {
			return nil
		}
		n := unit.Count(in.Now.StepIndex)
		return []string{n + "  " + unit.Clock(in.Now.TimeNS, in.Zone), n}
	}, Draw: drawStep}
}

// drawStep writes name and value pairs in as many columns as fit, top to bottom, then left to right.
func drawStep(g *chart.Grid, in *Input) {
	if empty(g, in) || g.H() == 0 {
		return
	}
	fields := stepFields(in)
	columns := min(max(1, (g.W()+3)/27), (len(fields)+g.H()-1)/g.H())
	w := (g.W() - 3*(columns-1)) / columns
	for i, f := range fields {
		x := i / g.H() * (w + 3)
		if x+w > g.W() {
			return
		}
		y := i % g.H()
		valueW := utf8.RuneCountInString(f.value)
		g.Text(x, y, w-valueW-1, f.name, theme.RoleDim)
		g.TextRight(x, y, w, f.value, f.role)
	}
}

func stepFields(in *Input) []field {
	n := &in.Now
	text := func(name, value string) field { return field{name: name, value: value, role: theme.RoleText} }
	fields := []field{
		text("step index", unit.Count(n.StepIndex)),
		text("completed", unit.Clock(n.TimeNS, in.Zone)),
		{name: "step period", value: unit.Known(n.PeriodNS, unit.Duration), role: theme.RolePeriod},
		text("scheduled requests", unit.Count(n.ScheduledRequests)),
		{name: "decode requests", value: unit.Count(n.DecodeBatchSize), role: theme.RoleDecode},
		{name: "decode tokens", value: unit.Count(n.DecodeTokens), role: theme.RoleDecode},
		{name: "prefill requests", value: unit.Count(n.PrefillRequests), role: theme.RolePrefill},
		{name: "prefill tokens", value: unit.Count(n.PrefillTokens), role: theme.RolePrefill},
		text("resumed requests", known(n.ResumedRequests)),
		text("recomputed tokens", known(n.RecomputeTokens)),
		{name: "preempted requests", value: unit.Count(n.Preemptions), role: theme.RolePreempt},
		text("chunks first", unit.Count(n.Chunks.First)),
		text("chunks middle", unit.Count(n.Chunks.Middle)),
		text("chunks final", unit.Count(n.Chunks.Final)),
		text("chunks unsplit", unit.Count(n.Chunks.Unsplit)),
		text("running", unit.Count(n.Queues.Running)),
		text("waiting", unit.Count(n.Queues.Waiting)),
		text("deferred", unit.Count(n.Queues.Deferred)),
		{name: "KV used blocks", value: unit.Count(n.KV.UsedBlocks), role: theme.RoleKV},
		{name: "KV total blocks", value: unit.Count(n.KV.TotalBlocks), role: theme.RoleKV},
		{name: "KV usage", value: unit.Percent(n.KV.Usage), role: theme.RoleKV},
	}
	fields = append(fields, graphFields(n.Graph)...)
	fields = append(fields, prefixFields("prefix", n.Local)...)
	return append(fields, prefixFields("external", n.External)...)
}

func graphFields(g *record.Graph) []field {
	mode, unpadded, bucket, padding := unit.Unknown, unit.Unknown, unit.Unknown, unit.Unknown
	if g != nil {
		mode, unpadded = g.Mode.String(), unit.Count(g.UnpaddedTokens)
		bucket, padding = unit.Count(g.BucketTokens), unit.Count(g.PaddingTokens)
	}
	return []field{
		{name: "graph mode", value: mode, role: theme.RoleText},
		{name: "graph tokens", value: unpadded, role: theme.RoleText},
		{name: "graph bucket", value: bucket, role: theme.RoleText},
		{name: "graph padding", value: padding, role: theme.RoleText},
	}
}

func prefixFields(name string, p *record.Prefix) []field {
	queries, hits := unit.Unknown, unit.Unknown
	if p != nil {
		queries, hits = unit.Count(p.Queries), unit.Count(p.Hits)
	}
	return []field{
		{name: name + " queried tokens", value: queries, role: theme.RolePrefix},
		{name: name + " hit tokens", value: hits, role: theme.RolePrefix},
	}
}
