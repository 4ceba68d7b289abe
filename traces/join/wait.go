package join

import (
	"slices"

	"opprof/traces/family"
	"opprof/traces/interval"
	"opprof/traces/rank"
)

// Ways in which waiting in collectives is told from work.
const (
	// WaitByClocks: the k-th collective of an iteration is the same on all ranks and none ends before the last rank has begun it, so a rank
	// waits from its own start to the last rank's.
	WaitByClocks = "clocks"
	// WaitByEnds: the ranks' clocks do not fit together as they are, but the ends of the iteration's collectives lie apart by the same all along,
	// and that is by how much the clocks differ: all ranks leave an all-reduce together.
	WaitByEnds = "ends"
	// WaitByDifference: nothing fits the clocks together, and the least collective time of a rank is taken for the work of all.
	WaitByDifference = "difference"
)

const (
	// clockSlackNS is how far a collective may seem to end before its last rank begins: clocks of two devices of one host.
	clockSlackNS = 20_000
	// clockMisses is how many collectives of a hundred may break that rule, such as a broadcast that the root leaves early.
	clockMisses = 5
	// leastEnds is how many collectives an iteration must have for their ends to tell that clocks differ.
	leastEnds = 3
)

// waits fills the time that each rank spends in collectives for a later rank. Without every rank of the engine, or without device work,
// it is unknown.
func (it *Iteration) waits(complete bool) {
	it.Waits = make([]int64, len(it.Ranks))
	if !complete || slices.Contains(it.Ranks, nil) {
		for i := range it.Waits {
			it.Waits[i] = -1
		}
		it.WaitNS = -1
		return
	}
	if len(it.Ranks) == 1 {
		return
	}
	switch {
	case it.waitsByClocks(make([]int64, len(it.Ranks))):
		it.WaitBy = WaitByClocks
	case it.waitsByEnds():
		it.WaitBy = WaitByEnds
	default:
		it.WaitBy = WaitByDifference
		it.waitsByDifference()
	}
	it.WaitNS = slices.Max(it.Waits)
}

// sameCollectives reports whether all ranks ran as many collectives, at least n.
func (it *Iteration) sameCollectives(n int) bool {
	for _, r := range it.Ranks {
		if len(r.Collectives) != len(it.Ranks[0].Collectives) {
			return false
		}
	}
	return len(it.Ranks[0].Collectives) >= n
}

// waitsByClocks fills the waits, each rank's clock set back by what it is ahead, and reports whether the clocks fit together then.
func (it *Iteration) waitsByClocks(ahead []int64) bool {
	if !it.sameCollectives(0) {
		return false
	}
	clear(it.Waits)
	n, misses := len(it.Ranks[0].Collectives), 0
	for k := range n {
		last := it.lastStart(k, ahead)
		for i, r := range it.Ranks {
			c := interval.Span{Start: r.Collectives[k].Start - ahead[i], End: r.Collectives[k].End - ahead[i]}
			if c.End < last-clockSlackNS {
				misses++
			}
			it.Waits[i] += max(interval.Span{Start: c.Start, End: min(c.End, last)}.Len(), 0)
		}
	}
	return misses*100 <= clockMisses*n*len(it.Ranks)
}

// waitsByEnds sets the clocks by the median distance of the ends of collectives. It reports false where the ends do not keep that distance.
func (it *Iteration) waitsByEnds() bool {
	if !it.sameCollectives(leastEnds) {
		return false
	}
	lead := it.Ranks[0].Collectives
	ahead := make([]int64, len(it.Ranks))
	distances := make([]int64, len(lead))
	misses := 0
	for i, r := range it.Ranks {
		for k := range lead {
			distances[k] = r.Collectives[k].End - lead[k].End
		}
		slices.Sort(distances)
		ahead[i] = distances[len(distances)/2]
		for _, d := range distances {
			if d < ahead[i]-clockSlackNS || d > ahead[i]+clockSlackNS {
				misses++
			}
		}
	}
	return misses*100 <= clockMisses*len(lead)*len(it.Ranks) && it.waitsByClocks(ahead)
}

func (it *Iteration) lastStart(k int, ahead []int64) int64 {
	last := it.Ranks[0].Collectives[k].Start - ahead[0]
	for i, r := range it.Ranks {
		last = max(last, r.Collectives[k].Start-ahead[i])
	}
	return last
}

func (it *Iteration) waitsByDifference() {
	of := func(r *rank.Iteration) int64 { return r.Families[family.Collective].UnionNS }
	least := of(it.Ranks[0])
	for _, r := range it.Ranks[1:] {
		least = min(least, of(r))
	}
	for i, r := range it.Ranks {
		it.Waits[i] = of(r) - least
	}
}
