package cmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"opprof/engine/control"
	"opprof/engine/unit"
)

func newWindow(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "window",
		Short: "Arm, list and cancel profiler windows",
		Long: `A window records the kernels of some steps (10 by default) on all ranks. Writing them holds serving up for tenths of a second, with the
settings of opprof launch. Triggers see steps up to a quarter of a second late.`,
		Example: `  opprof window arm RUN
  opprof window arm RUN --when 'decode_batch_size >= 32 && prefill_tokens == 0' --for 5 --wait
  opprof window list RUN --json`,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newWindowArm(env), newWindowList(env), newWindowCancel(env))
	return c
}

type armOptions struct {
	step, every, forSteps int64
	after                 time.Duration
	when                  string
	count                 int
	watch                 watchOptions
	wait, json            bool
	kind                  string // of the trigger, by the flag that was given
}

func newWindowArm(env *Env) *cobra.Command {
	o := &armOptions{}
	c := &cobra.Command{
		Use:   "arm RUN",
		Short: "Arm a window: now, at a step, every so many steps, after a time, or on an expression",
		Long:  "With --wait it returns when the windows have ended: exit code 0 if all are verified, 3 if not.\n\n" + watchHelp + "\n\n" + runArgument,
		Example: `  opprof window arm RUN --wait
  opprof window arm RUN --every 1000 --count 5
  opprof window arm RUN --when 'kv.usage > 0.9'`,
		Args:              exactly("RUN"),
		ValidArgsFunction: completeRuns(env),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.choose(c.Flags().Changed); err != nil {
				return err
			}
			return o.run(c.Context(), env, args[0])
		},
	}
	flags := c.Flags()
	flags.Int64Var(&o.step, "at-step", 0, "start when this step, which is still to come, has been scheduled")
	flags.Int64Var(&o.every, "every", 0, "start each time so many steps have passed, --count times")
	flags.DurationVar(&o.after, "after", 0, "start after a time such as 30s")
	flags.StringVar(&o.when, "when", "", "start when an `expression` over the live composition holds")
	flags.Int64Var(&o.forSteps, "for", 1, "with --when: so many steps in a row")
	flags.IntVar(&o.count, "count", 1, "windows to arm, one after the other")
	flags.BoolVar(&o.wait, "wait", false, "return when the windows have ended")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	o.watch.bind(flags)
	c.MarkFlagsMutuallyExclusive("at-step", "every", "after", "when")
	return c
}

// choose takes the trigger that was asked for, by the flags that were given: a zero is a mistake, and no window that starts now.
func (o *armOptions) choose(given func(flag string) bool) error {
	o.kind = control.TriggerNow
	for flag, kind := range map[string]string{"at-step": control.TriggerStep, "every": control.TriggerEvery, "after": control.TriggerAfter,
		"when": control.TriggerExpr} {
		if given(flag) {
			o.kind = kind
		}
	}
	if given("for") && (o.kind != control.TriggerExpr || o.forSteps < 1) {
		return usageErrorf("--for %d: expected a number of steps, from 1, and an expression with --when", o.forSteps)
	}
	return nil
}

func (o *armOptions) trigger() control.Trigger {
	t := control.Trigger{Kind: o.kind}
	switch o.kind {
	case control.TriggerStep:
		t.Step = o.step
	case control.TriggerEvery:
		t.Every = o.every
	case control.TriggerAfter:
		t.AfterNS = int64(o.after)
	case control.TriggerExpr:
		t.Expr, t.For = o.when, o.forSteps
	}
	return t
}

func (o *armOptions) run(ctx context.Context, env *Env, arg string) error {
	t := o.trigger()
	if err := t.Check(o.count); err != nil {
		return WithCode(err, ExitUsage)
	}
	client, err := o.supervisor(ctx, env, arg)
	if err != nil {
		return err
	}
	defer client.Close()
	armed, err := client.Arm(ctx, t, o.count)
	if err != nil {
		return ordered(err)
	}
	if o.wait {
		if armed, err = awaitWindows(ctx, client, armed); err != nil {
			return err
		}
	}
	if err := printWindows(env, armed, o.json); err != nil {
		return err
	}
	if o.wait {
		for _, w := range armed {
			if w.State != control.WindowVerified {
				return WithCode(errSilent, ExitCheck)
			}
		}
	}
	return nil
}

// supervisor finds the run's supervisor; with --url one that watches somebody else's server.
func (o *armOptions) supervisor(ctx context.Context, env *Env, arg string) (client *control.Client, err error) {
	if err := o.watch.check(); err != nil {
		return nil, err
	}
	if o.watch.url != "" {
		client, _, err = env.watch(ctx, arg, &o.watch)
	} else {
		client, _, err = env.command(ctx, arg)
	}
	return client, err
}

// awaitWindows asks until all windows have ended.
func awaitWindows(ctx context.Context, client *control.Client, armed []control.Window) ([]control.Window, error) {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		s, err := client.Status(ctx)
		if errors.Is(err, control.ErrUnreachable) {
			return nil, WithHint(err, "opprof attach takes a run over whose supervisor was killed, and its windows go on")
		}
		if err != nil {
			return nil, err
		}
		open := 0
		for i, w := range armed {
			if w.N > len(s.Windows) {
				return nil, fmt.Errorf("the supervisor knows %s and none of number %d: opprof window list tells what it knows", unit.Counted(len(s.Windows), "window"), w.N)
			}
			armed[i] = s.Windows[w.N-1]
			switch armed[i].State {
			case control.WindowArmed, control.WindowStarting, control.WindowRecording, control.WindowFlushing:
				open++
			}
		}
		if open == 0 {
			return armed, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
	}
}

// windowList is what the window commands print with --json.
type windowList struct {
	Schema  int64            `json:"schema"`
	Windows []control.Window `json:"windows"`
}

func printWindows(env *Env, windows []control.Window, asJSON bool) error {
	if asJSON {
		return printJSON(env.Stdout, windowList{1, list(windows)})
	}
	for _, w := range windows {
		if err := printf(env.Stdout, "window %s\n", windowText(w)); err != nil {
			return err
		}
	}
	return nil
}

func newWindowList(env *Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:               "list [RUN]",
		Short:             "List the windows of a run",
		Example:           "  opprof window list\n  opprof window list RUN --json",
		Args:              atMostOne("RUN"),
		ValidArgsFunction: completeRuns(env),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := env.status(c.Context(), argOr(args, latestRun))
			if err != nil {
				return err
			}
			return printWindows(env, s.Windows, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func newWindowCancel(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:               "cancel RUN N",
		Short:             "Take back a window that has not started",
		Example:           "  opprof window cancel RUN 3",
		Args:              exactly("RUN", "N"),
		ValidArgsFunction: completeRuns(env),
		RunE: func(c *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 1 {
				return usageErrorf("window %q: expected its number, from 1", args[1])
			}
			client, _, err := env.command(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer client.Close()
			if err := client.Cancel(c.Context(), n); err != nil {
				return ordered(err)
			}
			return nil
		},
	}
}
