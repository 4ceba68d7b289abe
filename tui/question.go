package tui

import (
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/control"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

// settle is how long a new question reads no key: what was typed for the page behind it answers nothing.
const settle = 500 * time.Millisecond

// question asks before something is done that cannot be taken back. The answer is no until the reader says otherwise.
type question struct {
	title string
	ask   string
	facts []string // what it means, a line or more each
	yes   string   // the words on the buttons
	no    string
	act   func() tea.Cmd

	now    func() time.Time
	opened time.Time
	chosen bool // yes is what enter means
}

func (q *question) context() keys.Context { return keys.ContextQuestion }
func (q *question) paste(string)          {}

func (q *question) press(b keys.Binding, _ tea.KeyPressMsg) (cmd tea.Cmd, done bool) {
	if q.now().Sub(q.opened) < settle {
		return nil, false
	}
	switch b.ID {
	case keys.Yes:
		return q.act(), true
	case keys.No, keys.Back:
		return nil, true
	case keys.NextTurn:
		q.chosen = !q.chosen
	case keys.Accept:
		if q.chosen {
			return q.act(), true
		}
		return nil, true
	}
	return nil, false
}

// questionWidth is the widest a question is drawn.
const questionWidth = 68

func (q *question) draw(g *chart.Grid) {
	w := min(questionWidth, g.W()-2)
	lines := wrapped(q.ask, w-4, theme.RoleText)
	for i := range lines {
		lines[i][0].Attr = theme.Bold
	}
	for _, f := range q.facts {
		for i, l := range wrap(f, w-6) {
			mark := "  "
			if i == 0 {
				mark = "- "
			}
			lines = append(lines, dialogLine{{S: mark, Role: theme.RoleDim}, {S: l, Role: theme.RoleText}})
		}
	}
	const below = 2 // a blank line and the buttons
	h := len(lines) + below + 2
	if h > g.H() { // the question and its answers are there at any size
		lines = lines[:max(1, len(lines)-(h-g.H()))]
	}
	inside := dialogBox(g, w, len(lines)+below+2, len(lines)+below+2, q.title, "")
	if inside == nil {
		return
	}
	for y, l := range lines {
		inside.Spans(0, y, inside.W(), l...)
	}
	y, x := inside.H()-1, 0
	for i, label := range []string{q.no, q.yes} {
		role, attr, mark := theme.RoleText, theme.Attr(0), ' '
		if (i == 1) == q.chosen {
			mark = inside.Glyphs.Play
			role, attr = theme.RoleSelected, theme.Bold|theme.Reverse
		}
		text := "[" + string(mark) + label + " ]"
		inside.TextAttr(x, y, inside.W()-x, text, role, attr)
		x += utf8.RuneCountInString(text) + 2
	}
}

// stopQuestion asks before the server is stopped.
func (m *Model) stopQuestion() dialog {
	s := m.standing()
	q := &question{title: "stop the server", ask: "Stop " + m.run.Run.ID + "?", yes: "Yes, stop it (y)", no: "No (n)", now: m.opt.Now, opened: m.opt.Now(),
		act: func() tea.Cmd { return m.link.stop(m.ctx) }}
	q.facts = stopFacts(s, m.newest)
	return q
}

// stopFacts say what stopping means now.
func stopFacts(s *panel.Supervised, newest *store.Frame) []string {
	var facts []string
	if newest != nil && newest.Now.Known {
		if n := newest.Now.Queues; n.Running+n.Waiting > 0 && s.State != control.Idle {
			facts = append(facts, "requests: "+unit.Count(n.Running)+" running, "+unit.Count(n.Waiting)+" waiting; they may finish within the server's shutdown timeout, then it is killed")
		} else {
			facts = append(facts, "no request runs")
		}
	}
	if s.State == control.Starting {
		facts = append(facts, "it is still starting: the start is given up")
	}
	if w := s.Active(); w != nil {
		facts = append(facts, windowName(w.N)+" is "+w.State+": it is ended first")
	}
	if n := len(s.Armed()); n > 0 {
		facts = append(facts, unit.Counted(n, "armed window")+" "+unit.Verb(n, "is", "are")+" cancelled")
	}
	if s.Clients > 1 {
		facts = append(facts, unit.Counted(s.Clients, "client")+" hold this run")
	}
	return append(facts, "the records and traces stay; starting again takes a whole start")
}
