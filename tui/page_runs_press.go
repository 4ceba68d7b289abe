package tui

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	tea "charm.land/bubbletea/v2"

	"opprof/campaign/compare"
	"opprof/campaign/roster"
	"opprof/engine/unit"
	"opprof/tui/keys"
	"opprof/tui/panel"
)

// comparedMsg answers a comparison that was asked for.
type comparedMsg struct {
	to   *comparing
	done *compare.Comparison
	err  error
}

// columnsMsg brings the columns that were chosen.
type columnsMsg struct{ ids []string }

func (p *runsPage) receive(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case comparedMsg:
		if c := p.comparing; c == msg.to {
			c.cancel()
			if c.done, c.err = msg.done, msg.err; c.err != nil {
				return notice("not compared")
			}
			c.shown = panel.NewComparison(c.done, comparedKinds)
			return notice("compared")
		}
	case columnsMsg:
		p.view.Columns = msg.ids
		p.arrange()
	}
	return nil
}

func (p *runsPage) press(b keys.Binding) tea.Cmd {
	if p.comparing != nil {
		p.pressComparison(b.ID)
		return nil
	}
	if p.roster == nil {
		return nil
	}
	switch b.ID {
	case keys.Accept:
		if p.at() >= 0 {
			return open(p.selected)
		}
	case keys.MarkRun:
		p.mark()
	case keys.CompareRuns:
		return p.compare()
	case keys.Filter:
		return p.ask()
	case keys.Sort:
		return p.sort()
	case keys.SortTurn:
		p.view.Turned = !p.view.Turned
		p.arrange()
	case keys.Columns:
		d := newColumnsDialog(p.view)
		return p.raiseDialog(d)
	case keys.Back:
		p.back()
	default:
		if i, ok := shifted(b.ID, p.at(), len(p.rows)-1, p.list.H); ok {
			p.selected = p.rows[i].Path
		}
	}
	return nil
}

// back clears what was chosen last: the marks, then the filter.
func (p *runsPage) back() {
	if len(p.marked) > 0 {
		p.marked = nil
		return
	}
	p.view.Filter = ""
	p.arrange()
}

// mark marks the selected run, or takes its mark away. A third one takes the place of b.
func (p *runsPage) mark() {
	if p.at() < 0 {
		return
	}
	if i := slices.Index(p.marked, p.selected); i >= 0 {
		p.marked = slices.Delete(p.marked, i, i+1)
		return
	}
	p.marked = append(p.marked[:min(len(p.marked), 1)], p.selected)
}

// compare begins to compare the marked runs.
func (p *runsPage) compare() tea.Cmd {
	pair := slices.Clone(p.marked)
	if len(pair) == 1 && p.selected != pair[0] && p.at() >= 0 {
		pair = append(pair, p.selected)
	}
	if len(pair) < 2 {
		return notice("compare: mark two runs with space, or mark one and select the other")
	}
	ctx, cancel := context.WithCancel(p.ctx)
	c := &comparing{a: p.nameOf(pair[0]), b: p.nameOf(pair[1]), cancel: cancel}
	p.comparing = c
	source := p.source
	return func() tea.Msg {
		done, err := source.Compare(ctx, pair[0], pair[1])
		return comparedMsg{c, done, err}
	}
}

func (p *runsPage) nameOf(path string) string {
	if e := p.entry(path); e != nil {
		return e.ID
	}
	return filepath.Base(path)
}

// pressComparison scrolls or leaves the comparison.
func (p *runsPage) pressComparison(id keys.ID) {
	c := p.comparing
	if id == keys.Back {
		c.cancel()
		p.comparing = nil
		return
	}
	s := scroll{top: c.top, rows: c.rows, total: c.total}
	s.press(id)
	c.top = s.top
}

// ask opens the filter's prompt. The list is filtered while it is typed.
func (p *runsPage) ask() tea.Cmd {
	q := &prompt{label: "filter ", text: p.view.Filter, accept: func(string) (tea.Cmd, error) { return nil, nil }}
	q.edited = func(text string) {
		p.view.Filter = text
		p.arrange()
		q.hint = unit.Counted(len(p.rows), "run") + "   enter keeps   esc clears"
	}
	q.edited(q.text)
	return p.raise(q)
}

// sort sorts by the next column that is shown. Figures begin with the largest.
func (p *runsPage) sort() tea.Cmd {
	shown := p.view.Shown()
	i := slices.IndexFunc(shown, func(c roster.Column) bool { return c.ID == p.view.Sort }) + 1
	p.view.Sort, p.view.Turned = "", false
	if i < len(shown) {
		p.view.Sort, p.view.Turned = shown[i].ID, shown[i].Right || shown[i].ID == "date"
	}
	p.arrange()
	return notice("sorted by " + cmp.Or(p.view.Sort, "beginning, newest first"))
}

// click selects a run; a click on the one that is selected opens it.
func (p *runsPage) click(x, y int) tea.Cmd {
	row := p.top + y - p.list.Y - 1
	if p.comparing != nil || y <= p.list.Y || !p.list.In(x, y-1) || row >= len(p.rows) {
		return nil
	}
	if p.rows[row].Path == p.selected {
		return open(p.selected)
	}
	p.selected = p.rows[row].Path
	return nil
}

// wheel moves the selection, or the comparison.
func (p *runsPage) wheel(_, _ int, up bool) tea.Cmd {
	wheeled(up, func(id keys.ID) { p.press(keys.Binding{ID: id}) })
	return nil
}
