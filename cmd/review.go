package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"opprof/cmd/session"
)

type reviewOptions struct {
	screen screenOptions
	run    func(context.Context, *Env, string) error // replaced in tests of the flags
}

func newReview(env *Env) *cobra.Command {
	o := &reviewOptions{}
	o.run = o.open
	c := &cobra.Command{
		Use:   "review RUN",
		Short: "Look through a finished run, step by step",
		Long: `Opens the live page on a run as it is on disk now, with a scrubber over its whole length. A run whose server still runs is read as of now;
opprof attach follows it.

` + screenHelp + `

` + runArgument,
		Example: `  opprof review RUN
  opprof review latest --once
  opprof review RUN --once --json --span 10s --step 1200`,
		Args:              exactly("RUN"),
		ValidArgsFunction: completeRuns(env),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args[0]) },
	}
	o.screen.bind(c, 0)
	return c
}

func (o *reviewOptions) open(ctx context.Context, env *Env, arg string) error {
	return openScreen(ctx, env, &o.screen, arg, session.KindFinished)
}

// openScreen opens a run by its argument and shows it.
func openScreen(ctx context.Context, env *Env, o *screenOptions, arg, kind string) error {
	p, err := o.resolve(env)
	if err != nil {
		return err
	}
	run, err := env.openRun(arg)
	if err != nil {
		return err
	}
	s := session.Open(ctx, run, session.Options{Kind: kind, Running: env.running(run.Root), Now: env.Now, IndexDir: env.indexDir(), NotesDir: env.notesDir(), Limits: &p.limits, Beside: runsBeside(run.Root, kind)})
	defer func() { _ = s.Close() }()
	return o.show(ctx, env, p, s)
}
