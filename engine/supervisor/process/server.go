package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Spec says what to start.
type Spec struct {
	Argv    []string // the program and its arguments; never a shell's line
	Env     []string // the whole environment
	Dir     string
	Log     string     // appended to by the server itself: a supervisor that goes takes no pipe with it
	Inherit []*os.File // open in the server too, from descriptor 3 on
	Mark    string     // KEY=value, added to the environment
	Cgroup  string     // folder of a control group to be born in; "" is none
}

// Exit is how a process ended. Known is false for one that this process did not start: the system tells its parent alone.
type Exit struct {
	Known  bool
	Code   int    // -1 after a signal
	Signal string // its name, "" for none
}

// String says it in words.
func (e Exit) String() string {
	switch {
	case !e.Known:
		return "exit code unknown"
	case e.Signal != "":
		return "killed by " + e.Signal
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// Server is a started or adopted server.
type Server struct {
	Family
	once   sync.Once
	exited chan struct{}
	exit   Exit
	pidfd  *os.File // of an adopted server
}

// Start starts a server as the leader of a group of its own, within the session of this process.
func Start(s Spec, bootID string) (*Server, error) {
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the server's log: %w", err)
	}
	defer log.Close()
	path, err := exec.LookPath(s.Argv[0])
	if err != nil {
		return nil, fmt.Errorf("cannot start the server: %w", err)
	}
	cmd := &exec.Cmd{Path: path, Args: s.Argv, Env: append(s.Env[:len(s.Env):len(s.Env)], s.Mark), Dir: s.Dir, Stdout: log, Stderr: log,
		ExtraFiles: s.Inherit, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	if s.Cgroup != "" {
		group, err := os.Open(s.Cgroup)
		if err != nil {
			return nil, fmt.Errorf("cannot start the server: %w", err)
		}
		defer group.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(group.Fd())
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the server: %w", err)
	}
	p := &Server{exited: make(chan struct{})}
	p.Mark, p.Cgroup = s.Mark, s.Cgroup
	// The process cannot be reaped before Wait below, so its number is still its own.
	if p.Leader, err = Identify(cmd.Process.Pid, bootID); err != nil {
		p.Leader = Identity{PID: cmd.Process.Pid, BootID: bootID}
	}
	go func() {
		_ = cmd.Wait() // the state below says all there is to know
		p.end(exitOf(cmd.ProcessState))
	}()
	return p, nil
}

func exitOf(s *os.ProcessState) Exit {
	if s == nil {
		return Exit{}
	}
	e := Exit{Known: true, Code: s.ExitCode()}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		e.Signal = unix.SignalName(w.Signal())
	}
	return e
}

func (p *Server) end(e Exit) {
	p.once.Do(func() {
		p.exit = e
		close(p.exited)
	})
}

// Adopt watches a server that another process started. It fails with ErrGone if that very process no longer runs.
func Adopt(f Family, bootID string) (*Server, error) {
	id := f.Leader
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, fmt.Errorf("cannot watch process %d: %w", id.PID, err)
	}
	file := os.NewFile(uintptr(fd), "pidfd")
	if !id.Alive(bootID) { // after the descriptor is open, the number cannot change hands unseen
		return nil, errors.Join(ErrGone, file.Close())
	}
	p := &Server{exited: make(chan struct{}), pidfd: file}
	p.Family = f
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot watch process %d: %w", id.PID, err), file.Close())
	}
	go func() {
		// A pidfd is readable once its process has ended; Read returns with an error when Release closes it before.
		err := raw.Read(func(fd uintptr) bool { return ended(int(fd)) })
		if err == nil {
			p.end(Exit{})
		}
	}()
	return p, nil
}

func ended(pidfd int) bool {
	set := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(set, 0)
	return err == nil && n > 0
}

// Exited is closed when the first process has ended. Others of its family may be left.
func (p *Server) Exited() <-chan struct{} { return p.exited }

// Exit is how it ended. It may be called once Exited is closed.
func (p *Server) Exit() Exit { return p.exit }

// Release stops watching an adopted server. A started one is watched until it ends.
func (p *Server) Release() {
	if p.pidfd != nil {
		_ = p.pidfd.Close()
	}
}

// Terminate asks the first process, and it alone, to end: vLLM's workers exit on a signal of their own and take the engine with them
// before it has written its last records.
func (p *Server) Terminate() error { return p.Leader.signal(unix.SIGTERM) }

// Kill ends what is left of the family and returns it.
func (f Family) Kill() []Identity {
	members := f.Members()
	killCgroup(f.Cgroup)
	for _, m := range members {
		_ = m.signal(unix.SIGKILL) // one that has gone meanwhile is what was wanted
	}
	return members
}

// signal reaches this very process or none: the descriptor is opened first, then its identity is compared.
func (id Identity) signal(s unix.Signal) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	if err != nil {
		return fmt.Errorf("cannot signal process %d: %w", id.PID, err)
	}
	defer unix.Close(fd)
	if now, err := readStat(id.PID); err != nil || now.startTime != id.StartTime {
		return ErrGone
	}
	if err := unix.PidfdSendSignal(fd, s, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("cannot signal process %d: %w", id.PID, err)
	}
	return nil
}

// Find is the first process of a family of which only the mark is known: the one whose parent is not of the family.
func Find(mark, bootID string) (Identity, bool) {
	members := Family{Leader: Identity{BootID: bootID}, Mark: mark}.Members()
	own := map[int]bool{}
	for _, m := range members {
		own[m.PID] = true
	}
	for _, m := range members {
		if s, err := readStat(m.PID); err == nil && !own[s.parent] {
			return m, true
		}
	}
	return Identity{}, false
}
