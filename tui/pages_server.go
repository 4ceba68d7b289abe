package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/rundir"
	"opprof/engine/serverlog"
	"opprof/engine/unit"
)

// momentMsg goes to the step at a moment, on the page of the steps.
type momentMsg struct {
	atNS int64
	what string
}

// serverPages are the pages about windows and the server that a source can fill.
func serverPages(ctx context.Context, source Source, run rundir.Description, opt Options) []page {
	var pages []page
	live := run.Kind != "finished"
	steps, ok := source.(StepSource)
	if _, windows := source.(WindowSource); ok && windows {
		pages = append(pages, newWindowsPage(ctx, steps, live, opt))
	}
	if from, ok := source.(LogSource); ok {
		pages = append(pages, newLogPage(ctx, from, live, opt))
	}
	if _, ok := source.(ServerSource); ok {
		pages = append(pages, newServerPage(live, opt))
	}
	return pages
}

// lineAt is the line that a view stands at, if its time is known.
func lineAt(v *serverlog.View) *serverlog.Line {
	if v == nil || v.Cursor < 0 || v.Lines[v.Cursor].WallNS == 0 {
		return nil
	}
	return &v.Lines[v.Cursor]
}

// showLog goes to the log line that was written at the moment of the visible page.
func (m *Model) showLog() tea.Cmd {
	for i, p := range m.pages {
		log, ok := p.(*logPage)
		if !ok {
			continue
		}
		if b, ok := m.page().(*board); ok && b.time.cursorNS != 0 {
			log.at(b.time.cursorNS)
			log.came = comeFrom{cursorNS: b.time.cursorNS}
		} else if ok && b.cursorNS() != 0 && !b.live {
			log.at(b.cursorNS()) // a live log is followed, as the steps are
			log.came = comeFrom{cursorNS: b.cursorNS()}
		}
		return m.turn(i)
	}
	m.say("log: this run has none")
	return nil
}

// placed is where a moment of another page lies among the steps.
func (m *Model) placed(msg momentMsg) foundMsg {
	found := foundMsg{atNS: msg.atNS, ok: true, text: msg.what}
	b, ok := m.pages[0].(*board)
	if !ok {
		return found
	}
	switch v := b.view(); {
	case v.lastNS == 0:
		return foundMsg{text: "no step was read yet"}
	case msg.atNS < v.firstNS:
		found.text = unit.ClockSeconds(msg.atNS, b.zone) + " is before the first step, of " + unit.ClockSeconds(v.firstNS, b.zone)
	case msg.atNS > v.lastNS:
		found.text = unit.ClockSeconds(msg.atNS, b.zone) + " is after the newest step, of " + unit.ClockSeconds(v.lastNS, b.zone)
	}
	return found
}
