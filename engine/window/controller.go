package window

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"opprof/engine/control"
	"opprof/engine/query"
	"opprof/engine/record"
	"opprof/engine/stall"
)

// Settings are the facts that decisions rest on.
type Settings struct {
	MaxIterations int64 // labelled steps of a window
	Skip          int64 // steps after the marker that carry no label: the warm-up of a torch schedule
	Ranks         int   // trace files that a window must give; 0 is not known yet, then at least one
	OneOnly       bool  // the torch schedule was asked for: it records the first window of a server and nothing after

	// Loose says that the profiler's settings are not known: a window is stopped after MaxIterations steps, and whatever was labelled until
	// then will do if it equals its steps.
	Loose  bool
	Folder string // where traces are looked for, for reasons; "" is not told

	StartDeadlineNS int64 // for the answer to /start_profile
	StopDeadlineNS  int64 // for the answer to /stop_profile
	FilesDeadlineNS int64 // from the stop to the last complete file
	IdleNS          int64 // without a step, after which the traffic is taken to have ended
	RecordLimitNS   int64 // after which a window is stopped whatever happens
}

// Defaults are settings that fit vLLM 0.24.0: a start waits behind a long prefill for seconds, an export takes up to a minute.
func Defaults() Settings {
	const second = 1_000_000_000
	return Settings{MaxIterations: 10, StartDeadlineNS: 30 * second, StopDeadlineNS: 300 * second, FilesDeadlineNS: 120 * second,
		IdleNS: 5 * second, RecordLimitNS: 120 * second}
}

// ActionKind says what the owner is to do.
type ActionKind uint8

const (
	PostStart ActionKind = iota // call /start_profile, then report StartReturned
	PostStop                    // call /stop_profile, then report StopReturned
	Inspect                     // read the files and report Inspected
	Changed                     // a window's state changed: write it down
)

// Action is one decision.
type Action struct {
	Kind   ActionKind
	N      int      // the window
	From   string   // Changed: its state before
	Window Window   // a copy, as of the decision
	Paths  []string // Inspect: its files
}

// Window is one window with all that is known of it.
type Window struct {
	control.Window
	Starts    int64 // POST times and answers of the start and the stop, ns since 1970; 0 before
	Started   int64
	Stops     int64
	Stopped   int64
	Engines   []EngineWindow
	Files     []File
	Found     []InspectedRank // what reading the files found
	Loose     bool            // the profiler may have begun later than at the first step, and have ended sooner
	query     *query.Query
	rows      map[string]int64 // steps in a row for which the query has held, by engine
	ordinal   int64            // place among the windows of one every-trigger, from 1
	stateNS   int64
	stopSent  bool
	stopError error
	cause     string // why the window was flushed before it was full, "" if it was full
	reading   bool   // its files are being read
}

// EngineWindow is what one engine saw of a window.
type EngineWindow struct {
	ID            string
	AfterStep     int64          // of its marker
	LastStep      int64          // newest step so far
	Steps         []LabelledStep // those that the profiler labels: after the marker and Skip, at most MaxIterations; all that may be of a loose window
	PerturbedLast int64          // newest step when the last file was whole: serving was disturbed from the marker to here
	stop          *stall.Stop    // nil while its profiler was not stopped
	labelled      bool           // Steps are those that labels were found of
	whole         bool           // and none can be missing behind them
	behind        *stall.Step    // the step behind Steps; nil before it was seen
}

// LabelledStep is what a label says of a step, and when it was submitted.
type LabelledStep struct {
	Index           int64
	PrefillRequests int64
	PrefillTokens   int64
	DecodeRequests  int64
	DecodeTokens    int64
	SubmitWallNS    int64 // since 1970
	SpanNS          int64 // from its submission to its completion
}

// File is a trace file that appeared after the start.
type File struct {
	Path     string
	Bytes    int64
	Complete bool
}

// Inspection is what reading a window's files found.
type Inspection struct {
	Ranks    []InspectedRank
	Problems []string            // in sentences; none means that every label equals its step
	Cause    string              // why there are problems, where that is known; "" where not
	Labelled map[string]Labelled // the steps that the labels are of, by engine; an engine whose labels equal none is left out
}

// Labelled are the steps that labels were found of.
type Labelled struct {
	First, Last int64
	Whole       bool // a file that has them all is undamaged, so that none is missing behind the last
}

// InspectedRank is one file.
type InspectedRank struct {
	Path         string
	Rank         int64 // global; -1 unknown
	DataParallel int64 // rank of its engine; -1 unknown
	Labels       int64
	LostEvents   int64
}

// Controller holds the windows of a run.
type Controller struct {
	settings Settings
	windows  []*Window
	active   *Window // the one that is starting, recording or flushing
	actions  []Action
	last     map[string]int64 // newest step by engine
	stepNS   int64            // when the newest step of any engine was seen
	held     bool             // no window may start
}

// New returns a controller without windows.
func New(s Settings) *Controller { return &Controller{settings: s, last: map[string]int64{}} }

// Expect tells how many trace files a window must give.
func (c *Controller) Expect(ranks int) { c.settings.Ranks = ranks }

// Hold keeps armed windows from starting, or lets them again at the next fact: a server that is not ready cannot profile.
func (c *Controller) Hold(held bool) { c.held = held }

// Active is the window that is starting, recording or flushing.
func (c *Controller) Active() (Window, bool) {
	if c.active == nil {
		return Window{}, false
	}
	return c.active.copy(), true
}

// Windows are copies of all windows, by number.
func (c *Controller) Windows() []Window {
	out := make([]Window, len(c.windows))
	for i, w := range c.windows {
		out[i] = w.copy()
	}
	return out
}

// Written reports whether the server has nothing more to do for the window: its profiler was stopped, and the files are there and being read.
func (w *Window) Written() bool { return w.reading }

func (w *Window) copy() Window {
	v := *w
	v.Engines, v.Files = slices.Clone(w.Engines), slices.Clone(w.Files)
	for i := range v.Engines {
		v.Engines[i].Steps = slices.Clone(v.Engines[i].Steps)
	}
	return v
}

// take hands the decisions over.
func (c *Controller) take() []Action {
	a := c.actions
	c.actions = nil
	return a
}

func (c *Controller) decide(kind ActionKind, w *Window) *Action {
	c.actions = append(c.actions, Action{Kind: kind, N: w.N})
	return &c.actions[len(c.actions)-1]
}

func (c *Controller) change(nowNS int64, w *Window, state, reason string) {
	from := w.State
	w.State, w.Reason, w.stateNS = state, reason, nowNS
	a := c.decide(Changed, w)
	a.From, a.Window = from, w.copy()
}

// Arm adds windows. An every-trigger gives count windows; the other kinds arm count windows one after the other.
func (c *Controller) Arm(nowNS int64, t control.Trigger, count int) ([]control.Window, []Action, error) {
	if err := cmp.Or(t.Check(count), t.Passed(c.newest())); err != nil {
		return nil, nil, err
	}
	if c.settings.OneOnly && len(c.windows)+count > 1 {
		return nil, nil, fmt.Errorf("the torch schedule records only the first window of a server: %d asked for, %d armed before", count, len(c.windows))
	}
	var q *query.Query
	if t.Kind == control.TriggerExpr {
		var err error
		if q, err = query.Compile(t.Expr); err != nil {
			return nil, nil, err
		}
	}
	var out []control.Window
	for i := range count {
		w := &Window{Window: control.Window{N: len(c.windows) + 1, Trigger: t, ArmedNS: nowNS}, query: q, ordinal: int64(i + 1)}
		w.place(c.newest())
		c.windows = append(c.windows, w)
		c.change(nowNS, w, control.WindowArmed, "")
		out = append(out, w.Window)
	}
	c.startNow(nowNS)
	return out, c.take(), nil
}

// place fixes the step at which an every-window may start, counted from the newest step.
func (w *Window) place(newest int64) {
	if w.Trigger.Kind == control.TriggerEvery && w.FromStep == 0 && newest > 0 {
		w.FromStep = math.MaxInt64 // never, where that many steps cannot be counted
		if w.Trigger.Every < (math.MaxInt64-newest)/w.ordinal {
			w.FromStep = newest + w.ordinal*w.Trigger.Every
		}
	}
}

func (c *Controller) newest() int64 {
	var n int64
	for _, s := range c.last {
		n = max(n, s)
	}
	return n
}

// Cancel takes back a window that has not started.
func (c *Controller) Cancel(nowNS int64, n int) ([]Action, error) {
	if n < 1 || n > len(c.windows) {
		return nil, fmt.Errorf("there is no window %d", n)
	}
	w := c.windows[n-1]
	if w.State != control.WindowArmed {
		return nil, fmt.Errorf("window %d is %s: only an armed window can be cancelled", n, w.State)
	}
	c.change(nowNS, w, control.WindowCancelled, "cancelled")
	return c.take(), nil
}

// Step takes a step of an engine as it was recorded. periodNS is nil when unknown.
func (c *Controller) Step(nowNS int64, s *record.Step, periodNS *int64) []Action {
	c.last[s.EngineID] = s.StepIndex
	c.stepNS = nowNS
	c.ask(s, periodNS)
	if w := c.active; w != nil {
		c.follow(w, s)
		c.flushWhenFull(nowNS, w)
		c.inspectWhenComplete(nowNS, w)
	}
	c.startNow(nowNS)
	return c.take()
}

// ask counts for how many steps in a row each armed expression has held on each engine: the steps of one are no interruption of another's. An
// unknown answer ends the row.
func (c *Controller) ask(s *record.Step, periodNS *int64) {
	for _, w := range c.windows {
		if w.State != control.WindowArmed || w.query == nil {
			continue
		}
		if w.rows == nil {
			w.rows = map[string]int64{}
		}
		if w.query.Ask(s, periodNS) == query.Yes {
			w.rows[s.EngineID]++
		} else {
			delete(w.rows, s.EngineID)
		}
		w.Held = 0
		for _, n := range w.rows {
			w.Held = max(w.Held, n)
		}
	}
}

// startNow starts the first armed window whose trigger is met, unless another one runs.
func (c *Controller) startNow(nowNS int64) {
	if c.active != nil || c.held {
		return
	}
	for _, w := range c.windows {
		if w.State == control.WindowArmed && c.met(nowNS, w) {
			c.active = w
			w.Starts = nowNS
			c.change(nowNS, w, control.WindowStarting, "")
			c.decide(PostStart, w)
			return
		}
	}
}

func (c *Controller) met(nowNS int64, w *Window) bool {
	switch t := w.Trigger; t.Kind {
	case control.TriggerNow:
		return true
	case control.TriggerStep:
		return c.newest() >= t.Step
	case control.TriggerEvery:
		w.place(c.newest())
		return w.FromStep > 0 && c.newest() >= w.FromStep
	case control.TriggerAfter:
		return nowNS-w.ArmedNS >= t.AfterNS
	default:
		return w.Held >= max(w.Trigger.For, 1)
	}
}
