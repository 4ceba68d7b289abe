package session

import (
	"fmt"
	"slices"
	"sync/atomic"

	"opprof/engine/alert"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/engine/tail"
	"opprof/engine/unit"
)

// notes passes lines on to the store and keeps what a Description needs of them. It belongs to the reading goroutine.
type notes struct {
	store           *store.Store
	watch           *alert.Watch
	header          *record.Header // the first one
	firstNS, lastNS int64
	offsets         []offset // by stream
	footers         []bool   // by stream
	restarts        []string
	replaced        func(stream int) // told of a restart

	skipped  *archive     // the next step is the first of a stream whose beginning is in this archive
	recentNS atomic.Int64 // completion of the first step read of such streams, the latest one; 0 when all is read whole
}

// offset turns a stream's monotonic clock into wall time: the difference at its first step.
type offset struct {
	ns    int64
	known bool
}

func newNotes(s *store.Store, w *alert.Watch, replaced func(int)) *notes {
	return &notes{store: s, watch: w, replaced: replaced}
}

func (n *notes) grow(stream int) {
	for len(n.offsets) <= stream {
		n.offsets = append(n.offsets, offset{})
		n.footers = append(n.footers, false)
	}
}

// Line implements tail.Sink.
func (n *notes) Line(stream int, l *record.Line) {
	n.grow(stream)
	switch l.Kind {
	case record.KindHeader:
		n.footers[stream] = false
		n.watch.Header(stream, &l.Header)
		if n.header == nil {
			h := l.Header
			h.ContextEdges, h.ChunkEdges, h.ChunkTailEdges = slices.Clone(h.ContextEdges), slices.Clone(h.ChunkEdges), slices.Clone(h.ChunkTailEdges)
			n.header = &h
		}
	case record.KindFooter:
		n.footers[stream] = true
	case record.KindStep:
		n.step(stream, &l.Step)
	case record.KindBad:
		n.watch.Bad(stream)
	}
	n.store.Line(stream, l)
}

func (n *notes) step(stream int, s *record.Step) {
	o := &n.offsets[stream]
	if !o.known {
		*o = offset{s.SubmitWallNS - s.SubmitMonoNS, true}
		if a := n.skipped; a != nil {
			var h *record.Header
			if o.ns, h = a.opening(s); h != nil {
				n.watch.Header(stream, h)
			}
			n.store.Align(s.EngineID, o.ns)
			n.recentNS.Store(max(n.recentNS.Load(), s.CompleteMonoNS+o.ns))
			n.skipped = nil
		}
	}
	at := s.CompleteMonoNS + o.ns
	if n.firstNS == 0 || at < n.firstNS {
		n.firstNS = at
	}
	n.lastNS = max(n.lastNS, at)
	n.watch.Step(stream, s, at)
}

// Restart implements tail.Sink.
func (n *notes) Restart(stream int, why string) {
	n.grow(stream)
	n.offsets[stream] = offset{}
	n.footers[stream] = false
	if len(n.restarts) < restartsKept {
		n.restarts = append(n.restarts, why)
	}
	n.replaced(stream)
	n.watch.Restart(stream)
	n.store.Restart(stream, why)
}

// restartsKept bounds the sentences about restarted streams.
const restartsKept = 8

// published is what the reading goroutine knew after its last look at the files.
type published struct {
	rundir.Description
	statuses []tail.Status
	footers  []bool // by stream
	restarts []string
}

// Run describes what is open, as of the last look at its files; what is indexed beside it is as of now. It does not block.
func (s *Session) Run() rundir.Description {
	p := s.describe.Load()
	d := p.Description
	s.past.describe(&d)
	d.Streams = make([]rundir.Stream, len(p.statuses))
	d.Problems = slices.Clone(d.Problems)
	for i := range p.statuses {
		d.Streams[i] = describeStream(&p.statuses[i])
		s.past.complete(&d.Streams[i], &p.statuses[i])
		d.Problems = append(d.Problems, s.problems(&d.Streams[i], i < len(p.footers) && p.footers[i])...)
	}
	d.Problems = append(append(d.Problems, p.restarts...), s.past.problems()...)
	return d
}

// publish makes the description of what is known now.
func (s *Session) publish() {
	p := published{Description: s.run.Describe(), statuses: s.tailer.Streams(), footers: slices.Clone(s.notes.footers), restarts: slices.Clone(s.notes.restarts)}
	for i := range p.statuses {
		s.store.Name(i, p.statuses[i].Path)
	}
	d := &p.Description
	d.Kind, d.AsOfNS = s.options.Kind, s.asOfNS
	if s.options.Kind != KindFinished {
		d.Traces = s.traces()
	}
	if h := s.notes.header; h != nil {
		applyHeader(d, h)
	}
	d.FirstNS, d.LastNS = s.notes.firstNS, s.notes.lastNS
	if err := s.tailer.Progress().Err; err != nil {
		d.Unlisted = err.Error()
		d.Problems = append(d.Problems, "cannot list the run's streams: "+d.Unlisted)
	}
	if len(p.statuses) == 0 && len(s.run.Streams) == 0 {
		d.Problems = append(d.Problems, noStreams(s.options.Kind, len(d.Traces)))
	}
	if s.options.Kind == KindLive {
		if text := s.disk.problem(p.statuses); text != "" {
			d.Problems = append(d.Problems, text)
		}
	}
	var nowNS int64
	if s.options.Kind != KindFinished {
		nowNS = s.options.Now().UnixNano()
	}
	s.watch.Publish(nowNS)
	s.describe.Store(&p)
	s.alignLog()
}

// describe adds what the beginnings of long streams say.
func (p *past) describe(d *rundir.Description) {
	for _, a := range p.list() {
		_, parts, _, _ := a.view()
		for i := range parts {
			if h := parts[i].Header; h != nil && d.GraphMode == "" {
				applyHeader(d, h)
			}
			if first := parts[i].Overview.Run().Counts.FirstNS; first != 0 && (d.FirstNS == 0 || first < d.FirstNS) {
				d.FirstNS = first
			}
		}
	}
}

// applyHeader takes what a stream's header says; it was written by the server itself and wins over the manifest,
// which alone knows the name that the model is served by.
func applyHeader(d *rundir.Description, h *record.Header) {
	d.Serves(h.Model)
	d.VLLMVersion, d.PatchHash = h.VLLMVersion, h.PatchHash
	d.TensorParallel, d.DataParallel, d.PipeParallel, d.ExpertParallel = h.TensorParallel, h.DataParallel, h.PipelineParallel, h.ExpertParallel
	d.GraphMode = h.GraphMode
	caching := h.PrefixCaching
	d.PrefixCaching = &caching
}

func describeStream(st *tail.Status) rundir.Stream {
	d := rundir.Stream{
		Path: st.Path, Bytes: st.Size, ReadBytes: st.Offset, Lines: st.Lines, BadLines: st.Bad,
		FallbackShare: st.Decode.FallbackShare(), TornTail: st.Torn, FirstBad: st.FirstBad, Gone: st.Gone, Restarts: st.Restarts,
	}
	if st.Err != nil {
		d.Error = st.Err.Error()
	}
	return d
}

// problems says in sentences what is wrong with a stream.
func (s *Session) problems(st *rundir.Stream, footer bool) []string {
	var out []string
	finished := s.options.Kind == KindFinished
	switch {
	case st.Error != "" && finished:
		out = append(out, st.Error)
	case st.Error != "":
		out = append(out, st.Error+"; trying again")
	}
	if st.BadLines > 0 {
		out = append(out, fmt.Sprintf("%s: left out: %d of %s that could not be read; the first: %s", st.Path, st.BadLines, unit.Counted(st.Lines, "line"), st.FirstBad))
	}
	if st.Gone {
		out = append(out, st.Path+": the file was deleted; what was read stays")
	}
	if !finished || s.asOfNS != 0 || st.Lines == 0 {
		return out
	}
	if st.TornTail {
		out = append(out, st.Path+": the last line is cut off; it is left out")
	}
	if !footer {
		out = append(out, st.Path+": no footer: the server was killed or is still running")
	}
	return out
}

func noStreams(kind string, traces int) string {
	switch {
	case kind != KindFinished:
		return "no Layer-1 stream yet: waiting for the server to write one"
	case traces > 0:
		return "no Layer-1 stream: only traces are here"
	}
	return "no Layer-1 stream"
}
