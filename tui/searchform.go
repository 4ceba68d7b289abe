package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/query"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/theme"
)

// searchForm asks for the expression that steps are searched by.
type searchForm struct {
	board *board
	expr  field
}

func newSearchForm(b *board) *searchForm {
	text := b.hunt.expr
	if text == "" {
		text = b.hunt.last
	}
	f := &searchForm{board: b, expr: newField(text, query.MaxLength, nil)}
	f.expr.proposed = text != ""
	return f
}

func (f *searchForm) context() keys.Context { return keys.ContextSearch }

func (f *searchForm) paste(text string) { f.expr.insert(text) }

func (f *searchForm) press(b keys.Binding, msg tea.KeyPressMsg) (cmd tea.Cmd, done bool) {
	switch b.ID {
	case keys.Back:
		return nil, true
	case keys.FieldNext:
		f.expr.proposed = false
		completeName(&f.expr)
	case keys.Accept:
		text := f.expr.String()
		if text == "" {
			return f.board.clearSearch(), true
		}
		if _, err := query.Compile(text); err != nil {
			return nil, false // the form says what is wrong
		}
		return f.board.searchFor(text), true
	case keys.FieldLeft:
		f.expr.move(-1)
	case keys.FieldRight:
		f.expr.move(1)
	default:
		f.expr.key(msg)
	}
	return nil, false
}

func (f *searchForm) draw(g *chart.Grid) {
	w := min(formWidth, g.W()-2)
	says := f.says(w - 4 - formNames)
	help := fieldHelp(f.expr.word())
	help = help[:min(len(help), formHelp)]
	h := 1 + len(says) + len(help) + 3
	if over := h - g.H(); over > 0 {
		drop := min(over, len(help))
		help = help[:len(help)-drop]
		h -= drop
	}
	inside := dialogBox(g, w, h, 1+2+formHelp+3, "search steps", "enter searches  esc closes")
	if inside == nil {
		return
	}
	inside.Text(0, 0, formNames, "steps", theme.RoleKey)
	f.expr.draw(inside, formNames, 0, inside.W()-formNames, true)
	y := 1
	for _, l := range says {
		inside.Spans(0, y, inside.W(), l...)
		y++
	}
	drawFieldHelp(inside, y+1, help)
}

// says is what is wrong with the expression, or what it says of the step at the cursor.
func (f *searchForm) says(w int) []dialogLine {
	name, text, role := "", "for example prefill_tokens > 4096 && kv.usage > 0.9", theme.RoleDim
	if expr := f.expr.String(); expr != "" {
		if _, err := query.Compile(expr); err != nil {
			name, text, role = "not yet", strings.TrimPrefix(err.Error(), "expression "), theme.RoleBad
		} else {
			name, text, role = "here", f.here(expr), theme.RoleText
		}
	}
	var lines []dialogLine
	for i, l := range wrap(text, max(8, w)) {
		if i > 0 {
			name = ""
		}
		lines = append(lines, dialogLine{{S: pad(name, formNames), Role: theme.RoleDim}, {S: l, Role: role}})
	}
	return lines
}

// here says whether the step at the cursor matches.
func (f *searchForm) here(expr string) string {
	frame := f.board.shown.main
	if f.board.shown.cursor != nil {
		frame = f.board.shown.cursor
	}
	answer, why := holdsNow(expr, frame)
	if frame == nil || !frame.Now.Known {
		return "no step to try it on"
	}
	step := "step " + unit.Count(frame.Now.StepIndex)
	switch answer {
	case query.Yes:
		return step + " matches"
	case query.No:
		return step + " does not match"
	}
	return step + ": not known: " + why
}
