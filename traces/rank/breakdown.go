// Package rank breaks one rank's trace down: how long the device was busy (the union of its intervals), which families the time went to,
// and which iteration launched the work. Sums and unions cover kernels, copies and sets of all streams.
package rank

import (
	"cmp"
	"fmt"
	"maps"
	"opprof/traces/family"
	"opprof/traces/interval"
	"opprof/traces/kineto"
	"slices"
)

// Use is device time of one kind. Kernels of one stream overlap, so UnionNS <= SumNS and neither is derived from the other.
type Use struct {
	SumNS    int64
	UnionNS  int64
	Launches int64 // device events
}

// Families is the use by family.Family.
type Families [family.Count]Use

// Breakdown is one rank of one window.
type Breakdown struct {
	Rank    kineto.Rank
	File    string
	World   int64 // ranks of the process group; 0 when the trace does not say
	Kernels int64
	Copies  int64
	Sets    int64

	Total         Use
	NonCollective Use
	Families      Families
	Span          interval.Span // first start to last end of device work, ns since 1970
	IdleNS        int64         // span minus union
	IdleGaps      int64         // holes in the union
	LongestGapNS  int64         // the longest of them
	ExposedNS     Exposed
	GraphEvents   int64 // device events launched by a CUDA-graph launch
	EagerEvents   int64 // launched one by one
	Unattributed  Use   // device work that no iteration launched
	UnknownNS     int64 // sum of kernels that no rule knows
	SuspectNS     int64 // sum of events with impossible times, in none of the figures above
	Suspect       int64

	Iterations []Iteration
	Kernel     []KernelUse // by name, largest sum first
	Faults     int64
	FirstFault kineto.Fault // valid when Faults is not 0
	Truncated  bool

	Mode       Mode
	Bounds     Bounds
	Device     string  // name of the first device; "" when the trace does not say
	Devices    []int64 // devices with work, by first appearance
	CPUOps     int64   // operators on the CPU
	Unlaunched int64   // device events whose launch is not in the trace
}

// Exposed is device time of a kind during which nothing else ran on the rank.
type Exposed struct{ CollectiveNS, CopyNS int64 }

// Iteration is the device work that one labelled step launched, also what was launched after its range closed and before the next.
type Iteration struct {
	Label         Label
	LabelNS       interval.Span // the CPU range, ns since 1970
	ProfilerStep  int64         // number of torch's step mark around the label, with a schedule only; -1 without
	Warmup        bool          // one of the first iterations of a window, disturbed by the profiler's start
	Total         Use
	NonCollective Use
	Families      Families
	Span          interval.Span   // of its device work
	GraphLaunches int64           // launches that stand for a whole graph
	Collectives   []interval.Span // its collectives by start, ns since 1970: what ranks compare to tell waiting from work
	TopKernel     int32           // index into Breakdown.Kernel; -1 without kernels
}

// KernelUse is one kernel name of a rank.
type KernelUse struct {
	Name     string
	Verdict  family.Verdict
	Role     Role
	Use      Use
	MinNS    int64
	P50NS    int64
	P95NS    int64
	MaxNS    int64
	Grid     [3]int32 // of the longest launch
	Block    [3]int32
	Variants int // distinct launch shapes

	nameless bool // the name says only who made it
}

// WarmupIterations is how many iterations at the start of a window are marked: the first pays for the profiler's start, and the queue
// behind it has not settled before the third. Those that a schedule of torch passed before its first count as well: they are not recorded.
const WarmupIterations = 2

// Analyse breaks a trace down. taxonomy may be nil.
func Analyse(t *kineto.Trace, rules *family.Rules, taxonomy Taxonomy) *Breakdown {
	return analyse(t, rules, taxonomy).out
}

func analyse(t *kineto.Trace, rules *family.Rules, taxonomy Taxonomy) *analysis {
	a := newAnalysis(t, rules)
	a.taxonomy = taxonomy
	a.attribute()
	a.order()
	a.position()
	a.taught()
	a.measure()
	a.kernels()
	a.out.Mode = modeOf(t, a.out)
	return a
}

// analysis holds the working arrays of one trace.
type analysis struct {
	t        *kineto.Trace
	out      *Breakdown
	verdicts []family.Verdict // by name
	labels   []label          // by start
	twins    []label          // their device-side ranges by start, of the stream that has most
	iter     []int32          // iteration of each event, -1 none
	graph    []bool           // launched by a graph
	sorted   []int32          // events that count, by start
	role     []Role           // of each event
	fam      []family.Family  // of each event, after position

	taxonomy     Taxonomy
	fromTaxonomy map[int32]bool // names whose place was taught
}

type label struct {
	Label
	span interval.Span
	step int64 // see Iteration.ProfilerStep
}

func newAnalysis(t *kineto.Trace, rules *family.Rules) *analysis {
	n := t.Events.Len()
	a := &analysis{t: t, out: &Breakdown{Rank: t.Rank, File: t.Name, World: t.World, Faults: t.FaultCount, Truncated: t.Truncated,
		Device: t.Metadata.Device, CPUOps: t.CPUOps},
		verdicts: make([]family.Verdict, len(t.Names)), iter: make([]int32, n), graph: make([]bool, n),
		role: make([]Role, n), fam: make([]family.Family, n), fromTaxonomy: map[int32]bool{}}
	for i, name := range t.Names {
		a.verdicts[i] = rules.Classify(name)
	}
	if len(t.Faults) > 0 {
		a.out.FirstFault = t.Faults[0]
	}
	for _, s := range t.Streams {
		if !slices.Contains(a.out.Devices, s.Device) {
			a.out.Devices = append(a.out.Devices, s.Device)
		}
	}
	a.labels, a.out.Bounds = labelsOf(t)
	a.twins = twins(t)
	return a
}

// labelsOf are the ranges that bound iterations, by start: the server's, else torch's step marks, else the server's ranges on the device.
func labelsOf(t *kineto.Trace) ([]label, Bounds) {
	own, steps := ranges(t, t.Labels)
	bounds := BoundsServer
	if len(own) == 0 {
		own, bounds = steps, BoundsSteps
	}
	if len(own) == 0 {
		own, bounds = twins(t), BoundsTwins
	}
	if len(own) == 0 {
		bounds = BoundsNothing
	}
	byStart := func(a, b label) int { return cmp.Compare(a.span.Start, b.span.Start) }
	slices.SortStableFunc(own, byStart)
	slices.SortStableFunc(steps, byStart)
	for i := range own {
		if k := last(steps, own[i].span.Start); k >= 0 {
			own[i].step = steps[k].step
		}
	}
	return own, bounds
}

// ranges are the ranges of a list that bound iterations.
func ranges(t *kineto.Trace, list []kineto.Label) (own, steps []label) {
	for _, l := range list {
		span := interval.Span{Start: l.StartNS, End: l.EndNS()}
		name := t.Names[l.Name]
		if parsed, ok := ParseLabel(name); ok {
			own = append(own, label{parsed, span, -1})
		} else if isProfilerStep(name) {
			steps = append(steps, label{Label{Text: name}, span, stepNumber(name)})
		}
	}
	return own, steps
}

// twins are the device-side ranges of the stream that has most of them: there is one for each stream and range.
func twins(t *kineto.Trace) []label {
	byStream := map[int64][]kineto.Label{}
	for _, l := range t.Twins {
		if _, ok := ParseLabel(t.Names[l.Name]); ok {
			byStream[l.TID] = append(byStream[l.TID], l)
		}
	}
	var most []kineto.Label
	for _, stream := range slices.Sorted(maps.Keys(byStream)) {
		if len(byStream[stream]) > len(most) {
			most = byStream[stream]
		}
	}
	own, _ := ranges(t, most)
	slices.SortStableFunc(own, func(a, b label) int { return cmp.Compare(a.span.Start, b.span.Start) })
	return own
}

// order sorts the events that count by start.
func (a *analysis) order() {
	a.sorted = make([]int32, 0, a.t.Events.Len())
	for i := range a.t.Events.Len() {
		e := a.t.Events.At(i)
		if e.Suspect {
			a.out.Suspect++
			a.out.SuspectNS += max(e.DurNS, 0)
			continue
		}
		a.sorted = append(a.sorted, int32(i))
		a.fam[i] = a.familyOf(e)
	}
	slices.SortStableFunc(a.sorted, func(x, y int32) int {
		p, q := a.t.Events.At(int(x)), a.t.Events.At(int(y))
		if c := cmp.Compare(p.StartNS, q.StartNS); c != 0 {
			return c
		}
		// The order of the file must not matter where starts are equal.
		return cmp.Or(cmp.Compare(p.Correlation, q.Correlation), cmp.Compare(p.DurNS, q.DurNS), cmp.Compare(a.t.Names[p.Name], a.t.Names[q.Name]),
			cmp.Compare(p.Stream, q.Stream))
	})
}

func (a *analysis) familyOf(e *kineto.DeviceEvent) family.Family {
	if e.Class != kineto.Kernel {
		return family.Memory
	}
	return a.verdicts[e.Name].Family
}

// String describes the breakdown in a line, for messages.
func (b *Breakdown) String() string {
	return fmt.Sprintf("%s: %d kernels, union %d ns, %d iterations", b.File, b.Kernels, b.Total.UnionNS, len(b.Iterations))
}

// MeanNS is the mean duration of a launch, rounded to the nearest nanosecond.
func (k *KernelUse) MeanNS() int64 { return (k.Use.SumNS + k.Use.Launches/2) / k.Use.Launches }
