package store

import (
	"slices"
	"sort"

	"opprof/engine/record"
)

const (
	second = 1_000_000_000

	// tierBuckets is how many buckets a tier holds: 68 minutes of seconds, 18 hours of 16 s, 12 days of 256 s. The coarsest tier
	// never forgets: when it is full, its buckets double their width.
	tierBuckets = 4096
)

// tier is one resolution of the roll-ups: sparse buckets of one width in order of time, the newest of them still open.
type tier struct {
	widthNS    int64
	limit      int
	keeps      bool // the coarsest: a full tier widens its buckets instead of forgetting the oldest
	open       *Rollup
	sealed     []*Rollup
	shared     bool   // a snapshot holds the sealed list
	generation uint64 // number of snapshots so far
	fromNS     int64  // buckets before this one are gone
}

func (t *tier) bucket(timeNS int64) *Rollup {
	start := floorTo(timeNS, t.widthNS)
	return &Rollup{StartNS: start, EndNS: start + t.widthNS, generation: t.generation}
}

// unshare makes the sealed list the writer's own. Appending to a shared list needs no copy: a snapshot knows its length.
func (t *tier) unshare() {
	if t.shared {
		t.sealed, t.shared = slices.Clone(t.sealed), false
	}
}

// bound keeps the tier within its limit.
func (t *tier) bound() {
	over := len(t.sealed) - t.limit
	switch {
	case over <= 0:
	case t.keeps:
		t.widen()
	default:
		t.fromNS = t.sealed[over-1].EndNS
		t.sealed = t.sealed[over:]
	}
}

// at returns the sealed bucket of a time, ready to be changed.
func (t *tier) at(timeNS int64) *Rollup {
	t.unshare()
	start := floorTo(timeNS, t.widthNS)
	i := sort.Search(len(t.sealed), func(i int) bool { return t.sealed[i].StartNS >= start })
	switch {
	case i == len(t.sealed) || t.sealed[i].StartNS != start:
		t.sealed = slices.Insert(t.sealed, i, t.bucket(timeNS))
	case t.sealed[i].generation != t.generation:
		t.sealed[i] = t.sealed[i].clone()
		t.sealed[i].generation = t.generation
	}
	return t.sealed[i]
}

// widen doubles the width until the buckets fill at most half of the limit.
func (t *tier) widen() {
	for len(t.sealed) > t.limit/2 && t.widthNS < lastAxisNS/2 {
		t.widthNS *= 2
		var wider []*Rollup
		for _, r := range t.sealed {
			if n := len(wider); n == 0 || r.StartNS >= wider[n-1].EndNS {
				wider = append(wider, t.bucket(r.StartNS))
			}
			wider[len(wider)-1].absorb(r)
		}
		t.sealed, t.shared = wider, false
	}
	if t.open != nil {
		narrow := t.open
		t.reopen(narrow.StartNS)
		t.open.absorb(narrow)
	}
}

// reopen opens the bucket of a time at or after all sealed ones. After the tier was widened that may be the newest of them.
func (t *tier) reopen(timeNS int64) {
	t.open = t.bucket(timeNS)
	if n := len(t.sealed); n > 0 && t.sealed[n-1].StartNS == t.open.StartNS {
		t.unshare()
		t.open.absorb(t.sealed[n-1])
		t.sealed = t.sealed[:n-1]
	}
}

// absorb merges without moving the bucket's edges.
func (r *Rollup) absorb(o *Rollup) {
	start, end := r.StartNS, r.EndNS
	r.Merge(o)
	r.StartNS, r.EndNS = start, end
}

// tiers are all roll-ups of one engine. A step is counted once, in the open second; a bucket that closes is merged into the open
// bucket of the next tier.
type tiers struct {
	levels  [3]tier
	periods dense  // of the open second
	run     Rollup // everything before the open second
}

func newTiers() *tiers {
	t := &tiers{}
	width := int64(second)
	for i := range t.levels {
		t.levels[i] = tier{widthNS: width, limit: tierBuckets, keeps: i == len(t.levels)-1}
		width *= 16
	}
	return t
}

func (t *tiers) add(s *record.Step, p Place) {
	open := t.levels[0].open
	switch {
	case open != nil && p.TimeNS < open.StartNS:
		t.addLate(s, p)
		return
	case open == nil:
		for i := range t.levels {
			t.levels[i].reopen(p.TimeNS)
		}
		open = t.levels[0].open
	case p.TimeNS >= open.EndNS:
		t.closeSecond()
		open = t.levels[0].bucket(p.TimeNS)
		t.levels[0].open = open
	}
	open.addCounts(s, p)
	if p.PeriodNS >= 0 {
		t.periods.add(p.PeriodNS)
	}
}

func (t *tiers) closeSecond() {
	closed := t.levels[0].open
	closed.Period = t.periods.sketch()
	t.periods.reset()
	t.run.Merge(closed)
	t.close(0)
}

// close seals the open bucket of a level and counts it in the level above.
func (t *tiers) close(level int) {
	l := &t.levels[level]
	closed := l.open
	l.open = nil
	if closed.Counts.Steps > 0 {
		l.sealed = append(l.sealed, closed)
		l.bound()
	}
	if level == len(t.levels)-1 {
		return
	}
	up := &t.levels[level+1]
	if closed.StartNS >= up.open.EndNS {
		t.close(level + 1)
		up.reopen(closed.StartNS)
	}
	up.open.absorb(closed)
}

// addLate counts a step older than the open second in every level that still reaches back to it, and in the run.
func (t *tiers) addLate(s *record.Step, p Place) {
	var one Rollup
	one.StartNS, one.EndNS = p.TimeNS, p.TimeNS+1
	one.Add(s, p)
	t.run.Merge(&one)
	for i := range t.levels {
		l := &t.levels[i]
		if i > 0 && p.TimeNS >= l.open.EndNS { // between what closed last and the open second
			t.close(i)
			l.reopen(p.TimeNS)
		}
		if p.TimeNS >= l.open.StartNS {
			l.open.Add(s, p) // counted in the levels above when it closes
			return
		}
		if p.TimeNS >= l.fromNS {
			l.at(p.TimeNS).Add(s, p)
			l.bound()
		}
	}
}

// view is one level as a snapshot keeps it: the sealed buckets and, in tail, what is still open.
type tierView struct {
	widthNS   int64 // 0: buckets of any width
	typicalNS int64 // width that few buckets exceed
	fromNS    int64 // complete from here on
	sealed    []*Rollup
	tail      []*Rollup
}

// view gives all levels and the run. Nothing in it changes afterwards.
func (t *tiers) view() (views []tierView, run *Rollup) {
	views = make([]tierView, len(t.levels))
	run = t.run.clone()
	var open []*Rollup // of this level and those below, oldest first
	for i := range t.levels {
		l := &t.levels[i]
		if l.open != nil {
			now := l.open.clone()
			if i == 0 {
				now.Period = t.periods.sketch()
				run.Merge(now)
			}
			open = slices.Insert(open, 0, now)
		}
		v := tierView{widthNS: l.widthNS, typicalNS: l.widthNS, fromNS: l.fromNS, sealed: l.sealed[:len(l.sealed):len(l.sealed)]}
		for _, r := range open {
			if r.Counts.Steps == 0 {
				continue
			}
			if n := len(v.tail); n == 0 || r.StartNS >= v.tail[n-1].EndNS {
				v.tail = append(v.tail, l.bucket(r.StartNS))
			}
			v.tail[len(v.tail)-1].absorb(r)
		}
		views[i] = v
		l.shared = true
		l.generation++
	}
	return views, run
}

// each calls f on the buckets that are counted in [from, to), a range of whole columns, with the time at which each counts.
func (v *tierView) each(from, to, columnNS int64, f func(*Rollup, int64)) {
	for _, list := range [][]*Rollup{v.sealed, v.tail} {
		if v.widthNS > 0 {
			list = list[sort.Search(len(list), func(i int) bool { return list[i].StartNS >= from }):]
		}
		for _, r := range list {
			at := r.countsAt(columnNS)
			if v.widthNS > 0 && at >= to {
				break
			}
			if at >= from && at < to {
				f(r, at)
			}
		}
	}
}

// countsAt is the time whose column holds the roll-up: its middle; or the end of one that is wider than a column, as over an idle
// stretch, where its middle would show work that never was.
func (r *Rollup) countsAt(columnNS int64) int64 {
	if r.EndNS-r.StartNS > columnNS {
		return r.EndNS - 1
	}
	return r.StartNS + (r.EndNS-r.StartNS)/2
}
