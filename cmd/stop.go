package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"opprof/engine/control"
	"opprof/engine/supervisor"
)

func newStop(env *Env) *cobra.Command {
	var noWait bool
	c := &cobra.Command{
		Use:   "stop [RUN]",
		Short: "Stop a launched server and make sure that nothing of it is left",
		Long: `Ends the open window, lets requests finish for the time that the server was given (shutdown_timeout), kills what is left, and looks
whether every process and the devices' memory are gone. It returns when that is done. Without RUN it is the run that was written to last.

` + runArgument,
		Example:           "  opprof stop\n  opprof stop RUN",
		Args:              atMostOne("RUN"),
		ValidArgsFunction: completeRuns(env),
		RunE: func(c *cobra.Command, args []string) error {
			return stopRun(c.Context(), env, argOr(args, latestRun), noWait)
		},
	}
	c.Flags().BoolVar(&noWait, "no-wait", false, "return as soon as the order is taken")
	return c
}

func stopRun(ctx context.Context, env *Env, arg string, noWait bool) error {
	if s, err := env.status(ctx, arg); err == nil && s.Server.Watched {
		return WithHint(fmt.Errorf("opprof did not start the server at %s and does not stop it", s.Server.Addr), "whoever started it stops it")
	}
	client, dir, err := env.command(ctx, arg)
	if over := (endedError{}); errors.As(err, &over) {
		return printf(env.Stdout, "%s\n", over)
	}
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Stop(ctx); err != nil {
		return ordered(err)
	}
	if noWait {
		return nil
	}
	err = client.Events(ctx, 0, func([]byte) error { return nil }) // ends with the supervisor
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s, standErr := supervisor.Stand(dir)
	if standErr != nil || s.Open {
		return errors.Join(errors.New("the supervisor went away before it had finished; opprof stop again takes the run over"), err, standErr)
	}
	return printf(env.Stdout, "%s\n", s.Status.Reason)
}

// ordered turns a refusal into an error with its hint.
func ordered(err error) error {
	refused := new(control.Error)
	if errors.As(err, &refused) && refused.Hint != "" {
		return WithHint(err, refused.Hint)
	}
	return err
}
