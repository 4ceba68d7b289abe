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

// stepFields are the fields but for step index and time, which stand in the title.
func stepFields(in *Input) []field {
	n := &in.Now
	text := func(name, value string) field { return field{name: name, value: value, role: theme.RoleText} }
	count := func(name string, n int64, role theme.Role) field {
		return field{name: name, value: unit.Count(n), role: inked(n, role)}
	}
	fields := []field{
		{name: "step period", value: unit.Known(n.PeriodNS, unit.Duration), role: theme.RolePeriod},
		count("scheduled requests", n.ScheduledRequests, theme.RoleText),
		count("decode requests", n.DecodeBatchSize, theme.RoleDecode),
		count("decode tokens", n.DecodeTokens, theme.RoleDecode),
		count("prefill requests", n.PrefillRequests, theme.RolePrefill),
		count("prefill tokens", n.PrefillTokens, theme.RolePrefill),
		text("resumed requests", known(n.ResumedRequests)),
		text("recomputed tokens", known(n.RecomputeTokens)),
		count("preempted requests", n.Preemptions, theme.RolePreempt),
		count("chunks first", n.Chunks.First, theme.RoleText),
		count("chunks middle", n.Chunks.Middle, theme.RoleText),
		count("chunks final", n.Chunks.Final, theme.RoleText),
		count("chunks unsplit", n.Chunks.Unsplit, theme.RoleText),
		count("running", n.Queues.Running, theme.RoleText),
		count("waiting", n.Queues.Waiting, theme.RoleText),
		count("deferred", n.Queues.Deferred, theme.RoleText),
		count("KV used blocks", n.KV.UsedBlocks, theme.RoleKV),
		count("KV total blocks", n.KV.TotalBlocks, theme.RoleKV),
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
		{name: name + " query tokens", value: queries, role: theme.RolePrefix},
		{name: name + " hit tokens", value: hits, role: theme.RolePrefix},
	}
}
