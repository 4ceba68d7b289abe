package supervisor

import (
	"context"
	"os"
	"time"

	"opprof/engine/control"
	"opprof/engine/journal"
	"opprof/engine/rundir"
	"opprof/engine/vllm"
	"opprof/engine/window"
)

// Policies for a run whose last client has gone.
const (
	HangupKeep = "keep"
	HangupStop = "stop"
)

// Config says what to supervise. The zero values of Timing, Clock, Inspect and Compress are usable.
type Config struct {
	Dir    string // the run's folder, which exists
	ID     string
	Socket string // of the control API; see rundir.Places

	Command         Command
	Watched         *Watched // somebody else's server; nil for one that is started by Command
	Address         vllm.Address
	Profile         bool          // the profile endpoints are mounted
	ShutdownTimeout time.Duration // what the server was told: how long requests may take to finish
	StartTimeout    time.Duration // a server that is not ready by then is stopped; 0 is never
	OnHangup        string        // HangupKeep or HangupStop
	Window          window.Settings
	Profiler        map[string]any  // its settings, for the summaries of windows
	Gzip            bool            // traces are compressed by the server itself
	Manifest        rundir.Manifest // what is known before the server speaks
	Inspect         Inspect
	Compress        Compress // the traces of verified windows
	Timing          Timing
	Clock           journal.Clock
}

// Command is what to start, as an argument list and a whole environment.
type Command struct {
	Argv    []string
	Env     []string
	Dir     string
	Inherit []*os.File // locks that must live as long as the server
}

// Inspect reads the trace files of a window and compares their labels with its steps. It is given from outside, since this package knows
// nothing of traces.
type Inspect func(ctx context.Context, w window.Window, paths []string) (window.Inspection, error)

// Timing are the periods and limits of the loop.
type Timing struct {
	Tick          time.Duration // between two looks at deadlines, files and logs
	Health        time.Duration // between two calls of /health
	HealthTimeout time.Duration
	Unhealthy     time.Duration // without an answer to /health, after which a ready server counts as stalled
	Stall         time.Duration // without a step while requests exist
	Idle          time.Duration // without a step, after which a ready server counts as idle
	StopWindow    time.Duration // how long a stop waits for an open window to be written
	Counters      time.Duration // for the answer to /metrics before a stop
	StopMargin    time.Duration // beyond the server's own timeout, before it is killed
	StopStart     time.Duration // for a server that is not ready yet, before it is killed: it holds nothing that would be lost
	Reap          time.Duration // for killed processes to be gone
	GPU           time.Duration // for device memory to be back
	Hangup        time.Duration // from the last client's end to a stop, or to the end of a watch
	Gone          time.Duration // of refused connections, after which a watched server counts as gone
	Pack          time.Duration // for traces to be compressed once the server is gone
	Linger        time.Duration // for clients to read the end of the journal
}

// Default timing. Device memory and processes in the driver may need seconds to go.
func (t Timing) orDefault() Timing {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&t.Tick, 250*time.Millisecond)
	set(&t.Health, time.Second)
	set(&t.HealthTimeout, 5*time.Second)
	set(&t.Unhealthy, 15*time.Second)
	set(&t.Stall, 5*time.Second)
	set(&t.Idle, 2*time.Second)
	set(&t.StopWindow, 30*time.Second)
	set(&t.Counters, 2*time.Second)
	set(&t.StopMargin, 15*time.Second)
	set(&t.StopStart, 5*time.Second)
	set(&t.Reap, 10*time.Second)
	set(&t.GPU, 30*time.Second)
	set(&t.Hangup, 30*time.Second)
	set(&t.Gone, 3*time.Second)
	set(&t.Pack, time.Minute)
	set(&t.Linger, 3*time.Second)
	return t
}

func (c Config) orDefault() Config {
	c.Timing = c.Timing.orDefault()
	if c.Clock == nil {
		c.Clock = journal.SystemClock{}
	}
	if c.OnHangup == "" {
		c.OnHangup = HangupKeep
	}
	if c.Window.MaxIterations == 0 {
		c.Window = window.Defaults()
	}
	if c.Inspect == nil {
		c.Inspect = inspectNothing
	}
	if c.Compress == nil {
		c.Compress = CompressTraces
	}
	return c
}

// inspectNothing leaves a window without a verdict on its labels, and says so.
func inspectNothing(_ context.Context, _ window.Window, paths []string) (window.Inspection, error) {
	var found window.Inspection
	for i, p := range paths {
		found.Ranks = append(found.Ranks, window.InspectedRank{Path: p, Rank: int64(i)})
	}
	found.Problems = []string{"the traces were not read"}
	return found, nil
}

// mark is what all processes of a run carry in their environment.
func (c Config) mark() string { return MarkName + "=" + c.ID }

// MarkName is the environment variable that names the run in all its processes.
const MarkName = "OPPROF_RUN"

// Payloads of the journal's events, beside control's types.
type (
	createdEvent struct {
		ID string `json:"id"`
	}
	startedEvent struct {
		PID       int    `json:"pid"`
		StartTime uint64 `json:"starttime"`
		Socket    string `json:"socket"`
		TakeOver  bool   `json:"takeover"`
	}
	spawnedEvent struct {
		PID       int      `json:"pid"`
		PGID      int      `json:"pgid"`
		StartTime uint64   `json:"starttime"`
		Argv      []string `json:"argv"`
		Cgroup    string   `json:"cgroup,omitempty"`
		Adopted   bool     `json:"adopted,omitempty"`
	}
	watchedEvent struct {
		Addr   string `json:"addr"`
		Run    string `json:"run"`    // the folder of its records
		Traces string `json:"traces"` // the folder where its traces are looked for
	}
	stateEvent struct {
		From   string        `json:"from"`
		To     string        `json:"to"`
		Phase  control.Phase `json:"phase"`
		Reason string        `json:"reason"`
	}
	armedEvent struct {
		N       int             `json:"n"`
		Trigger control.Trigger `json:"trigger"`
	}
	windowEvent struct {
		N      int            `json:"n"`
		From   string         `json:"from"`
		To     string         `json:"to"`
		Reason string         `json:"reason"`
		Window control.Window `json:"window"`
	}
	signalEvent struct {
		Signal string `json:"sig"`
		PID    int    `json:"pid"`
	}
	exitedEvent struct {
		Code   *int   `json:"code"` // null when unknown or after a signal
		Signal string `json:"signal"`
	}
	countersEvent struct {
		Reason string `json:"reason"` // why vLLM's own counters were not saved; "" when they were
	}
	memoryEvent struct {
		MiB    *int64 `json:"mib"` // in use on the run's devices beyond what was before it; null when unknown
		Reason string `json:"reason"`
	}
	strayEvent struct {
		Path string `json:"path"`
	}
	closedEvent struct {
		Reason string `json:"reason"`
	}
)

// Names of the journal's events.
const (
	eventCreated  = "run_created"
	eventStarted  = "supervisor_started"
	eventSpawned  = "server_spawned"
	eventWatched  = "server_watched"
	eventState    = "server_state"
	eventArmed    = "window_armed"
	eventWindow   = "window_state"
	eventSignal   = "signal_sent"
	eventExited   = "server_exited"
	eventMemory   = "gpu_memory"
	eventCounters = "counters_saved"
	eventStray    = "stray_trace"
	eventPacked   = "traces_compressed"
	eventOrphan   = "process_left"
	eventClosed   = "run_closed"
	eventStopAsks = "stop_ordered"
)
