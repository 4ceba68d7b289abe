package tui

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/notes"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/theme"
)

// notesDialog lists bookmarks and notes.
type notesDialog struct {
	board  *board
	source NoteSource
	at     int
	top    int
}

func (d *notesDialog) context() keys.Context { return keys.ContextNotes }
func (d *notesDialog) paste(string)          {}

// selected is the note that has the mark; nil when there is none.
func (d *notesDialog) selected() *notes.Note {
	list := d.board.remarks.known
	d.at = max(0, min(d.at, len(list)-1))
	if len(list) == 0 {
		return nil
	}
	return &list[d.at]
}

func (d *notesDialog) press(k keys.Binding, _ tea.KeyPressMsg) (cmd tea.Cmd, done bool) {
	b, n := d.board, d.selected()
	switch k.ID {
	case keys.Back:
		return nil, true
	case keys.Down:
		d.at++
		return nil, false
	case keys.Up:
		d.at--
		return nil, false
	case keys.Undo:
		if b.remarks.gone == nil {
			return notice("undo: nothing was deleted"), false
		}
		gone := *b.remarks.gone
		b.remarks.gone = nil
		return b.keep(d.source, gone, "back again: "+noteName(gone)), false
	}
	if n == nil {
		return nil, false
	}
	switch k.ID {
	case keys.Accept:
		return b.goToNote(*n), true
	case keys.Edit:
		return b.raise(b.notePrompt(d.source, *n)), false
	case keys.Delete:
		return b.drop(d.source, *n), false
	}
	return nil, false
}

const (
	notesWidth = 100
	notesUsual = 16
)

func (d *notesDialog) draw(g *chart.Grid) {
	list := d.board.remarks.known
	w := min(notesWidth, g.W()-2)
	rows := max(1, min(len(list), g.H()-4))
	right := ""
	if l := d.board.remarks.list; l != nil && l.BadLines > 0 {
		right = strconv.FormatInt(l.BadLines, 10) + " bad lines"
	}
	if n := len(list); n > rows {
		right = strings.TrimSpace(right + "  " + strconv.Itoa(min(d.at, n-1)+1) + " of " + strconv.Itoa(n))
	}
	inside := dialogBox(g, w, rows+2, notesUsual, "bookmarks and notes", right)
	if inside == nil {
		return
	}
	if err := d.board.remarks.err; err != nil && len(list) == 0 {
		inside.Text(0, 0, inside.W(), err.Error(), theme.RoleBad)
		return
	}
	if d.selected() == nil {
		inside.Text(0, 0, inside.W(), "none yet: b bookmarks the step at the cursor", theme.RoleDim)
		return
	}
	d.top = max(0, min(d.top, len(list)-rows))
	d.top = max(min(d.top, d.at), d.at-rows+1)
	for y := range min(rows, inside.H(), len(list)-d.top) {
		d.drawNote(inside.Row(y), &list[d.top+y], d.top+y == d.at)
	}
}

func (d *notesDialog) drawNote(g *chart.Grid, n *notes.Note, here bool) {
	const steps, clocks, engines = 14, 14, 12
	if here {
		g.Set(0, 0, g.Glyphs.Play, theme.RoleKey)
	}
	name := "the run"
	if n.Step != nil {
		name = unit.Count(*n.Step)
	}
	x := 2
	g.Text(x, 0, steps-1, name, theme.RoleAccent)
	x += steps
	if n.AtNS != 0 {
		g.Text(x, 0, clocks-1, unit.Clock(n.AtNS, d.board.zone), theme.RoleText)
	}
	x += clocks
	if d.board.engines() > 1 {
		g.Text(x, 0, engines-1, n.Engine, theme.RoleDim)
		x += engines
	}
	g.Text(x, 0, g.W()-x, n.Text, theme.RoleText)
}
