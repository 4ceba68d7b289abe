package supervisor

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"opprof/engine/control"
	"opprof/engine/rundir"
	"opprof/engine/window"
)

// windows is what the loop keeps about profiler windows beside the controller that decides about them.
type windows struct {
	controller *window.Controller
	settings   window.Settings
	claimed    map[string]bool   // traces that are accounted for, by key
	tables     map[string]string // the profiler's tables before the open window
	opened     int               // window for which claimed and tables were brought up to date
	look       *traceLook
	looking    bool
	lookedNS   int64
	traceBytes int64 // largest trace so far
	stallNS    *int64
	reading    int       // inspections under way
	summaries  []Summary // to be written; the first one is being written
	packs      packs
}

func newWindows(settings window.Settings) windows {
	c := window.New(settings)
	c.Hold(true)
	return windows{controller: c, settings: settings, claimed: map[string]bool{}, look: newTraceLook()}
}

// busy reports whether something is still being written about windows.
func (w *windows) busy() bool { return w.reading > 0 || len(w.summaries) > 0 || w.packs.busy() }

// expected are the bytes that a window is taken to need: twice its traces, by the largest seen so far or, before one, what a prefill window
// of a 30B model leaves (21 MB a rank).
func (w *windows) expected(ranks int) int64 {
	const first = 24 << 20
	return 2 * int64(max(ranks, 1)) * max(w.traceBytes, first)
}

// kineto is the folder where the server's traces appear.
func (s *Supervisor) kineto() string {
	if w := s.config.Watched; w != nil {
		return w.Traces
	}
	return filepath.Join(s.config.Dir, rundir.KinetoName)
}

// carryOut does what the controller decided.
func (s *Supervisor) carryOut(actions []window.Action) {
	for _, a := range actions {
		switch a.Kind {
		case window.PostStart:
			s.startProfile(a.N)
		case window.PostStop:
			s.stopProfile(a.N)
		case window.Inspect:
			s.inspect(a)
		case window.Changed:
			s.windowChanged(a)
		}
	}
}

func (s *Supervisor) startProfile(n int) {
	dir, need, limit := s.kineto(), s.windows.expected(s.engines.ranks), time.Duration(s.windows.settings.StartDeadlineNS)
	s.do(func(ctx context.Context) func() {
		before, err := listTraces(dir)
		had := tables(dir)
		s.post(func() { s.windowOpens(n, before, had) })
		if err == nil {
			err = s.enoughDisk(dir, need)
		}
		if err == nil {
			call, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			err = s.client.StartProfile(call)
		}
		return func() { s.carryOut(s.windows.controller.StartReturned(s.clock.now(), n, err)) }
	})
}

func (s *Supervisor) stopProfile(n int) {
	limit := time.Duration(s.windows.settings.StopDeadlineNS)
	s.do(func(ctx context.Context) func() {
		call, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err := s.client.StopProfile(call)
		return func() { s.carryOut(s.windows.controller.StopReturned(s.clock.now(), n, err)) }
	})
}

// windowOpens notes what was there before a window, so that what comes is its own.
func (s *Supervisor) windowOpens(n int, before map[string]string, had map[string]string) {
	w := &s.windows
	s.stray(before)
	w.opened, w.tables, w.look = n, had, newTraceLook()
}

// stray claims traces, and tells of those that nobody here asked for: whoever reaches the profile endpoints can stall the server and fill
// its disk.
func (s *Supervisor) stray(found map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if s.windows.claimed[key] {
			continue
		}
		s.windows.claimed[key] = true
		s.record(eventStray, strayEvent{Path: found[key]})
		s.remark("%s was written while no window was open: somebody else started the profiler, or its window had been given up", filepath.Base(found[key]))
	}
}

// strayEvery is how often the trace folder is looked at while no window is open.
const strayEvery = 5 * time.Second

// lookForTraces looks for the open window's files, and for strays while there is none.
func (s *Supervisor) lookForTraces(nowNS int64) {
	w := &s.windows
	if w.looking || !s.mounted {
		return
	}
	active, open := w.controller.Active()
	switch {
	case open && (active.State == control.WindowStarting || active.N != w.opened):
		return
	case !open && (nowNS-w.lookedNS < int64(strayEvery) || !s.health.ready):
		return
	}
	w.looking, w.lookedNS = true, nowNS
	dir, before, look := s.kineto(), maps.Clone(w.claimed), w.look
	s.do(func(context.Context) func() {
		if !open {
			found, err := listTraces(dir)
			return func() { s.lookedForStrays(found, err) }
		}
		files, err := look.files(dir, before)
		return func() { s.lookedForFiles(active.N, files, err) }
	})
}

func (s *Supervisor) lookedForStrays(found map[string]string, err error) {
	s.windows.looking = false
	if _, open := s.windows.controller.Active(); err == nil && !open {
		s.stray(found)
	}
}

func (s *Supervisor) lookedForFiles(n int, files []window.File, err error) {
	s.windows.looking = false
	if err != nil {
		s.remark("cannot look for traces: %v", err)
		return
	}
	s.carryOut(s.windows.controller.Files(s.clock.now(), n, files))
}

// inspectLimit bounds the reading of a window's files: a gigabyte takes seconds.
const inspectLimit = 5 * time.Minute

func (s *Supervisor) inspect(a window.Action) {
	dir, into, had := s.kineto(), windowDir(s.config.Dir, a.N), s.windows.tables
	s.windows.reading++
	s.do(func(ctx context.Context) func() {
		ctx, cancel := context.WithTimeout(ctx, inspectLimit)
		defer cancel()
		kept := keepTables(dir, into, had)
		found, err := s.config.Inspect(ctx, a.Window, a.Paths)
		if free, err := freeBytes(dir); err == nil && free < fullBytes {
			found.Cause = "the disk of " + dir + " is full"
		}
		return func() {
			s.windows.reading--
			if kept != nil {
				s.remark("cannot keep the profiler's table of window %d: %v", a.N, kept)
			}
			s.carryOut(s.windows.controller.Inspected(s.clock.now(), a.N, found, err))
		}
	})
}

// windowChanged writes a window's new state down, and what stays of it when that is its last.
func (s *Supervisor) windowChanged(a window.Action) {
	if a.From == "" {
		s.record(eventArmed, armedEvent{N: a.N, Trigger: a.Window.Trigger})
		return
	}
	s.record(eventWindow, windowEvent{N: a.N, From: a.From, To: a.Window.State, Reason: a.Window.Reason, Window: a.Window.Window})
	s.papers.dirty = true
	switch a.Window.State {
	case control.WindowVerified, control.WindowIncomplete, control.WindowFailed:
		s.windowEnded(a.Window)
	}
}

func (s *Supervisor) windowEnded(ended window.Window) {
	w := &s.windows
	for _, f := range ended.Files {
		w.claimed[traceKey(f.Path)] = true
		w.traceBytes = max(w.traceBytes, f.Bytes)
	}
	if ended.StallNS != nil {
		w.stallNS = ended.StallNS
	}
	s.summarise(ended)
	if ended.State == control.WindowVerified && !s.config.Gzip && s.config.Watched == nil {
		s.compressLater(ended)
	}
	s.compressNext()
}

// warmup is how many leading labels are not measured: without a torch schedule the first two stand for its warm-up.
func (s *Supervisor) warmup() int64 {
	if s.windows.settings.OneOnly {
		return 0
	}
	return min(2, s.windows.settings.MaxIterations-1)
}

func (s *Supervisor) summarise(w window.Window) {
	s.keepSummary(newSummary(s.config.Dir, w, s.warmup(), s.config.Profiler))
}

// keepSummary writes a summary behind those that were given before: of one window the last one counts.
func (s *Supervisor) keepSummary(summary Summary) {
	w := &s.windows
	if w.summaries = append(w.summaries, summary); len(w.summaries) == 1 {
		s.writeSummaries()
	}
}

func (s *Supervisor) writeSummaries() {
	dir, next := s.config.Dir, s.windows.summaries[0]
	s.do(func(context.Context) func() {
		err := writeSummary(dir, next)
		return func() {
			if err != nil {
				s.remark("%v", err)
			}
			w := &s.windows
			if w.summaries = w.summaries[1:]; len(w.summaries) > 0 {
				s.writeSummaries()
			}
		}
	})
}

// enoughDisk refuses a window that would fill the disk: the server needs it too. Where a watched server writes is only a guess.
func (s *Supervisor) enoughDisk(dir string, need int64) error {
	free, err := freeBytes(dir)
	if err != nil && s.config.Watched != nil {
		return nil
	}
	if err == nil && free < need {
		return fmt.Errorf("%s has %d MiB free and a window may need %d MiB", dir, free>>20, need>>20)
	}
	return err
}

// fullBytes is what a disk has left that the server has filled: less than one of its writes.
const fullBytes = 1 << 20

func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("cannot ask how much of the disk of %s is free: %w", dir, err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}
