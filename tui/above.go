package tui

import (
	"path/filepath"
	"reflect"

	tea "charm.land/bubbletea/v2"
)

// leaving says how a screen is left. The first one of a program is left by ending the program.
type leaving uint8

const (
	bottom leaving = iota // the first screen
	stays                 // lies above another one and is looked at
	back                  // back to the one below
	out                   // all are left
)

// openMsg asks to open what a list names, openedMsg answers.
type openMsg struct{ path string }

type openedMsg struct {
	path   string
	screen *Screen
	err    error
}

// open returns a command that opens a run, or whatever else a list names, above the screen that the command comes from.
func open(path string) tea.Cmd { return func() tea.Msg { return openMsg{path} } }

// aboveMsg is a message of the screen above.
type aboveMsg struct {
	to  *Model
	msg tea.Msg
}

func (m *Model) openRun(path string) tea.Cmd {
	switch {
	case m.shelf.open == nil:
		m.say("this screen opens no other one")
		return nil
	case m.opening:
		return nil
	}
	m.opening = true
	m.say("opening " + filepath.Base(path) + string(m.theme.Glyphs.Ellipsis))
	ctx, from := m.ctx, m.shelf
	return func() tea.Msg {
		s, err := from.take(ctx, path)
		return openedMsg{path, s, err}
	}
}

// opened puts a screen above this one.
func (m *Model) opened(msg openedMsg) tea.Cmd {
	m.opening = false
	if msg.err != nil {
		m.say("cannot open " + filepath.Base(msg.path) + ": " + msg.err.Error())
		return nil
	}
	opt := m.opt
	opt.Control, opt.ReadOnly, opt.Note = msg.screen.Control, msg.screen.ReadOnly, ""
	if msg.screen.Page != "" {
		opt.State.Page = msg.screen.Page
	}
	above, err := New(m.ctx, msg.screen.Source, opt)
	if err != nil {
		m.say("cannot open " + filepath.Base(msg.path) + ": " + err.Error())
		return m.shelf.back(msg.screen, m.opt.Log)
	}
	above.leaving, above.shelf, above.screen = stays, m.shelf, msg.screen
	above.dress(m)
	m.notice, m.fade = "", 0
	m.above = above
	return above.own(tea.Batch(above.resized(m.width, m.height), above.begin()))
}

// dress takes over how another screen looks.
func (m *Model) dress(as *Model) {
	m.theme, m.themed, m.mouse, m.stale = as.theme, as.themed, as.mouse, true
	m.opt.Theme = as.opt.Theme
}

// forward hands a message to the screen above: what the terminal says, and what that screen itself has asked for. It reports false for a
// message of this screen.
func (m *Model) forward(msg tea.Msg) (cmd tea.Cmd, ok bool) {
	own, tagged := msg.(aboveMsg)
	switch {
	case tagged && own.to != m.above:
		return nil, true // it was left meanwhile
	case tagged:
		msg = own.msg
	case m.above == nil || ours(msg) && !said(msg):
		return nil, false
	}
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		m.resized(size.Width, size.Height) // asks for nothing now
	}
	above := m.above
	_, cmd = above.Update(msg)
	switch above.leaving {
	case out:
		return m.quit(), true
	case back:
		return m.uncover(), true
	}
	return above.own(cmd), true
}

// said reports whether a message is for whoever reads the screen.
func said(msg tea.Msg) bool {
	_, ok := msg.(noticeMsg)
	return ok
}

// uncover leaves the screen above and goes on where this one was.
func (m *Model) uncover() tea.Cmd {
	above := m.above
	m.above = nil
	m.opt.State = above.state()
	m.dress(above)
	cmds := []tea.Cmd{m.shelf.back(above.screen, m.opt.Log), m.pull(), m.link.ask(m.ctx)}
	if m.paused {
		m.paused = false
		cmds = append(cmds, m.tick())
	}
	return tea.Batch(cmds...)
}

// own marks the messages of this screen's commands as its own, for the one below.
func (m *Model) own(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		switch msg := cmd().(type) {
		case tea.BatchMsg:
			for i := range msg {
				msg[i] = m.own(msg[i])
			}
			return msg
		default:
			if ours(msg) {
				return aboveMsg{m, msg}
			}
			return msg
		}
	}
}

// ours reports whether a message is of this package. The others are for the program, which has types for them that nobody else can name.
func ours(msg tea.Msg) bool {
	return msg != nil && reflect.TypeOf(msg).PkgPath() == reflect.TypeFor[Model]().PkgPath()
}
