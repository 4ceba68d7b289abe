// Package control is how a client speaks to the supervisor of a run: HTTP and JSON over a Unix socket that only its owner can open. It
// holds the types of that conversation and the client; it starts and owns nothing.
package control

import (
	"fmt"
	"strings"

	"opprof/engine/unit"
)

// API is the version of this conversation. A client refuses a supervisor of another version with a sentence, not with a guess.
const API = 1

// States of a server.
const (
	Starting = "starting"
	Ready    = "ready"
	Busy     = "busy"
	Idle     = "idle"
	Stalled  = "stalled" // work exists and no step completes
	Stopping = "stopping"
	Dead     = "dead"

	// Unwatched is the state of somebody else's server that nobody watches: how it stands is not known.
	Unwatched = "unwatched"
)

// Stopped is the word for a Dead server that was told to go.
const Stopped = "stopped"

// Word is a server's state as people read it: gone by an order, which its reason begins with, is Stopped, and only a death is Dead.
func Word(state, reason string) string {
	if state == Dead && strings.HasPrefix(reason, Stopped) {
		return Stopped
	}
	return state
}

// Status is what GET /v1/status answers and what `opprof status --json` prints.
type Status struct {
	Schema    int      `json:"schema"`
	API       int      `json:"api"`
	Run       string   `json:"run"`
	Path      string   `json:"path"`
	State     string   `json:"state"`
	SinceNS   int64    `json:"since_ns"` // when the state was entered, ns since 1970
	Phase     Phase    `json:"phase"`
	Reason    string   `json:"reason"` // why the server is in this state, in a sentence; "" when there is nothing to say
	Server    Server   `json:"server"`
	Engines   []Engine `json:"engines"`
	Windows   []Window `json:"windows"`
	Clients   int      `json:"clients"` // connected read-write clients
	OnHangup  string   `json:"on_hangup"`
	LastSeq   int64    `json:"last_seq"` // newest event of the journal
	JournalOK bool     `json:"journal_ok"`
	Remarks   []string `json:"remarks"` // what went wrong beside the server, in sentences
	Cost      Cost     `json:"cost"`
}

// Cost is what the next window will take, as far as that is known before it.
type Cost struct {
	Ranks     int    `json:"ranks"` // trace files that it gives; 0 before the engines have said
	Steps     int64  `json:"steps"` // labelled steps that it records
	NeedBytes int64  `json:"need_bytes"`
	FreeBytes *int64 `json:"free_bytes"` // on the disk of the traces; null when that cannot be asked
	StallNS   *int64 `json:"stall_ns"`   // how long the export of the last window of which it is known held serving up; null before one
	LagNS     int64  `json:"lag_ns"`     // how old a step may be before a trigger sees it
}

// Phase is where a start stands. Total 0 means that the phase does not count.
type Phase struct {
	Name  string `json:"name"`
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
}

// Server is the process and its address.
type Server struct {
	PID     int    `json:"pid"`
	Addr    string `json:"addr"`    // http://host:port or unix:/path
	Profile bool   `json:"profile"` // the profile endpoints are mounted
	Watched bool   `json:"watched"` // somebody else started it: opprof opens windows and never touches its processes
}

// Engine is an EngineCore and how far it is.
type Engine struct {
	ID        string `json:"id"`
	StepIndex int64  `json:"step_index"`
}

// States of a profiler window.
const (
	WindowArmed      = "armed"
	WindowStarting   = "starting"
	WindowRecording  = "recording"
	WindowFlushing   = "flushing"
	WindowVerified   = "verified"
	WindowIncomplete = "incomplete"
	WindowFailed     = "failed"
	WindowCancelled  = "cancelled"
)

// Window is one armed, running or finished profiler window.
type Window struct {
	N       int     `json:"n"` // from 1, in the order of arming
	State   string  `json:"state"`
	Reason  string  `json:"reason"`
	Trigger Trigger `json:"trigger"`
	ArmedNS int64   `json:"armed_ns"`
	StallNS *int64  `json:"stall_ns"`   // by how much writing its traces held the step behind the last labelled one up, or the call that stopped the profiler; null unknown
	First   *int64  `json:"first_step"` // labelled, of the first engine; null before its traces were read, and where no label equals a step
	Last    *int64  `json:"last_step"`

	FromStep int64 `json:"from_step,omitempty"` // of an armed every-trigger: from which step on it may start; 0 before the first step
	Held     int64 `json:"held,omitempty"`      // of an armed expression: for how many steps it has held by now
}

// Kinds of triggers.
const (
	TriggerNow   = "now"
	TriggerStep  = "step"  // when step Step has been scheduled
	TriggerEvery = "every" // every Every steps, Count times
	TriggerAfter = "after" // AfterNS after arming
	TriggerExpr  = "expr"  // when Expr has held for For steps
)

// Trigger says when a window starts.
type Trigger struct {
	Kind    string `json:"kind"`
	Step    int64  `json:"step,omitempty"`
	Every   int64  `json:"every,omitempty"`
	AfterNS int64  `json:"after_ns,omitempty"`
	Expr    string `json:"expr,omitempty"`
	For     int64  `json:"for,omitempty"` // steps; 0 is 1
}

// MaxCount bounds how many windows one order may arm: each stalls serving.
const MaxCount = 100

// Check says what is wrong with a trigger and count, in words for the one who typed them.
func (t Trigger) Check(count int) error {
	switch {
	case count < 1 || count > MaxCount:
		return fmt.Errorf("count is %d: expected 1 to %d windows", count, MaxCount)
	case t.Kind == TriggerStep && t.Step < 1:
		return fmt.Errorf("step is %d: expected a step index from 1", t.Step)
	case t.Kind == TriggerEvery && t.Every < 20:
		return fmt.Errorf("every is %d: expected at least 20 steps, since a window covers 10 and then exports", t.Every)
	case t.Kind == TriggerAfter && t.AfterNS <= 0:
		return fmt.Errorf("after is %d ns: expected a time in the future", t.AfterNS)
	case t.Kind == TriggerExpr && t.Expr == "":
		return fmt.Errorf("the expression is empty: for example decode_batch_size >= 32 && prefill_tokens == 0")
	case t.For < 0:
		return fmt.Errorf("for is %d: expected a number of steps", t.For)
	}
	switch t.Kind {
	case TriggerNow, TriggerStep, TriggerEvery, TriggerAfter, TriggerExpr:
		return nil
	}
	return fmt.Errorf("unknown trigger %q: expected now, step, every, after or expr", t.Kind)
}

// Passed says that the step of a trigger has been, which no window can start at any more; nil when it is still to come. newest is 0 before
// the first step.
func (t Trigger) Passed(newest int64) error {
	if t.Kind != TriggerStep || newest < t.Step {
		return nil
	}
	return fmt.Errorf("step %s has passed: the newest is %s; choose a later one, or arm a window that starts now", unit.Count(t.Step), unit.Count(newest))
}

// ArmRequest is the body of POST /v1/windows.
type ArmRequest struct {
	Trigger Trigger `json:"trigger"`
	Count   int     `json:"count"`
}

// ArmReply answers it.
type ArmReply struct {
	Windows []Window `json:"windows"`
}

// ErrorReply is the body of every answer that is not a success.
type ErrorReply struct {
	Error string `json:"error"`
	Hint  string `json:"hint"`
}
