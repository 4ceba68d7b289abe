package store

import "opprof/engine/record"

// Query selects what a Frame shows.
type Query struct {
	Engine  string // engine id; "" merges all engines
	AtNS    int64  // right edge on the time axis, ns since 1970; 0 follows the newest step (live)
	SpanNS  int64  // wanted width of the time axis, filled up to whole Columns; 0 is the whole run
	Columns int    // number of time buckets that fit; the bucket width is the smallest step of a fixed ladder that covers the span
	NowNS   int64  // the reader's clock, ns since 1970: how long ago the newest step was; 0 for a finished run
}

// Frame is everything the live and review pages show at one moment, and what `--once --json` prints: the same values. A Frame is
// immutable. Counts are of the selected engines; percentiles of several engines are merged from steps or buckets, never averaged.
type Frame struct {
	Version  uint64 `json:"version"`   // of the snapshot it was computed from
	Live     bool   `json:"live"`      // the right edge follows the newest step
	FromNS   int64  `json:"from_ns"`   // left edge of the first column
	ToNS     int64  `json:"to_ns"`     // right edge of the last column
	BucketNS int64  `json:"bucket_ns"` // width of a column
	Sampled  bool   `json:"sampled"`   // columns come from probes of a file that is not indexed yet

	State   State    `json:"state"`
	Loss    Loss     `json:"loss"`    // of all engines, and of streams that name none
	Engines []Engine `json:"engines"` // one row per engine of the run, selected or not, by id
	Now     Instant  `json:"now"`     // composition at the right edge
	Rates   Rates    `json:"rates"`   // over RateSpanNS before the right edge
	Span    Summary  `json:"span"`    // over the visible columns
	Run     Summary  `json:"run"`     // over the whole run so far
	Columns []Column `json:"columns"` // oldest first, len <= Query.Columns
	Windows []Window `json:"windows"` // profiler windows known from Layer 1, by time
}

// State is what the steps say about the server: busy while steps complete, idle when the last step left no request, stalled when
// requests exist but no step completes, finished after a footer, unknown before the first step.
type State struct {
	Name      string `json:"name"`       // unknown, busy, idle, stalled, finished
	SinceNS   int64  `json:"since_ns"`   // time of the newest step; 0 unknown
	StalledNS int64  `json:"stalled_ns"` // how long no step completed while requests exist; 0 if not stalled
}

// Engine is one EngineCore (a data-parallel rank) of the run.
type Engine struct {
	ID        string         `json:"id"`
	Stream    string         `json:"stream"` // file it came from
	State     State          `json:"state"`
	Header    *record.Header `json:"header"` // nil when the file has none
	Footer    *record.Footer `json:"footer"` // nil while running or killed
	FirstStep int64          `json:"first_step"`
	LastStep  int64          `json:"last_step"`
	Steps     int64          `json:"steps"`
	Dummies   int64          `json:"dummy_steps"` // batches run without a SchedulerOutput, for other data-parallel ranks
	Now       Instant        `json:"now"`
	Rates     Rates          `json:"rates"`
	Loss      Loss           `json:"loss"`
}

// Loss counts what the reader could not show. Zero everywhere is a complete recording.
type Loss struct {
	Dropped   int64 `json:"dropped"`    // records that the server dropped
	BadLines  int64 `json:"bad_lines"`  // lines that could not be read
	Gaps      int64 `json:"gaps"`       // jumps in step_index not explained by drops
	Backward  int64 `json:"backward"`   // step_index going back: a restart inside one stream
	Unknown   int64 `json:"unknown"`    // valid lines of an unknown type
	TornTails int64 `json:"torn_tails"` // last lines that end in the middle, as after a kill
	Unplaced  int64 `json:"unplaced"`   // steps in no column: their clock has no place on the time axis, or the run has too many engines
}

// Instant is the batch composition at one moment: the newest step at or before it, summed over the selected engines.
type Instant struct {
	Known     bool   `json:"known"`
	TimeNS    int64  `json:"time_ns"`    // completion of the newest of these steps
	StepIndex int64  `json:"step_index"` // meaningful for one engine; the newest step's otherwise
	PeriodNS  *int64 `json:"period_ns"`  // null when unknown

	ScheduledRequests int64  `json:"scheduled_requests"`
	DecodeBatchSize   int64  `json:"decode_batch_size"`
	PrefillRequests   int64  `json:"prefill_requests"`
	PrefillTokens     int64  `json:"prefill_tokens"`
	DecodeTokens      int64  `json:"decode_tokens"`
	ResumedRequests   *int64 `json:"resumed_requests"`
	RecomputeTokens   *int64 `json:"recompute_tokens"`

	Chunks      record.Chunks             `json:"chunks"`
	ChunkTail   bool                      `json:"chunk_tail"` // Chunks.TailHist is known
	ContextHist [record.ContextBins]int64 `json:"context_hist"`
	Preemptions int64                     `json:"preemptions"`
	Queues      record.Queues             `json:"queues"`
	KV          record.KV                 `json:"kv"` // blocks summed, usage = used / total
	Local       *record.Prefix            `json:"prefix_local"`
	External    *record.Prefix            `json:"prefix_external"`
	Graph       *record.Graph             `json:"graph"` // of the newest step
	Dropped     int64                     `json:"dropped_records_before"`
}

// Rates are per second over the last RateSpanNS (shorter at the start of a run). Zero while the server is idle; Known is false before
// two steps.
type Rates struct {
	Known            bool    `json:"known"`
	StepsPerS        float64 `json:"steps_per_s"`
	PrefillTokPerS   float64 `json:"prefill_tokens_per_s"`
	DecodeTokPerS    float64 `json:"decode_tokens_per_s"`     // those computed again included
	RecomputeTokPerS float64 `json:"recompute_tokens_per_s"`  // as far as the recorder tells
	RecomputeKnown   bool    `json:"recompute_known"`         // the recorder tells for every step what was computed again
	NewDecodeTokPerS float64 `json:"new_decode_tokens_per_s"` // decode tokens that were not computed before; all of them unless recompute_known
}

// Quantiles of step periods in ns. All are null when N is 0. Exact says that they come from whole steps by the nearest-rank rule;
// otherwise from a sketch whose relative error is at most ErrorPct.
type Quantiles struct {
	N        int64   `json:"n"`
	Unknown  int64   `json:"unknown"` // steps without a known period: after a gap, a drop or a restart
	P50NS    *int64  `json:"p50_ns"`
	P95NS    *int64  `json:"p95_ns"`
	P99NS    *int64  `json:"p99_ns"`
	MaxNS    *int64  `json:"max_ns"`
	Exact    bool    `json:"exact"`
	ErrorPct float64 `json:"error_pct"`
}

// Summary is an aggregate over a stretch of time.
type Summary struct {
	Counts Counts    `json:"counts"`
	Period Quantiles `json:"period"`
}

// Counts are sums and extremes over the steps of a stretch of time. They add up: merging two stretches merges their Counts.
type Counts struct {
	Steps       int64 `json:"steps"`
	ZeroToken   int64 `json:"zero_token_steps"`
	FirstNS     int64 `json:"first_ns"` // completion of the first step
	LastNS      int64 `json:"last_ns"`  // completion of the last step
	PeriodSumNS int64 `json:"period_sum_ns"`

	ScheduledRequests int64 `json:"scheduled_requests"` // request-steps
	DecodeRequests    int64 `json:"decode_requests"`    // request-steps
	PrefillRequests   int64 `json:"prefill_requests"`   // request-steps
	PrefillTokens     int64 `json:"prefill_tokens"`
	DecodeTokens      int64 `json:"decode_tokens"`
	ResumedRequests   int64 `json:"resumed_requests"`
	RecomputeTokens   int64 `json:"recompute_tokens"`
	Preemptions       int64 `json:"preemptions"`
	LastPreemptionNS  int64 `json:"last_preemption_ns"` // 0 never
	DecodeBatchMax    int64 `json:"decode_batch_max"`

	// Steps whose optional parts are known. Where one is 0 and Steps is not, the sums it belongs to are unknown, not zero.
	ResumedSteps       int64 `json:"resumed_steps"`        // of ResumedRequests
	RecomputeSteps     int64 `json:"recompute_steps"`      // of RecomputeTokens
	UnsplitTokensSteps int64 `json:"unsplit_tokens_steps"` // of Chunks.UnsplitTokens
	ChunkTailSteps     int64 `json:"chunk_tail_steps"`     // of Chunks.TailHist

	Chunks      record.Chunks             `json:"chunks"`
	ContextHist [record.ContextBins]int64 `json:"context_hist"` // request-steps

	RunningMax  int64 `json:"running_max"`
	WaitingMax  int64 `json:"waiting_max"`
	DeferredMax int64 `json:"deferred_max"`
	WaitingSum  int64 `json:"waiting_sum"` // over steps, for the mean
	RunningSum  int64 `json:"running_sum"`

	KVUsageMax   float64 `json:"kv_usage_max"`    // in [0,1]
	KVUsageMaxNS int64   `json:"kv_usage_max_ns"` // the latest time with it
	KVUsageSum   float64 `json:"kv_usage_sum"`    // over steps, for the mean; each rounded to 2^-24

	Graph         GraphSteps    `json:"graph"` // steps by mode: FULL, PIECEWISE, NONE, other, unknown
	GraphBucket   int64         `json:"graph_bucket_tokens"`
	GraphPadding  int64         `json:"graph_padding_tokens"`
	LocalSteps    int64         `json:"prefix_local_steps"` // steps whose local prefix statistics are known
	Local         record.Prefix `json:"prefix_local"`
	ExternalSteps int64         `json:"prefix_external_steps"`
	External      record.Prefix `json:"prefix_external"`

	Dropped int64 `json:"dropped"`
	Gaps    int64 `json:"gaps"`   // steps before which steps are missing or the server restarted
	Stalls  int64 `json:"stalls"` // steps with a period of at least StallNS, or that long a pause before them while requests that they go on with were there
}

// GraphSteps counts steps by the mode that they ran in. In JSON it is an object by the modes' names.
type GraphSteps [record.GraphModes]int64

// Column is one time bucket [StartNS, StartNS+BucketNS). Steps == 0 is a gap: nothing completed, drawn empty, never as zero.
type Column struct {
	StartNS   int64     `json:"start_ns"`
	Counts    Counts    `json:"counts"`
	Period    Quantiles `json:"period"`
	Perturbed bool      `json:"perturbed"` // a profiler window was open in it
	Silence   Silence   `json:"silence"`   // why no step completed in it: idle, step (one went on), missing (steps without a record), outside (of the run); "" when one did
}

// Window is a profiler window as the Layer-1 markers tell it, before its traces are looked at.
type Window struct {
	Name          string `json:"name"` // the number that it was armed under, or by time; t1, t2 … where nobody armed it, "-" before that is known; "" in a picture of records alone
	Engine        string `json:"engine"`
	StartNS       int64  `json:"start_ns"`        // time of the start marker
	StartWallNS   int64  `json:"start_wall_ns"`   // the same by the wall clock, which drifts away from the axis: traces and journals have it
	AfterStep     int64  `json:"after_step"`      // the window's first step is the next one
	StopNS        int64  `json:"stop_ns"`         // 0 while open
	StopAfterStep int64  `json:"stop_after_step"` // 0 while open
	LongestNS     int64  `json:"longest_step_ns"` // longest step period from its first step to its stop, whatever made it long; 0 where none is known
	StopHeldNS    int64  `json:"stop_held_ns"`    // how long the call that stopped it took, in which the engine makes no step; 0 while open
}

// Empty reports whether its markers enclose no step: it was stopped before one was submitted, or its process ended.
func (w *Window) Empty() bool { return w.StopNS != 0 && w.StopAfterStep <= w.AfterStep }

const (
	// RateSpanNS is the stretch that Rates cover.
	RateSpanNS = 5_000_000_000
	// StalledAfterNS is how long no step may complete, while requests exist, before the state is stalled.
	StalledAfterNS = 2_000_000_000
	// StallNS is the step period, or the pause before a step, from which a step counts as a stall.
	StallNS = 500_000_000
)
