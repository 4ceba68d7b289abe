package session

import (
	"sync"

	"opprof/engine/alert"
	"opprof/engine/store"
)

// oldWarnings are those of the indexed parts of long streams.
type oldWarnings struct {
	mu   sync.Mutex
	list []alert.Warning
}

// judgedColumns is how finely an indexed part is judged.
const judgedColumns = 2000

// keepPast takes what the index of an archive tells. It is called from the goroutine that builds the index.
func (s *Session) keepPast(p store.Part) {
	s.store.Past(p)
	found := alert.Columns(store.Assemble(1, false, []store.Part{p}).Frame(store.Query{Columns: judgedColumns}), s.limits)
	s.old.mu.Lock()
	defer s.old.mu.Unlock()
	s.old.list = alert.Merge(s.old.list, found)
}

// Warnings are what is or was wrong, the active ones first. Nothing is active in a finished run.
func (s *Session) Warnings() []alert.Warning {
	s.old.mu.Lock()
	old := s.old.list
	s.old.mu.Unlock()
	parts := [][]alert.Warning{old, s.watch.Warnings()}
	if s.options.Kind != KindFinished {
		now := store.Query{SpanNS: store.RateSpanNS, Columns: 1, NowNS: s.options.Now().UnixNano()}
		parts = append(parts, alert.Standing(s.store.Snapshot().Frame(now), s.limits))
	}
	all := alert.Merge(parts...)
	if s.options.Kind == KindFinished {
		for i := range all {
			all[i].Active = false
		}
	}
	return all
}
