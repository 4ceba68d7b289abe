package supervisor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"opprof/engine/control"
	"opprof/engine/rundir"
	"opprof/engine/supervisor/process"
	"opprof/engine/unit"
)

// serverExited takes the end of the first process and looks for what it left.
func (s *Supervisor) serverExited() {
	v := &s.server
	v.seen = true
	v.drained = v.stage != stageKilled
	exit := process.Exit{}
	select {
	case <-v.process.Exited():
		exit = v.process.Exit()
	default:
	}
	event := exitedEvent{Signal: exit.Signal}
	if exit.Known && exit.Signal == "" {
		event.Code = &exit.Code
	}
	s.record(eventExited, event)
	s.windows.controller.Hold(true)
	s.carryOut(s.windows.controller.ServerGone(s.clock.now()))
	v.stage = stageReaping
	v.asked = v.stopping != ""
	if !v.asked {
		v.stopping = "the server has ended; its other processes are being looked for"
	}
	timing, baseline, family := s.config.Timing, v.baseline, v.process.Family
	s.do(func(ctx context.Context) func() {
		r := reap(ctx, timing, family, baseline)
		s.readLog(ctx)
		return func() { s.reaped(exit, r) }
	})
}

// readLog waits until all that the server has said is known: its last lines say why it ended.
func (s *Supervisor) readLog(ctx context.Context) {
	done := make(chan struct{})
	select {
	case s.drainLog <- done:
	case <-ctx.Done():
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// remains is what was found behind a server's end.
type remains struct {
	killed []process.Identity
	left   []process.Identity
	mib    *int64 // device memory in use beyond the baseline; nil unknown
	gpuErr error
}

// reapGrace is what processes get to end by themselves once the first one has.
const reapGrace = 2 * time.Second

func reap(ctx context.Context, t Timing, p process.Family, baseline []process.GPU) remains {
	var r remains
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	began := time.Now()
	for {
		r.left = p.Members()
		age := time.Since(began)
		if len(r.left) == 0 || age > t.Reap || ctx.Err() != nil {
			break
		}
		if age > min(reapGrace, t.Reap/2) {
			killed := p.Kill()
			if r.killed == nil {
				r.killed = killed
			}
		}
		<-poll.C
	}
	if len(r.left) == 0 {
		p.RemoveCgroup()
	}
	if baseline == nil {
		return r
	}
	for began = time.Now(); ; <-poll.C {
		r.mib, r.gpuErr = memoryLeft(ctx, baseline)
		if r.gpuErr != nil || *r.mib <= memorySlackMiB || time.Since(began) > t.GPU || ctx.Err() != nil {
			return r
		}
	}
}

// memorySlackMiB is what a driver may keep on a device that nobody uses.
const memorySlackMiB = 256

func memoryLeft(ctx context.Context, baseline []process.GPU) (*int64, error) {
	now, err := process.GPUs(ctx)
	if err != nil {
		return nil, err
	}
	var mib int64
	for _, before := range baseline {
		for _, g := range now {
			if g.UUID == before.UUID {
				mib += max(0, g.UsedMiB-before.UsedMiB)
			}
		}
	}
	return &mib, nil
}

// reaped writes down what is left and gives the run its last word.
func (s *Supervisor) reaped(exit process.Exit, r remains) {
	for _, m := range r.killed {
		s.record(eventSignal, signalEvent{Signal: "SIGKILL", PID: m.PID})
	}
	for _, m := range r.left {
		s.record(eventOrphan, signalEvent{PID: m.PID})
		s.remark("process %d of the server could not be killed", m.PID)
	}
	memory := memoryEvent{MiB: r.mib}
	switch {
	case r.gpuErr != nil:
		memory.Reason = r.gpuErr.Error()
	case r.mib == nil:
		memory.Reason = "not known what was in use before the server"
	case *r.mib > memorySlackMiB:
		s.remark("%d MiB of device memory are still in use that were free before the server", *r.mib)
	}
	s.record(eventMemory, memory)
	s.gone(s.lastWord(exit, r))
}

// lastWord is why the server is gone, in a sentence or two.
func (s *Supervisor) lastWord(exit process.Exit, r remains) string {
	v := &s.server
	var why []string
	switch {
	case v.failure != "":
		why = append(why, v.failure)
	case v.asked && !v.drained && !s.health.ready:
		why = append(why, fmt.Sprintf("stopped: %s; it was %s, still there %s after SIGTERM, and was killed", v.stopping, s.start.phase.Name, s.patience()))
	case v.asked && !v.drained:
		why = append(why, fmt.Sprintf("stopped while draining: the server was still there %s after SIGTERM and was killed", s.patience()))
	case v.asked:
		why = append(why, "stopped: "+v.stopping)
	case !s.health.ready:
		why = append(why, fmt.Sprintf("the server did not start (%s, while %s)", exit, s.start.phase.Name))
	default:
		why = append(why, fmt.Sprintf("the server ended by itself (%s)", exit))
	}
	if !v.asked || v.failure != "" {
		if cause := s.start.causes.say(); cause != "" {
			why = append(why, cause)
		} else if exit.Signal == "SIGKILL" {
			why = append(why, "nobody here sent that signal: the kernel may have run out of memory (dmesg tells)")
		}
	}
	if n := len(r.killed); n > 0 && v.drained {
		why = append(why, leftKilled(n))
	}
	return strings.Join(append(why, s.leftovers(r)...), "; ")
}

// leftKilled says what became of the processes that a server left.
func leftKilled(n int) string {
	return unit.Counted(n, "process") + " that it left " + unit.Verb(n, "was", "were") + " killed"
}

func (s *Supervisor) leftovers(r remains) (why []string) {
	if n := len(r.left); n > 0 {
		why = append(why, unit.Counted(n, "process")+" could not be killed")
	}
	if r.mib != nil && *r.mib > memorySlackMiB {
		why = append(why, fmt.Sprintf("%d MiB of device memory are not back", *r.mib))
	}
	return why
}

// gone ends the run once its windows are done and their traces compressed, as far as there is time.
func (s *Supervisor) gone(why string) {
	s.server.dead, s.server.stage = why, stageGone
	s.windows.packs.deadlineNS = s.clock.now() + int64(s.config.Timing.Pack)
	s.compressNext()
}

// close writes the last event, tells the clients, and ends the loop when they have read it.
func (s *Supervisor) close() {
	s.judge()
	s.papers.manifest.Exit = &rundir.Exit{State: s.exitState(), Reason: s.server.dead}
	s.papers.dirty = true
	s.ledger.add(eventClosed, closedEvent{Reason: s.server.dead}, func(error) {
		s.clients.closing = true
		s.ledger.wake()
		s.do(func(ctx context.Context) func() {
			s.shutdownAPI(ctx)
			return func() { s.server.over = true }
		})
	})
}

// exitState is one word for the manifest.
func (s *Supervisor) exitState() string {
	switch v := &s.server; {
	case v.failure == "" && v.asked:
		return "stopped"
	case !s.health.ready:
		return "failed"
	}
	return control.Dead
}
