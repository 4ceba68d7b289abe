package tui

import tea "charm.land/bubbletea/v2"

// raised is the input line or the dialog that a key of a page has opened. It opens with the key: what is typed or pasted right behind it is
// text already.
type raised struct {
	prompt *prompt
	dialog dialog
}

func (r *raised) raise(p *prompt) tea.Cmd      { r.prompt = p; return nil }
func (r *raised) raiseDialog(d dialog) tea.Cmd { r.dialog = d; return nil }

// fall hands over what is open and forgets it.
func (r *raised) fall() raised {
	up := *r
	*r = raised{}
	return up
}

// raising is a page whose keys open input lines and dialogs.
type raising interface{ fall() raised }

// lift opens what the visible page has raised.
func (m *Model) lift() {
	from, ok := m.page().(raising)
	if !ok {
		return
	}
	up := from.fall()
	if up.prompt != nil {
		m.prompt, m.stale = up.prompt, true
	}
	if up.dialog != nil {
		m.dialog, m.stale = up.dialog, true
	}
}
