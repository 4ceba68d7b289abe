package tui

import (
	"opprof/engine/unit"
	"opprof/engine/vllm"
	"opprof/tui/chart"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

func (p *logPage) draw(g *chart.Grid) {
	lines, facts := p.areas()
	if !lines.Empty() {
		p.drawLines(g.Sub(lines))
	}
	if !facts.Empty() {
		p.factsText.draw(g.Sub(facts), "start-up", "i hides", p.onFacts || lines.Empty(), panel.StartupRows(p.view, p.zone))
	}
}

func (p *logPage) drawLines(g *chart.Grid) {
	title, right := p.heading(g.W())
	if p.err != nil {
		title = p.err.Error()
	}
	inside := g.Box(title, right, !p.onFacts)
	switch {
	case p.view == nil:
		inside.Text(1, 0, inside.W()-2, "reading the log", theme.RoleDim)
		return
	case !p.view.State.Found:
		p.drawMissing(inside)
		return
	case len(p.view.Lines) == 0:
		text := "no line passes the filter"
		if p.view.State.Lines == 0 {
			text = "the log is empty so far"
		} else if !p.view.Done {
			text = "searching"
		}
		inside.Text(1, 0, inside.W()-2, text, theme.RoleDim)
		return
	}
	p.lines().Draw(inside)
}

// lines are what is drawn, from the top of the screen on.
func (p *logPage) lines() panel.LogLines {
	return panel.LogLines{
		Lines: p.view.Lines[min(max(0, p.top), len(p.view.Lines)):], Cursor: p.cursor - p.top, Filter: p.filter, Around: p.around,
		Wrap: p.wrap, Shift: p.shift, Zone: p.zone,
	}
}

func (p *logPage) drawMissing(g *chart.Grid) {
	text := []string{"there is no server log: " + p.view.State.Path}
	if p.view.State.Err != "" {
		text = []string{p.view.State.Err}
	}
	if p.live {
		text = append(text, "it is shown as soon as it appears")
	}
	text = append(text, "a server that was started by hand writes one with: vllm serve ... > server.log 2>&1, in the run's folder")
	y := 0
	for _, t := range text {
		for _, l := range wrap(t, g.W()-2) {
			g.Text(1, y, g.W()-2, l, theme.RoleDim)
			y++
		}
	}
}

// heading says on the left what is shown, on the right where it stands.
func (p *logPage) heading(w int) (title, right string) {
	title = "server log"
	if p.view == nil {
		return title, ""
	}
	s := p.view.State
	if p.filter.Level != vllm.LevelNone {
		title += "  " + p.filter.Level.String() + " and worse"
	}
	if p.filter.Text != "" {
		title += "  " + p.filter.Text
	}
	if !p.filter.All() {
		title += "  " + matchCount(p.view)
		if p.around {
			title += " among all"
		}
	} else {
		title += "  lines " + unit.Count(s.Lines) + "  " + unit.Bytes(s.Read)
	}
	if s.Behind() > 1<<20 {
		title += "  reading " + unit.Share(s.Read, s.Size)
	}
	if s.Gone {
		title += "  file deleted"
	}
	if s.Restarts > 0 && w >= factsOffered {
		title += "  " + s.Restart
	} else if s.Restarts > 0 {
		title += "  read again"
	}
	problems := "warnings " + unit.Short(s.Problems()-s.Errors()) + "  errors " + unit.Short(s.Errors()) + "  "
	where := "line " + unit.Count(p.lineNumber())
	if p.following() {
		where = "following"
		if !p.live {
			where = "last line"
		}
	}
	return title, problems + where
}

func (p *logPage) lineNumber() int64 {
	if l := p.line(); l != nil {
		return l.Number
	}
	return 0
}
