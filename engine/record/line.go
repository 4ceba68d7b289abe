package record

import "fmt"

// Kind says what a line of a Layer-1 file is.
type Kind uint8

const (
	KindStep Kind = iota
	KindHeader
	KindProfile
	KindDummyStep
	KindFooter
	KindUnknown // a valid object whose type this version does not know; kept and counted, not an error
	KindBad     // not a valid line: see Line.Err
	KindBlank   // nothing but white space; accepted, holds nothing
)

// Line is one line of a Layer-1 file. Only the part named by Kind is meaningful; all parts are reused by the next line.
type Line struct {
	Kind    Kind
	Number  int64 // 1-based line number in its stream
	Offset  int64 // byte offset of the line's first byte
	Len     int   // bytes, without the newline
	Step    Step
	Header  Header
	Profile Profile
	Dummy   DummyStep
	Footer  Footer
	Err     *LineError
}

// LineError says why a line could not be taken.
type LineError struct {
	Name     string // stream name, usually a path
	Line     int64  // 1-based; 0 where the lines before it were not counted
	Offset   int64  // byte offset of the line in the stream
	Column   int    // 0-based byte in the line where reading stopped
	Reason   string // what was expected and what was found
	TornTail bool   // the last line of the stream, without its newline
}

func (e *LineError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: byte %d: %s", e.Name, e.Offset+int64(e.Column), e.Reason)
	}
	return fmt.Sprintf("%s:%d: byte %d: %s", e.Name, e.Line, e.Offset+int64(e.Column), e.Reason)
}

// Header is the first line of a stream: what the engine was started with. Fields that an older writer does not know are at their zero
// value; Known fields that matter for reading are the edges, which are checked against this package's.
type Header struct {
	Schema              int64   `json:"schema"`
	EngineID            string  `json:"engine_id"`
	StartWallNS         int64   `json:"start_wall_ns"`
	StartMonoNS         int64   `json:"start_mono_ns"`
	VLLMVersion         string  `json:"vllm_version"`
	TorchVersion        string  `json:"torch_version"`
	Model               string  `json:"model"`
	DType               string  `json:"dtype"`
	Quantization        string  `json:"quantization"` // "" when none or not said
	TensorParallel      int64   `json:"tensor_parallel_size"`
	DataParallel        int64   `json:"data_parallel_size"`
	PipelineParallel    int64   `json:"pipeline_parallel_size"`
	ExpertParallel      bool    `json:"expert_parallel"`
	MaxNumBatchedTokens int64   `json:"max_num_batched_tokens"`
	MaxNumSeqs          int64   `json:"max_num_seqs"`
	AsyncScheduling     bool    `json:"async_scheduling"`
	PrefixCaching       bool    `json:"prefix_caching"`
	GraphMode           string  `json:"cudagraph_mode"`        // configured mode, for example FULL_AND_PIECEWISE
	GraphNullReason     string  `json:"cudagraph_null_reason"` // why cudagraph is null in every step, if it is
	BlockSize           int64   `json:"block_size"`            // tokens per KV block
	Runner              string  `json:"runner"`                // model runner: v1, v2, or "" when not said
	PatchHash           string  `json:"patch_hash"`            // "" in files of an unpatched or prototype recorder
	ContextEdges        []int64 `json:"context_edges"`
	ChunkEdges          []int64 `json:"chunk_edges"`
	ChunkTailEdges      []int64 `json:"chunk_tail_edges"`
}

// Actions of a profile line.
const (
	ActionStart = "start"
	ActionStop  = "stop"
)

// Profile marks a call of EngineCore.profile: the first schedule after it is the window's first step.
type Profile struct {
	EngineID     string
	Action       string // ActionStart or ActionStop
	AfterStep    int64  // step index of the last schedule before the call
	WallNS       int64
	MonoNS       int64
	ReturnMonoNS int64
	OK           *bool // nil when the writer does not say
	Error        string
}

// DummyStep marks a batch that an engine ran without a SchedulerOutput, to keep step with other data-parallel ranks.
type DummyStep struct {
	EngineID  string
	AfterStep int64
	WallNS    int64
	MonoNS    int64
}

// Footer closes a stream. Its counts cover every line before it, header and profile lines too; Encoded = Written + Dropped.
type Footer struct {
	EngineID           string     `json:"engine_id"`
	Encoded            int64      `json:"encoded"`
	Written            int64      `json:"written"`
	Dropped            int64      `json:"dropped"`
	QueueHighWatermark int64      `json:"queue_high_watermark"` // records
	EndWallNS          int64      `json:"end_wall_ns"`
	ForegroundNS       Foreground `json:"foreground_ns"`
}

// Foreground is the recorder's cost in the serving thread, per step, in nanoseconds. N is the number of steps it covers; 0 is unknown.
type Foreground struct {
	N    int64 `json:"n"`
	P50  int64 `json:"p50"`
	P95  int64 `json:"p95"`
	P99  int64 `json:"p99"`
	Max  int64 `json:"max"`
	Mean int64 `json:"mean"`
}
