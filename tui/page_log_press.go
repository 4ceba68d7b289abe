package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/serverlog"
	"opprof/engine/unit"
	"opprof/engine/vllm"
	"opprof/tui/keys"
)

// press acts on a key of the page.
func (p *logPage) press(b keys.Binding) tea.Cmd {
	if p.pressFacts(b.ID) {
		return nil
	}
	switch b.ID {
	case keys.Down:
		p.move(1)
	case keys.Up:
		p.move(-1)
	case keys.PageDown:
		p.move(int64(max(1, p.rows()-1)))
	case keys.PageUp:
		p.move(-int64(max(1, p.rows()-1)))
	case keys.Top:
		p.goal = serverlog.Goto{Line: 1}
	case keys.Bottom:
		p.follow()
	case keys.Filter:
		return p.ask()
	case keys.ToStep:
		return p.toStep()
	case keys.Back:
		p.back()
	default:
		if jump, what, ok := jumpOf(b.ID); ok {
			return p.jump(jump, what)
		}
		return p.look(b.ID)
	}
	return nil
}

// pressFacts scrolls the start-up facts while they have the focus, and reports whether the key was theirs.
func (p *logPage) pressFacts(id keys.ID) bool {
	lines, facts := p.areas()
	if facts.Empty() {
		p.onFacts = false
		return false
	}
	if !lines.Empty() && (id == keys.FocusNext || id == keys.FocusPrev) {
		p.onFacts = !p.onFacts
		return true
	}
	if !p.onFacts && !lines.Empty() {
		return false
	}
	if p.factsText.press(id) {
		return true
	}
	if lines.Empty() && onLines(id) {
		p.facts, p.onFacts = factsHidden, false
	}
	return false
}

// onLines reports whether a key does something that only lines show.
func onLines(id keys.ID) bool {
	_, _, jumps := jumpOf(id)
	return jumps || id == keys.Filter || id == keys.Level || id == keys.Around || id == keys.Wrap
}

// look changes how lines are shown.
func (p *logPage) look(id keys.ID) tea.Cmd {
	const step = 16
	switch id {
	case keys.Level:
		p.setFilter(serverlog.Filter{Text: p.filter.Text, Level: nextLevel(p.filter.Level)})
		return notice(levelNotice(p.filter.Level))
	case keys.Around:
		if p.filter.All() {
			return notice("context: nothing is filtered")
		}
		p.around = !p.around
	case keys.Wrap:
		p.wrap, p.shift = !p.wrap, 0
	case keys.ScrollLeft:
		p.shift = max(0, p.shift-step)
	case keys.ScrollRight:
		if !p.wrap {
			p.shift = min(p.shift+step, 4096)
		}
	case keys.Facts:
		_, facts := p.areas()
		p.facts = factsShown
		if !facts.Empty() {
			p.facts = factsHidden
		}
	}
	p.settle()
	return nil
}

func levelNotice(l vllm.Level) string {
	if l == vllm.LevelNone {
		return "all lines"
	}
	return "only " + l.String() + " and worse"
}

// move goes by lines: at once where the target was fetched, else as soon as it is.
func (p *logPage) move(by int64) {
	switch {
	case p.view == nil || p.line() == nil:
		return
	case p.goal.Move != 0 || p.goal.Jump != 0 || p.goal.AtNS != 0:
		p.goal.Move += by
		return
	}
	to := int64(p.cursor) + by
	last := int64(len(p.view.Lines)) - 1
	if newest := p.view.Ordinal - int64(p.view.Cursor) + last; newest == p.view.Shown && to >= last {
		p.cursor = int(last)
		p.follow()
		return
	}
	if first := p.view.Ordinal - int64(p.view.Cursor); first == 1 {
		to = max(to, 0)
	}
	if to < 0 || to > last {
		p.goal = serverlog.Goto{Line: p.line().Number, Move: by}
		return
	}
	p.cursor = int(to)
	p.goal = serverlog.Goto{Line: p.line().Number}
	p.settle()
}

func (p *logPage) follow() {
	p.goal = serverlog.Goto{}
	p.settle()
}

// setFilter shows other lines around the same place.
func (p *logPage) setFilter(f serverlog.Filter) {
	if f.All() {
		p.around = false
	}
	p.filter = f
}

// back takes off one thing after the other: the filter, the facts.
func (p *logPage) back() {
	switch {
	case !p.filter.All():
		p.setFilter(serverlog.Filter{})
	case p.facts == factsShown:
		p.facts = factsHidden
	default:
		p.shift = 0
	}
	p.settle()
}

// ask opens the filter's prompt. Lines are filtered while it is typed.
func (p *logPage) ask() tea.Cmd {
	const usage = "text, or /expression/   enter keeps   esc clears"
	q := &prompt{label: "filter ", text: p.filter.Text, hint: usage, accept: func(text string) (tea.Cmd, error) {
		return nil, serverlog.Filter{Text: text}.Check()
	}}
	q.edited = func(text string) {
		f := serverlog.Filter{Text: text, Level: p.filter.Level}
		if err := f.Check(); err != nil {
			q.err = err.Error()
			return
		}
		p.setFilter(f)
		if text == "" {
			q.hint = usage
		}
	}
	p.prompt = q
	return p.raise(q)
}

// hint tells an open prompt how many lines match.
func (p *logPage) hint(v *serverlog.View) {
	if p.prompt == nil || p.filter.Text == "" {
		return
	}
	p.prompt.hint = matchCount(v) + "   enter keeps   esc clears"
}

func matchCount(v *serverlog.View) string {
	s := unit.Count(v.Count) + " of " + unit.Counted(v.State.Lines, "line")
	if !v.Done && v.State.Read > 0 {
		s = unit.Counted(v.Count, "line") + " so far, " + unit.Share(v.Searched, v.State.Read) + " searched"
	}
	return s
}

func jumpOf(id keys.ID) (jump serverlog.Jump, what string, ok bool) {
	switch id {
	case keys.NextProblem:
		return serverlog.JumpNextProblem, "later warning", true
	case keys.PrevProblem:
		return serverlog.JumpPrevProblem, "earlier warning", true
	case keys.NextError:
		return serverlog.JumpNextError, "later error", true
	case keys.PrevError:
		return serverlog.JumpPrevError, "earlier error", true
	case keys.Next:
		return serverlog.JumpNextMatch, "later match", true
	case keys.Prev:
		return serverlog.JumpPrevMatch, "earlier match", true
	}
	return 0, "", false
}

// logFoundMsg is where a jump leads.
type logFoundMsg struct {
	line int64 // 0 is nowhere
	what string
	err  error
}

// jump asks for the next line of a kind.
func (p *logPage) jump(j serverlog.Jump, what string) tea.Cmd {
	l := p.line()
	match := j == serverlog.JumpNextMatch || j == serverlog.JumpPrevMatch
	if l == nil || match && p.filter.All() {
		return notice("no match: / filters lines")
	}
	if !match && !p.filter.All() {
		p.around = true // where it leads may not pass the filter
	}
	ctx, source := p.ctx, p.source
	q := serverlog.Query{Filter: p.filter, Context: p.around, Goto: serverlog.Goto{Line: l.Number, Jump: j}}
	return func() tea.Msg { return findLine(ctx, source, q, what) }
}

// findLine answers a jump. A match may lie behind what has been searched, so that the search goes on until it is found.
func findLine(ctx context.Context, source LogSource, q serverlog.Query, what string) logFoundMsg {
	for {
		v, err := source.Log(ctx, q)
		switch {
		case err != nil:
			return logFoundMsg{what: what, err: err}
		case v.Nowhere && !v.Done:
			continue
		case v.Nowhere || v.Cursor < 0:
			return logFoundMsg{what: what}
		}
		return logFoundMsg{line: v.Lines[v.Cursor].Number, what: what}
	}
}

func (p *logPage) receive(msg tea.Msg) tea.Cmd {
	found, ok := msg.(logFoundMsg)
	switch {
	case !ok:
		return nil
	case found.err != nil:
		return notice(found.what + ": " + found.err.Error())
	case found.line == 0:
		return notice("no " + found.what)
	}
	p.goal = serverlog.Goto{Line: found.line}
	return notice(found.what)
}

// toStep goes to the step at the time of the line under the cursor.
func (p *logPage) toStep() tea.Cmd {
	l := p.line()
	switch {
	case l == nil:
		return nil
	case l.WallNS == 0 && l.Number != p.came.line:
		return notice("the time of this line is not known")
	}
	if l.Number == p.came.line {
		came := p.came.cursorNS
		return func() tea.Msg { return momentMsg{atNS: came, what: "back at the step that L left"} }
	}
	at, zone := l.WallNS, p.zone
	return func() tea.Msg {
		return momentMsg{atNS: at, what: "step at " + time.Unix(0, at).In(zone).Format(time.TimeOnly) + ", when the log line was written"}
	}
}
