package search

import (
	"opprof/engine/index"
	"opprof/engine/query"
	"opprof/engine/record"
	"opprof/engine/store"
)

// cell is the matches of a stretch of one engine's steps. Stretches without any have none.
type cell struct {
	engine          string
	firstNS, lastNS int64 // of its matches
	matches         int64
	hits            []hit        // in the order of the stream; nil where too many are kept already
	block           *index.Block // where they are read again; nil for what is not indexed
}

type hit struct{ atNS, step int64 }

// taker asks steps and collects a cell.
type taker struct {
	query *query.Query
	told  func(*record.Step, store.Place) // of each match; nil for nobody
	cell
	counts Counts
}

// take asks one step.
func (t *taker) take(s *record.Step, p store.Place) {
	t.counts.Steps++
	var period *int64
	if p.PeriodNS >= 0 {
		period = &p.PeriodNS
	}
	switch t.query.Ask(s, period) {
	case query.Unknown:
		t.counts.Unknown++
		return
	case query.No:
		return
	}
	t.counts.Matches++
	if t.told != nil {
		t.told(s, p)
	}
	if p.OffAxis {
		t.counts.Unplaced++
		return
	}
	if t.matches == 0 {
		t.firstNS, t.lastNS = p.TimeNS, p.TimeNS
	}
	t.matches++
	t.firstNS, t.lastNS = min(t.firstNS, p.TimeNS), max(t.lastNS, p.TimeNS)
	t.hits = append(t.hits, hit{p.TimeNS, s.StepIndex})
}

// commit adds what was read of a file: steps, and bytes as they lie on disk of which so many were decoded.
func (s *Search) commit(f *file, bytes, read int64, takers ...*taker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add := Counts{Bytes: bytes, Read: read}
	for _, t := range takers {
		add.Steps, add.Matches, add.Unknown = add.Steps+t.counts.Steps, add.Matches+t.counts.Matches, add.Unknown+t.counts.Unknown
		add.Unplaced += t.counts.Unplaced
		if t.matches == 0 {
			continue
		}
		c := t.cell
		if s.hits+len(c.hits) > s.options.kept && (c.block != nil || s.hits > 2*s.options.kept) {
			c.hits = nil
		}
		s.hits += len(c.hits)
		f.cells = append(f.cells, c)
	}
	for _, c := range []*Counts{&s.counts, &f.counts} {
		c.Steps, c.Matches, c.Unknown, c.Unplaced = c.Steps+add.Steps, c.Matches+add.Matches, c.Unknown+add.Unknown, c.Unplaced+add.Unplaced
		c.Bytes, c.Read = c.Bytes+add.Bytes, c.Read+add.Read
	}
}
