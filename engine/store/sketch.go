package store

import (
	"math/bits"
	"slices"
)

// Each octave of the sketch is split into 64 equal bins, so the middle of a bin is at most half of 1/64 away from any value in it.
const (
	subBits    = 6
	subBins    = 1 << subBits
	sketchBins = (63-subBits)*subBins + subBins // of every int64 >= 0
)

// SketchErrorPct is the largest relative error of a Sketch's quantiles, in percent.
const SketchErrorPct = 100.0 / (2 * subBins)

// Sketch is a histogram of durations from which quantiles are read with a relative error of at most SketchErrorPct. Merging is exact:
// the merged sketch equals the sketch of all values. The zero value is empty and ready.
type Sketch struct {
	n     int64
	maxNS int64
	bins  []bin // by index, none empty
}

// bin is a bin's index in the upper 12 bits and its count below.
type bin uint64

const binCountBits = 52

func newBin(index int, n int64) bin { return bin(index)<<binCountBits | bin(n) }
func (b bin) index() int            { return int(b >> binCountBits) }
func (b bin) n() int64              { return int64(b & (1<<binCountBits - 1)) }

// binIndex is the bin of a duration. Below 64 ns every value has its own.
func binIndex(ns int64) int {
	if ns < subBins {
		return int(max(ns, 0))
	}
	shift := bits.Len64(uint64(ns)) - 1 - subBits
	return shift<<subBits + int(ns>>shift)
}

// binBounds is the range [low, low+width) of a bin.
func binBounds(index int) (low, width int64) {
	if index < 2*subBins {
		return int64(index), 1
	}
	shift := index>>subBits - 1
	return int64(index-shift<<subBits) << shift, int64(1) << shift
}

// binMiddle is the value that stands for a bin.
func binMiddle(index int) int64 {
	low, width := binBounds(index)
	return low + (width-1)/2
}

// N is the number of values.
func (s *Sketch) N() int64 { return s.n }

// MaxNS is the largest value, exact; 0 when empty.
func (s *Sketch) MaxNS() int64 { return s.maxNS }

// Add counts one duration; a negative one counts as 0.
func (s *Sketch) Add(ns int64) {
	s.n++
	s.maxNS = max(s.maxNS, ns)
	index := binIndex(ns)
	at, found := slices.BinarySearchFunc(s.bins, index, func(b bin, index int) int { return b.index() - index })
	if found {
		s.bins[at]++
		return
	}
	s.bins = slices.Insert(s.bins, at, newBin(index, 1))
}

// Merge adds all values of another sketch.
func (s *Sketch) Merge(o *Sketch) {
	if o.n == 0 {
		return
	}
	s.n += o.n
	s.maxNS = max(s.maxNS, o.maxNS)
	extra := missing(s.bins, o.bins)
	i, j := len(s.bins)-1, len(o.bins)-1
	s.bins = slices.Grow(s.bins, extra)[:len(s.bins)+extra]
	for at := len(s.bins) - 1; j >= 0; at-- {
		switch {
		case i < 0 || o.bins[j].index() > s.bins[i].index():
			s.bins[at] = o.bins[j]
			j--
		case o.bins[j].index() == s.bins[i].index():
			s.bins[at] = s.bins[i] + bin(o.bins[j].n())
			i--
			j--
		default:
			s.bins[at] = s.bins[i]
			i--
		}
	}
}

// missing counts the bins of b that a lacks.
func missing(a, b []bin) int {
	n, i := 0, 0
	for _, x := range b {
		for i < len(a) && a[i].index() < x.index() {
			i++
		}
		if i == len(a) || a[i].index() != x.index() {
			n++
		}
	}
	return n
}

// Quantile is the value of the given percentile by the nearest-rank rule; ok is false when the sketch is empty.
func (s *Sketch) Quantile(pct int64) (ns int64, ok bool) {
	if s.n == 0 {
		return 0, false
	}
	rank := nearestRank(s.n, pct)
	for _, b := range s.bins {
		if rank -= b.n(); rank <= 0 {
			return min(binMiddle(b.index()), s.maxNS), true
		}
	}
	return s.maxNS, true
}

// nearestRank is the 1-based rank of a percentile among n values.
func nearestRank(n, pct int64) int64 { return max(1, (n*pct+99)/100) }

func (s *Sketch) clone() Sketch {
	return Sketch{n: s.n, maxNS: s.maxNS, bins: slices.Clone(s.bins)}
}

// dense is a sketch that is being filled: one array cell per bin, so that adding is one increment.
type dense struct {
	n       int64
	maxNS   int64
	touched []uint16
	counts  [sketchBins]uint32
}

func (d *dense) add(ns int64) {
	d.n++
	d.maxNS = max(d.maxNS, ns)
	index := binIndex(ns)
	if d.counts[index] == 0 {
		d.touched = append(d.touched, uint16(index))
	}
	d.counts[index]++
}

// sketch is what the array holds now.
func (d *dense) sketch() Sketch {
	slices.Sort(d.touched)
	s := Sketch{n: d.n, maxNS: d.maxNS, bins: make([]bin, len(d.touched))}
	for i, index := range d.touched {
		s.bins[i] = newBin(int(index), int64(d.counts[index]))
	}
	return s
}

func (d *dense) reset() {
	for _, index := range d.touched {
		d.counts[index] = 0
	}
	d.n, d.maxNS, d.touched = 0, 0, d.touched[:0]
}
