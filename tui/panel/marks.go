package panel

import (
	"opprof/engine/store"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// blanks say what the columns without a step mean.
func (h history) blanks() []chart.Blank {
	out := make([]chart.Blank, h.w)
	for x := range out {
		at := h.at(x)
		switch {
		case h.known[at]:
		case h.marks[at].silence == store.SilenceMissing:
			out[x] = chart.BlankHatch
		case h.marks[at].silence == store.SilenceStep:
			out[x] = chart.BlankDashed
		}
	}
	return out
}

// marked reports whether there is anything to mark below the chart.
func (h history) marked() bool {
	for i, m := range h.marks {
		if m.perturbed || m.gap || m.match || m.note || !h.known[i] && (m.silence == store.SilenceMissing || m.silence == store.SilenceStep) {
			return true
		}
	}
	return false
}

// drawMarks writes w under every column of a profiler window and x under those with a gap, and what the marks mean where there is room.
func (h history) drawMarks(g *chart.Grid) {
	var window, gap, missing, step, match, note bool
	left := g.W() - h.w
	for x := range h.w {
		at := h.at(x)
		m := h.marks[at]
		switch {
		case m.note:
			g.Set(left+x, 0, 'b', theme.RoleAccent)
			note = true
		case m.match:
			g.Set(left+x, 0, 'f', theme.RoleKey)
			match = true
		case m.gap:
			g.Set(left+x, 0, 'x', theme.RoleWarn)
			gap = true
		case m.perturbed:
			g.Set(left+x, 0, 'w', theme.RoleWindow)
			window = true
		}
		missing = missing || !h.known[at] && m.silence == store.SilenceMissing
		step = step || !h.known[at] && m.silence == store.SilenceStep
	}
	var legend []chart.Span
	for _, l := range []struct {
		shown bool
		mark  rune
		role  theme.Role
		text  string
	}{
		{match, 'f', theme.RoleKey, "match"}, {note, 'b', theme.RoleAccent, "bookmark"},
		{window, 'w', theme.RoleWindow, "profiler window"}, {gap, 'x', theme.RoleWarn, "gap"}, {missing, g.Glyphs.Heat[0], theme.RoleDim, "no record"},
		{step, g.Glyphs.Horizontal, theme.RolePeriodTail, "a step goes on"},
	} {
		if l.shown {
			legend = append(legend, chart.Span{S: string(l.mark), Role: l.role}, chart.Span{S: " " + l.text + "  ", Role: theme.RoleDim})
		}
	}
	for ; len(legend) > 0; legend = legend[:len(legend)-2] {
		if x, ok := freeRun(g, piece{spans: legend}.width()); ok {
			g.Spans(x+1, 0, g.W(), legend...)
			return
		}
	}
}

// freeRun is the left end of the longest run of blanks of a line, if a text of n columns fits into it.
func freeRun(g *chart.Grid, n int) (x int, ok bool) {
	best, from := 0, 0
	for i := range g.W() + 1 {
		if i < g.W() && g.Rune(i, 0) == ' ' {
			continue
		}
		if i-from > best {
			best, x = i-from, from
		}
		from = i + 1
	}
	return x, best > n
}

// SpansWidth is the number of columns that spans take.
func SpansWidth(spans []chart.Span) int { return piece{spans: spans}.width() }
