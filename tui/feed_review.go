package tui

import (
	"context"

	"opprof/engine/search"
)

// searchWant asks how a search stands, and where its matches are: around the cursor, in the columns of the picture and in those of the overview.
type searchWant struct {
	expr, engine string
	cursorNS     int64
	fromNS       int64 // of the overview
	bucketNS     int64
	columns      int
}

// found is what a search has found until now.
type found struct {
	want     searchWant
	search   *search.Search
	counts   search.Counts
	done     bool
	rank     int64   // matches up to the cursor's step
	at       bool    // the cursor's step is one of them
	exact    bool    // rank is known
	marks    []int64 // in the columns of the picture
	overview []int64 // in the columns of the overview
	err      error   // why there is no more
}

// fetchReview asks for the search and the notes. Neither keeps a picture from being shown.
func fetchReview(ctx context.Context, source Source, w want, p *picture) {
	if from, ok := source.(SearchSource); ok && w.search != nil {
		p.found = look(ctx, from, w.search, p)
	}
	if from, ok := source.(NoteSource); ok && w.notes {
		p.notes, p.notesErr = from.Notes(ctx)
	}
}

func look(ctx context.Context, source SearchSource, w *searchWant, p *picture) *found {
	f := &found{want: *w}
	f.search, f.err = source.Search(ctx, w.expr, w.engine)
	if f.search == nil {
		return f
	}
	f.counts, f.done = f.search.Counts()
	if w.cursorNS != 0 {
		before, exact1, err1 := f.search.Rank(ctx, w.cursorNS-1)
		rank, exact2, err2 := f.search.Rank(ctx, w.cursorNS)
		f.rank, f.at, f.exact = rank, rank > before, exact1 && exact2 && err1 == nil && err2 == nil
	}
	if m := p.main; m != nil {
		f.marks = f.search.Marks(m.FromNS, m.BucketNS, len(m.Columns))
	}
	f.overview = f.search.Marks(w.fromNS, w.bucketNS, w.columns)
	return f
}
