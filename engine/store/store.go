package store

import (
	"slices"
	"strings"
	"sync"

	"opprof/engine/record"
)

// maxEngines bounds the engines of a store: a crash loop makes a new one with every start, and a damaged file may make one a line.
const maxEngines = 1024

// Options of a Store. The zero value is what a live run uses.
type Options struct {
	RingSteps int // recent steps kept whole per engine, rounded up to whole blocks of 1,024; 0 is RingSteps
}

// Store takes the lines of a run's streams and gives snapshots of what they say. One goroutine adds; any goroutine takes snapshots.
type Store struct {
	ringSteps int

	mu      sync.Mutex
	version uint64
	engines []*engine // by id
	streams []*stream // by number; nil where none was seen
	loss    Loss      // of lines that belong to no engine
	latest  *Snapshot
	scratch *sync.Pool // of *scratch
}

// stream is one file. Its engine is the one of its newest line.
type stream struct {
	name     string
	engine   *engine
	sequence Sequence
	loss     Loss // before its engine is known
}

// New makes an empty store.
func New(o Options) *Store {
	if o.RingSteps <= 0 {
		o.RingSteps = RingSteps
	}
	return &Store{ringSteps: o.RingSteps, scratch: newScratchPool()}
}

// Name says what a stream is called; it is shown as Engine.Stream.
func (s *Store) Name(number int, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.stream(number); st.name != name {
		st.name = name
		s.version++
	}
}

// Line takes the next line of a stream. The line may be reused as soon as it returns.
func (s *Store) Line(number int, l *record.Line) {
	if l.Kind == record.KindBlank {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	number = max(number, 0)
	st := s.stream(number)
	switch l.Kind {
	case record.KindStep:
		s.step(number, st, &l.Step)
	case record.KindHeader:
		if e := s.follow(number, st, l.Header.EngineID); e != nil {
			e.header = cloneHeader(&l.Header)
		}
	case record.KindProfile:
		if e := s.follow(number, st, l.Profile.EngineID); e != nil {
			e.mark(&l.Profile, st.offset(e, l.Profile.WallNS-l.Profile.MonoNS))
		}
	case record.KindDummyStep:
		if e := s.follow(number, st, l.Dummy.EngineID); e != nil {
			e.dummies++
		}
	case record.KindFooter:
		if e := s.follow(number, st, l.Footer.EngineID); e != nil {
			footer := l.Footer
			e.footer = &footer
		}
	case record.KindBad:
		if l.Err != nil && l.Err.TornTail {
			s.lost(st).TornTails++
		} else {
			s.lost(st).BadLines++
		}
	default:
		s.lost(st).Unknown++
	}
}

func (s *Store) step(number int, st *stream, step *record.Step) {
	e := st.engine
	if e == nil || e.id != step.EngineID {
		if e = s.follow(number, st, step.EngineID); e == nil {
			s.loss.Unplaced++
			return
		}
	}
	if st.sequence == (Sequence{}) {
		st.sequence = e.sequence.Join(step)
	}
	e.add(step, st.sequence.Next(step))
	e.version = s.version
	if e.stream == number || st.sequence.LastCompleteNS >= e.sequence.LastCompleteNS {
		e.stream, e.sequence, e.footer = number, st.sequence, nil
	}
}

// Restart says that what follows in the stream does not continue what came before: the file was cut or replaced. The reason is for those
// who report on the file.
func (s *Store) Restart(number int, _ string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	st := s.stream(number)
	st.sequence.Break()
	if e := st.engine; e != nil {
		e.version = s.version
	}
}

// lost is where the losses of a stream are counted.
func (s *Store) lost(st *stream) *Loss {
	if e := st.engine; e != nil {
		e.version = s.version
		return &e.loss
	}
	return &st.loss
}

func (s *Store) stream(number int) *stream {
	number = max(number, 0)
	for len(s.streams) <= number {
		s.streams = append(s.streams, &stream{})
	}
	return s.streams[number]
}

// follow finds the engine of a line and makes it the stream's. It is nil when the run has too many engines.
func (s *Store) follow(number int, st *stream, id string) *engine {
	if st.engine != nil && st.engine.id == id {
		st.engine.version = s.version
		return st.engine
	}
	e := s.engine(id, number)
	if e == nil {
		return nil
	}
	if st.engine != nil {
		st.sequence = Sequence{}
	}
	st.engine = e
	e.loss.add(&st.loss)
	st.loss = Loss{}
	e.version = s.version
	return e
}

// engine is the engine of that id, made when it is new; nil when the run has too many.
func (s *Store) engine(id string, number int) *engine {
	at, found := slices.BinarySearchFunc(s.engines, id, func(e *engine, id string) int { return strings.Compare(e.id, id) })
	if !found {
		if len(s.engines) == maxEngines {
			return nil
		}
		s.engines = slices.Insert(s.engines, at, newEngine(strings.Clone(id), number, s.ringSteps))
	}
	return s.engines[at]
}

func (st *stream) offset(e *engine, markerNS int64) int64 {
	if st.sequence.Started {
		return st.sequence.OffsetNS
	}
	if e.sequence.Started {
		return e.sequence.OffsetNS
	}
	return markerNS
}

// Snapshot is the store as it is now: the last one again if nothing changed.
func (s *Store) Snapshot() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest != nil && s.latest.version == s.version {
		return s.latest
	}
	sn := &Snapshot{version: s.version, scratch: s.scratch, loss: s.loss}
	for _, st := range s.streams {
		sn.loss.add(&st.loss)
	}
	sn.engines = make([]*engineView, len(s.engines))
	for i, e := range s.engines {
		sn.engines[i] = e.snapshot(s.stream(e.stream).name)
	}
	sn.finish()
	s.latest = sn
	return sn
}

func (l *Loss) add(o *Loss) {
	l.Dropped += o.Dropped
	l.BadLines += o.BadLines
	l.Gaps += o.Gaps
	l.Backward += o.Backward
	l.Unknown += o.Unknown
	l.TornTails += o.TornTails
	l.Unplaced += o.Unplaced
}

func cloneHeader(h *record.Header) *record.Header {
	c := *h
	c.ContextEdges, c.ChunkEdges = slices.Clone(h.ContextEdges), slices.Clone(h.ChunkEdges)
	c.ChunkTailEdges = slices.Clone(h.ChunkTailEdges)
	return &c
}
