package session

import (
	"context"

	remarks "opprof/engine/notes"
	"opprof/engine/store"
)

// Notes are the bookmarks and notes of the run as they stand.
func (s *Session) Notes(ctx context.Context) (*remarks.List, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	return s.book.Read()
}

// KeepNote writes a note: a new one where it has no id, else the note of that id anew. where says which file keeps it, when that is not
// the run's own.
func (s *Session) KeepNote(_ context.Context, n remarks.Note) (kept remarks.Note, where string, err error) {
	if n.ID == "" {
		kept, where, err = s.book.Add(n)
	} else {
		kept = n
		where, err = s.book.Put(n)
	}
	if s.book.Inside(where) {
		where = ""
	}
	return kept, where, err
}

// DropNote deletes a note; keeping it again brings it back.
func (s *Session) DropNote(_ context.Context, n remarks.Note) error { return s.book.Delete(n) }

// StepOf is the engine and the completion of a step; engine "" takes the first that has it. ok is false when none has.
func (s *Session) StepOf(ctx context.Context, engine string, step int64) (id string, atNS int64, ok bool, err error) {
	f, err := s.Frame(ctx, store.Query{Columns: 1})
	if err != nil {
		return "", 0, false, err
	}
	for i := range f.Engines {
		if id := f.Engines[i].ID; engine == "" || id == engine {
			if atNS, ok, err = s.AtStep(ctx, id, step); ok || err != nil {
				return id, atNS, ok, err
			}
		}
	}
	return "", 0, false, nil
}
