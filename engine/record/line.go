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
	Line     int64  // 1-based
	Offset   int64  // byte offset of the line in the stream
	Column   int    // 0-based byte in the line where reading stopped
	Reason   string // what was expected and what was found
	TornTail bool   // the last line of the stream, without its newline
}

func (e *LineError) Error() string {
	return fmt.Sprintf("%s:%d: byte %d: %s", e.Name, e.Line, e.Offset+int64(e.Column), e.Reason)
}

// Header is the first line of a stream: what the engine was started with. Fields that an older writer does not know are at their zero
// value; Known fields that matter for reading are the edges, which are checked against this package's.
type Header struct {
	Schema              int64
	EngineID            string
	StartWallNS         int64
	StartMonoNS         int64
	VLLMVersion         string
	TorchVersion        string
	Model               string
	DType               string
	Quantization        string // "" when none or not said
	TensorParallel      int64
	DataParallel        int64
	PipelineParallel    int64
	ExpertParallel      bool
	MaxNumBatchedTokens int64
	MaxNumSeqs          int64
	AsyncScheduling     bool
	PrefixCaching       bool
	GraphMode           string // configured mode, for example FULL_AND_PIECEWISE
	GraphNullReason     string // why cudagraph is null in every step, if it is
	BlockSize           int64  // tokens per KV block
	Runner              string // model runner: v1, v2, or "" when not said
	PatchHash           string // "" in files of an unpatched or prototype recorder
	ContextEdges        []int64
	ChunkEdges          []int64
	ChunkTailEdges      []int64
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
	EngineID           string
	Encoded            int64
	Written            int64
	Dropped            int64
	QueueHighWatermark int64 // records
	EndWallNS          int64
	ForegroundNS       Foreground
}

// Foreground is the recorder's cost in the serving thread, per step, in nanoseconds. N is the number of steps it covers; 0 is unknown.
type Foreground struct {
	N, P50, P95, P99, Max, Mean int64
}
