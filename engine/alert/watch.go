package alert

import (
	"sync/atomic"

	"opprof/engine/record"
	"opprof/engine/store"
)

// Watch judges steps as they are read. Step, Bad and Restart belong to the reading goroutine; Warnings may be called from any.
type Watch struct {
	limits  Thresholds
	streams []*stream
	found   map[subject]*Warning
	changed bool
	shown   atomic.Pointer[[]Warning]
}

// subject is what a warning is about.
type subject struct {
	rule   Rule
	engine string
}

// stream is what must be remembered of one file.
type stream struct {
	engine string
	seq    store.Sequence
	lastNS int64 // time of its newest step
	open   window
	active [Rules]bool // at its newest step or in its newest whole window
	shown  [Rules]bool // active as of the last Publish

	graphsOff bool         // its server was told to run without CUDA graphs
	atNS      [Rules]int64 // of a rule that is judged over a window: its newest step that speaks against the rule
}

// window collects what is judged over WindowNS.
type window struct {
	at                  int64 // time / WindowNS
	preemptions         int64
	decodes, misses     int64 // decode-only steps of a known mode, those of mode NONE
	bucket, padding     int64 // tokens
	graphs              int64 // steps of a known bucket
	preemptionsReported bool
}

// New returns a watch over nothing yet.
func New(t Thresholds) *Watch {
	w := &Watch{limits: t, found: map[subject]*Warning{}}
	w.shown.Store(&[]Warning{})
	return w
}

// Warnings are those found by the last Publish, the active ones first. They must not be changed.
func (w *Watch) Warnings() []Warning { return *w.shown.Load() }

// Publish makes what was found so far visible to Warnings. What is judged over a window holds no longer once nothing spoke for it for
// WindowNS before nowNS, ns since 1970: a server that idles has no newer window. With 0 the newest step is now.
func (w *Watch) Publish(nowNS int64) {
	for _, s := range w.streams {
		if now := s.holds(nowNS); now != s.shown {
			s.shown, w.changed = now, true
		}
	}
	if !w.changed {
		return
	}
	w.changed = false
	list := make([]Warning, 0, len(w.found))
	for k, f := range w.found {
		warning := *f
		for _, s := range w.streams {
			warning.Active = warning.Active || s.engine == k.engine && s.shown[k.rule]
		}
		list = append(list, warning)
	}
	list = Merge(list)
	w.shown.Store(&list)
}

// holds are the rules that are broken at a time.
func (s *stream) holds(nowNS int64) [Rules]bool {
	now := s.active
	for _, r := range []Rule{Thrash, GraphMisses, Padding} {
		now[r] = now[r] && (nowNS == 0 || nowNS-s.atNS[r] < WindowNS)
	}
	return now
}

func (w *Watch) stream(i int) *stream {
	for len(w.streams) <= i {
		w.streams = append(w.streams, &stream{})
	}
	return w.streams[i]
}

// Restart says that the next step of a stream does not continue the one before.
func (w *Watch) Restart(i int) { w.stream(i).seq.Break() }

// Header tells how the server of a stream was started: one that was told to run without CUDA graphs (cudagraph_mode NONE, as by
// --enforce-eager) misses none.
func (w *Watch) Header(i int, h *record.Header) {
	w.stream(i).graphsOff = h.GraphMode == record.GraphNone.String()
}

// Bad counts a line that could not be read.
func (w *Watch) Bad(i int) {
	s := w.stream(i)
	w.report(s, BadLines, s.lastNS, 1, 0)
}

// Step judges the next step of a stream, which completed at a time in ns since 1970.
func (w *Watch) Step(i int, step *record.Step, atNS int64) {
	s := w.stream(i)
	p := s.seq.Next(step)
	s.engine = step.EngineID
	now := [Rules]bool{GraphMisses: s.active[GraphMisses], Padding: s.active[Padding], Thrash: s.active[Thrash]}
	note := func(r Rule, count int64, worst float64) {
		now[r] = true
		w.report(s, r, atNS, count, worst)
	}
	if step.DroppedBefore > 0 {
		note(Dropped, step.DroppedBefore, 0)
	}
	if p.Missing || p.Backward {
		note(Gaps, 1, 0)
	}
	if held := max(p.PeriodNS, p.PauseNS); w.limits.StallNS > 0 && held >= w.limits.StallNS {
		note(Stall, 1, float64(held))
	}
	if limit := w.limits.KVUsage; limit > 0 && step.KV.Usage >= limit {
		note(KVFull, 1, step.KV.Usage)
	}
	if q := &step.Queues; q.Running == 0 && q.Deferred > 0 {
		note(Blocked, 1, float64(q.Deferred))
	}
	if now != s.active {
		s.active = now
		w.changed = true
	}
	w.collect(s, step, atNS)
	s.lastNS = atNS
}

// collect adds a step to the window that it falls into, and judges the window before when a new one begins.
func (w *Watch) collect(s *stream, step *record.Step, atNS int64) {
	if at := atNS / WindowNS; at != s.open.at {
		w.judge(s)
		s.open = window{at: at}
	}
	o := &s.open
	o.preemptions += step.Preemptions
	if step.Has&record.HasGraph != 0 {
		if step.PrefillRequests == 0 && step.DecodeBatchSize > 0 {
			o.decodes++
			if step.Graph.Mode == record.GraphNone {
				o.misses++
				s.atNS[GraphMisses] = atNS
			}
		}
		o.graphs++
		o.bucket += step.Graph.BucketTokens
		o.padding += step.Graph.PaddingTokens
		if step.Graph.PaddingTokens > 0 {
			s.atNS[Padding] = atNS
		}
	}
	if step.Preemptions > 0 {
		s.atNS[Thrash] = atNS
	}
	if limit := w.limits.Preemptions; limit > 0 && o.preemptions >= limit && step.Preemptions > 0 {
		count := step.Preemptions
		if !o.preemptionsReported {
			count, o.preemptionsReported = o.preemptions, true
		}
		s.active[Thrash] = true
		w.report(s, Thrash, atNS, count, float64(o.preemptions))
	}
}

// judge looks at a whole window.
func (w *Watch) judge(s *stream) {
	o := &s.open
	s.active[Thrash] = o.preemptionsReported
	s.active[GraphMisses], s.active[Padding] = false, false
	atNS := min((o.at+1)*WindowNS, s.lastNS)
	if share := ratio(o.misses, o.decodes); !s.graphsOff && w.limits.GraphMisses > 0 && o.decodes >= leastSteps && share >= w.limits.GraphMisses {
		s.active[GraphMisses] = true
		w.report(s, GraphMisses, atNS, o.misses, share)
	}
	if share := ratio(o.padding, o.bucket); w.limits.Padding > 0 && o.graphs >= leastSteps && share >= w.limits.Padding {
		s.active[Padding] = true
		w.report(s, Padding, atNS, 1, share)
	}
	w.changed = true
}

func ratio(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func (w *Watch) report(s *stream, r Rule, atNS, count int64, worst float64) {
	w.changed = true
	k := subject{r, s.engine}
	f := w.found[k]
	if f == nil {
		f = &Warning{Rule: r, Engine: s.engine, Unit: r.Unit()}
		w.found[k] = f
	}
	f.join(Warning{FirstNS: atNS, LastNS: atNS, Count: count, Worst: worst})
}
