// Package join ties trace files to windows and windows to Layer-1 steps: which rank files belong to one capture, and which scheduler
// step each labelled iteration was.
package join

import (
	"cmp"
	"maps"
	"slices"

	"opprof/traces/interval"
	"opprof/traces/rank"
)

// Group is the files of one window: at most one of each rank.
type Group struct {
	Ranks   []*rank.Breakdown // by global rank
	Missing []int64           // ranks of the job that have no file in this window
}

// Groups sorts breakdowns into windows. Two files belong together when their labelled iterations overlap in time and their ranks differ;
// the files of one rank are never mixed, nor those of two data-parallel engines, whose steps do not line up; where names do not tell engines
// apart, files whose labels are the same go together first. ranks is how many an engine has; 0 when that is not known. Ranks that are expected
// are those seen in any window of the engine and, for a single engine of unknown size, those of the process group.
func Groups(all []*rank.Breakdown, ranks int64) []Group {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *rank.Breakdown) int {
		return cmp.Or(cmp.Compare(bounds(a).Start, bounds(b).Start), cmp.Compare(a.Rank.Global, b.Rank.Global), cmp.Compare(a.File, b.File))
	})
	var groups []Group
	for _, b := range sorted {
		if g := home(groups, b); g >= 0 {
			groups[g].Ranks = append(groups[g].Ranks, b)
		} else {
			groups = append(groups, Group{Ranks: []*rank.Breakdown{b}})
		}
	}
	for i := range groups {
		groups[i].finish(expected(all, groups[i].DP(), ranks))
	}
	return groups
}

// DP is the data-parallel rank of the group's files; -1 when their names do not say.
func (g Group) DP() int64 { return g.Ranks[0].Rank.DP }

// Whole reports whether a file that has every label of the window is undamaged, so that no label can be missing behind the last.
func (g Group) Whole() bool {
	most := 0
	for _, b := range g.Ranks {
		most = max(most, len(b.Iterations))
	}
	return most > 0 && slices.ContainsFunc(g.Ranks, func(b *rank.Breakdown) bool { return len(b.Iterations) == most && !b.Truncated && b.Faults == 0 })
}

// expected are the ranks of an engine of so many, sorted. Their numbers begin anew in each engine, or go on from the engine before.
func expected(all []*rank.Breakdown, dp, ranks int64) []int64 {
	seen := map[int64]bool{}
	engines := map[int64]bool{}
	world := int64(0)
	for _, b := range all {
		engines[b.Rank.DP] = true
		if b.Rank.DP == dp && b.Rank.Known() {
			seen[b.Rank.Global] = true
			world = max(world, b.World)
		}
	}
	first := int64(0)
	switch {
	case ranks > 0 && len(seen) > 0:
		first = slices.Min(slices.Collect(maps.Keys(seen))) / ranks * ranks
		world = ranks
	case len(engines) > 1:
		world = 0 // of all engines together
	}
	if world <= maxWorld {
		for r := range world {
			seen[first+r] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// maxWorld bounds what a damaged file can make us list as missing.
const maxWorld = 4096

// home is the group that a file joins: of those that have no file of its rank, the one with the same labels that it shares the most time with;
// else the one that it shares the most time with. -1 for none.
func home(groups []Group, b *rank.Breakdown) int {
	best, most, alike := -1, int64(0), false
	for i, g := range groups {
		shared := g.shared(b)
		if shared <= 0 || g.DP() != b.Rank.DP || !b.Rank.Known() || g.has(b.Rank.Global) {
			continue
		}
		same := sameLabels(g.Ranks[0], b)
		if better := same && !alike; better || same == alike && shared > most {
			best, most, alike = i, shared, same
		}
	}
	return best
}

// sameLabels reports whether two ranks saw the same steps, as far as both have labels.
func sameLabels(a, b *rank.Breakdown) bool {
	for i := range min(len(a.Iterations), len(b.Iterations)) {
		if a.Iterations[i].Label.Text != b.Iterations[i].Label.Text {
			return false
		}
	}
	return true
}

func (g Group) shared(b *rank.Breakdown) int64 {
	var most int64
	s := bounds(b)
	for _, r := range g.Ranks {
		t := bounds(r)
		most = max(most, min(s.End, t.End)-max(s.Start, t.Start))
	}
	return most
}

// Together is one window of the ranks of two that cannot be tied to steps; ok is false where both have a rank, or one is not known.
func Together(a, b *Window) (w Window, ok bool) {
	g := Group{Ranks: slices.Clone(a.Ranks), Missing: slices.Clone(a.Missing)}
	for _, r := range b.Ranks {
		if !r.Rank.Known() || g.has(r.Rank.Global) {
			return Window{}, false
		}
		g.Ranks = append(g.Ranks, r)
		g.Missing = slices.DeleteFunc(g.Missing, func(m int64) bool { return m == r.Rank.Global })
	}
	g.finish(nil)
	return Refused(g, cmp.Or(a.Join.Reason, b.Join.Reason)), true
}

func (g Group) has(global int64) bool {
	return slices.ContainsFunc(g.Ranks, func(b *rank.Breakdown) bool { return b.Rank.Global == global })
}

func (g *Group) finish(want []int64) {
	slices.SortStableFunc(g.Ranks, func(a, b *rank.Breakdown) int {
		return cmp.Or(cmp.Compare(a.Rank.Global, b.Rank.Global), cmp.Compare(a.File, b.File))
	})
	for _, r := range want {
		if !g.has(r) {
			g.Missing = append(g.Missing, r)
		}
	}
}

// bounds is the time that a file's iterations cover: from the first label's start to the last label's end, or that of its device work.
func bounds(b *rank.Breakdown) interval.Span {
	if n := len(b.Iterations); n > 0 {
		return interval.Span{Start: b.Iterations[0].LabelNS.Start, End: max(b.Iterations[n-1].LabelNS.End, b.Iterations[n-1].Span.End)}
	}
	return b.Span
}
