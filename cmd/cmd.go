package cmd

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
)

// Main runs the command line in env and returns the code to exit with.
func Main(env *Env) ExitCode {
	ctx, stop := env.Notify(context.Background())
	defer stop()
	env.Stderr = plainWriter{env.Stderr}
	root := newRoot(env)
	root.SetArgs(env.Args)
	err := root.ExecuteContext(ctx)
	printError(env.Stderr, err)
	if errors.Is(context.Cause(ctx), errQuit) {
		return dieOfQuit()
	}
	return exitCode(err)
}

func newRoot(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "opprof",
		Short: "Explain every serving iteration of a vLLM server",
		Long: `OpProf shows what a vLLM 0.24.0 server does, step by step: what was in each batch, how the step ran, and how long it took.
It reads the per-step records that the OpProf patch writes, live or after the run.`,
		Example: `  opprof demo                  # a recorded server, replayed as if it were live
  opprof attach latest         # the newest run, live
  opprof review RUN            # a finished run, from its first step to its last
  opprof check RUN             # do its records hold together?`,
		Args:              noSuchCommand,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.Version = buildVersion()
	root.SetVersionTemplate(versionLine() + "\n")
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return WithHint(WithCode(err, ExitUsage), c.CommandPath()+" --help")
	})
	root.CompletionOptions.DisableDefaultCmd = true
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"serve", "Launch and control:", []*cobra.Command{newLaunch(env), newStatus(env), newStop(env), newList(env), newWindow(env), newCampaign(env)}},
		{"watch", "Watch and review:", []*cobra.Command{newDemo(env), newAttach(env), newReview(env), newNote(env), newRuns(env), newReport(env), newCompact(env), newPrune(env)}},
		{"look", "Check and break down:", []*cobra.Command{newCheck(env), newSearch(env), newTrace(env), newCompare(env), newKernel(env), newExperts(env), newCalibrate(env), newGate(env), newExport(env)}},
		{"setup", "Set up:", []*cobra.Command{newPatch(env), newConfig(env), newInfo(env), newVersion(env), newCompletion(env), newMan(env)}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.AddCommand(newSupervise(env), newCompress(env), newCampaignRunner(env))
	root.SetHelpCommandGroupID("setup")
	return root
}

// noSuchCommand refuses what is left of the command line when no command took it, and names the nearest one.
func noSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := c.CommandPath() + " --help"
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = c.CommandPath() + " " + strings.Join(near, ", ")
	}
	return WithHint(usageErrorf("there is no command %q", args[0]), hint)
}

// exactly is cobra's argument check with our exit code and a message that says what is missing.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		want := "no argument"
		if len(names) > 0 {
			want = strings.Join(names, " ")
		}
		return WithHint(usageErrorf("%s takes %s, got %d", c.CommandPath(), want, len(args)), c.CommandPath()+" --help")
	}
}

// atLeastOne is the argument check of commands that take any number of a thing, but one.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return WithHint(usageErrorf("%s takes at least one %s", c.CommandPath(), name), c.CommandPath()+" --help")
	}
}
