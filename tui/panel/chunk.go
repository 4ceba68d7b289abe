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
	return Panel{ID: layout.Chunk, Titles: []string{"chunk size  prefill requests by upper edge, tokens", "chunk size  prefill requests", "chunk size  requests"}, Right: chunkRight, Draw: drawChunk}
}

func chunkRight(in *Input) []string {
	total, now := unit.Short(chunkTotal(&in.Frame.Span.Counts.Chunks)), unit.Count(chunkTotal(&in.Now.Chunks))
	return []string{
		total + " in the visible " + in.spanLabel() + ", " + now + " now",
		total + " in " + in.spanLabel() + ", " + now + " now",
		total + " in span, " + now + " now",
	}
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
	kindLine(g, 0, "span", span)
	if g.H() > 1 {
		kindLine(g, 1, "now", now)
	}
}

// kindLine writes four counts, in columns where there is room, else close together, with shorter names and without the head.
func kindLine(g *chart.Grid, y int, head string, c *record.Chunks) {
	counts := [4]int64{c.First, c.Middle, c.Final, c.Unsplit}
	full, short := [4]string{"first", "middle", "final", "unsplit"}, [4]string{"first", "mid", "final", "unsplit"}
	if g.W() >= 5+4*13 {
		g.Text(0, y, 4, head, theme.RoleDim)
		for i, n := range counts {
			x := 5 + i*(g.W()-5)/4
			g.Spans(x, y, g.W()-x, kindSpans(full[i], n)...)
		}
		return
	}
	for _, try := range []struct {
		head  string
		names [4]string
	}{{head, full}, {head, short}, {"", full}, {"", short}, {"", [4]string{"fir", "mid", "fin", "uns"}}} {
		var spans []chart.Span
		if try.head != "" {
			spans = append(spans, chart.Span{S: try.head + " ", Role: theme.RoleDim})
		}
		for i, n := range counts {
			spans = append(spans, kindSpans(try.names[i], n)...)
		}
		if (piece{spans: spans}).width() <= g.W()+1 || try.names[0] == "fir" { // the last blank may fall off
			g.Spans(0, y, g.W(), spans...)
			return
		}
	}
}

func kindSpans(name string, n int64) []chart.Span {
	return []chart.Span{{S: name + " ", Role: theme.RoleDim}, {S: unit.Short(n), Role: inked(n, theme.RoleChunk)}, {S: " ", Role: theme.RoleText}}
}
