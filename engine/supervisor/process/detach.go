package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"opprof/engine/regular"
)

// Detach starts a program in a session of its own, without a terminal and with its output appended to a log, so that it outlives whoever
// started it. The channel gives its end once, if this process lives to see it.
func Detach(path string, argv, env []string, log string) (pid int, ended <-chan Exit, err error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, nil, fmt.Errorf("cannot open %s: %w", log, regular.Cause(err, log))
	}
	defer out.Close()
	// Setsid alone: a leader of a group cannot begin a session.
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stdout: out, Stderr: out, Dir: "/", SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if err := cmd.Start(); err != nil {
		return 0, nil, fmt.Errorf("cannot start %s: %w", path, err)
	}
	one := make(chan Exit, 1)
	go func() {
		_ = cmd.Wait() // the state below says all there is to know
		one <- exitOf(cmd.ProcessState)
	}()
	return cmd.Process.Pid, one, nil
}

// LookPath finds a program as Start does: a path, or a name on PATH.
func LookPath(name string) (string, error) { return exec.LookPath(name) }
