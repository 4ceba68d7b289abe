package tui

import (
	tea "charm.land/bubbletea/v2"
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
	control, ok := m.feed.source.(WindowControl)
	if !ok {
		return nil
	}
	ctx := m.ctx
	return func() tea.Msg {
		said, err := control.Arm(ctx)
		if err != nil {
			return noticeMsg("no window: " + err.Error())
		}
		return noticeMsg(said)
	}
}
