package tui

import (
	"opprof/engine/control"
	"opprof/engine/serverlog"
	"opprof/tui/chart"
	"opprof/tui/panel"
)

// launchLines is how many lines of the log stand below a start.
const launchLines = 24

// launching reports whether the first page tells of the server's start, or of why there is none: until there is a step to show.
func (m *Model) launching() bool {
	if _, ok := m.page().(*board); !ok || !m.link.known {
		return false
	}
	if m.newest != nil && m.newest.Run.Counts.Steps > 0 {
		return false
	}
	switch s := m.link.status.State; {
	case s == control.Starting || s == control.Stopping || s == control.Dead:
		return true
	default:
		return m.newest != nil && serving(s)
	}
}

// wants is what the visible page needs to see, and the log while it tells of a start.
func (m *Model) wants() want {
	w := m.page().want()
	if m.launching() {
		w.log = m.launchLog()
	}
	return w
}

// launchLog asks for the end of the log, or for the first error of a server that is gone: what stands behind that are other processes' words.
func (m *Model) launchLog() *serverlog.Query {
	const before = 2
	if m.link.status.State == control.Dead && m.log != nil && m.log.State != nil && m.log.State.FirstError != nil {
		return &serverlog.Query{Goto: serverlog.Goto{Line: m.log.State.FirstError.Number}, Before: before, After: launchLines}
	}
	return &serverlog.Query{Before: launchLines}
}

// drawLaunch draws the start between the pages' names and the footer.
func (m *Model) drawLaunch(g *chart.Grid) {
	panel.Launch{Server: m.standing(), Log: m.log, Zone: m.opt.Zone}.Draw(g.Sub(chart.Rect{Y: bodyTop, W: g.W(), H: g.H() - bodyTop - 1}))
}
