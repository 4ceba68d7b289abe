package panel

import (
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/theme"
)

// batchPanel shows what the step at the cursor held: decode and prefill requests with their tokens, and requests that came back after a
// preemption with the tokens computed again for them.
func batchPanel() Panel {
	return Panel{ID: layout.Batch, Titles: []string{"batch  requests, tokens", "batch"}, Right: batchRight, Draw: drawBatch}
}

func batchRight(in *Input) []string {
	n := unit.Count(in.Now.ScheduledRequests)
	return []string{n + " scheduled", n}
}

func drawBatch(g *chart.Grid, in *Input) {
	if empty(g, in) {
		return
	}
	batchLines(g, in)
	n := &in.Now
	rest := g.Sub(chart.Rect{Y: 3, W: g.W(), H: g.H() - 3})
	if rest.H() >= 1 {
		tokenBudget(rest, in)
	}
	if rest.H() >= 2 {
		c := in.Frame.Span.Counts
		line(rest, 1, field{name: "zero-token steps", value: unit.Count(c.ZeroToken), role: theme.RoleText},
			field{name: "of", value: unit.Count(c.Steps), unit: "in " + in.spanLabel(), role: theme.RoleText})
	}
	trends(rest.Sub(chart.Rect{Y: 2, W: rest.W(), H: rest.H() - 2}), in,
		trend{label: "decode", value: unit.Short(n.DecodeBatchSize), suffix: "req", role: theme.RoleDecode,
			of: func(c *store.Counts) chart.Value { return mean(c.DecodeRequests, c.Steps) }},
		trend{label: "prefill", value: unit.Short(n.PrefillTokens), suffix: "tok", role: theme.RolePrefill,
			of: func(c *store.Counts) chart.Value { return mean(c.PrefillTokens, c.Steps) }})
}

// batchLines writes the composition on three lines with aligned columns.
func batchLines(g *chart.Grid, in *Input) {
	n := &in.Now
	decode := n.DecodeTokens
	if n.RecomputeTokens != nil {
		decode = max(0, decode-*n.RecomputeTokens)
	}
	compositionLine(g, 0, "decode", &n.DecodeBatchSize, &decode, theme.RoleDecode)
	compositionLine(g, 1, "prefill", &n.PrefillRequests, &n.PrefillTokens, theme.RolePrefill)
	compositionLine(g, 2, "resumed", n.ResumedRequests, n.RecomputeTokens, theme.RolePreempt)
}

func compositionLine(g *chart.Grid, y int, name string, requests, tokens *int64, role theme.Role) {
	g.Text(0, y, 8, name, theme.RoleDim)
	g.TextRight(8, y, 6, known(requests), inkedKnown(requests, role))
	g.Text(15, y, 3, "req", theme.RoleDim)
	g.TextRight(18, y, 7, known(tokens), inkedKnown(tokens, role))
	tail := "tok"
	if name == "resumed" && g.W() >= 40 {
		tail = "tok recomputed"
	}
	g.Text(26, y, g.W()-26, tail, theme.RoleDim)
}

func inkedKnown(n *int64, role theme.Role) theme.Role {
	if n == nil {
		return theme.RoleDim
	}
	return inked(*n, role)
}

// tokenBudget shows how much of the step's token budget was used, and by what.
func tokenBudget(g *chart.Grid, in *Input) {
	n := &in.Now
	budget := tokensPerStep(in)
	used := n.PrefillTokens + n.DecodeTokens
	text := unit.Count(used) + " tok"
	if budget > 0 {
		text = unit.Count(used) + " of " + unit.Count(budget) + " tok"
	}
	w := g.TextRight(0, 0, g.W(), text, theme.RoleText)
	var recompute int64
	if n.RecomputeTokens != nil {
		recompute = *n.RecomputeTokens
	}
	chart.StackRow{Total: float64(max(budget, used)), Parts: []chart.Part{
		{Label: "d", Value: float64(n.DecodeTokens - recompute), Role: theme.RoleDecode},
		{Label: "r", Value: float64(recompute), Role: theme.RolePreempt},
		{Label: "p", Value: float64(n.PrefillTokens), Role: theme.RolePrefill},
	}}.Draw(g.Sub(chart.Rect{W: g.W() - w - 1, H: 1}))
}

// tokensPerStep is the scheduler's limit (max_num_batched_tokens) of the selected engines together; 0 when one does not say.
func tokensPerStep(in *Input) int64 {
	var total int64
	for i := range in.Frame.Engines {
		e := &in.Frame.Engines[i]
		if in.Engine != "" && e.ID != in.Engine {
			continue
		}
		if e.Header == nil || e.Header.MaxNumBatchedTokens <= 0 {
			return 0
		}
		total += e.Header.MaxNumBatchedTokens
	}
	return total
}

// queuesPanel shows how many requests run and wait, now, at most in the visible time, and over it.
func queuesPanel() Panel {
	return Panel{ID: layout.Queues, Titles: []string{"queues  requests", "queues"}, Right: func(in *Input) []string {
		return []string{"max in " + in.spanLabel()}
	}, Draw: drawQueues}
}

func drawQueues(g *chart.Grid, in *Input) {
	if empty(g, in) {
		return
	}
	q, most := in.Now.Queues, &in.Frame.Span.Counts
	trends(g, in,
		trend{label: "running", value: unit.Count(q.Running), suffix: "max " + unit.Count(most.RunningMax), role: theme.RoleDecode, zero: q.Running == 0,
			of: func(c *store.Counts) chart.Value { return mean(c.RunningSum, c.Steps) }},
		trend{label: "waiting", value: unit.Count(q.Waiting), suffix: "max " + unit.Count(most.WaitingMax), role: theme.RoleQueue, zero: q.Waiting == 0,
			of: func(c *store.Counts) chart.Value { return mean(c.WaitingSum, c.Steps) }},
		trend{label: "deferred", value: unit.Count(q.Deferred), suffix: "max " + unit.Count(most.DeferredMax), role: theme.RoleQueue, zero: q.Deferred == 0,
			of: func(c *store.Counts) chart.Value { return chart.Of(float64(c.DeferredMax)) }})
}

// loadPanel is Batch and Queues in five lines.
func loadPanel() Panel {
	return Panel{ID: layout.Load, Titles: []string{"batch, queues"}, Right: batchRight, Draw: drawLoad}
}

func drawLoad(g *chart.Grid, in *Input) {
	if empty(g, in) {
		return
	}
	batchLines(g, in)
	q := in.Now.Queues
	line(g, 3, field{name: "running", value: unit.Count(q.Running), role: theme.RoleText},
		field{name: "waiting", value: unit.Count(q.Waiting), role: inked(q.Waiting, theme.RoleQueue)})
	line(g, 4, field{name: "deferred", value: unit.Count(q.Deferred), role: inked(q.Deferred, theme.RoleQueue)},
		field{name: "zero-token", value: unit.Count(in.Frame.Span.Counts.ZeroToken), role: theme.RoleText})
	if g.H() > 5 {
		tokenBudget(g.Sub(chart.Rect{Y: 5, W: g.W(), H: 1}), in)
	}
}
