package tui

import (
	"context"

	"opprof/engine/notes"
	"opprof/engine/search"
)

// SearchSource is a Source whose steps can be searched by an expression. The rules of Source hold for it too.
type SearchSource interface {
	// Search begins a search, or gives the one that runs for the same expression and engine ("" all). It does not wait. Another expression
	// ends the one before; "" ends it and gives nil.
	Search(ctx context.Context, expr, engine string) (*search.Search, error)
}

// NoteSource is a Source that keeps notes about its run. The rules of Source hold for it too.
type NoteSource interface {
	// Notes are the notes as they stand. The list is not to be changed.
	Notes(ctx context.Context) (*notes.List, error)
	// KeepNote writes a note, a new one where it has no id. where names the file when it is not in the run's own folder.
	KeepNote(ctx context.Context, n notes.Note) (kept notes.Note, where string, err error)
	// DropNote deletes a note.
	DropNote(ctx context.Context, n notes.Note) error
}
