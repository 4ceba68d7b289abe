package supervisor

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

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
	counters   saving // of /metrics
	failure    string // why a stop is the fault of the server, "" if it is not
	asked      bool   // it ended because it was stopped
	drained    bool   // it ended within its time
	seen       bool   // the exit was taken
	dead       string
	baseline   []process.GPU // of its devices before it used them; nil unknown
	over       bool
	watched    bool   // it is somebody else's: there is no process
	lost       string // why a watched server is gone for now, "" while it answers
}

func (v *server) running() bool { return (v.process != nil || v.watched) && v.stage < stageReaping }

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
	if v.watched {
		s.leave(why)
		return
	}
	if v.stopping != "" || v.stage != stageRunning || v.process == nil {
		return
	}
	v.stopping, v.stage = why, stageWindow
	v.deadlineNS = s.clock.now() + int64(s.config.Timing.StopWindow)
	s.record(eventStopAsks, closedEvent{Reason: why})
	s.carryOut(s.windows.controller.ServerStopping(s.clock.now(), "the server stops"))
}

// advance takes the next step of the stop order when it is due.
func (s *Supervisor) advance() {
	v, now := &s.server, s.clock.now()
	late := now > v.deadlineNS
	switch v.stage {
	case stageWindow:
		if w, open := s.windows.controller.Active(); open && !w.Written() && !late {
			return
		}
		if v.watched {
			s.gone(v.stopping)
			return
		}
		if !late && s.countersAreBeingSaved() {
			return
		}
		v.stage = stageTerminated
		v.deadlineNS = now + int64(s.patience())
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
		if !open && now > s.windows.packs.deadlineNS {
			s.giveUpPacking()
		}
		if !open && !s.windows.busy() {
			v.stage = stageClosing
			s.close()
		}
	}
}

// patience is how long the server may take to end after SIGTERM.
func (s *Supervisor) patience() time.Duration {
	if !s.health.ready {
		return s.config.Timing.StopStart
	}
	return s.config.ShutdownTimeout + s.config.Timing.StopMargin
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
