package index

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sort"
	"sync"

	"opprof/engine/record"
	"opprof/engine/store"
)

const (
	// ProbeCount is a good number of probes: more than a screen has columns, few enough for a slow disk.
	ProbeCount = 200

	probeBytes    = 16 << 10  // about 15 steps
	probeBytesMax = 256 << 10 // where no step is found
	probeLinesMax = 256       // without a step: here is nothing to see
	tailBytes     = 256 << 10
	probers       = 4
)

// Sample is what probes tell of a stream that has no index: its first and last lines exactly, what lies between from a few steps at evenly
// spaced bytes. The sums of its rollups are estimates, a probe's scaled up to the next; extremes are those of the steps that were seen.
type Sample struct {
	points []point // in the order of the stream
	size   int64
	header *record.Header
	footer *record.Footer
	others []record.Profile
}

// point is the steps that one probe found.
type point struct {
	offset   int64 // of the first step's line
	end      int64
	steps    []record.Step
	header   *record.Header
	footer   *record.Footer
	profiles []record.Profile
	before   store.Sequence
	firstNS  int64
	err      error
}

// Probe reads n places of a stream of size bytes, and its end.
func Probe(ctx context.Context, r io.ReaderAt, size int64, n int) (*Sample, error) {
	n = max(1, min(n, int(size/probeBytes)))
	points := make([]point, n+1)
	next := make(chan int)
	var running sync.WaitGroup
	for range probers {
		running.Go(func() {
			d := record.NewDecoder("")
			for i := range next {
				at, length := size/int64(n)*int64(i), int64(probeBytes)
				if i == n {
					at, length = max(0, size-tailBytes), tailBytes
				}
				points[i] = probe(r, d, at, length, size)
			}
		})
	}
	for i := range points {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return newSample(points, size)
}

func newSample(points []point, size int64) (*Sample, error) {
	s := &Sample{size: size, header: points[0].header}
	for i := range points {
		p := &points[i]
		if p.err != nil {
			return nil, fmt.Errorf("cannot sample the stream: %w", p.err)
		}
		s.footer = p.footer
		for _, m := range p.profiles {
			if !slices.ContainsFunc(s.others, func(o record.Profile) bool { return o.MonoNS == m.MonoNS && o.Action == m.Action }) {
				s.others = append(s.others, m)
			}
		}
		if len(p.steps) == 0 {
			continue
		}
		for k := len(s.points); k > 0 && s.points[k-1].offset >= p.offset; k-- {
			s.points = s.points[:k-1] // the end of the stream is read whole
		}
		s.points = append(s.points, *p)
	}
	s.place()
	return s, nil
}

// probe decodes the whole lines in [at, at+length), and reads on where no step is among them.
func probe(r io.ReaderAt, d *record.Decoder, at, length, size int64) (p point) {
	for ; ; length *= 4 {
		length = min(length, size-at)
		buf := make([]byte, length)
		n, err := r.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return point{err: fmt.Errorf("byte %d: %w", at, err)}
		}
		p = decodePoint(d, buf[:n], at)
		if len(p.steps) > 0 || length >= probeBytesMax || at+length >= size {
			return p
		}
	}
}

func decodePoint(d *record.Decoder, data []byte, at int64) (p point) {
	used := 0
	if at > 0 {
		if used = bytes.IndexByte(data, '\n') + 1; used == 0 {
			return p
		}
	}
	var l record.Line
	for lines := 0; used < len(data) && (len(p.steps) > 0 || lines < probeLinesMax); lines++ {
		n := d.Next(data[used:], &l)
		if n == 0 {
			break
		}
		switch l.Kind {
		case record.KindStep:
			if len(p.steps) == 0 {
				p.offset = at + int64(used)
			}
			p.steps = append(p.steps, l.Step)
		case record.KindHeader:
			h := l.Header
			p.header = &h
		case record.KindFooter:
			f := l.Footer
			p.footer = &f
		case record.KindProfile:
			m := l.Profile
			p.profiles = append(p.profiles, m)
		}
		used += n
		p.end = at + int64(used)
		l.Header, l.Profile = record.Header{}, record.Profile{} // what was kept is not written again
	}
	return p
}

// place puts the points on the time axis. The sequence of a point begins aligned like the one before it, unless the server was started
// again on another clock.
func (s *Sample) place() {
	var last record.Step
	q := store.Sequence{}
	for i := range s.points {
		p := &s.points[i]
		first := &p.steps[0]
		if i == 0 || first.EngineID != last.EngineID || first.StepIndex <= last.StepIndex && first.SubmitMonoNS < last.SubmitMonoNS {
			q = store.Sequence{Aligned: true, OffsetNS: first.SubmitWallNS - first.SubmitMonoNS}
		}
		p.before, p.firstNS = q, first.CompleteMonoNS+q.OffsetNS
		last = *first // points may overlap
	}
}

// Parts are what store.Assemble takes, with sampled set: one for each engine that was seen.
func (s *Sample) Parts(stream string) []store.Part {
	var parts []store.Part
	seen := map[string]int{}
	rollups := map[string][]*store.Rollup{}
	for i := range s.points {
		id := s.points[i].steps[0].EngineID
		if _, ok := seen[id]; !ok {
			seen[id] = len(parts)
			parts = append(parts, store.Part{Engine: id, Stream: stream})
		}
		rollups[id] = append(rollups[id], s.rollup(i))
	}
	for id, i := range seen {
		p := &parts[i]
		p.Overview = store.NewOverview(rollups[id])
		if s.header != nil && s.header.EngineID == id {
			p.Header = s.header
		}
		if s.footer != nil && s.footer.EngineID == id {
			p.Footer = s.footer
		}
		for _, m := range s.others {
			if m.EngineID == id {
				p.Profiles = append(p.Profiles, m)
			}
		}
	}
	return parts
}

// rollup is what a point stands for: its steps, repeated until the next point.
func (s *Sample) rollup(i int) *store.Rollup {
	p := &s.points[i]
	if i+1 == len(s.points) {
		r := p.rollup(len(p.steps))
		r.StartNS, r.EndNS = r.Counts.FirstNS, r.Counts.LastNS+1
		return r
	}
	n, have := s.stepsUntil(i), int64(len(p.steps))
	r := scaled(p.rollup(len(p.steps)), n/have)
	r.Merge(p.rollup(int(n % have)))
	// A point ends at the next one, but a pause of the server in between must not make it wide.
	r.StartNS = r.Counts.FirstNS
	r.EndNS = max(r.Counts.LastNS+1, min(s.points[i+1].firstNS, r.StartNS+2*s.typicalNS()))
	return r
}

// rollup is that of the first n steps of a point.
func (p *point) rollup(n int) *store.Rollup {
	r, q := &store.Rollup{}, p.before
	for k := range p.steps[:n] {
		if at := q.Next(&p.steps[k]); !at.OffAxis {
			r.Add(&p.steps[k], at)
		}
	}
	return r
}

// stepsUntil is the number of steps from a point to the next: by their index, or by bytes where the index does not tell.
func (s *Sample) stepsUntil(i int) int64 {
	p, next := &s.points[i], &s.points[i+1]
	n := next.steps[0].StepIndex - p.steps[0].StepIndex
	if n > 0 && p.steps[0].EngineID == next.steps[0].EngineID && n <= (next.offset-p.offset)/minLineBytes+1 {
		return n
	}
	return max(1, (next.offset-p.offset)*int64(len(p.steps))/max(1, p.end-p.offset))
}

// minLineBytes is less than any step line has: an index that jumps further than the bytes allow is a gap.
const minLineBytes = 400

// typicalNS is the median time between points.
func (s *Sample) typicalNS() int64 {
	var gaps []int64
	for i := 1; i < len(s.points); i++ {
		if d := s.points[i].firstNS - s.points[i-1].firstNS; d > 0 {
			gaps = append(gaps, d)
		}
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// scaled is a rollup of n times the same steps.
func scaled(r *store.Rollup, n int64) *store.Rollup {
	out := &store.Rollup{}
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			out.Merge(r)
		}
		double := &store.Rollup{}
		double.Merge(r)
		double.Merge(r)
		r = double
	}
	return out
}

// StepsAround finds the steps around a moment by bisection and decodes about n of them from there on. engine is for streams of several.
func (s *Sample) StepsAround(ctx context.Context, r io.ReaderAt, engine string, atNS int64, n int) (Around, error) {
	return s.seek(ctx, r, engine, n, func(st *record.Step, offsetNS int64) bool { return st.CompleteMonoNS+offsetNS < atNS })
}

// AtStep gives the completion of a step by its index, by bisection.
func (s *Sample) AtStep(ctx context.Context, r io.ReaderAt, engine string, step int64) (atNS int64, ok bool, err error) {
	a, err := s.seek(ctx, r, engine, 64, func(st *record.Step, _ int64) bool { return st.StepIndex < step })
	q := a.Before
	for i := range a.Steps {
		if p := q.Next(&a.Steps[i]); a.Steps[i].StepIndex == step && !p.OffAxis {
			atNS, ok = p.TimeNS, true
		}
	}
	return atNS, ok, err
}

// seek decodes n steps around the first one that is not before what is looked for.
func (s *Sample) seek(ctx context.Context, r io.ReaderAt, engine string, n int, before func(s *record.Step, offsetNS int64) bool) (Around, error) {
	k := sort.Search(len(s.points), func(i int) bool {
		p := &s.points[i]
		return p.steps[0].EngineID == engine && !before(&p.steps[0], p.before.OffsetNS)
	})
	if len(s.points) == 0 {
		return Around{}, nil
	}
	from := s.points[max(k-1, 0)]
	low, high := from.offset, s.size
	if k < len(s.points) {
		high = s.points[k].offset
	}
	d := record.NewDecoder("")
	for high-low > probeBytes {
		if err := ctx.Err(); err != nil {
			return Around{}, err
		}
		middle := low + (high-low)/2
		p := probe(r, d, middle, probeBytes/2, s.size)
		if p.err != nil {
			return Around{}, fmt.Errorf("cannot search the stream: %w", p.err)
		}
		if len(p.steps) > 0 && p.offset < high && before(&p.steps[0], from.before.OffsetNS) {
			low = p.offset
		} else {
			high = middle
		}
	}
	return s.read(r, d, engine, low, n, from.before)
}

// read decodes about n steps, half of them in front of a byte.
func (s *Sample) read(r io.ReaderAt, d *record.Decoder, engine string, at int64, n int, before store.Sequence) (Around, error) {
	p0 := &s.points[0]
	line := max(1, (p0.end-p0.offset)/int64(len(p0.steps)))
	from := max(0, at-int64(n/2)*line)
	p := probe(r, d, from, int64(n)*line+probeBytes, s.size)
	if p.err != nil {
		return Around{}, fmt.Errorf("cannot read the stream: %w", p.err)
	}
	steps := slices.DeleteFunc(p.steps, func(st record.Step) bool { return st.EngineID != engine })
	return Around{Steps: steps, Before: before}, nil
}
