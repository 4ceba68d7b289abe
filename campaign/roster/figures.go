package roster

import (
	"context"
	"errors"
	"fmt"
	"os"

	"opprof/engine/frames"
	"opprof/engine/index"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/engine/tail"
)

// wholeBytes is up to which size streams without an index are read as a whole: a longer one would hold up the list, and is only sampled
// until it has been opened once.
const wholeBytes = 256 << 20

// gathering adds up what the streams of a run say.
type gathering struct {
	rollup  store.Rollup
	loss    store.Loss
	engines map[string]bool // whether its footer was seen
	header  *record.Header
	windows int64
	sampled bool
	unread  []string
	unlost  bool // what was lost is not known
}

// read gathers the figures of a run. Only the end of ctx is an error.
func read(ctx context.Context, run *rundir.Run, indexDir string) (*Figures, error) {
	g := &gathering{engines: map[string]bool{}}
	var rest []string // to be read through
	for _, path := range run.Streams {
		_, age, _ := rundir.StreamName(path)
		if age > 0 || partOf(run.Streams, path) {
			rest = append(rest, path)
			continue
		}
		if err := g.direct(ctx, path, indexDir); ctx.Err() != nil {
			return nil, ctx.Err()
		} else if errors.Is(err, frames.ErrNotSeekable) {
			rest = append(rest, path)
		} else if err != nil {
			g.unread = append(g.unread, err.Error())
		}
	}
	if len(rest) > 0 {
		if err := g.through(ctx, rest); err != nil {
			return nil, err
		}
	}
	f := g.figures()
	f.Bytes = size(run.Streams)
	if run.Manifest != nil {
		f.overlay(run.Manifest)
	}
	return f, nil
}

// partOf reports whether a stream has rotated parts, which have to be read in their order.
func partOf(streams []string, path string) bool {
	base, _, _ := rundir.StreamName(path)
	for _, other := range streams {
		if b, _, _ := rundir.StreamName(other); other != path && b == base {
			return true
		}
	}
	return false
}

func size(paths []string) (n int64) {
	for _, p := range paths {
		if st, err := os.Stat(p); err == nil {
			n += st.Size()
		}
	}
	return n
}

// direct gathers one stream by its index, by reading it or by samples.
func (g *gathering) direct(ctx context.Context, path, indexDir string) error {
	f, err := frames.Open(path)
	if err != nil {
		return fmt.Errorf("cannot read stream: %w", err)
	}
	defer f.Close()
	x := saved(path, indexDir, f)
	if x != nil {
		defer x.Close()
	}
	if f.Size() == 0 {
		return fmt.Errorf("%s is empty", path)
	}
	if covered := coveredBytes(x); f.Size()-covered > wholeBytes {
		return g.sample(ctx, f, path)
	}
	b := index.NewBuilder()
	if x != nil {
		if b, err = index.Resume(x); err != nil {
			b = index.NewBuilder()
		}
	}
	if err := b.Extend(ctx, f, f.Size(), nil); errors.Is(err, index.ErrMixed) {
		return g.through(ctx, []string{path})
	} else if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	built := b.Index()
	parts, err := built.Parts(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	lost := built.Loss()
	g.add(&lost)
	g.take(parts)
	return nil
}

// saved is the index of a stream; nil where there is none that holds.
func saved(path, indexDir string, f *frames.File) *index.Index {
	for _, p := range index.Paths(path, indexDir) {
		if x, err := index.Load(p, f, f.Size()); err == nil {
			return x
		}
	}
	return nil
}

func coveredBytes(x *index.Index) int64 {
	if x == nil {
		return 0
	}
	return x.Size()
}

// sample gathers estimates of a long stream.
func (g *gathering) sample(ctx context.Context, f *frames.File, path string) error {
	s, err := index.Probe(ctx, f, f.Size(), index.ProbeCount)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	g.sampled, g.unlost = true, true
	g.take(s.Parts(path))
	return nil
}

func (g *gathering) take(parts []store.Part) {
	for i := range parts {
		p := &parts[i]
		g.engines[p.Engine] = p.Footer != nil
		if g.header == nil {
			g.header = p.Header
		}
		if p.Overview != nil {
			g.rollup.Merge(p.Overview.Run())
		}
		g.add(&p.Loss)
		for k := range p.Profiles {
			g.mark(&p.Profiles[k])
		}
	}
}

func (g *gathering) mark(p *record.Profile) {
	if p.Action == record.ActionStart && (p.OK == nil || *p.OK) {
		g.windows++
	}
}

func (g *gathering) add(l *store.Loss) {
	g.loss.Dropped += l.Dropped
	g.loss.Gaps += l.Gaps
	g.loss.Backward += l.Backward
	g.loss.BadLines += l.BadLines
}

// through reads streams line by line, compressed and rotated ones too.
func (g *gathering) through(ctx context.Context, paths []string) error {
	t := tail.New(func() ([]string, error) { return paths, nil }, tail.Options{PassBytes: 32 << 20})
	defer t.Close()
	s := &lines{g: g, tracks: map[track]*store.Sequence{}}
	for {
		progress, err := t.Poll(ctx, s)
		if err != nil {
			return err
		}
		if !progress.More {
			break
		}
	}
	if err := t.Flush(ctx, s); err != nil {
		return err
	}
	for _, st := range t.Streams() {
		if st.Err != nil {
			g.unread = append(g.unread, st.Err.Error())
		}
	}
	return nil
}

// lines is a tail.Sink that adds steps up.
type lines struct {
	g      *gathering
	tracks map[track]*store.Sequence
}

type track struct {
	stream int
	engine string
}

// Line implements tail.Sink.
func (s *lines) Line(stream int, l *record.Line) {
	switch l.Kind {
	case record.KindStep:
		s.step(stream, &l.Step)
	case record.KindHeader:
		if s.g.header == nil {
			h := l.Header
			s.g.header = &h
		}
	case record.KindProfile:
		s.g.mark(&l.Profile)
	case record.KindFooter:
		s.g.engines[l.Footer.EngineID] = true
	case record.KindBad:
		if l.Err == nil || !l.Err.TornTail {
			s.g.loss.BadLines++
		}
	}
}

func (s *lines) step(stream int, step *record.Step) {
	key := track{stream, step.EngineID}
	q := s.tracks[key]
	if q == nil {
		q = &store.Sequence{}
		s.tracks[key] = q
	}
	at := q.Next(step)
	s.g.engines[step.EngineID] = false
	s.g.loss.Dropped += step.DroppedBefore
	if at.Backward {
		s.g.loss.Backward++
	} else if at.Missing {
		s.g.loss.Gaps++
	}
	if !at.OffAxis {
		s.g.rollup.Add(step, at)
	}
}

// Restart implements tail.Sink.
func (s *lines) Restart(stream int, _ string) {
	for key, q := range s.tracks {
		if key.stream == stream {
			q.Break()
		}
	}
}

// figures is what was gathered.
func (g *gathering) figures() *Figures {
	f := &Figures{Engines: int64(len(g.engines)), Sampled: g.sampled, Unread: g.unread, Ended: len(g.engines) > 0, ErrorPct: store.SketchErrorPct}
	for _, footer := range g.engines {
		f.Ended = f.Ended && footer
	}
	if h := g.header; h != nil {
		f.Model, f.VLLM, f.GraphMode = h.Model, h.VLLMVersion, h.GraphMode
		f.TP, f.DP = positive(h.TensorParallel), positive(h.DataParallel)
	}
	if len(g.engines) == 0 {
		return f // there are no records that could tell
	}
	if !g.sampled {
		f.Windows = &g.windows
	}
	c := &g.rollup.Counts
	f.Steps = &c.Steps
	if c.Steps == 0 {
		return f
	}
	duration := c.LastNS - c.FirstNS
	f.FirstNS, f.LastNS, f.DurationNS = &c.FirstNS, &c.LastNS, &duration
	decode, told := c.NewDecodeTokens()
	if !told {
		decode = c.DecodeTokens
	}
	f.PrefillTokens, f.DecodeTokens = &c.PrefillTokens, &decode
	if p50, ok := g.rollup.Period.Quantile(50); ok {
		p95, _ := g.rollup.Period.Quantile(95)
		f.P50NS, f.P95NS = &p50, &p95
	}
	if !g.unlost {
		gaps := g.loss.Gaps + g.loss.Backward
		f.Dropped, f.Gaps, f.BadLines = &g.loss.Dropped, &gaps, &g.loss.BadLines
	}
	return f
}

func positive(n int64) *int64 {
	if n <= 0 {
		return nil
	}
	return &n
}

// overlay takes from the manifest what the records do not tell.
func (f *Figures) overlay(m *rundir.Manifest) {
	var o Figures
	o.manifest(m)
	if o.Model != "" {
		f.Model = o.Model // the name that it is served by: records have what was loaded
	}
	if f.VLLM == "" {
		f.VLLM = o.VLLM
	}
	if f.TP == nil {
		f.TP = o.TP
	}
	if f.DP == nil {
		f.DP = o.DP
	}
	if f.GPU = o.GPU; o.Windows != nil && (f.Windows == nil || *o.Windows > *f.Windows) {
		f.Windows = o.Windows
	}
}
