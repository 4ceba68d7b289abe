package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"opprof/campaign/progress"
	"opprof/campaign/runner"
	"opprof/engine/control"
	"opprof/engine/journal"
	"opprof/engine/regular"
	"opprof/engine/supervisor/process"
)

// newCampaignRunner is what campaign run and resume start in a session of its own; nobody types it.
func newCampaignRunner(env *Env) *cobra.Command {
	c := runner.Config{Loads: runner.NewLoads(env.Environ), Host: runner.NewHost(env.Environ), Clock: journal.SystemClock{}, Version: buildVersion()}
	var until time.Duration
	cmd := &cobra.Command{
		Use:     "campaign-run --dir DIR",
		Short:   "Carry out a campaign until it ends (started by campaign run)",
		Example: "  opprof campaign-run --dir DIR",
		Hidden:  true,
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(syscall.SIGHUP) // a terminal that goes is nothing to a runner
			syscall.Umask(0o077)
			c.Dir, c.Servers = absolutePath(c.Dir), runner.NewServers(env.supervisors())
			if until > 0 {
				c.Until = env.Now().Add(until)
			}
			return runner.Run(cmd.Context(), c)
		},
	}
	cmd.Flags().StringVar(&c.Dir, "dir", "", "folder of the campaign")
	cmd.Flags().DurationVar(&until, "until", 0, "begin no pair that would not end within this time")
	cmd.Flags().BoolVar(&c.Settle, "settle", false, "only end what an earlier runner left")
	return cmd
}

// startRunner starts the runner of a campaign and waits until it works. With settle it only ends what an earlier one left, and it is
// waited for until it has.
func (e *Env) startRunner(ctx context.Context, dir string, until time.Duration, settle bool) error {
	before, err := runner.Stand(dir)
	switch {
	case err != nil:
		return err
	case before.State == progress.Running:
		return WithHint(fmt.Errorf("a runner works on %s already (process %d)", dir, *before.RunnerPID), "opprof campaign attach "+dir)
	case before.State == progress.Finished:
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot start a runner: %w", err)
	}
	argv := []string{os.Args[0], "campaign-run", "--dir", dir, "--until", until.String()}
	if settle {
		argv = append(argv, "--settle")
	}
	log := filepath.Join(dir, runner.LogName)
	pid, ended, err := process.Detach(self, argv, e.Environ, log)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(answerEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case exit := <-ended:
			return runnerEnded(log, exit)
		case <-ticker.C:
		}
		if s, err := runner.Stand(dir); err == nil && !settle && s.RunnerPID != nil && *s.RunnerPID == int64(pid) {
			return nil
		}
	}
}

// runnerEnded is why a runner has ended, by the last line of its log; nil for one that ended in order.
func runnerEnded(log string, exit process.Exit) error {
	if exit.Known && exit.Code == 0 {
		return nil
	}
	text, err := regular.Read(log, supervisorLogMax)
	last := bytes.TrimSpace(text)
	if i := bytes.LastIndexByte(last, '\n'); i >= 0 {
		last = last[i+1:]
	}
	if err != nil || len(last) == 0 {
		return fmt.Errorf("the runner ended (%s)", exit)
	}
	return fmt.Errorf("the runner ended (%s): %s", exit, bytes.TrimPrefix(last, []byte("opprof: ")))
}

// reachSupervisor finds the supervisor of a run, and starts another where it was killed; nil when the run has ended.
func (e *Env) reachSupervisor(ctx context.Context, dir string) (*control.Client, error) {
	client, _, err := e.command(ctx, dir)
	if over := (endedError{}); errors.As(err, &over) {
		return nil, nil
	}
	return client, err
}
