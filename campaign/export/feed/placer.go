package feed

import (
	"strings"

	"opprof/engine/record"
	"opprof/engine/store"
)

// Placer says whose a line is and where a step lies on the time axis, as engine/store does: a stream has a sequence, which begins where that of its
// engine stands. Not for concurrent use.
type Placer struct {
	engines map[string]*engine
	streams []stretch
}

// engine is where the steps of an engine stand, over all streams.
type engine struct {
	id       string
	stream   int // that gave the newest step
	sequence store.Sequence
}

// stretch is a stream as far as it was read.
type stretch struct {
	engine   *engine // of the newest line; nil before one names it
	sequence store.Sequence
}

// NewPlacer returns a Placer that has seen nothing.
func NewPlacer() *Placer { return &Placer{engines: map[string]*engine{}} }

// Place takes the next line of a stream. The engine is that of the line, or of the line before it for one that names none; "" before any did.
func (p *Placer) Place(stream int, l *record.Line) (id string, place store.Place) {
	s := p.stream(stream)
	switch l.Kind {
	case record.KindStep:
		e := p.follow(s, stream, l.Step.EngineID)
		if s.sequence == (store.Sequence{}) {
			s.sequence = e.sequence.Join(&l.Step)
		}
		place = s.sequence.Next(&l.Step)
		if e.stream == stream || s.sequence.LastCompleteNS >= e.sequence.LastCompleteNS {
			e.stream, e.sequence = stream, s.sequence
		}
	case record.KindHeader:
		p.follow(s, stream, l.Header.EngineID)
	case record.KindProfile:
		p.follow(s, stream, l.Profile.EngineID)
	case record.KindDummyStep:
		p.follow(s, stream, l.Dummy.EngineID)
	case record.KindFooter:
		p.follow(s, stream, l.Footer.EngineID)
	}
	if s.engine != nil {
		id = s.engine.id
	}
	return id, place
}

// Restart says that what follows in a stream does not continue what came before.
func (p *Placer) Restart(stream int) { p.stream(stream).sequence.Break() }

func (p *Placer) stream(number int) *stretch {
	for len(p.streams) <= number {
		p.streams = append(p.streams, stretch{})
	}
	return &p.streams[number]
}

// follow makes the engine of that id the stream's.
func (p *Placer) follow(s *stretch, number int, id string) *engine {
	if s.engine != nil && s.engine.id == id {
		return s.engine
	}
	e := p.engines[id]
	if e == nil {
		id = strings.Clone(id)
		e = &engine{id: id, stream: number}
		p.engines[id] = e
	}
	s.engine, s.sequence = e, store.Sequence{}
	return e
}
