package tui

import (
	tea "charm.land/bubbletea/v2"

	"opprof/engine/control"
)

// showWindow goes to the window at the moment of the visible page, or comes back to the one that was looked at.
func (m *Model) showWindow() tea.Cmd {
	for i, p := range m.pages {
		windows, ok := p.(*windowsPage)
		if !ok {
			continue
		}
		if b, ok := m.page().(*board); ok && (b.time.cursorNS != 0 || !b.live) {
			if in := b.input(); in != nil {
				windows.show(in.Now.StepIndex, in.Now.TimeNS)
			}
		}
		return m.turn(i)
	}
	m.say("windows: this run's source knows none")
	return nil
}

// arm asks for a profiler window. The answer is said in the footer.
func (m *Model) arm() tea.Cmd {
	if m.link.to != nil {
		if why := m.noWindow(); why != "" {
			m.say("no window: " + why)
			return nil
		}
		return m.link.arm(m.ctx, control.Trigger{Kind: control.TriggerNow}, 1)
	}
	to, ok := m.feed.source.(WindowControl)
	if !ok {
		return nil
	}
	ctx := m.ctx
	return func() tea.Msg {
		said, err := to.Arm(ctx)
		if err != nil {
			return noticeMsg("no window: " + err.Error())
		}
		return noticeMsg(said)
	}
}

// armOn opens the form for windows that start later.
func (m *Model) armOn() {
	if why := m.noWindow(); why != "" {
		m.say("no window: " + why)
		return
	}
	m.dialog = m.newArmForm()
}

// noWindow is why the server cannot be profiled at all; "" when it can.
func (m *Model) noWindow() string {
	switch l := &m.link; {
	case !l.known:
		return "the supervisor has not answered yet"
	case !l.runs():
		return "the server is " + l.status.State
	case !l.status.Server.Profile:
		return "the server was started without a profiler: set profiler.enabled in its configuration and start it again"
	}
	return ""
}
