package tui

import (
	"cmp"
	"slices"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/notes"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/keys"
)

// remarks are the bookmarks and notes of a run, as a board shows them.
type remarks struct {
	list    *notes.List // nil until the next answer
	known   []notes.Note
	err     error
	moments []int64     // of those that have a place on the time axis
	gone    *notes.Note // deleted last
}

// times are the moments of the bookmarks.
func (r *remarks) times() []int64 { return r.moments }

// takeNotes shows the notes as they stand.
func (b *board) takeNotes(w want, p picture) {
	if !w.notes {
		return
	}
	r := &b.remarks
	r.err = p.notesErr
	if p.notes == nil {
		p.notes = &notes.List{}
	}
	var moments []int64
	for i := range p.notes.Notes {
		if n := &p.notes.Notes[i]; n.AtNS != 0 && (b.engine == "" || n.Engine == b.engine) {
			moments = append(moments, n.AtNS)
		}
	}
	if !slices.Equal(moments, r.moments) {
		b.serial++
	}
	r.list, r.known, r.moments = p.notes, p.notes.Notes, moments
}

// noteKeys acts on the keys of bookmarks.
func (b *board) noteKeys(id keys.ID) (cmd tea.Cmd, ok bool) {
	if id != keys.Bookmark && id != keys.Notes {
		return nil, false
	}
	source, can := b.source.(NoteSource)
	switch {
	case !can:
		return notice("bookmarks: this run cannot keep any"), true
	case id == keys.Notes:
		return b.raiseDialog(&notesDialog{board: b, source: source}), true
	}
	n, ok := b.noteHere()
	if !ok {
		return notice("bookmark: there is no step at the cursor"), true
	}
	return b.raise(b.notePrompt(source, n)), true
}

// noteHere is the note of the step at the cursor: the one that there is, or a new one.
func (b *board) noteHere() (n notes.Note, ok bool) {
	in := b.input()
	if in == nil || !in.Now.Known {
		return n, false
	}
	step := in.Now.StepIndex
	n = notes.Note{Engine: b.engineHere(), Step: &step, AtNS: in.Now.TimeNS}
	for _, old := range b.remarks.known {
		if old.Step != nil && *old.Step == step && old.Engine == n.Engine && old.AtNS == n.AtNS {
			return old, true
		}
	}
	return n, true
}

// engineHere is the engine of the step at the cursor.
func (b *board) engineHere() string {
	frame := cmp.Or(b.shown.cursor, b.shown.main)
	i := slices.IndexFunc(frame.Engines, func(e store.Engine) bool {
		return (b.engine == "" || e.ID == b.engine) && e.Now.Known && e.Now.TimeNS == frame.Now.TimeNS
	})
	if i < 0 {
		return b.engine
	}
	return frame.Engines[i].ID
}

// notePrompt asks for the text of a note.
func (b *board) notePrompt(source NoteSource, n notes.Note) *prompt {
	q := &prompt{label: "note on " + noteName(n) + " ", text: n.Text, most: notes.TextMax, blank: true, hint: "enter keeps it, with a text or without   esc closes"}
	q.accept = func(text string) (tea.Cmd, error) {
		n.Text = text
		what := "bookmark"
		if n.Text != "" {
			what = "note"
		}
		return b.keep(source, n, what+" kept: "+noteName(n)), nil
	}
	return q
}

// noteName says what a note is about.
func noteName(n notes.Note) string {
	if n.Step == nil {
		return "the run"
	}
	return "step " + unit.Count(*n.Step)
}

// noteMsg is what came of writing a note.
type noteMsg struct {
	text string
	gone *notes.Note // the note that was deleted
}

func (b *board) keep(source NoteSource, n notes.Note, said string) tea.Cmd {
	ctx := b.ctx
	return func() tea.Msg {
		_, where, err := source.KeepNote(ctx, n)
		switch {
		case err != nil:
			return noteMsg{text: err.Error()}
		case where != "":
			said += "; the run's folder cannot be written: it lies in " + where
		}
		return noteMsg{text: said}
	}
}

func (b *board) drop(source NoteSource, n notes.Note) tea.Cmd {
	ctx := b.ctx
	return func() tea.Msg {
		if err := source.DropNote(ctx, n); err != nil {
			return noteMsg{text: err.Error()}
		}
		return noteMsg{text: "deleted: " + noteName(n) + "; u brings it back", gone: &n}
	}
}

// receiveNote takes what came of writing a note.
func (b *board) receiveNote(msg tea.Msg) (cmd tea.Cmd, ok bool) {
	m, ok := msg.(noteMsg)
	if !ok {
		return nil, false
	}
	if m.gone != nil {
		b.remarks.gone = m.gone
	}
	b.remarks.list = nil // ask again
	return notice(m.text), true
}

// goToNote goes to the step of a note.
func (b *board) goToNote(n notes.Note) tea.Cmd {
	switch {
	case n.Step == nil:
		return notice("the note is about the whole run")
	case n.AtNS != 0:
		return func() tea.Msg { return foundMsg{atNS: n.AtNS, ok: true, text: noteName(n) + noteText(n)} }
	}
	return b.toStep(*n.Step)
}

func noteText(n notes.Note) string {
	if n.Text == "" {
		return ""
	}
	return ": " + n.Text
}
