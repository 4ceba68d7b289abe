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
	// WaitByDifference: the ranks' clocks do not fit together, and the least collective time of a rank is taken for the work of all.
	WaitByDifference = "difference"
)

const (
	// clockSlackNS is how far a collective may seem to end before its last rank begins: clocks of two devices of one host.
	clockSlackNS = 20_000
	// clockMisses is how many collectives of a hundred may break that rule, such as a broadcast that the root leaves early.
	clockMisses = 5
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
	it.WaitBy = WaitByClocks
	if !it.waitsByClocks() {
		it.WaitBy = WaitByDifference
		it.waitsByDifference()
	}
	it.WaitNS = slices.Max(it.Waits)
}

func (it *Iteration) waitsByClocks() bool {
	n := len(it.Ranks[0].Collectives)
	for _, r := range it.Ranks {
		if len(r.Collectives) != n {
			return false
		}
	}
	misses := 0
	for k := range n {
		last := it.lastStart(k)
		for i, r := range it.Ranks {
			c := r.Collectives[k]
			if c.End < last-clockSlackNS {
				misses++
			}
			it.Waits[i] += max(interval.Span{Start: c.Start, End: min(c.End, last)}.Len(), 0)
		}
	}
	return misses*100 <= clockMisses*n*len(it.Ranks)
}

func (it *Iteration) lastStart(k int) int64 {
	last := it.Ranks[0].Collectives[k].Start
	for _, r := range it.Ranks[1:] {
		last = max(last, r.Collectives[k].Start)
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
