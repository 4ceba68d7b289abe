package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"opprof/engine/control"
	"opprof/engine/journal"
	"opprof/engine/rundir"
	"opprof/engine/supervisor/process"
)

// stage is how far the server's end has come.
type stage uint8

const (
	stageRunning    stage = iota
	stageWindow           // a stop was ordered: the open window is being written
	stageTerminated       // asked to end
	stageKilled           // what was left was killed
	stageReaping          // the first process has ended, the others are looked for
	stageGone             // nothing is left, or nothing more can be done about it
	stageClosing          // the journal is closed, clients read its end
)

// server is the process and its end.
type server struct {
	process    *process.Server
	pid        int
	spawnNS    int64
	stage      stage
	deadlineNS int64
	stopping   string // why, "" while it is not being stopped
	failure    string // why a stop is the fault of the server, "" if it is not
	asked      bool   // it ended because it was stopped
	drained    bool   // it ended within its time
	seen       bool   // the exit was taken
	dead       string
	baseline   []process.GPU // of its devices before it used them; nil unknown
	over       bool
}

func (v *server) running() bool { return v.process != nil && v.stage < stageReaping }

func (v *server) exited() <-chan struct{} {
	if v.process == nil || v.seen {
		return nil
	}
	return v.process.Exited()
}

func (v *server) release() {
	if v.process != nil {
		v.process.Release()
	}
}

func selfIdentity() process.Identity {
	boot := journal.BootID()
	id, err := process.Identify(os.Getpid(), boot)
	if err != nil {
		return process.Identity{PID: os.Getpid(), BootID: boot}
	}
	return id
}

// spawn starts the server. One that cannot be started ends the run.
func (s *Supervisor) spawn() {
	c := s.config.Command
	removeStale(s.config.Address.Socket)
	group, _ := process.NewCgroup(s.cgroup()) // without one, group and mark must do
	spec := process.Spec{Argv: c.Argv, Env: c.Env, Dir: c.Dir, Inherit: c.Inherit, Mark: s.config.mark(), Cgroup: group,
		Log: filepath.Join(s.config.Dir, rundir.ServerLogName)}
	p, err := process.Start(spec, journal.BootID())
	if err != nil && group != "" { // some machines let a group be made and nothing be born in it
		process.Family{Cgroup: group}.RemoveCgroup()
		spec.Cgroup = ""
		p, err = process.Start(spec, journal.BootID())
	}
	if err != nil {
		s.gone(err.Error())
		return
	}
	s.adopted(p)
	s.record(eventSpawned, spawnedEvent{PID: p.Leader.PID, PGID: p.Leader.PID, StartTime: p.Leader.StartTime, Argv: c.Argv, Cgroup: p.Cgroup})
	s.papers.manifest.Argv = c.Argv
	s.do(func(ctx context.Context) func() {
		all, err := process.GPUs(ctx)
		return func() { s.tookGPUs(all, err) }
	})
}

// cgroup is the name of the server's control group.
func (s *Supervisor) cgroup() string { return "opprof-" + s.config.ID }

// removeStale removes the socket of a server that was killed: the next one could not listen there. One that is answered stays.
func removeStale(socket string) {
	st, err := os.Lstat(socket)
	if err != nil || st.Mode().Type() != fs.ModeSocket {
		return
	}
	c, err := net.DialTimeout("unix", socket, time.Second)
	if err == nil {
		_ = c.Close()
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		_ = os.Remove(socket) // the server says so itself if it cannot listen
	}
}

func (s *Supervisor) adopted(p *process.Server) {
	s.server.process, s.server.pid, s.server.spawnNS = p, p.Leader.PID, s.clock.now()
}

// stop orders the end of the server: open window, SIGTERM to the first process alone, its own time to drain, SIGKILL to all. A second
// order changes nothing.
func (s *Supervisor) stop(why string) {
	v := &s.server
	if v.stopping != "" || v.stage != stageRunning || v.process == nil {
		return
	}
	v.stopping, v.stage = why, stageWindow
	v.deadlineNS = s.clock.now() + int64(s.config.Timing.StopWindow)
	s.record(eventStopAsks, closedEvent{Reason: why})
	s.carryOut(s.windows.controller.ServerStopping(s.clock.now()))
}

// advance takes the next step of the stop order when it is due.
func (s *Supervisor) advance() {
	v, now := &s.server, s.clock.now()
	late := now > v.deadlineNS
	switch v.stage {
	case stageWindow:
		if w, open := s.windows.controller.Active(); open && w.Stopped == 0 && !late {
			return
		}
		v.stage = stageTerminated
		v.deadlineNS = now + int64(s.config.ShutdownTimeout+s.config.Timing.StopMargin)
		s.signal("SIGTERM", v.process.Terminate())
	case stageTerminated:
		if late {
			v.stage = stageKilled
			v.deadlineNS = now + int64(s.config.Timing.Reap)
			s.kill()
		}
	case stageKilled:
		if late { // a process that SIGKILL does not end is held by its driver
			s.serverExited()
		}
	case stageGone:
		_, open := s.windows.controller.Active()
		if !open && !s.windows.busy() {
			v.stage = stageClosing
			s.close()
		}
	}
}

func (s *Supervisor) signal(name string, err error) {
	if err != nil && !errors.Is(err, process.ErrGone) {
		s.remark("%v", err)
		return
	}
	s.record(eventSignal, signalEvent{Signal: name, PID: s.server.pid})
}

func (s *Supervisor) kill() {
	for _, m := range s.server.process.Kill() {
		s.record(eventSignal, signalEvent{Signal: "SIGKILL", PID: m.PID})
	}
}

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
	case v.asked && !v.drained:
		limit := s.config.ShutdownTimeout + s.config.Timing.StopMargin
		why = append(why, fmt.Sprintf("stopped while draining: the server was still there %s after SIGTERM and was killed", limit))
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
		why = append(why, fmt.Sprintf("%d processes that it left were killed", n))
	}
	return strings.Join(append(why, s.leftovers(r)...), "; ")
}

func (s *Supervisor) leftovers(r remains) (why []string) {
	if n := len(r.left); n > 0 {
		why = append(why, fmt.Sprintf("%d processes could not be killed", n))
	}
	if r.mib != nil && *r.mib > memorySlackMiB {
		why = append(why, fmt.Sprintf("%d MiB of device memory are not back", *r.mib))
	}
	return why
}

// gone ends the run once its windows are done.
func (s *Supervisor) gone(why string) {
	s.server.dead, s.server.stage = why, stageGone
	s.windows.stopCompressing()
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
