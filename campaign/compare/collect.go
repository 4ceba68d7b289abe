package compare

import (
	"opprof/engine/record"
	"opprof/engine/store"
)

// collector sorts the steps of a run into the cells of a Reading. It is a tail.Sink.
type collector struct {
	r       *Reading
	streams []*stream
	places  map[string]*place // by engine
}

// stream is one file of a run with the engine that its last line named.
type stream struct {
	track  *track
	tracks map[string]*track
}

// track follows the steps of one engine in one stream.
type track struct {
	engine   string
	sequence store.Sequence
	window   window
	since    int64 // steps since the server's start, or since the stream's
	place    *place
	before   beside  // what the newest step is to the one behind it
	pending  pending // the newest step, while the one behind it is not known
}

// pending is a step that will be counted.
type pending struct {
	known              bool
	key                Key
	timeNS, ns, tokens int64
}

// place counts the steps of an engine that are compared, over all its streams.
type place struct{ next int64 }

// window is the newest profiler window of an engine, by its markers.
type window struct {
	seen, open  bool
	startNS     int64 // monotonic, as all
	untilNS     int64 // when the call that stopped it returned
	after, stop int64 // steps before its first and its last one
}

func newCollector(r *Reading) *collector { return &collector{r: r, places: map[string]*place{}} }

// Line implements tail.Sink.
func (c *collector) Line(number int, l *record.Line) {
	switch l.Kind {
	case record.KindStep:
		c.step(c.follow(number, l.Step.EngineID), &l.Step)
	case record.KindHeader:
		c.follow(number, l.Header.EngineID).window = window{}
		c.r.addHeader(&l.Header)
	case record.KindProfile:
		c.follow(number, l.Profile.EngineID).window.mark(&l.Profile)
	case record.KindBad:
		if l.Err != nil && l.Err.TornTail {
			c.r.excluded.Torn++
		} else {
			c.r.excluded.BadLines++
		}
	}
}

// Restart implements tail.Sink.
func (c *collector) Restart(number int, _ string) {
	for _, t := range c.stream(number).tracks {
		c.settle(t, false)
		t.sequence.Break()
		t.window, t.since, t.before = window{}, 0, 0
	}
}

func (c *collector) stream(number int) *stream {
	for len(c.streams) <= number {
		c.streams = append(c.streams, &stream{tracks: map[string]*track{}})
	}
	return c.streams[number]
}

func (c *collector) follow(number int, engine string) *track {
	s := c.stream(number)
	if s.track != nil && s.track.engine == engine {
		return s.track
	}
	if t := s.tracks[engine]; t != nil {
		s.track = t
		return t
	}
	p := c.places[engine]
	if p == nil {
		p = &place{}
		c.places[engine] = p
	}
	t := &track{engine: engine, place: p}
	s.tracks[engine], s.track = t, t
	return t
}

// step counts the step before this one, and keeps this one or counts it among what is left out.
func (c *collector) step(t *track, s *record.Step) {
	at := t.sequence.Next(s)
	if at.Backward {
		t.since, t.window, t.before = 0, window{}, 0
	}
	t.since++
	tokens := s.PrefillTokens + s.DecodeTokens
	eager := s.Known(record.HasGraph) && s.Graph.Mode == record.GraphNone && tokens > 0
	c.settle(t, eager && !at.Gap)
	e := &c.r.excluded
	switch {
	case at.OffAxis || !c.r.span.holds(s.StepIndex, at.TimeNS, c.r.originNS):
		e.Outside++
	case t.since <= FirstSteps:
		e.First++
	case tokens <= 0:
		e.Empty++
	case t.window.disturbs(s, at.PeriodNS):
		e.Perturbed++
	case at.PeriodNS == store.UnknownNS:
		e.Unknown++
	default:
		t.pending = pending{true, keyOf(s), at.TimeNS, at.PeriodNS, tokens}
		t.pending.key.Beside = t.before
		if at.PauseNS >= stallNS && !t.window.disturbs(s, at.PeriodNS+at.PauseNS) {
			e.Pauses++
			e.PausedNS += at.PauseNS
		}
	}
	switch t.before = 0; {
	case tokens <= 0:
		t.before = idleBefore
	case eager:
		t.before = eagerBefore
	}
}

// settle counts the pending step of a track, now that the one behind it is known.
func (c *collector) settle(t *track, eager bool) {
	p := t.pending
	if !p.known {
		return
	}
	t.pending.known = false
	if eager {
		p.key.Beside |= eagerAfter
	}
	r := c.r
	if !r.steps.add(p.key, t.place.next, p.ns, p.tokens) {
		r.excluded.Crowded++
		return
	}
	t.place.next++
	if r.firstNS == 0 || p.timeNS < r.firstNS {
		r.firstNS = p.timeNS
	}
	r.lastNS = max(r.lastNS, p.timeNS)
}

// finish counts the steps that nothing stands behind, and parts stalls from steps.
func (c *collector) finish() {
	for _, s := range c.streams {
		for _, t := range s.tracks {
			c.settle(t, false)
		}
	}
	c.r.steps.settle()
	c.r.excluded.Stalls, c.r.excluded.StalledNS = c.r.steps.stalls, c.r.steps.stalledN
}

// mark takes a marker of the profiler. A start that failed opens nothing.
func (w *window) mark(p *record.Profile) {
	switch {
	case p.Action == record.ActionStart && (p.OK == nil || *p.OK):
		*w = window{seen: true, open: true, startNS: p.MonoNS, after: p.AfterStep}
	case p.Action == record.ActionStop && w.open:
		w.open, w.stop, w.untilNS = false, p.AfterStep, max(p.MonoNS, p.ReturnMonoNS)
	}
}

// disturbs reports whether a step shares time with the window: it was running when the profiler began or until it had ended, or is one of
// its steps. The lines of steps that were in flight at a marker follow it. A window that nobody stopped has no end.
func (w *window) disturbs(s *record.Step, periodNS int64) bool {
	switch {
	case !w.seen || s.CompleteMonoNS < w.startNS:
		return false
	case w.open || s.StepIndex > w.after && s.StepIndex <= w.stop:
		return true
	}
	begin := s.SubmitMonoNS
	if periodNS != store.UnknownNS {
		begin = s.CompleteMonoNS - periodNS
	}
	return begin < w.untilNS
}
