package panel

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"opprof/engine/control"
	"opprof/engine/serverlog"
	"opprof/engine/unit"
	"opprof/engine/vllm"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// Launch is the start of a server: its phases with their progress, what the log has said about it so far, and why it failed if it did.
type Launch struct {
	Server *Supervised
	Log    *serverlog.View // nil before it was read
	Zone   *time.Location
}

// launchPhases are the phases of a start in their order.
func launchPhases() []string {
	return []string{vllm.PhaseLaunch, vllm.PhaseConfig, vllm.PhaseEngine, vllm.PhaseWeights, vllm.PhaseCompile, vllm.PhaseKVCache, vllm.PhaseGraphs,
		vllm.PhaseWarmup, vllm.PhaseRoutes, vllm.PhaseReady}
}

const (
	launchBeside = 96 // least width for phases and facts side by side
	launchLeft   = 46 // width of the phases then
	launchNames  = 22
	launchLog    = 4 // least lines of the log, its border included
)

// Draw fills g.
func (l Launch) Draw(g *chart.Grid) {
	failed := l.failed()
	h := 0
	if failed != "" {
		h = l.drawFailure(g, failed)
		g = g.Sub(chart.Rect{Y: h, W: g.W(), H: g.H() - h})
	}
	phases := len(launchPhases()) + 2
	if g.W() >= launchBeside {
		top := min(g.H(), max(phases, min(l.factsHeight(g.W()-launchLeft-4)+2, g.H()-launchLog)))
		l.drawPhases(g.Sub(chart.Rect{W: launchLeft, H: top}))
		l.drawFacts(g.Sub(chart.Rect{X: launchLeft, W: g.W() - launchLeft, H: top}))
		l.drawLog(g.Sub(chart.Rect{Y: top, W: g.W(), H: g.H() - top}))
		return
	}
	top := min(g.H(), phases)
	l.drawPhases(g.Sub(chart.Rect{W: g.W(), H: top}))
	rest := g.Sub(chart.Rect{Y: top, W: g.W(), H: g.H() - top})
	if facts := rest.H() - launchLog; facts >= launchLog {
		facts = min(facts, l.factsHeight(g.W()-4)+2)
		l.drawFacts(rest.Sub(chart.Rect{W: g.W(), H: facts}))
		rest = rest.Sub(chart.Rect{Y: facts, W: g.W(), H: rest.H() - facts})
	}
	l.drawLog(rest)
}

// failed is why there will be no server; "" while there may.
func (l Launch) failed() string {
	switch {
	case l.Server.State == control.Dead:
		return cmp.Or(l.Server.Reason, "the server is gone")
	case l.Server.Lost != "":
		return l.Server.Lost
	}
	return ""
}

// drawFailure tells the reason and the first error of the log, and returns how many lines that took.
func (l Launch) drawFailure(g *chart.Grid, why string) int {
	title, rows := "the start failed", []Row{{Name: "cause", Value: why, Role: theme.RoleBad}}
	if l.Server.Clean() {
		title, rows[0].Role = "the server is stopped", theme.RoleText
	} else if l.Server.State != control.Dead {
		title = "no word from the supervisor"
	}
	if e := l.firstError(); e != "" && !strings.Contains(why, e) {
		rows = append(rows, Row{Name: "first error", Value: e, Role: theme.RoleText})
	}
	rows = append(rows, Row{Name: "what now", Value: "L opens the log; q leaves; what was written stays in " + l.Server.Path, Role: theme.RoleDim})
	h := min(g.H(), RowsHeight(rows, g.W()-4)+2)
	inside := g.Sub(chart.Rect{W: g.W(), H: h}).Box(title, "", true)
	DrawRows(inside.Sub(chart.Rect{X: 1, W: inside.W() - 2, H: inside.H()}), rows, 0)
	return h
}

func (l Launch) firstError() string {
	if l.Log == nil || l.Log.State == nil || l.Log.State.FirstError == nil {
		return ""
	}
	return l.Log.State.FirstError.Message
}

func (l Launch) title() (title, right string) {
	s := l.Server
	switch s.State {
	case control.Starting:
		return "starting", s.since("for ")
	case control.Dead:
		return "how far it came", ""
	case control.Stopping:
		return "stopping", s.since("for ")
	}
	return "ready: the first step is waited for", ""
}

// at is the phase that a start is in, and which were seen.
func (l Launch) at() (current string, seen map[string]serverlog.PhaseNS) {
	seen = map[string]serverlog.PhaseNS{}
	if l.Log != nil {
		for _, p := range l.Log.Phases {
			seen[p.Name] = p
		}
	}
	return l.Server.Phase.Name, seen
}

func (l Launch) drawPhases(g *chart.Grid) {
	title, right := l.title()
	inside := g.Box(title, right, true)
	current, seen := l.at()
	list := launchPhases()
	now := slices.Index(list, current)
	if s := l.Server.State; s == control.Ready || s == control.Busy || s == control.Idle {
		now = len(list)
	}
	for y, name := range list {
		row := inside.Sub(chart.Rect{X: 1, Y: y, W: inside.W() - 2, H: 1})
		p, known := seen[name]
		switch {
		case y == now:
			l.drawCurrent(row, name, p)
		case y < now && known:
			l.drawDone(row, name, p)
		case y < now && y > 0:
			row.Text(2, 0, row.W()-2, name, theme.RoleDim)
			row.Text(launchNames+2, 0, row.W()-launchNames-2, "not told", theme.RoleDim)
		case y < now:
			l.drawDone(row, name, serverlog.PhaseNS{TookNS: -1})
		default:
			row.Set(0, 0, row.Glyphs.Heat[0], theme.RoleDim)
			row.Text(2, 0, row.W()-2, name, theme.RoleDim)
		}
	}
}

func (l Launch) drawDone(g *chart.Grid, name string, p serverlog.PhaseNS) {
	g.Set(0, 0, g.Glyphs.Check, theme.RoleGood)
	g.Text(2, 0, launchNames, name, theme.RoleText)
	took := ""
	switch {
	case p.TookNS == 0:
		took = "< 1 s"
	case p.TookNS > 0:
		took = unit.Duration(p.TookNS)
	}
	g.TextRight(launchNames+2, 0, g.W()-launchNames-2, took, theme.RoleDim)
}

// drawCurrent draws the phase that goes on, or that the start ended in.
func (l Launch) drawCurrent(g *chart.Grid, name string, p serverlog.PhaseNS) {
	mark, role := g.Glyphs.Play, theme.RoleAccent
	if l.Server.State == control.Dead {
		mark, role = g.Glyphs.Cross, theme.RoleBad
		if l.Server.Clean() {
			role = theme.RoleDim
		}
	}
	g.Set(0, 0, mark, role)
	g.TextAttr(2, 0, launchNames, name, role, theme.Bold)
	room := g.Sub(chart.Rect{X: launchNames + 2, W: g.W() - launchNames - 2, H: 1})
	if at := l.Server.Phase; at.Total > 0 {
		chart.Meter{Value: chart.Of(float64(at.Done)), Max: float64(at.Total), Text: unit.Count(at.Done) + "/" + unit.Count(at.Total), Role: role}.Draw(room)
		return
	}
	if l.Server.State != control.Starting || p.AtNS == 0 {
		return
	}
	// The log tells whole seconds of its own clock: a time that cannot be is left out.
	if took := l.Server.NowNS - p.AtNS; took >= 0 && took <= l.Server.sinceNS()+2_000_000_000 {
		room.TextRight(0, 0, room.W(), "for "+unit.Duration(took), theme.RoleDim)
	}
}

func (l Launch) facts() []Row {
	var rows []Row
	if l.Log == nil || l.Log.State == nil || !l.Log.State.Found {
		return []Row{{Name: "the log says nothing yet"}}
	}
	for _, f := range l.Log.State.Facts {
		rows = append(rows, Row{Name: f.Name, Value: f.Value})
	}
	if len(rows) == 0 {
		rows = append(rows, Row{Name: "nothing yet"})
	}
	return append(rows, argumentRows(l.Log.State)...)
}

func (l Launch) factsHeight(w int) int { return RowsHeight(l.facts(), max(1, w)) }

func (l Launch) drawFacts(g *chart.Grid) {
	inside := g.Box("what the server said", "", false)
	DrawRows(inside.Sub(chart.Rect{X: 1, W: inside.W() - 2, H: inside.H()}), l.facts(), 0)
}

// drawLog shows the end of the log.
func (l Launch) drawLog(g *chart.Grid) {
	if g.H() < 3 {
		return
	}
	title := "log"
	if l.firstError() != "" && l.failed() != "" {
		title = "log around the first error"
	}
	inside := g.Box(title, "L all", false)
	if l.Log == nil {
		return
	}
	lines := l.Log.Lines
	if title == "log" {
		lines = lines[max(0, len(lines)-inside.H()):]
	}
	lines = lines[:min(len(lines), inside.H())]
	for y := range lines {
		line := &lines[y]
		mark, letter := LevelMark(&g.Glyphs, line.Severity)
		inside.Spans(1, y, inside.W()-2, chart.Span{S: strings.TrimSpace(string(mark)+" "+string(letter)) + " ", Role: levelRole(line.Severity), Attr: theme.Bold},
			chart.Span{S: processName(line.Process, 0) + "  ", Role: theme.RoleDim}, chart.Span{S: line.Message, Role: theme.RoleText})
	}
}
