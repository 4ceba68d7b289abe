package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"opprof/engine/record"
)

// Rollup is what is kept of a stretch of time [StartNS, EndNS): counts and a sketch of the step periods. Rollups add up exactly.
type Rollup struct {
	StartNS, EndNS      int64
	FirstStep, LastStep int64 // smallest and largest step_index; meaningful with Counts.Steps > 0
	Counts              Counts
	Period              Sketch

	generation uint64 // snapshots taken before this rollup was made: it may be changed in place until the next
}

// Add counts one step.
func (r *Rollup) Add(s *record.Step, p Place) {
	r.addCounts(s, p)
	if p.PeriodNS >= 0 {
		r.Period.Add(p.PeriodNS)
	}
}

func (r *Rollup) addCounts(s *record.Step, p Place) {
	if r.Counts.Steps == 0 {
		r.FirstStep, r.LastStep = s.StepIndex, s.StepIndex
	} else {
		r.FirstStep, r.LastStep = min(r.FirstStep, s.StepIndex), max(r.LastStep, s.StepIndex)
	}
	r.Counts.Add(s, p)
}

// Merge adds another rollup; the stretch of time grows to cover both.
func (r *Rollup) Merge(o *Rollup) {
	if o.Counts.Steps == 0 {
		return
	}
	if r.Counts.Steps == 0 {
		r.FirstStep, r.LastStep = o.FirstStep, o.LastStep
	} else {
		r.FirstStep, r.LastStep = min(r.FirstStep, o.FirstStep), max(r.LastStep, o.LastStep)
	}
	if r.StartNS == 0 && r.EndNS == 0 {
		r.StartNS, r.EndNS = o.StartNS, o.EndNS
	} else {
		r.StartNS, r.EndNS = min(r.StartNS, o.StartNS), max(r.EndNS, o.EndNS)
	}
	r.Counts.Merge(&o.Counts)
	r.Period.Merge(&o.Period)
}

func (r *Rollup) clone() *Rollup {
	c := *r
	c.Period = r.Period.clone()
	return &c
}

// rollupVersion is the first byte of an encoded rollup.
const rollupVersion = 1

// errRollup is wrapped by every error of DecodeRollup.
var errRollup = errors.New("cannot decode rollup")

// AppendBinary appends the rollup's encoding: a version byte, then varints.
func (r *Rollup) AppendBinary(dst []byte) []byte {
	dst = append(dst, rollupVersion)
	for _, n := range []int64{r.StartNS, r.EndNS, r.FirstStep, r.LastStep} {
		dst = binary.AppendVarint(dst, n)
	}
	r.Counts.visit(func(n *int64) { dst = binary.AppendVarint(dst, *n) })
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(r.Counts.KVUsageMax))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(r.Counts.KVUsageSum))
	dst = binary.AppendVarint(dst, r.Period.maxNS)
	dst = binary.AppendUvarint(dst, uint64(len(r.Period.bins)))
	last := 0
	for _, b := range r.Period.bins {
		dst = binary.AppendUvarint(dst, uint64(b.index()-last))
		dst = binary.AppendUvarint(dst, uint64(b.n()))
		last = b.index()
	}
	return dst
}

// DecodeRollup reads one encoded rollup and returns the bytes behind it. Anything that AppendBinary cannot have written is an error.
func DecodeRollup(src []byte) (r *Rollup, rest []byte, err error) {
	if len(src) == 0 || src[0] != rollupVersion {
		return nil, src, fmt.Errorf("%w: expected version %d in the first byte; rebuild the index", errRollup, rollupVersion)
	}
	d := decoder{src: src[1:]}
	r = &Rollup{}
	for _, n := range []*int64{&r.StartNS, &r.EndNS, &r.FirstStep, &r.LastStep} {
		*n = d.varint()
	}
	r.Counts.visit(func(n *int64) { *n = d.varint() })
	r.Counts.KVUsageMax, r.Counts.KVUsageSum = d.float(), d.float()
	d.sketch(&r.Period)
	if d.bad != "" {
		return nil, src, fmt.Errorf("%w: byte %d: %s; rebuild the index", errRollup, len(src)-len(d.src), d.bad)
	}
	return r, d.src, nil
}

// decoder reads from src until something is wrong; then every read gives 0.
type decoder struct {
	src []byte
	bad string
}

func (d *decoder) fail(why string) {
	if d.bad == "" {
		d.bad = why
	}
	d.src = nil
}

func (d *decoder) varint() int64 {
	n, size := binary.Varint(d.src)
	if size <= 0 {
		d.fail("expected a number")
		return 0
	}
	d.src = d.src[size:]
	return n
}

func (d *decoder) uvarint(limit uint64) uint64 {
	n, size := binary.Uvarint(d.src)
	if size <= 0 || n > limit {
		d.fail("expected a smaller number")
		return 0
	}
	d.src = d.src[size:]
	return n
}

func (d *decoder) float() float64 {
	if len(d.src) < 8 {
		d.fail("expected 8 bytes of a number")
		return 0
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(d.src))
	d.src = d.src[8:]
	if math.IsNaN(f) || math.IsInf(f, 0) {
		d.fail("expected a finite number")
		return 0
	}
	return f
}

func (d *decoder) sketch(s *Sketch) {
	s.maxNS = d.varint()
	bins := d.uvarint(sketchBins)
	if uint64(len(d.src)) < 2*bins {
		d.fail("expected more bins of the sketch")
		return
	}
	s.bins = make([]bin, 0, bins)
	index := 0
	for i := range bins {
		delta, n := d.uvarint(sketchBins), d.uvarint(1<<binCountBits-1)
		if d.bad != "" {
			return
		}
		index += int(delta)
		if index >= sketchBins || n == 0 || (i > 0 && delta == 0) || s.n > math.MaxInt64-int64(n) {
			d.fail("expected bins of the sketch in order")
			return
		}
		s.n += int64(n)
		s.bins = append(s.bins, newBin(index, int64(n)))
	}
}

// visit calls f on every integer, in the order of the encoding.
func (c *Counts) visit(f func(*int64)) {
	for _, n := range []*int64{
		&c.Steps, &c.ZeroToken, &c.FirstNS, &c.LastNS, &c.PeriodSumNS, &c.ScheduledRequests, &c.DecodeRequests, &c.PrefillRequests,
		&c.PrefillTokens, &c.DecodeTokens, &c.ResumedRequests, &c.RecomputeTokens, &c.Preemptions, &c.LastPreemptionNS, &c.DecodeBatchMax,
		&c.ResumedSteps, &c.RecomputeSteps, &c.UnsplitTokensSteps, &c.ChunkTailSteps, &c.Chunks.First, &c.Chunks.Middle,
		&c.Chunks.Final, &c.Chunks.Unsplit, &c.Chunks.Tokens, &c.Chunks.UnsplitTokens, &c.RunningMax, &c.WaitingMax, &c.DeferredMax,
		&c.WaitingSum, &c.RunningSum, &c.KVUsageMaxNS, &c.GraphBucket, &c.GraphPadding, &c.LocalSteps, &c.ExternalSteps,
		&c.Dropped, &c.Gaps, &c.Stalls,
	} {
		f(n)
	}
	for _, p := range []*record.Prefix{&c.Local, &c.External} {
		for _, n := range []*int64{&p.Requests, &p.Queries, &p.Hits, &p.PreemptedRequests, &p.PreemptedQueries, &p.PreemptedHits} {
			f(n)
		}
	}
	for _, list := range [][]int64{c.Chunks.SizeHist[:], c.Chunks.TailHist[:], c.ContextHist[:], c.Graph[:]} {
		for i := range list {
			f(&list[i])
		}
	}
}
