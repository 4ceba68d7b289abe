package panel

import (
	"slices"
	"unicode/utf8"

	"opprof/engine/record"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/theme"
)

// chunkPanel shows the sizes of prefill chunks over the visible time, those of the step at the cursor beside them, and how many chunks
// were first, middle or final parts of a prompt or a whole one.
func chunkPanel() Panel {
	return Panel{ID: layout.Chunk, Title: "chunk size  requests up to n tokens", Right: chunkRight, Draw: drawChunk}
}

func chunkRight(in *Input) []string {
	total := unit.Count(chunkTotal(&in.Frame.Span.Counts.Chunks))
	return []string{"total " + total + " in " + in.spanLabel(), total + " in " + in.spanLabel(), total}
}

func chunkTotal(c *record.Chunks) int64 { return c.First + c.Middle + c.Final + c.Unsplit }

func drawChunk(g *chart.Grid, in *Input) {
	if empty(g, in) {
		return
	}
	span, now := &in.Frame.Span.Counts.Chunks, &in.Now.Chunks
	kinds := 1
	if g.H() >= 8 {
		kinds = 2
	}
	lines := max(1, g.H()-kinds)
	labels, counts, current := chunkBins(span, now)
	run := runBins(&in.Frame.Run.Counts.Chunks, len(labels))
	groups, labels := foldBins(labels, run, lines)
	nowW := 3
	for _, n := range foldCounts(groups, current) {
		nowW = max(nowW, utf8.RuneCountInString(unit.Count(n)))
	}
	chart.Hist{Labels: labels, Counts: foldCounts(groups, counts), Role: theme.RoleChunk}.Draw(g.Sub(chart.Rect{W: g.W() - nowW - 1, H: lines}))
	for y, n := range foldCounts(groups, current) {
		role := theme.RoleChunk
		if n == 0 {
			role = theme.RoleDim
		}
		g.TextRight(g.W()-nowW, y, nowW, unit.Count(n), role)
	}
	kindLines(g.Sub(chart.Rect{Y: lines, W: g.W(), H: kinds}), span, now)
}

// chunkBins returns labels and counts; the open last bin is split further where every chunk in it says how.
func chunkBins(span, now *record.Chunks) (labels []string, counts, current []int64) {
	edges := record.ChunkEdges()
	labels = unit.Edges(edges[:])
	counts, current = span.SizeHist[:], now.SizeHist[:]
	if !tailKnown(span) || !tailKnown(now) {
		return labels, counts, current
	}
	tail := record.ChunkTailEdges()
	last := record.ChunkBins - 1
	labels = append(labels[:last:last], unit.Edges(tail[:])...)
	counts = append(counts[:last:last], span.TailHist[:]...)
	current = append(current[:last:last], now.TailHist[:]...)
	return labels, counts, current
}

// runBins are the counts of the run in n bins, to fold by. An unknown split of the last bin counts as all of its parts.
func runBins(run *record.Chunks, n int) []int64 {
	counts := slices.Clone(run.SizeHist[:])
	for i := 0; len(counts) < n; i++ {
		counts = append(counts, run.TailHist[i+1])
	}
	return counts
}

func tailKnown(c *record.Chunks) bool {
	var sum int64
	for _, n := range c.TailHist {
		sum += n
	}
	return sum == c.SizeHist[record.ChunkBins-1]
}

// kindLines writes the kinds of the visible time, and with a second line those of the cursor.
func kindLines(g *chart.Grid, span, now *record.Chunks) {
	kinds := func(y int, c *record.Chunks) {
		line(g, y,
			field{name: "first", value: unit.Short(c.First), role: theme.RoleChunk},
			field{name: "middle", value: unit.Short(c.Middle), role: theme.RoleChunk},
			field{name: "final", value: unit.Short(c.Final), role: theme.RoleChunk},
			field{name: "unsplit", value: unit.Short(c.Unsplit), role: theme.RoleChunk})
	}
	kinds(0, span)
	if g.H() > 1 {
		kinds(1, now)
	}
}
