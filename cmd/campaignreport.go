package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"opprof/campaign/report"
	"opprof/campaign/runner"
	"opprof/engine/rundir"
)

type campaignReportOptions struct {
	out      string
	json     bool
	markdown bool
	html     bool
}

func newCampaignReport(env *Env) *cobra.Command {
	o := &campaignReportOptions{}
	c := &cobra.Command{
		Use:   "report [CAMPAIGN]",
		Short: "Report a campaign: the verdict with everything that it rests on",
		Long: `Judges the campaign's results anew and prints the report as Markdown, or as JSON or HTML; with --out the reports and the paired numbers are
written into a folder instead. A campaign whose pairs are not all judged has no verdict yet. The exit code is the gate's.

` + campaignArgument,
		Example: `  opprof campaign report
  opprof campaign report CAMPAIGN --html > report.html
  opprof campaign report CAMPAIGN --out .`,
		Args:              atMostOne("CAMPAIGN"),
		ValidArgsFunction: completeCampaigns(env),
		RunE:              onCampaign(env, func(_ context.Context, dir string) error { return o.do(env, dir) }),
	}
	flags := c.Flags()
	flags.StringVar(&o.out, "out", "", "write report.json, report.md, report.html and the paired numbers into this `folder`")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	flags.BoolVar(&o.markdown, "md", false, "print Markdown (the default)")
	flags.BoolVar(&o.html, "html", false, "print one page of HTML that asks nothing of the network")
	c.MarkFlagsMutuallyExclusive("out", "json", "md", "html")
	return c
}

func (o *campaignReportOptions) do(env *Env, dir string) error {
	r, err := runner.Report(dir)
	if err != nil {
		return err
	}
	return errors.Join(o.write(env, r), verdictCode(r.Verdict))
}

func (o *campaignReportOptions) write(env *Env, r *report.Report) error {
	switch {
	case o.json:
		return printJSON(env.Stdout, r)
	case o.html:
		return r.HTML(env.Stdout)
	case o.out == "":
		return r.Markdown(env.Stdout)
	}
	if err := os.MkdirAll(o.out, rundir.DirMode); err != nil {
		return fmt.Errorf("cannot write report: %w", err)
	}
	if err := runner.WriteReport(o.out, r); err != nil {
		return err
	}
	return printf(env.Stdout, "%s\n", r.Sentence)
}
