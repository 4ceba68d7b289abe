package openmetrics

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"opprof/campaign/export/feed"
	"opprof/engine/record"
	"opprof/engine/store"
)

// State is what the lines of a run say so far. It is a tail.Sink: one goroutine adds, any goroutine writes.
type State struct {
	model string

	mu      sync.Mutex
	placer  *feed.Placer
	engines []*engine // by label
	stray   losses    // of lines before any names an engine
}

// engine is one label value: a data-parallel rank, over all processes that served as it, so that counters only grow.
type engine struct {
	label   string
	id      string // of the newest process
	counts  store.Counts
	losses  losses
	periods buckets
	tokens  buckets
	newest  record.Step
	atNS    int64
	windows int64
	dummies int64
	header  *record.Header
}

type losses struct{ bad, torn, unknown int64 }

// maxEngines bounds the labels: a damaged file may name an engine a line.
const maxEngines = 1024

// New returns a State. The model is the name that it is served by, the label of all metrics; "" where only the
// headers name one.
func New(model string) *State { return &State{model: model, placer: feed.NewPlacer()} }

// Line implements tail.Sink.
func (s *State) Line(stream int, l *record.Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, place := s.placer.Place(max(stream, 0), l)
	lost := &s.stray
	var e *engine
	if id != "" {
		if e = s.engine(id); e == nil {
			return
		}
		lost = &e.losses
	}
	switch l.Kind {
	case record.KindStep:
		e.step(&l.Step, place)
	case record.KindHeader:
		h := l.Header
		e.header = &h
	case record.KindProfile:
		if l.Profile.Action == record.ActionStart && (l.Profile.OK == nil || *l.Profile.OK) {
			e.windows++
		}
	case record.KindDummyStep:
		e.dummies++
	case record.KindBad:
		if l.Err != nil && l.Err.TornTail {
			lost.torn++
		} else {
			lost.bad++
		}
	case record.KindUnknown:
		lost.unknown++
	}
}

// Restart implements tail.Sink.
func (s *State) Restart(stream int, _ string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.placer.Restart(max(stream, 0))
}

func (e *engine) step(s *record.Step, p store.Place) {
	e.counts.Add(s, p)
	if p.PeriodNS != store.UnknownNS {
		e.periods.add(p.PeriodNS)
	}
	e.tokens.add(s.PrefillTokens + s.DecodeTokens)
	if p.TimeNS >= e.atNS {
		id := e.newest.EngineID
		e.newest, e.atNS = *s, p.TimeNS
		if id != s.EngineID {
			e.id = strings.Clone(s.EngineID)
		}
	}
}

// engine finds the engine of a label, made when it is new; nil when the run has too many.
func (s *State) engine(id string) *engine {
	label := labelOf(id)
	at, found := slices.BinarySearchFunc(s.engines, label, func(e *engine, label string) int { return strings.Compare(e.label, label) })
	if !found {
		if len(s.engines) == maxEngines {
			return nil
		}
		s.engines = slices.Insert(s.engines, at, &engine{label: strings.Clone(label), id: strings.Clone(id), periods: newBuckets(periodEdges()), tokens: newBuckets(tokenEdges())})
	}
	return s.engines[at]
}

// labelOf is vLLM's label of an engine, its data-parallel rank, read from an id such as dp1-pid1234; the id itself where it has another form.
func labelOf(id string) string {
	var dp int
	if _, err := fmt.Sscanf(id, "dp%d-", &dp); err != nil || dp < 0 {
		return id
	}
	return fmt.Sprint(dp)
}
