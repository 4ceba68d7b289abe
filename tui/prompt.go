package tui

import (
	"cmp"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/theme"
)

// promptMax is the longest text that a prompt takes, in runes.
const promptMax = 64

// prompt is an input line in the footer.
type prompt struct {
	label  string
	hint   string
	text   string                             // at first, and as it was edited
	line   *field                             // nil before the first key
	err    string                             // why the text was not taken
	accept func(text string) (tea.Cmd, error) // enter; an error keeps the prompt open
	edited func(text string)                  // after every change; nil does nothing
	most   int                                // longest text in runes; 0 is promptMax
	blank  bool                               // an empty text is taken, too
}

// goTo asks where on the time axis to go.
func (m *Model) goTo() *prompt {
	return &prompt{
		label: "go to ", hint: "step index, 12:03:47, +30, -1m30s or 50%   enter goes   esc closes",
		accept: func(text string) (tea.Cmd, error) {
			cmd, err := m.page().seek(text)
			if err != nil {
				return nil, err
			}
			return tea.Batch(cmd, m.pull()), nil
		},
	}
}

// filterOverlay narrows the overlay to lines with a text while it is typed.
func (m *Model) filterOverlay() *prompt {
	o := m.overlay
	p := &prompt{label: "filter ", text: o.filter, accept: func(string) (tea.Cmd, error) { return nil, nil }}
	p.edited = func(text string) {
		o.filter = text
		p.hint = unit.Counted(o.matches(m.width), "match") + "   enter keeps   esc clears"
	}
	p.edited(p.text)
	return p
}

// prompted gives a key press to the prompt.
func (m *Model) prompted(msg tea.KeyPressMsg) tea.Cmd {
	if b, ok := m.opt.Keys.Match(keys.ContextDialog, msg.String()); ok {
		switch b.ID {
		case keys.ForceQuit:
			return m.quit()
		case keys.Suspend:
			return tea.Suspend
		case keys.Back:
			m.prompt.change("")
			m.prompt = nil
			return m.pull()
		case keys.Accept:
			return m.accept()
		}
		return nil
	}
	m.prompt.edit(func(f *field) { f.key(msg) })
	return m.pull()
}

func (m *Model) pasted(s string) {
	switch {
	case m.prompt != nil:
		m.prompt.edit(func(f *field) { f.insert(s) })
	case m.dialog != nil:
		m.dialog.paste(s)
	}
	m.stale = true
}

// accept takes the text; one that cannot be taken keeps the prompt open with the reason.
func (m *Model) accept() tea.Cmd {
	p := m.prompt
	if strings.TrimSpace(p.text) == "" && !p.blank {
		m.prompt = nil
		return nil
	}
	cmd, err := p.accept(p.text)
	if err != nil {
		p.err = err.Error()
		return nil
	}
	m.prompt = nil
	return cmd
}

// edit changes the line, or moves its cursor.
func (p *prompt) edit(by func(*field)) {
	if p.line == nil {
		f := newField(p.text, cmp.Or(p.most, promptMax), nil)
		p.line = &f
	}
	by(p.line)
	if text := p.line.input.Value(); text != p.text {
		p.change(text)
	}
}

func (p *prompt) change(text string) {
	p.err, p.text = "", text
	if p.edited != nil {
		p.edited(text)
	}
}

func (p *prompt) draw(g *chart.Grid) {
	x := 1 + g.Text(1, 0, g.W()-1, p.label, theme.RoleKey)
	x += p.drawLine(g, x)
	hint, role := p.hint, theme.RoleDim
	if p.err != "" {
		hint, role = p.err, theme.RoleBad
	}
	g.TextRight(x+2, 0, g.W()-x-3, hint, role)
}

// drawLine writes the text from column x on with its cursor, and returns the columns before the last one.
func (p *prompt) drawLine(g *chart.Grid, x int) int {
	text, cursor := p.text, utf8.RuneCountInString(p.text)
	if p.line != nil {
		text, cursor = p.line.visible(g.W() - x)
	}
	n := g.Text(x, 0, g.W()-x, text, theme.RoleText)
	g.Mark(chart.Rect{X: x + cursor, W: 1, H: 1}, theme.Reverse)
	return n
}
