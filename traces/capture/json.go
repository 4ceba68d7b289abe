package capture

import (
	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/traces/rank"
)

// Report is a capture as `opprof trace --json` prints it: integer nanoseconds, null where a value is unknown.
type Report struct {
	Schema  int            `json:"schema"`
	Windows []WindowReport `json:"windows"`
	Failed  []FailedFile   `json:"failed"`
}

// FailedFile is a file that gave nothing.
type FailedFile struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// WindowReport is one window.
type WindowReport struct {
	Name       string            `json:"name"` // the number that it was armed under, or by time where the run's folder does not tell; t1, t2 … for windows that nobody armed
	Files      []string          `json:"files"`
	State      string            `json:"state"`         // verified, unjoined or incomplete
	Reason     string            `json:"reason"`        // why it is not verified; "" when it is
	Mode       string            `json:"mode"`          // graphs, compiled, eager or cpu
	Missing    []int64           `json:"missing_ranks"` // of the engine, without a file
	Holds      string            `json:"composition"`   // what the labelled steps held, in words
	GraphModes map[string]int    `json:"graph_modes"`   // of the joined steps
	Join       JoinReport        `json:"join"`
	Ranks      []RankReport      `json:"ranks"`
	Iterations []IterationReport `json:"iterations"`
}

// JoinReport says how the window was tied to steps; the method is "" when it was not.
type JoinReport struct {
	Method    string `json:"method"`     // marker, labels or time; "" where no steps are known
	Reason    string `json:"reason"`     // why there is none, or what is to be known of it
	AfterStep *int64 `json:"after_step"` // the first label is the step behind this one
}

// UseReport is device time of one family.
type UseReport struct {
	SumNS    int64 `json:"sum_ns"`   // durations added up
	UnionNS  int64 `json:"union_ns"` // time in which at least one ran
	Launches int64 `json:"launches"` // kernels, copies and sets
}

// RankReport is one rank of a window.
type RankReport struct {
	Rank                 *int64               `json:"rank"`      // global; null where the file does not say
	RankFrom             string               `json:"rank_from"` // distributedInfo of the file, or its name; "" unknown
	DataParallel         *int64               `json:"dp"`        // rank of its engine; null where the file does not say
	File                 string               `json:"file"`
	Kernels              int64                `json:"kernels"`
	Copies               int64                `json:"copies"`
	Sets                 int64                `json:"sets"`
	SumNS                int64                `json:"sum_ns"`                 // durations of all device work added up
	UnionNS              int64                `json:"union_ns"`               // busy: time in which at least one kernel, copy or set ran, over all streams
	NonCollectiveUnionNS int64                `json:"noncollective_union_ns"` // the same without collectives
	Families             map[string]UseReport `json:"families"`
	SpanNS               int64                `json:"span_ns"` // from the first start of device work to the last end
	IdleNS               int64                `json:"idle_ns"` // of the span, not busy
	IdleGaps             int64                `json:"idle_gaps"`
	LongestGapNS         int64                `json:"longest_gap_ns"`
	ExposedCollectiveNS  int64                `json:"exposed_collective_ns"` // time in which collectives ran and nothing else
	ExposedCopyNS        int64                `json:"exposed_copy_ns"`       // time in which copies ran and nothing else
	GraphEvents          int64                `json:"graph_events"`          // device work of replayed graphs
	EagerEvents          int64                `json:"eager_events"`          // device work that was launched by itself
	UnattributedSumNS    int64                `json:"unattributed_sum_ns"`   // launched before the first label
	UnknownSumNS         int64                `json:"unknown_sum_ns"`        // of other: kernels that no rule and no place knows
	LostEvents           int64                `json:"lost_events"`           // that damage has taken
	SuspectEvents        int64                `json:"suspect_events"`        // whose times cannot be right; they are in no other figure
	SuspectSumNS         int64                `json:"suspect_sum_ns"`
	Truncated            bool                 `json:"truncated"` // the file ends in its middle
	Device               string               `json:"device"`
	IterationsBy         string               `json:"iterations_by"`     // labels, profiler_steps, device_ranges or none
	UnlaunchedEvents     int64                `json:"unlaunched_events"` // device work whose launch is not in the file
	Remarks              []string             `json:"remarks"`
	TopKernels           []KernelReport       `json:"top_kernels"` // by their sums, as many as --top says
}

// KernelReport is one kernel name of a rank.
type KernelReport struct {
	Name     string   `json:"name"`
	Family   string   `json:"family"`
	Rule     string   `json:"rule"` // that named the family
	SumNS    int64    `json:"sum_ns"`
	UnionNS  int64    `json:"union_ns"`
	Launches int64    `json:"launches"`
	MeanNS   int64    `json:"mean_ns"`
	P50NS    int64    `json:"p50_ns"`
	P95NS    int64    `json:"p95_ns"`
	MaxNS    int64    `json:"max_ns"`
	Grid     [3]int32 `json:"grid"`   // of the longest launch
	Block    [3]int32 `json:"block"`  // of the longest launch
	Shapes   int      `json:"shapes"` // different launch shapes
}

// IterationReport is one labelled step on all ranks.
type IterationReport struct {
	Label              string                `json:"label"`    // the server's own name of the step
	Warmup             bool                  `json:"warmup"`   // disturbed by the start of the profiler: in no mean
	LabelNS            *int64                `json:"label_ns"` // longest range of the label on the CPU of a rank
	Ranks              []RankIterationReport `json:"ranks"`
	CriticalPathNS     *int64                `json:"critical_path_ns"`      // largest busy time of the ranks; null without device work
	CriticalRank       *int64                `json:"critical_rank"`         // the rank that has it
	SumOfRanksNS       *int64                `json:"sum_of_ranks_ns"`       // durations of all ranks that were read, added up; null without device work
	SlowestRank        *int64                `json:"slowest_rank"`          // the rank with the most work without collectives
	NonCollectiveNS    *int64                `json:"noncollective_path_ns"` // that work
	SpreadNS           *int64                `json:"spread_ns"`             // by how much it exceeds that of the rank with the least
	CollectiveWaitNS   *int64                `json:"collective_wait_ns"`    // longest time of a rank in collectives before the last rank had begun them; null where ranks are missing
	CollectiveWaitBy   string                `json:"collective_wait_by"`    // clocks, ends, difference or ""
	OverlapNS          *int64                `json:"overlap_ns"`            // family unions of the critical rank minus its busy time
	StepIndex          *int64                `json:"step_index"`            // null where no steps are known, as in all that follow
	GraphMode          *string               `json:"graph_mode"`
	BucketTokens       *int64                `json:"bucket_tokens"`
	PeriodNS           *int64                `json:"period_ns"` // completion minus the later of submission and the completion before
	SubmitToCompleteNS *int64                `json:"submit_to_complete_ns"`
	ResidualNS         *int64                `json:"residual_ns"`  // period minus critical path; may be negative for one step
	ExportStall        bool                  `json:"export_stall"` // the period holds the stall of the trace's export
}

// RankIterationReport is one rank's part of an iteration.
type RankIterationReport struct {
	Rank                 *int64               `json:"rank"`
	SumNS                int64                `json:"sum_ns"`                 // durations added up
	UnionNS              int64                `json:"union_ns"`               // busy
	NonCollectiveUnionNS int64                `json:"noncollective_union_ns"` // busy without collectives
	Launches             int64                `json:"launches"`               // kernels, copies and sets
	GraphLaunches        int64                `json:"graph_launches"`         // launches that stand for a whole graph
	SpanNS               int64                `json:"span_ns"`                // from its first start to its last end
	WaitNS               *int64               `json:"collective_wait_ns"`     // time in collectives that the rank waits for a later one; null unknown
	Families             map[string]UseReport `json:"families"`
}

// Report converts a capture. top bounds the kernels listed of each rank; 0 lists all.
func (c *Capture) Report(top int) Report {
	r := Report{Schema: 1, Windows: []WindowReport{}, Failed: []FailedFile{}}
	for i := range c.Windows {
		w := c.window(&c.Windows[i], top)
		if i < len(c.Names) {
			w.Name = c.Names[i]
		}
		r.Windows = append(r.Windows, w)
	}
	for _, f := range c.Failed {
		r.Failed = append(r.Failed, FailedFile{f.Path, f.Why()})
	}
	return r
}

func (c *Capture) window(w *join.Window, top int) WindowReport {
	state, reason := w.State()
	out := WindowReport{Files: []string{}, State: string(state), Reason: reason, Mode: string(w.Mode()), Holds: w.Composition().String(),
		GraphModes: w.GraphModes(), Missing: append([]int64{}, w.Missing...), Ranks: []RankReport{}, Iterations: []IterationReport{},
		Join: JoinReport{Method: w.Join.Method, Reason: w.Join.Reason}}
	if w.Join.Method != "" {
		out.Join.AfterStep = &w.Join.AfterStep
	}
	for _, b := range w.Ranks {
		out.Files = append(out.Files, c.Paths[b])
		out.Ranks = append(out.Ranks, c.rank(b, top))
	}
	for i := range w.Iterations {
		out.Iterations = append(out.Iterations, iteration(w, &w.Iterations[i]))
	}
	return out
}

func (c *Capture) rank(b *rank.Breakdown, top int) RankReport {
	out := RankReport{Rank: known(b.Rank.Global), RankFrom: b.Rank.From, DataParallel: known(b.Rank.DP), File: c.Paths[b],
		Kernels: b.Kernels, Copies: b.Copies, Sets: b.Sets, SumNS: b.Total.SumNS, UnionNS: b.Total.UnionNS,
		NonCollectiveUnionNS: b.NonCollective.UnionNS, Families: families(&b.Families), SpanNS: b.Span.Len(), IdleNS: b.IdleNS, IdleGaps: b.IdleGaps, LongestGapNS: b.LongestGapNS,
		ExposedCollectiveNS: b.ExposedNS.CollectiveNS, ExposedCopyNS: b.ExposedNS.CopyNS, GraphEvents: b.GraphEvents, EagerEvents: b.EagerEvents,
		UnattributedSumNS: b.Unattributed.SumNS, UnknownSumNS: b.UnknownNS, LostEvents: b.Faults, SuspectEvents: b.Suspect, SuspectSumNS: b.SuspectNS,
		Truncated: b.Truncated, Device: b.Device, IterationsBy: string(b.Bounds), UnlaunchedEvents: b.Unlaunched,
		Remarks: append([]string{}, b.Remarks()...), TopKernels: []KernelReport{}}
	for i, k := range b.Kernel {
		if top > 0 && i >= top {
			break
		}
		out.TopKernels = append(out.TopKernels, KernelReport{Name: k.Name, Family: k.Verdict.Family.String(), Rule: k.Verdict.Rule, SumNS: k.Use.SumNS,
			UnionNS: k.Use.UnionNS, Launches: k.Use.Launches, MeanNS: k.MeanNS(), P50NS: k.P50NS, P95NS: k.P95NS, MaxNS: k.MaxNS, Grid: k.Grid, Block: k.Block, Shapes: k.Variants})
	}
	return out
}

func iteration(w *join.Window, it *join.Iteration) IterationReport {
	out := IterationReport{Label: it.Label.Text, Warmup: it.Warmup, Ranks: []RankIterationReport{}, CollectiveWaitNS: known(it.WaitNS),
		CollectiveWaitBy: it.WaitBy, ResidualNS: it.ResidualNS, ExportStall: it.Export}
	if it.CriticalNS >= 0 {
		overlap := it.OverlapNS()
		out.CriticalPathNS, out.NonCollectiveNS, out.SpreadNS, out.OverlapNS = &it.CriticalNS, &it.NonCollectiveNS, &it.SpreadNS, &overlap
		out.SumOfRanksNS = known(it.SumNS())
		out.CriticalRank, out.SlowestRank = known(w.Ranks[it.Critical].Rank.Global), known(w.Ranks[it.Slowest].Rank.Global)
	}
	for k, r := range it.Ranks {
		if r == nil {
			continue
		}
		if n := r.LabelNS.Len(); out.LabelNS == nil || n > *out.LabelNS {
			out.LabelNS = &n
		}
		out.Ranks = append(out.Ranks, RankIterationReport{Rank: known(w.Ranks[k].Rank.Global), SumNS: r.Total.SumNS, UnionNS: r.Total.UnionNS,
			NonCollectiveUnionNS: r.NonCollective.UnionNS, Launches: r.Total.Launches, GraphLaunches: r.GraphLaunches, SpanNS: r.Span.Len(), WaitNS: known(it.Waits[k]), Families: families(&r.Families)})
	}
	if s := it.Step; s != nil {
		out.StepIndex, out.PeriodNS, out.SubmitToCompleteNS = &s.Index, s.PeriodNS, &s.SubmitToCompleteNS
		if s.Graph != "" {
			out.GraphMode, out.BucketTokens = &s.Graph, &s.BucketTokens
		}
	}
	return out
}

func families(f *rank.Families) map[string]UseReport {
	out := map[string]UseReport{}
	for i, u := range f {
		out[family.Family(i).String()] = UseReport{u.SumNS, u.UnionNS, u.Launches}
	}
	return out
}

// known is a value, or nil when it is negative: not known.
func known(v int64) *int64 {
	if v < 0 {
		return nil
	}
	return &v
}
