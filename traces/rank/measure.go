package rank

import (
	"cmp"
	"slices"

	"opprof/traces/family"
	"opprof/traces/interval"
	"opprof/traces/kineto"
)

// meters measure the unions of one stretch of work whose events arrive by start.
type meters struct {
	total, nonCollective interval.Meter
	families             [family.Count]interval.Meter
}

func (m *meters) add(u *uses, f family.Family, span interval.Span) {
	u.total.count(span, m.total.Add(span))
	u.families[f].count(span, m.families[f].Add(span))
	if f != family.Collective {
		u.nonCollective.count(span, m.nonCollective.Add(span))
	}
}

type uses struct {
	total, nonCollective *Use
	families             *Families
}

func (u *Use) count(span interval.Span, grew int64) {
	u.Launches++
	u.SumNS += span.Len()
	u.UnionNS += grew
}

// measure fills sums, unions and exposed times of the rank and of its iterations.
func (a *analysis) measure() {
	out := a.out
	out.Iterations = make([]Iteration, len(a.labels))
	perIter := make([]meters, len(a.labels))
	warmup := WarmupIterations
	if len(a.labels) > 0 {
		warmup -= int(min(max(a.labels[0].step, 0), WarmupIterations)) // a schedule warms up for the steps before its first
	}
	for i, l := range a.labels {
		out.Iterations[i] = Iteration{Label: l.Label, LabelNS: a.wall(l.span), ProfilerStep: l.step, Warmup: i < warmup, TopKernel: -1}
	}
	var whole meters
	var loose, withoutCopies interval.Meter
	all := uses{&out.Total, &out.NonCollective, &out.Families}
	graphs := map[uint32]bool{}
	for _, i := range a.sorted {
		e := a.t.Events.At(int(i))
		span := interval.Span{Start: e.StartNS, End: e.EndNS()}
		a.class(e, i)
		whole.add(&all, a.fam[i], span)
		if a.fam[i] != family.Memory {
			withoutCopies.Add(span)
		}
		k := a.iter[i]
		if k < 0 {
			out.Unattributed.count(span, loose.Add(span))
			continue
		}
		it := &out.Iterations[k]
		perIter[k].add(&uses{&it.Total, &it.NonCollective, &it.Families}, a.fam[i], span)
		it.Span = cover(it.Span, a.wall(span))
		if a.fam[i] == family.Collective {
			it.Collectives = append(it.Collectives, a.wall(span))
		}
		if a.graph[i] && !graphs[e.Correlation] {
			graphs[e.Correlation] = true
			it.GraphLaunches++
		}
	}
	a.spanAndGaps()
	// What a kind covers alone is what the whole loses without it.
	out.ExposedNS = Exposed{CollectiveNS: out.Total.UnionNS - out.NonCollective.UnionNS, CopyNS: out.Total.UnionNS - withoutCopies.Len()}
}

func (a *analysis) class(e *kineto.DeviceEvent, i int32) {
	switch e.Class {
	case kineto.Kernel:
		a.out.Kernels++
		if a.verdicts[e.Name].Rule == family.Unmatched && a.role[i] == NoRole {
			a.out.UnknownNS += e.DurNS
		}
	case kineto.Copy:
		a.out.Copies++
	case kineto.Set:
		a.out.Sets++
	}
	if a.graph[i] {
		a.out.GraphEvents++
	} else {
		a.out.EagerEvents++
	}
}

// wall moves a span from the file's axis to ns since 1970.
func (a *analysis) wall(s interval.Span) interval.Span {
	return interval.Span{Start: s.Start + a.t.BaseNS, End: s.End + a.t.BaseNS}
}

func cover(a, b interval.Span) interval.Span {
	if a == (interval.Span{}) {
		return b
	}
	return interval.Span{Start: min(a.Start, b.Start), End: max(a.End, b.End)}
}

// spanAndGaps measures from the first start to the last end, and the holes between.
func (a *analysis) spanAndGaps() {
	out := a.out
	for _, i := range a.sorted {
		e := a.t.Events.At(int(i))
		span := a.wall(interval.Span{Start: e.StartNS, End: e.EndNS()})
		if out.Span != (interval.Span{}) && span.Start > out.Span.End {
			out.IdleGaps++
			out.LongestGapNS = max(out.LongestGapNS, span.Start-out.Span.End)
		}
		out.Span = cover(out.Span, span)
	}
	out.IdleNS = out.Span.Len() - out.Total.UnionNS
}

// kernels gathers the uses by name and role, with exact percentiles by the nearest rank.
func (a *analysis) kernels() {
	type key struct {
		name int32
		role Role
	}
	count := map[key]int{}
	for _, i := range a.sorted {
		count[key{a.t.Events.At(int(i)).Name, a.role[i]}]++
	}
	groups := make(map[key][]int32, len(count))
	for _, i := range a.sorted {
		k := key{a.t.Events.At(int(i)).Name, a.role[i]}
		if groups[k] == nil {
			groups[k] = make([]int32, 0, count[k])
		}
		groups[k] = append(groups[k], i)
	}
	index := map[key]int32{}
	for k, events := range groups {
		a.out.Kernel = append(a.out.Kernel, a.kernelUse(k.name, k.role, events))
	}
	slices.SortStableFunc(a.out.Kernel, func(x, y KernelUse) int {
		return cmp.Or(cmp.Compare(y.Use.SumNS, x.Use.SumNS), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Role, y.Role))
	})
	byName := map[string]int32{}
	for i, v := range a.t.Names {
		byName[v] = int32(i)
	}
	for i, v := range a.out.Kernel {
		index[key{byName[v.Name], v.Role}] = int32(i)
	}
	sums := make([]map[int32]int64, len(a.out.Iterations))
	for _, i := range a.sorted {
		if k := a.iter[i]; k >= 0 {
			if sums[k] == nil {
				sums[k] = map[int32]int64{}
			}
			e := a.t.Events.At(int(i))
			sums[k][index[key{e.Name, a.role[i]}]] += e.DurNS
		}
	}
	for k, m := range sums {
		a.out.Iterations[k].TopKernel = largest(m)
	}
}

func largest(m map[int32]int64) int32 {
	best, bestNS := int32(-1), int64(-1)
	for i, ns := range m {
		if ns > bestNS || (ns == bestNS && i < best) {
			best, bestNS = i, ns
		}
	}
	return best
}

func (a *analysis) kernelUse(name int32, role Role, events []int32) KernelUse {
	v := KernelUse{Name: a.t.Names[name], Verdict: a.verdict(name, events[0]), Role: role,
		nameless: a.t.Events.At(int(events[0])).Class == kineto.Kernel && family.Anonymous(a.verdicts[name].Rule)}
	var m interval.Meter
	durations := make([]int64, len(events))
	shapes := map[int32]bool{}
	longest := int64(-1)
	for k, i := range events {
		e := a.t.Events.At(int(i))
		span := interval.Span{Start: e.StartNS, End: e.EndNS()}
		v.Use.count(span, m.Add(span))
		durations[k] = e.DurNS
		shapes[e.Shape] = true
		if e.DurNS > longest {
			longest = e.DurNS
			v.Grid, v.Block = a.t.Shapes[e.Shape].Grid, a.t.Shapes[e.Shape].Block
		}
	}
	slices.Sort(durations)
	v.MinNS, v.MaxNS = durations[0], durations[len(durations)-1]
	v.P50NS, v.P95NS = nearestRank(durations, 50), nearestRank(durations, 95)
	v.Variants = len(shapes)
	return v
}

// nearestRank is the smallest value that at least p percent of the sorted values do not exceed.
func nearestRank(sorted []int64, p int) int64 {
	i := (len(sorted)*p + 99) / 100
	return sorted[max(i, 1)-1]
}

func (a *analysis) verdict(name, event int32) family.Verdict {
	e := a.t.Events.At(int(event))
	if e.Class != kineto.Kernel {
		return family.Verdict{Family: family.Memory, Rule: e.Class.String(), Reason: "a " + e.Class.String() + " of the device, by the trace's category"}
	}
	if r := a.role[event]; r != NoRole {
		source := "position:"
		if a.fromTaxonomy[name] {
			source = "taxonomy:"
		}
		return family.Verdict{Family: a.fam[event], Rule: source + r.String(), Reason: r.reason()}
	}
	return a.verdicts[name]
}
