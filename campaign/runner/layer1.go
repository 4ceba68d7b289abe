package runner

import (
	"bufio"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"opprof/campaign/plan"
	"opprof/campaign/report"
	"opprof/engine/record"
	"opprof/engine/regular"
	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/engine/vllm"
)

// readRun adds what the folder of a run says after its server has ended.
func (m *measurement) readRun() {
	o := &m.outcome
	found, problems := rundir.ReadManifest(m.dir)
	o.Remarks = append(o.Remarks, problems...)
	if found != nil {
		o.Cache.CompileS, o.Backends, o.Versions = found.Cache.CompileS, found.Backends.Lines, found.Versions
	}
	cold, caches, err := compilation(filepath.Join(m.dir, rundir.ServerLogName))
	o.Cache.Cold = cold
	if m.run.Kind == plan.Measured && !m.to.IsZero() {
		if n := m.Host.Compiled(m.server, caches, m.from, m.to); n > 0 {
			m.void("Triton compiled %s while the load was measured", unit.Counted(n, "kernel"))
		}
	}
	switch {
	case cold && m.run.Kind == plan.Measured:
		m.void("its server compiled with a cold cache")
	case err != nil && !cold:
		m.remark("whether the server compiled is not known: %v", err)
	}
	if m.server.Record {
		m.readLayer1()
	}
}

// compilation says whether a server compiled a graph that was not in the cache, and which folders it kept graphs in, by its log.
func compilation(path string) (cold bool, caches []string, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return false, nil, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		l := vllm.ParseLogLine(in.Text())
		cold = cold || vllm.CompiledCold(l)
		if dir, ok := vllm.CompileCache(l); ok {
			caches = append(caches, filepath.Clean(dir))
		}
	}
	return cold, caches, in.Err()
}

// readLayer1 checks every stream of the run and sums up what the recorder cost.
func (m *measurement) readLayer1() {
	run, err := rundir.Open(m.dir)
	if err != nil || len(run.Streams) == 0 {
		m.outcome.Checks = append(m.outcome.Checks, report.Check{Name: "layer 1", Detail: "the recorder left no file"})
		return
	}
	var all streamSum
	for _, path := range run.Streams {
		s, err := readStream(path)
		if err != nil {
			m.remark("%v", err)
		}
		if s.footer == nil {
			m.remark("%s has no footer: the recorder was killed", filepath.Base(path))
		}
		name := "layer 1"
		if engine, _, ok := strings.Cut(s.check.EngineID, "-"); ok && len(run.Streams) > 1 {
			name += " " + engine
		}
		m.outcome.Checks = append(m.outcome.Checks, s.verdict(name))
		all.add(s)
	}
	m.outcome.Layer1 = all.layer1(len(run.Streams))
	if c := all.prefixCheck(m.outcome.Cache.End); c != nil {
		m.outcome.Checks = append(m.outcome.Checks, *c)
	}
}

// stream is what one stream says.
type stream struct {
	check  record.Check
	footer *record.Footer
	bytes  int64
	prefix record.Prefix // sums over the steps that know them
	known  bool

	periodsNS []int64 // of the steps that have one
}

// readStream reads one stream whole.
func readStream(path string) (s stream, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return s, err
	}
	defer f.Close()
	c, r := record.NewChecker(), record.NewReader(f, path)
	var sequence store.Sequence
	for r.Scan() {
		l := r.Line()
		c.Add(l)
		switch l.Kind {
		case record.KindFooter:
			footer := l.Footer
			s.footer = &footer
		case record.KindStep:
			s.take(&l.Step, sequence.Next(&l.Step))
		}
	}
	s.check, s.bytes = c.Result(), r.Offset()
	return s, r.Err()
}

// take adds a step at its place in the stream.
func (s *stream) take(step *record.Step, at store.Place) {
	if step.Known(record.HasPrefixLocal) {
		s.known = true
		s.prefix.Queries += step.Local.Queries
		s.prefix.Hits += step.Local.Hits
	}
	if at.PeriodNS != store.UnknownNS {
		s.periodsNS = append(s.periodsNS, at.PeriodNS)
	}
}

// verdict is the check of a stream in a line.
func (s *stream) verdict(name string) report.Check {
	c := s.check
	out := report.Check{Name: name, OK: c.OK() && c.BadLines == 0, Detail: unit.Counted(c.Steps, "step") + " of " + c.EngineID}
	var wrong []string
	if c.BadLines > 0 {
		wrong = append(wrong, unit.Counted(c.BadLines, "bad line"))
	}
	for _, kind := range slices.Sorted(maps.Keys(c.Violations)) {
		v := c.Violations[kind]
		wrong = append(wrong, fmt.Sprintf("%s %s, first at step %d", kind, unit.Counted(v.Count, "time"), v.FirstStep))
	}
	if len(wrong) > 0 {
		out.Detail = strings.Join(wrong, "; ")
	}
	return out
}

// streamSum adds the streams of a run up.
type streamSum struct {
	steps, bytes, dropped, queue int64
	footers, timed               int
	p50NS, p99NS                 int64 // of the engine where the recorder cost most
	prefix                       record.Prefix
	known                        bool
	periodsNS                    []int64
}

func (a *streamSum) add(s stream) {
	a.steps += s.check.Steps
	a.bytes += s.bytes
	a.prefix.Queries += s.prefix.Queries
	a.prefix.Hits += s.prefix.Hits
	a.known = a.known || s.known
	a.periodsNS = append(a.periodsNS, s.periodsNS...)
	if s.footer == nil {
		return
	}
	a.footers++
	a.dropped += s.footer.Dropped
	a.queue = max(a.queue, s.footer.QueueHighWatermark)
	if f := s.footer.ForegroundNS; f.N > 0 {
		a.timed++
		a.p50NS, a.p99NS = max(a.p50NS, f.P50), max(a.p99NS, f.P99)
	}
}

// layer1 is what is known when so many streams were there: counts without all footers are not all.
func (a *streamSum) layer1(streams int) *report.Layer1 {
	out := &report.Layer1{Steps: a.steps}
	if a.steps > 0 {
		perStep := float64(a.bytes) / float64(a.steps)
		out.BytesPerStep = &perStep
	}
	if n := len(a.periodsNS); n > 0 {
		slices.Sort(a.periodsNS)
		middle := float64(a.periodsNS[(n-1)/2]) / 1e6 // by nearest rank
		out.PeriodP50MS = &middle
	}
	if a.footers == streams {
		out.Dropped, out.QueueHigh = &a.dropped, &a.queue
	}
	if a.timed > 0 {
		p50, p99 := float64(a.p50NS)/1e3, float64(a.p99NS)/1e3
		out.ForegroundP50US, out.ForegroundP99US = &p50, &p99
	}
	return out
}

// maxCounterDifference is by how much the recorder's prefix counters may differ from the server's: those are read while it runs.
const maxCounterDifference = 0.01

// prefixCheck compares the recorder's prefix counters with the server's own at the end of the load; nil where either is not known.
func (a *streamSum) prefixCheck(end *Counters) *report.Check {
	if end == nil || !a.known {
		return nil
	}
	near := func(a int64, b float64) bool { return math.Abs(float64(a)-b) <= maxCounterDifference*b }
	return &report.Check{Name: "prefix counters", OK: near(a.prefix.Queries, end.Queries) && near(a.prefix.Hits, end.Hits),
		Detail: fmt.Sprintf("recorded %d of %d tokens, the server says %.0f of %.0f", a.prefix.Hits, a.prefix.Queries, end.Hits, end.Queries)}
}
