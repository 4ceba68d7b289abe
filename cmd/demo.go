package cmd

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opprof/cmd/session"
	"opprof/testdata"
)

type demoOptions struct {
	screen    screenOptions
	speed     float64
	recording string
	run       func(context.Context, *Env) error // replaced in tests of the flags
}

const (
	minSpeed = 0.1
	maxSpeed = 100
)

func newDemo(env *Env) *cobra.Command {
	o := &demoOptions{}
	o.run = o.open
	c := &cobra.Command{
		Use:   "demo",
		Short: "Replay a recorded server as if it were live",
		Long: `Writes the records of a real server (vLLM ` + vllmVersion + `, Qwen3-30B-A3B on H200) into a temporary run, at the pace at which they were
recorded, and watches it as attach does. When the recording ends it begins again; after 256 MB of records the replayed server shuts down.
--speed 10 replays a server that is ten times as fast.

` + screenHelp,
		Example: `  opprof demo
  opprof demo --speed 10
  opprof demo --once`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), env) },
	}
	c.Flags().Float64Var(&o.speed, "speed", 1, "how many times as fast as recorded, 0.1 to 100")
	c.Flags().StringVar(&o.recording, "recording", "", "one of "+strings.Join(testdata.Recordings(), ", ")+" (default h200-tp1)")
	o.screen.bind(c, liveSpan)
	return c
}

func (o *demoOptions) open(ctx context.Context, env *Env) error {
	p, err := o.screen.resolve(env)
	if err != nil {
		return err
	}
	if !(o.speed >= minSpeed && o.speed <= maxSpeed) {
		return usageErrorf("--speed: want %g to %g, got %g", minSpeed, float64(maxSpeed), o.speed)
	}
	if names := testdata.Recordings(); o.recording != "" && !slices.Contains(names, o.recording) {
		return usageErrorf("--recording: there is no %q: the recordings are %s", o.recording, strings.Join(names, ", "))
	}
	s, err := session.OpenDemo(ctx, session.DemoOptions{Recording: o.recording, Speed: o.speed}, session.Options{Now: env.Now, Limits: &p.limits})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return o.screen.show(ctx, env, p, s)
}
