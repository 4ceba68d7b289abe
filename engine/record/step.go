package record

// Schema is the Layer-1 schema this package reads. Lines of a higher schema are refused with a clear reason, never guessed at.
const Schema = 1

// Numbers of histogram bins (edges + 1): the context-length histogram of all scheduled requests, the chunk-size histogram of the
// prefill requests, and the additive histogram that splits the last chunk bin at 4096, 8192 and 16384 tokens.
const (
	ContextBins   = 12
	ChunkBins     = 9
	ChunkTailBins = 4
)

// GraphMode is the CUDA-graph runtime mode of a step. GraphUnknown means that the server reported none: a zero-token step, or a model
// runner without the statistic. GraphOther is a mode this version does not know; it counts as a hit, since NONE is the only miss.
type GraphMode uint8

const (
	GraphUnknown GraphMode = iota
	GraphNone
	GraphPiecewise
	GraphFull
	GraphOther
	GraphModes // number of modes
)

var graphNames = [GraphModes]string{"unknown", "NONE", "PIECEWISE", "FULL", "other"}

// String is the mode's name as vLLM writes it.
func (m GraphMode) String() string {
	if m < GraphModes {
		return graphNames[m]
	}
	return graphNames[GraphOther]
}

// MarshalText is the mode's name, for JSON.
func (m GraphMode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Presence says which optional parts of a step were in the line. An absent or null part is unknown, never zero.
type Presence uint16

const (
	HasResumed        Presence = 1 << iota // resumed_requests
	HasRecompute                           // recompute_tokens
	HasUnsplitTokens                       // chunked_prefill.unsplit_tokens
	HasChunkTail                           // chunk_tail_hist
	HasPrefixLocal                         // prefix.local is not null
	HasPrefixExternal                      // prefix.external is not null
	HasGraph                               // cudagraph is not null
	HasExpertLoad                          // moe_expert_load is not null
)

// Prefix holds the prefix-cache deltas of one schedule call. Queries and hits are tokens; a request that could not be placed is looked
// up again in every step and counted each time (vllm/v1/core/kv_cache_manager.py, get_computed_blocks).
type Prefix struct {
	Requests          int64 `json:"requests"`
	Queries           int64 `json:"queries"`
	Hits              int64 `json:"hits"`
	PreemptedRequests int64 `json:"preempted_requests"`
	PreemptedQueries  int64 `json:"preempted_queries"`
	PreemptedHits     int64 `json:"preempted_hits"`
}

// Chunks counts the prefill requests of a step by their place in the prompt. Tokens is the sum over all four kinds; UnsplitTokens the
// part of the requests whose prefill completed in one step.
type Chunks struct {
	First         int64                `json:"first"`
	Middle        int64                `json:"middle"`
	Final         int64                `json:"final"`
	Unsplit       int64                `json:"unsplit"`
	Tokens        int64                `json:"tokens"`
	UnsplitTokens int64                `json:"unsplit_tokens"`
	SizeHist      [ChunkBins]int64     `json:"chunk_size_hist"`
	TailHist      [ChunkTailBins]int64 `json:"chunk_tail_hist"`
}

// Queues are the request counts right after scheduling. Deferred requests wait for something other than capacity (grammar, remote KV).
type Queues struct {
	Running  int64 `json:"running"`
	Waiting  int64 `json:"waiting"`
	Deferred int64 `json:"deferred"`
}

// KV is the block pool right after scheduling, without vLLM's null block. Usage is in [0,1].
type KV struct {
	TotalBlocks int64   `json:"total_blocks"`
	FreeBlocks  int64   `json:"free_blocks"`
	UsedBlocks  int64   `json:"used_blocks"`
	Usage       float64 `json:"usage"`
}

// Graph is the CUDA-graph descriptor of a step (vllm/compilation/cuda_graph.py, CUDAGraphStat). PaddingTokens = BucketTokens -
// UnpaddedTokens.
type Graph struct {
	Hit            bool      `json:"hit"`
	Mode           GraphMode `json:"runtime_mode"`
	UnpaddedTokens int64     `json:"unpadded_tokens"`
	BucketTokens   int64     `json:"bucket_tokens"`
	PaddingTokens  int64     `json:"padding_tokens"`
}

// Step is one scheduler step. It is flat and reusable: decoding into it allocates nothing but a new engine id.
type Step struct {
	EngineID       string
	StepIndex      int64 // Scheduler.current_step; the first is 1
	SubmitWallNS   int64 // since 1970
	SubmitMonoNS   int64 // machine's monotonic clock
	CompleteMonoNS int64

	ModelExecuted     bool
	ScheduledRequests int64
	DecodeBatchSize   int64
	PrefillRequests   int64
	PrefillTokens     int64
	DecodeTokens      int64
	ResumedRequests   int64 // valid with HasResumed
	RecomputeTokens   int64 // valid with HasRecompute

	Chunks      Chunks
	ContextHist [ContextBins]int64
	Preemptions int64
	Queues      Queues
	KV          KV
	Local       Prefix // valid with HasPrefixLocal
	External    Prefix // valid with HasPrefixExternal
	Graph       Graph  // valid with HasGraph

	DroppedBefore int64 // records lost between the previous line and this one
	Has           Presence
}

// Known reports whether all the given optional parts are in the step.
func (s *Step) Known(p Presence) bool { return s.Has&p == p }

// SubmitToCompleteNS is the elapsed time of the step on the monotonic clock. With async scheduling two batches are in flight, so it
// spans about two step periods.
func (s *Step) SubmitToCompleteNS() int64 { return s.CompleteMonoNS - s.SubmitMonoNS }
