package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opprof/campaign/runner"
	"opprof/engine/rundir"
)

const campaignArgument = `CAMPAIGN is a campaign's folder, the name of one under the runs root or the beginning of it, or "latest", which is the one that was
written to last and what is meant without an argument.`

func newCampaign(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "campaign",
		Short: "Measure what the recorder costs: off and on runs in pairs, and a verdict",
		Long: `Carries out what [campaign] of campaign.toml declares: a fresh server for each run, off and on side by side in ABBA order, the load generator,
the checks, and after the pairs the windows for the calibration and the routed experts. Every cell of the matrix passes or fails by the upper
end of the 95 % interval of the regression.

The runner works in a session of its own: closing the terminal or losing the connection changes nothing. The journal in the campaign's folder
is the truth, so that a campaign goes on after any crash; a pair that was interrupted is begun again as a whole, one that was judged stays as
it was judged.`,
		Example: `  opprof campaign run -c campaign.toml --dry-run
  opprof campaign run -c campaign.toml
  opprof campaign status
  opprof campaign report latest --out report`,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCampaignRun(env), newCampaignAttach(env), newCampaignStatus(env), newCampaignStop(env), newCampaignResume(env), newCampaignReport(env))
	return c
}

// campaigns are the folders of the campaigns under the runs root, the newest first.
func (e *Env) campaigns() ([]string, error) {
	root, err := e.places().Runs()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot list campaigns: %w", err)
	}
	var dirs []string
	for _, entry := range entries {
		if dir := filepath.Join(root, entry.Name()); runner.Is(dir) {
			dirs = append(dirs, absolutePath(dir))
		}
	}
	written := func(dir string) time.Time {
		st, err := os.Stat(filepath.Join(dir, rundir.JournalName))
		if err != nil {
			return time.Time{}
		}
		return st.ModTime()
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return written(b).Compare(written(a)) })
	return dirs, nil
}

// findCampaign is the folder that a CAMPAIGN argument means.
func (e *Env) findCampaign(args []string) (string, error) {
	arg := argOr(args, latestRun)
	if st, err := os.Stat(arg); err == nil && st.IsDir() {
		if !runner.Is(arg) {
			if err := runner.Lacking(arg); err != nil {
				return "", err
			}
			return "", WithHint(fmt.Errorf("%s holds no campaign", arg), "opprof campaign run makes one")
		}
		return absolutePath(arg), nil
	}
	all, err := e.campaigns()
	if err != nil {
		return "", err
	}
	if arg == latestRun && len(all) > 0 {
		return all[0], nil
	}
	var found []string
	for _, dir := range all {
		switch name := filepath.Base(dir); {
		case name == arg:
			return dir, nil
		case strings.HasPrefix(name, arg):
			found = append(found, dir)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", WithHint(fmt.Errorf("there is no campaign %q", arg), "name its folder, or opprof campaign run makes one")
	}
	return "", usageErrorf("%q begins the names of %d campaigns: %s", arg, len(found), strings.Join(names(found), ", "))
}

func names(dirs []string) []string {
	out := make([]string, len(dirs))
	for i, dir := range dirs {
		out[i] = filepath.Base(dir)
	}
	return out
}

// completeCampaigns offers the names of campaigns.
func completeCampaigns(env *Env) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		all, err := env.campaigns()
		if len(args) > 0 || err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		out := []cobra.Completion{latestRun}
		for _, name := range names(all) {
			if printable(name) == name {
				out = append(out, name)
			}
		}
		return out, cobra.ShellCompDirectiveDefault
	}
}
