package tui

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/layout"
)

// pressed routes a key press: to the prompt, the overlay, the program or the page, in this order. Quitting works everywhere.
func (m *Model) pressed(msg tea.KeyPressMsg) tea.Cmd {
	m.stale = true
	key := msg.String()
	if !layout.Fits(m.width, m.height) {
		if b, ok := m.opt.Keys.Match(keys.ContextAny, key); ok && (b.ID == keys.Quit || b.ID == keys.ForceQuit) {
			return m.leave(b.ID)
		}
		return nil
	}
	if m.prompt != nil {
		return m.prompted(msg)
	}
	if m.dialog != nil {
		return m.askedIn(msg)
	}
	m.notice, m.fade = "", 0 // what was said was about an earlier key
	context := m.page().keys()
	if m.overlay != nil {
		context = keys.ContextHelp
	}
	b, ok := m.opt.Keys.Match(context, key)
	if !ok {
		return nil
	}
	if why := b.Missing(m.needs()); why != "" {
		m.say(b.Help + ": " + why)
		return nil
	}
	if m.overlay != nil {
		return m.scroll(b)
	}
	return m.act(b, key)
}

// act does what a key of the program or of the page says.
func (m *Model) act(b keys.Binding, key string) tea.Cmd {
	switch b.ID {
	case keys.Quit, keys.ForceQuit:
		return m.leave(b.ID)
	case keys.Suspend:
		return tea.Suspend
	case keys.Help:
		m.overlay = helpOverlay(m.opt.Keys)
	case keys.Explain:
		title, definitions := m.page().explain()
		m.overlay = explainOverlay(title, definitions)
	case keys.Theme:
		m.nextTheme()
	case keys.Warnings:
		m.overlay = m.warningsOverlay()
	case keys.Mouse:
		m.toggleMouse()
	case keys.Redraw:
		return tea.Batch(tea.ClearScreen, m.pull())
	case keys.Copy:
		return m.copy()
	case keys.PageN:
		return m.turn(int(key[0] - '1'))
	case keys.Find:
		m.prompt = m.goTo()
	case keys.LogHere:
		return m.showLog()
	case keys.WindowHere:
		return m.showWindow()
	case keys.Arm:
		return m.arm()
	case keys.ArmOn:
		m.armOn()
	case keys.CancelWindow:
		return m.cancelWindow()
	case keys.StopServer:
		m.dialog = m.stopQuestion()
	case keys.Tasks:
		m.overlay = m.tasksOverlay()
	default:
		cmd := m.page().press(b)
		m.lift()
		return tea.Batch(cmd, m.pull())
	}
	return nil
}

// leave goes back to the screen that this one was opened from, or ends the program.
func (m *Model) leave(id keys.ID) tea.Cmd {
	if id == keys.Quit && m.leaving != bottom {
		m.cancel()
		m.leaving = back
		return nil
	}
	return m.quit()
}

// quit ends the program; questions that are still out are called off.
func (m *Model) quit() tea.Cmd {
	m.cancel()
	if m.leaving != bottom {
		m.leaving = out
		return nil
	}
	return tea.Quit
}

// turn goes to a page by its place.
func (m *Model) turn(i int) tea.Cmd {
	if i < 0 || i >= len(m.pages) {
		m.say("there is no page " + strconv.Itoa(i+1) + ": the last is " + strconv.Itoa(len(m.pages)) + " " + m.pages[len(m.pages)-1].name())
		return nil
	}
	if i == m.visible {
		return nil
	}
	m.visible = i
	return m.pull()
}

// copy hands the focused panel's lines to the terminal's clipboard.
func (m *Model) copy() tea.Cmd {
	text := m.clip()
	if text == "" {
		m.say("nothing to copy yet")
		return nil
	}
	m.say("copied to the clipboard, if the terminal takes OSC 52")
	return tea.SetClipboard(text)
}

// clip is what has the focus as text that is safe to paste into a shell: one line stays one line, and holds no control characters.
func (m *Model) clip() string {
	var out strings.Builder
	for _, line := range m.page().copied() {
		out.WriteString(strings.TrimRight(chart.Sanitize(line), " ") + "\n")
	}
	return out.String()
}

// scroll moves or closes the overlay.
func (m *Model) scroll(b keys.Binding) tea.Cmd {
	switch b.ID {
	case keys.ForceQuit:
		return m.quit()
	case keys.Suspend:
		return tea.Suspend
	case keys.Quit, keys.Back, keys.Help, keys.Explain, keys.Warnings, keys.Tasks:
		m.overlay = nil
	case keys.Theme:
		m.nextTheme()
	case keys.Mouse:
		m.toggleMouse()
	case keys.Filter:
		m.prompt = m.filterOverlay()
	default:
		m.overlay.move(b.ID)
	}
	return nil
}
