package tui

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/theme"
)

// promptMax is the longest text that a prompt takes, in runes.
const promptMax = 64

// prompt is the input line in the footer that asks where to go.
type prompt struct {
	text string
	err  string // why the text was not taken
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
			m.prompt = nil
		case keys.Accept:
			return m.accept()
		}
		return nil
	}
	switch msg.Code {
	case tea.KeyBackspace:
		m.prompt.backspace()
	default:
		m.prompt.insert(msg.Text)
	}
	return nil
}

func (m *Model) pasted(s string) {
	if m.prompt != nil {
		m.prompt.insert(s)
		m.stale = true
	}
}

// accept hands the text to the page; a text that it cannot read keeps the prompt open with the reason.
func (m *Model) accept() tea.Cmd {
	if strings.TrimSpace(m.prompt.text) == "" {
		m.prompt = nil
		return nil
	}
	cmd, err := m.page().seek(m.prompt.text)
	if err != nil {
		m.prompt.err = err.Error()
		return nil
	}
	m.prompt = nil
	return tea.Batch(cmd, m.pull())
}

func (p *prompt) insert(s string) {
	p.err = ""
	text := []rune(p.text + chart.Sanitize(s))
	p.text = string(text[:min(len(text), promptMax)])
}

func (p *prompt) backspace() {
	p.err = ""
	if _, n := utf8.DecodeLastRuneInString(p.text); n > 0 {
		p.text = p.text[:len(p.text)-n]
	}
}

func (p *prompt) draw(g *chart.Grid) {
	x := 1 + g.Text(1, 0, g.W()-1, "go to ", theme.RoleKey)
	x += g.Text(x, 0, g.W()-x, p.text, theme.RoleText)
	g.SetAttr(x, 0, ' ', theme.RoleText, theme.Reverse)
	hint, role := "step index, 12:03:47, +30, -1m30s or 50%   enter goes   esc closes", theme.RoleDim
	if p.err != "" {
		hint, role = p.err, theme.RoleBad
	}
	g.TextRight(x+2, 0, g.W()-x-3, hint, role)
}
