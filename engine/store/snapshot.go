package store

import "sync"

// Snapshot is what a store held at one moment. It never changes, and any number of goroutines may read it.
type Snapshot struct {
	version uint64
	engines []*engineView
	endedNS []int64 // per engine: when another process took over its rank; lastAxisNS otherwise
	loss    Loss
	sampled bool
	scratch *sync.Pool // of *scratch
}

// Version changes with every change of what a snapshot shows.
func (sn *Snapshot) Version() uint64 { return sn.version }

// engineView is one engine in a snapshot.
type engineView struct {
	version uint64
	row     Engine // without State, Now and Rates
	skewNS  int64  // how far the wall clock has jumped since the first step

	blocks      []*block // each ordered by time
	coverFromNS int64    // every step later than this, and
	coverToNS   int64    // not later than this, is in blocks
	tiers       []tierView
	run         *Rollup
	windows     []windowSpan
}

// finish derives what depends on all engines.
func (sn *Snapshot) finish() {
	sn.endedNS = make([]int64, len(sn.engines))
	for i, v := range sn.engines {
		sn.loss.add(&v.row.Loss)
		sn.endedNS[i] = lastAxisNS
		for _, o := range sn.engines {
			if o != v && !o.empty() && rank(o.row.ID) == rank(v.row.ID) && o.firstNS() >= v.newestNS() {
				sn.endedNS[i] = min(sn.endedNS[i], o.firstNS())
			}
		}
	}
}

func (v *engineView) empty() bool     { return v.run.Counts.Steps == 0 }
func (v *engineView) firstNS() int64  { return v.run.Counts.FirstNS }
func (v *engineView) newestNS() int64 { return v.run.Counts.LastNS }

// whole reports whether every step of the run is in blocks.
func (v *engineView) whole() bool { return v.coverFromNS < v.firstNS() && v.newestNS() <= v.coverToNS }

// covers reports whether all steps in [fromNS, toNS) are in blocks.
func (v *engineView) covers(fromNS, toNS int64) bool {
	return (fromNS > v.coverFromNS || v.firstNS() > v.coverFromNS) && (toNS-1 <= v.coverToNS || v.newestNS() <= v.coverToNS)
}

// at finds the newest step at or before a time; the block is nil when it is not among the steps that are kept whole.
func (v *engineView) at(timeNS int64) (b *block, i int) {
	for _, o := range v.blocks {
		if o.firstNS() > timeNS {
			continue
		}
		if k := o.after(timeNS) - 1; b == nil || o.times[k] >= b.times[i] {
			b, i = o, k
		}
	}
	if b != nil && b.times[i] <= v.coverFromNS {
		return nil, 0 // newer ones may be gone
	}
	if b != nil && timeNS > v.coverToNS && b.times[i] < v.newestNS() {
		return nil, 0
	}
	return b, i
}

// selected are the positions of the engines that a query shows.
func (sn *Snapshot) selected(id string) []int {
	var list []int
	for i, v := range sn.engines {
		if id == "" || v.row.ID == id {
			list = append(list, i)
		}
	}
	return list
}
