package cmd

import (
	"context"
	"errors"
	"sync"

	"github.com/spf13/cobra"

	"opprof/cmd/session"
	"opprof/engine/control"
	"opprof/engine/supervisor"
)

type attachOptions struct {
	screen   screenOptions
	readOnly bool
	watch    watchOptions
	run      func(context.Context, *Env, string) error // replaced in tests of the flags
}

func newAttach(env *Env) *cobra.Command {
	o := &attachOptions{}
	o.run = o.open
	c := &cobra.Command{
		Use:   "attach RUN|URL",
		Short: "Watch a run live, or a server by what it says itself",
		Long: `Follows the records of a run while the server writes them, however long it has been running. Leaving the screen changes nothing
for the server. A run that opprof launched and whose supervisor was killed gets a new one.

` + screenHelp + `

` + watchHelp + `

URL alone (http://host:port, unix:/path, or the path of a socket) shows what the server says itself, in /metrics: nothing is known of single
steps then. A server that wants an API key for its list of models gets the one in VLLM_API_KEY (or OPPROF_API_KEY).

` + runArgument,
		Example: `  opprof attach RUN
  opprof attach latest --once --json
  opprof attach RUN --url URL     # somebody else's server with the patch
  opprof attach URL               # any vLLM server, such as http://127.0.0.1:8000`,
		Args:              exactly("RUN|URL"),
		ValidArgsFunction: completeRuns(env),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args[0]) },
	}
	o.screen.bind(c, liveSpan)
	o.watch.bind(c.Flags())
	c.Flags().BoolVar(&o.readOnly, "readonly", false, "only watch: give no orders, hold no run, replace no supervisor")
	return c
}

func (o *attachOptions) open(ctx context.Context, env *Env, arg string) error {
	if isServer(arg) {
		return o.attachServer(ctx, env, arg)
	}
	if err := o.watch.check(); err != nil {
		return err
	}
	run, err := env.openRun(arg)
	if err != nil {
		return err
	}
	dir := env.homeOf(absolutePath(run.Root))
	if o.watch.url != "" && !o.readOnly && !o.screen.plain(env) {
		client, home, err := env.watch(ctx, arg, &o.watch)
		if err != nil {
			return err
		}
		return openControlled(ctx, env, &o.screen, newHeld(home, client, false))
	}
	stand, err := supervisor.Stand(dir)
	if err != nil && !errors.Is(err, supervisor.ErrNoJournal) {
		env.note(err)
	}
	switch {
	case err == nil && !stand.Open && !stand.Watched:
		return openScreen(ctx, env, &o.screen, arg, session.KindFinished)
	case err != nil || o.screen.plain(env):
		return openScreen(ctx, env, &o.screen, arg, session.KindLive)
	}
	var client *control.Client
	if o.readOnly {
		client = reach(ctx, dir, true)
	} else if client, _, err = env.command(ctx, arg); err != nil {
		env.note(err)
	}
	if client == nil {
		return openScreen(ctx, env, &o.screen, arg, session.KindLive)
	}
	return openControlled(ctx, env, &o.screen, newHeld(dir, client, o.readOnly))
}

// openControlled shows a supervised run and holds it while the screen is open.
func openControlled(ctx context.Context, env *Env, o *screenOptions, run *held) error {
	defer run.close()
	holding, letGo := context.WithCancel(ctx)
	var holds sync.WaitGroup
	holds.Go(func() { run.hold(holding) })
	defer holds.Wait()
	defer letGo()
	o.control = run
	return openScreen(ctx, env, o, run.dir, session.KindLive)
}
