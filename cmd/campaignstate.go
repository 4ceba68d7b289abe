package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opprof/campaign/gate"
	"opprof/campaign/progress"
	"opprof/campaign/runner"
	"opprof/engine/unit"
)

// onCampaign does something with the folder of the campaign that a command line names.
func onCampaign(env *Env, do func(ctx context.Context, dir string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		dir, err := env.findCampaign(args)
		if err != nil {
			return err
		}
		return do(c.Context(), dir)
	}
}

func newCampaignStatus(env *Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "status [CAMPAIGN]",
		Short: "How a campaign stands",
		Long:  "Reads the campaign's journal; whether a runner works makes no difference.\n\n" + campaignArgument,
		Example: `  opprof campaign status
  opprof campaign status CAMPAIGN --json | jq .verdict`,
		Args:              atMostOne("CAMPAIGN"),
		ValidArgsFunction: completeCampaigns(env),
		RunE:              onCampaign(env, func(_ context.Context, dir string) error { return printStanding(env, dir, asJSON) }),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// printStanding prints how a campaign stands.
func printStanding(env *Env, dir string, asJSON bool) error {
	s, err := runner.Stand(dir)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(env.Stdout, s)
	}
	return printCampaign(env.Stdout, &s)
}

func printCampaign(w io.Writer, c *progress.Campaign) error {
	head, runs, tail := &table{}, &table{left: []int{1, 3}}, &table{} // of runs the state, and why
	head.line("campaign %s", printable(c.Name))
	head.line("folder   %s", printable(c.Path))
	head.line("state    %s", campaignState(c))
	for _, cell := range c.Cells {
		head.line("cell     %s: %d of %d pairs count, %d void, %s", cell.Name, cell.Counted, cell.Planned, cell.Void, standing(c, &cell))
		if c.State == progress.Finished {
			for _, r := range cell.Decision.Reasons {
				head.line("           %s", printable(r))
			}
		}
	}
	runs.row("run", "state", "took", "why")
	for _, cell := range c.Cells {
		for _, r := range cell.Runs {
			took := "-"
			if r.StartedNS != nil && r.EndedNS != nil {
				took = unit.Duration(*r.EndedNS - *r.StartedNS)
			}
			why := r.Reason
			if why == "" {
				why = r.Void
			}
			state := r.State
			if r.Phase != "" {
				state += ", " + r.Phase
			}
			runs.row(r.ID, printable(state), took, printable(why))
		}
	}
	for _, r := range c.Remarks {
		tail.line("remark   %s", printable(r))
	}
	for _, t := range []*table{head, runs, tail} {
		if err := t.write(w); err != nil {
			return err
		}
	}
	return nil
}

// standing is a cell's verdict once there is one.
func standing(c *progress.Campaign, cell *progress.Cell) string {
	if c.State != progress.Finished {
		return "no verdict before the end"
	}
	return cell.Decision.Verdict
}

func campaignState(c *progress.Campaign) string {
	parts := []string{c.State}
	if c.State == progress.Finished {
		parts = append(parts, c.Verdict)
	}
	if c.Reason != "" {
		parts = append(parts, printable(c.Reason))
	}
	if c.RunnerPID != nil {
		parts = append(parts, fmt.Sprintf("process %d", *c.RunnerPID))
	}
	if c.LeftNS != nil && c.State != progress.Finished {
		parts = append(parts, "about "+time.Duration(*c.LeftNS).Round(time.Second).String()+" left")
	}
	return strings.Join(parts, ", ")
}

func newCampaignStop(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "stop [CAMPAIGN]",
		Short: "Stop a campaign: end its server in order, and pause",
		Long: `Asks the runner to end: it stops the load and the server, makes sure that nothing of them is left, and writes that down. opprof campaign
resume goes on. Where the runner was killed, what it left is ended all the same. It returns when that is done.

` + campaignArgument,
		Example:           "  opprof campaign stop",
		Args:              atMostOne("CAMPAIGN"),
		ValidArgsFunction: completeCampaigns(env),
		RunE:              onCampaign(env, func(ctx context.Context, dir string) error { return stopCampaign(ctx, env, dir) }),
	}
	return c
}

func stopCampaign(ctx context.Context, env *Env, dir string) error {
	s, err := runner.Stand(dir)
	if err != nil {
		return err
	}
	switch {
	case s.State == progress.Running:
		if err := runner.Stop(dir); err != nil {
			return err
		}
		if s, err = awaitPause(ctx, dir); err != nil {
			return err
		}
	case s.State != progress.Finished:
		if err := env.startRunner(ctx, dir, 0, true); err != nil {
			return err
		}
		if s, err = runner.Stand(dir); err != nil {
			return err
		}
	}
	return printf(env.Stdout, "%s\n", campaignState(&s))
}

// awaitPause waits until no runner works on a campaign.
func awaitPause(ctx context.Context, dir string) (progress.Campaign, error) {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		s, err := runner.Stand(dir)
		if err != nil || s.State != progress.Running {
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-ticker.C:
		}
	}
}

func newCampaignAttach(env *Env) *cobra.Command {
	var detach bool
	o := &screenOptions{columns: defaultColumns, span: liveSpan}
	c := &cobra.Command{
		Use:   "attach [CAMPAIGN]",
		Short: "Watch a campaign",
		Long: `Opens the screen of a campaign: its matrix, the pairs against the limit, and what runs now; enter opens the run. Leaving it changes nothing
for the campaign. Without a terminal, or with --detach, a line is printed for each event until its runner ends; --once prints how it stands.

` + campaignArgument,
		Example: `  opprof campaign attach
  opprof campaign attach CAMPAIGN --detach
  opprof campaign attach latest --once --json`,
		Args:              atMostOne("CAMPAIGN"),
		ValidArgsFunction: completeCampaigns(env),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := o.resolve(env); err != nil {
				return err
			}
			dir, err := env.findCampaign(args)
			if err != nil {
				return err
			}
			return openCampaign(c.Context(), env, o, dir, detach)
		},
	}
	flags := c.Flags()
	flags.BoolVarP(&detach, "detach", "d", false, "open no screen: print a line for each event")
	flags.BoolVar(&o.once, "once", false, "print how it stands instead of opening the screen")
	flags.BoolVar(&o.json, "json", false, "with --once: print one JSON object")
	flags.BoolVar(&o.readOnly, "readonly", false, "only watch: give no orders")
	o.preferences = bindPreferences(flags)
	return c
}

// openCampaign follows a campaign on the screen, or in lines. What the lines end with is the gate's word.
func openCampaign(ctx context.Context, env *Env, o *screenOptions, dir string, detach bool) error {
	switch {
	case o.once || o.json:
		return printStanding(env, dir, o.json)
	case !detach && env.interactive():
		return campaignScreen(ctx, env, o, dir)
	}
	if err := followCampaign(ctx, env, dir); err != nil {
		return err
	}
	s, err := runner.Stand(dir)
	if err != nil {
		return err
	}
	return campaignEnd(env, &s)
}

// campaignEnd is the exit code of a campaign as it stands when nobody works on it any more.
func campaignEnd(env *Env, s *progress.Campaign) error {
	if err := printf(env.Stdout, "%s\n", campaignState(s)); err != nil {
		return err
	}
	switch {
	case s.State == progress.Refused:
		return WithHint(errors.New(s.Reason), "opprof campaign resume "+s.Path+" goes on once that is put right")
	case s.State != progress.Finished:
		return WithHint(WithCode(errors.New("the campaign is not finished: "+s.Reason), ExitUndecided), "opprof campaign resume "+s.Path)
	}
	return verdictCode(s.Verdict)
}

func verdictCode(verdict string) error {
	switch verdict {
	case gate.Fail:
		return WithCode(errSilent, ExitCheck)
	case gate.Undecided:
		return WithCode(errSilent, ExitUndecided)
	}
	return nil
}
