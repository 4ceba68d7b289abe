package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opprof/engine/control"
	"opprof/engine/supervisor"
	"opprof/engine/unit"
)

func newStatus(env *Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "status [RUN]",
		Short: "How a launched server stands",
		Long: `Asks the run's supervisor, or reads the run's journal where there is none any more. Without RUN it is the run that was written to last.

` + runArgument,
		Example: `  opprof status
  opprof status RUN --json | jq .state`,
		Args:              atMostOne("RUN"),
		ValidArgsFunction: completeRuns(env),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := env.status(c.Context(), argOr(args, latestRun))
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(env.Stdout, s)
			}
			return printStatus(env.Stdout, s, env.Now())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// atMostOne takes an argument that may be left out.
func atMostOne(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return WithHint(usageErrorf("%s takes %s, got %s", c.CommandPath(), name, unit.Counted(len(args), "argument")), c.CommandPath()+" --help")
	}
}

func argOr(args []string, other string) string {
	if len(args) > 0 {
		return args[0]
	}
	return other
}

// status asks the supervisor of a run, or the run itself.
func (e *Env) status(ctx context.Context, arg string) (control.Status, error) {
	run, err := e.openRun(arg)
	if err != nil {
		return control.Status{}, err
	}
	dir := e.homeOf(absolutePath(run.Root))
	if c := reach(ctx, dir, true); c != nil {
		defer c.Close()
		if s, err := c.Status(ctx); err == nil {
			return s, nil
		}
	}
	s, err := supervisor.Stand(dir)
	if s.Supervised {
		s.Status.Remarks = append(s.Status.Remarks, "its supervisor runs and does not answer: this is what its journal says")
	}
	return s.Status, err
}

func printStatus(w io.Writer, s control.Status, now time.Time) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-8s %s\n", name, printable(fmt.Sprintf(format, args...)))
	}
	line("run", "%s", s.Run)
	line("folder", "%s", s.Path)
	state := control.Word(s.State, s.Reason)
	if s.State == control.Starting {
		state += ", " + phaseText(s.Phase)
	}
	if s.SinceNS > 0 {
		state += fmt.Sprintf(" for %s", now.Sub(time.Unix(0, s.SinceNS)).Round(time.Second))
	}
	line("state", "%s", state)
	if s.Reason != "" {
		line("reason", "%s", s.Reason)
	}
	switch {
	case s.Server.Watched:
		line("server", "at %s, started by somebody else", s.Server.Addr)
	case s.Server.PID > 0 && s.Server.Addr == "":
		line("server", "process %d", s.Server.PID)
	case s.Server.PID > 0:
		line("server", "process %d at %s", s.Server.PID, s.Server.Addr)
	}
	for _, e := range s.Engines {
		line("engine", "%s at step %s", e.ID, unit.Count(e.StepIndex))
	}
	for _, x := range s.Windows {
		line("window", "%s", windowText(x))
	}
	for _, r := range s.Remarks {
		line("remark", "%s", r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func phaseText(p control.Phase) string {
	if p.Total > 0 {
		return fmt.Sprintf("%s %d of %d", p.Name, p.Done, p.Total)
	}
	return p.Name
}

func windowText(w control.Window) string {
	text := fmt.Sprintf("%d %s", w.N, w.State)
	if w.First != nil && w.Last != nil {
		text += fmt.Sprintf(", steps %d to %d", *w.First, *w.Last)
	}
	if w.StallNS != nil {
		text += fmt.Sprintf(", export stall %s", unit.Duration(*w.StallNS))
	}
	if w.Reason != "" {
		text += ": " + w.Reason
	}
	return text
}
