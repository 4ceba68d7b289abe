package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"opprof/engine/control"
	"opprof/engine/regular"
	"opprof/engine/rundir"
	"opprof/engine/supervisor"
	"opprof/engine/supervisor/process"
)

const (
	// supervisorLog is what a supervisor has to say before and beside its journal.
	supervisorLog = "supervisor.log"
	// answerLimit is how long a new supervisor may take until it answers: it verifies the overlay before.
	answerLimit = 60 * time.Second
	answerEvery = 50 * time.Millisecond
	// silenceLimit is how long a supervisor whose process is there may give no answer.
	silenceLimit = 15 * time.Second
)

// startSupervisor starts a supervisor of a run in a session of its own and waits until it answers. For a run whose supervisor was killed
// it is a takeover.
func (e *Env) startSupervisor(ctx context.Context, dir string) (*control.Client, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot start a supervisor: %w", err)
	}
	log := filepath.Join(dir, supervisorLog)
	_, ended, err := process.Detach(self, []string{os.Args[0], "supervise", "--run", dir}, e.Environ, log)
	if err != nil {
		return nil, err
	}
	limit := time.NewTimer(answerLimit)
	defer limit.Stop()
	ticker := time.NewTicker(answerEvery)
	defer ticker.Stop()
	for {
		if c := reach(ctx, dir, false); c != nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case exit := <-ended:
			return nil, supervisorEnded(dir, log, exit)
		case <-limit.C:
			return nil, fmt.Errorf("the supervisor does not answer; its log is %s", log)
		case <-ticker.C:
		}
	}
}

// supervisorLogMax bounds the bytes that are read of a supervisor's own log, which has a line for each of its few troubles.
const supervisorLogMax = 16 << 20

// supervisorEnded is why a supervisor ended before it answered: the run's last word, or else its own.
func supervisorEnded(dir, log string, exit process.Exit) error {
	if s, err := supervisor.Stand(dir); err == nil && !s.Open && s.Status.Reason != "" {
		return WithHint(errors.New(s.Status.Reason), "the whole log: "+wholeLog(dir))
	}
	text, err := regular.Read(log, supervisorLogMax)
	last := bytes.TrimSpace(text)
	if i := bytes.LastIndexByte(last, '\n'); i >= 0 {
		last = last[i+1:]
	}
	if err != nil || len(last) == 0 {
		return fmt.Errorf("the supervisor ended (%s) before it answered", exit)
	}
	return fmt.Errorf("the supervisor ended (%s): %s", exit, bytes.TrimPrefix(last, []byte("opprof: ")))
}

// wholeLog is what to read about a run that is over: the server's log, or that of a supervisor that did not come to start one.
func wholeLog(dir string) string {
	path := filepath.Join(dir, rundir.ServerLogName)
	if st, err := os.Stat(path); err == nil && st.Size() > 0 {
		return path
	}
	return filepath.Join(dir, supervisorLog)
}

// reach connects to the supervisor of a run, nil when none answers.
func reach(ctx context.Context, dir string, readOnly bool) *control.Client {
	s, err := supervisor.Stand(dir)
	if err != nil || s.Socket == "" || !s.Open {
		return nil
	}
	c := control.NewClient(s.Socket, readOnly)
	status, err := c.Status(ctx)
	if err != nil || status.Path != dir {
		c.Close()
		return nil
	}
	return c
}

// command finds a run's supervisor to give it orders. A run whose supervisor was killed gets a new one.
func (e *Env) command(ctx context.Context, arg string) (*control.Client, string, error) {
	run, err := e.openRun(arg)
	if err != nil {
		return nil, "", err
	}
	dir := e.homeOf(absolutePath(run.Root))
	ticker := time.NewTicker(answerEvery)
	defer ticker.Stop()
	limit := time.NewTimer(silenceLimit)
	defer limit.Stop()
	for {
		s, err := supervisor.Stand(dir)
		switch {
		case errors.Is(err, supervisor.ErrNoJournal):
			return nil, dir, WithHint(err, "opprof attach watches it all the same, and with --url URL windows can be armed; a server is stopped by whoever started it")
		case err != nil:
			return nil, dir, err
		case !s.Open && !s.Watched:
			return nil, dir, endedError{s.Status.Reason}
		case !s.Supervised:
			c, err := e.startSupervisor(ctx, dir)
			return c, dir, err
		}
		if c := reach(ctx, dir, false); c != nil {
			return c, dir, nil
		}
		select { // it begins, or it was killed and has not quite gone
		case <-ctx.Done():
			return nil, dir, ctx.Err()
		case <-limit.C:
			return nil, dir, fmt.Errorf("the supervisor of %s does not answer at %s", dir, s.Socket)
		case <-ticker.C:
		}
	}
}

// endedError says that a run is over, and how it ended.
type endedError struct{ reason string }

func (e endedError) Error() string { return "the run has ended: " + e.reason }
