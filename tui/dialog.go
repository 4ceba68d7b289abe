package tui

import (
	tea "charm.land/bubbletea/v2"

	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/theme"
)

// dialog is a box above the page that takes all keys until it is closed.
type dialog interface {
	// context is where its keys are matched.
	context() keys.Context
	// press takes a key; b is its binding, the zero Binding for one that is text or means nothing. done closes the dialog.
	press(b keys.Binding, msg tea.KeyPressMsg) (cmd tea.Cmd, done bool)
	// paste takes text from the terminal's clipboard.
	paste(text string)
	// draw fills what it needs of g, which is the screen below the pages' names.
	draw(g *chart.Grid)
}

// askedIn gives a key press to the dialog. Quitting the program works there too.
func (m *Model) askedIn(msg tea.KeyPressMsg) tea.Cmd {
	b, ok := m.opt.Keys.Match(m.dialog.context(), msg.String())
	if ok {
		switch b.ID {
		case keys.ForceQuit:
			return m.quit()
		case keys.Suspend:
			return tea.Suspend
		case keys.Redraw:
			return tea.Batch(tea.ClearScreen, m.pull())
		}
	}
	cmd, done := m.dialog.press(b, msg)
	m.lift()
	if done {
		m.dialog = nil
	}
	return cmd
}

// dialogBox clears a box of w by h in g, and returns its inside with a blank column on either side; nil when it has no room. A box of the
// usual height stands in the middle; one that grows and shrinks keeps its place.
func dialogBox(g *chart.Grid, w, h, usual int, title, right string) *chart.Grid {
	w, h = min(w, g.W()), min(h, g.H())
	if w < 12 || h < 3 {
		return nil
	}
	box := g.Sub(chart.Rect{X: (g.W() - w) / 2, Y: min((g.H()-h+1)/2, max(0, (g.H()-usual)/2)), W: w, H: h})
	box.Clear()
	inside := box.Box(title, right, true)
	return inside.Sub(chart.Rect{X: 1, W: inside.W() - 2, H: inside.H()})
}

// dialogLine is one line of a dialog.
type dialogLine []chart.Span

func plainLine(s string, role theme.Role) dialogLine { return dialogLine{{S: s, Role: role}} }

// wrapped are the lines of a text.
func wrapped(text string, w int, role theme.Role) []dialogLine {
	var out []dialogLine
	for _, l := range wrap(text, w) {
		out = append(out, plainLine(l, role))
	}
	return out
}
