package serverlog

import (
	"io/fs"

	"opprof/engine/vllm"
)

// State is what is known of a log at one moment. It is immutable.
type State struct {
	Version uint64 // changes with everything else
	Path    string
	Found   bool   // the file exists, or did: what was read of a deleted file stays
	Gone    bool   // it existed and does not any more
	Size    int64  // bytes on disk
	Read    int64  // bytes of whole lines that were read
	Err     string // why reading does not get on; "" when it does

	Lines    int64                         // read so far
	ByLevel  [vllm.LevelCritical + 1]int64 // lines that stand for themselves, by severity: a traceback counts once
	Joined   int64                         // lines that continue another
	Restarts int64                         // how often the file was cut or replaced and was read again from its start
	Restart  string                        // why, the last time

	FirstError, LastError *Line // nil when there is none

	Facts  []vllm.Fact
	Args   []vllm.Arg // that differ from vLLM's defaults
	Phase  vllm.Phase
	Phases []PhaseStart

	file     fs.FileInfo
	index    sparse // of all lines
	problems sparse // of warnings and worse
	errors   sparse
	recent   []Line // the newest lines, without a gap
	first    Moment // of the first line that has a time
	last     Moment
}

// PhaseStart says when a phase of the start began.
type PhaseStart struct {
	Name string
	Line int64
	At   Moment
}

// Behind reports how many bytes of the file are still to be read.
func (s *State) Behind() int64 { return max(0, s.Size-s.Read) }

// Problems is the number of warnings and errors.
func (s *State) Problems() int64 { return s.problems.count }

// Errors is the number of errors.
func (s *State) Errors() int64 { return s.errors.count }
