package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"opprof/cmd/session"
)

type attachOptions struct {
	screen screenOptions
	run    func(context.Context, *Env, string) error // replaced in tests of the flags
}

func newAttach(env *Env) *cobra.Command {
	o := &attachOptions{}
	o.run = o.open
	c := &cobra.Command{
		Use:   "attach RUN",
		Short: "Watch a run live",
		Long: `Follows the records of a run while the server writes them, however long it has been running. Leaving the screen changes nothing
for the server. ` + screenHelp + `

` + runArgument,
		Example: `  opprof attach RUN
  opprof attach latest --once --json`,
		Args:              exactly("RUN"),
		ValidArgsFunction: completeRuns(env),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args[0]) },
	}
	o.screen.bind(c, liveSpan)
	return c
}

func (o *attachOptions) open(ctx context.Context, env *Env, arg string) error {
	return openScreen(ctx, env, &o.screen, arg, session.KindLive)
}
