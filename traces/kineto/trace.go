package kineto

import (
	"cmp"
	"slices"
)

// Trace is what one rank's file holds. Times of its parts are nanoseconds on the file's own axis; add BaseNS for nanoseconds since 1970.
type Trace struct {
	Name   string // file name, without its folder
	BaseNS int64  // 0 when times are absolute already, or when the file names no base
	Rank   Rank
	World  int64 // ranks of the process group; 0 when the file does not say

	Names   []string // kernel, copy, launch and label names, by their index
	Streams []Stream // by DeviceEvent.Stream
	Shapes  []Shape  // launch shapes, by DeviceEvent.Shape

	Events   Events   // kernels, copies and sets, in file order
	Launches Launches // runtime and driver calls by correlation
	Labels   []Label  // CPU ranges (user_annotation), in file order
	Twins    []Label  // their device-side twins (gpu_user_annotation), in file order

	CPUOps     int64 // operators on the CPU, counted only
	EndNS      int64 // time of the profiler's own end marker; 0 when absent
	Bytes      int64 // inflated bytes read
	Objects    int64 // events seen, kept or skipped
	Faults     []Fault
	FaultCount int64 // all faults; Faults keeps the first ones
	Suspect    int64 // device events with impossible times: kept, flagged, never folded into a family
	Truncated  bool  // the file ended inside the event list, or its compression was cut
	Closed     bool  // the outermost object was closed: the exporter finished
	Metadata   Metadata
}

// Metadata are the facts about the profiler that a trace may carry.
type Metadata struct {
	Device         string // name of the first device; "" for CPU-only traces
	DriverVersion  int64
	RuntimeVersion int64
	CUPTIVersion   int64
	TraceID        string
}

// Rank is a trace's place in the job, and where that was read from: "file name", "distributedInfo", or "" when unknown.
type Rank struct {
	Global, DP, PP, TP, DCP, EP int64 // -1 when unknown
	From                        string
}

// Known reports whether the global rank is known.
func (r Rank) Known() bool { return r.From != "" }

// Stream is a device queue.
type Stream struct{ Device, Stream int64 }

// Shape is a kernel's launch shape; zero for copies and sets.
type Shape struct{ Grid, Block [3]int32 }

// Class says what a device event is.
type Class uint8

const (
	Kernel Class = iota
	Copy
	Set
)

// String is the class in a word.
func (c Class) String() string { return [...]string{"kernel", "copy", "set"}[min(c, Set)] }

// DeviceEvent is one kernel, copy or set. Correlation links it to the call that launched it: under CUDA graphs one launch stands for
// hundreds of kernels.
type DeviceEvent struct {
	StartNS     int64
	DurNS       int64
	Correlation uint32 // 0 when unknown
	Name        int32
	Shape       int32
	Stream      uint16
	Class       Class
	Suspect     bool // its time cannot be right: at or before the base, or past the end of the window
}

// EndNS is where the event ends.
func (e *DeviceEvent) EndNS() int64 { return e.StartNS + e.DurNS }

// Label is a named range, for example execute_context_0(0)_generation_8(8).
type Label struct {
	Name    int32
	StartNS int64
	DurNS   int64
	PID     int64
	TID     int64
}

// EndNS is where the range ends.
func (l *Label) EndNS() int64 { return l.StartNS + l.DurNS }

// Launch is a runtime or driver call that may have put work on the device.
type Launch struct {
	StartNS     int64
	DurNS       int64
	Correlation uint32
	Name        int32
	Thread      uint16 // index of the calling thread in the file, by first appearance
}

// Launches are sorted by correlation, then by start.
type Launches []Launch

// Find returns the index of the first launch with a correlation; 0 is no correlation and has none.
func (l Launches) Find(correlation uint32) (int, bool) {
	if correlation == 0 {
		return 0, false
	}
	return slices.BinarySearchFunc(l, correlation, func(v Launch, c uint32) int { return cmp.Compare(v.Correlation, c) })
}

// Fault is damage in a trace: an event or a stretch that could not be read.
type Fault struct {
	Offset int64  // byte in the inflated stream
	Reason string // what was found, in a few words
}

const eventBlock = 8192

// Events is an append-only list in blocks, so that growing never copies what is there.
type Events struct {
	blocks [][]DeviceEvent
	n      int
}

// Len is the number of events.
func (e *Events) Len() int { return e.n }

// At returns event i for reading or flagging.
func (e *Events) At(i int) *DeviceEvent { return &e.blocks[i/eventBlock][i%eventBlock] }

func (e *Events) add(v DeviceEvent) {
	if e.n%eventBlock == 0 {
		e.blocks = append(e.blocks, make([]DeviceEvent, 0, eventBlock))
	}
	last := len(e.blocks) - 1
	e.blocks[last] = append(e.blocks[last], v)
	e.n++
}
