package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func newCompletion(env *Env) *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for bash, zsh or fish",
		Example: `  opprof completion bash       # source <(opprof completion bash)
  opprof completion zsh        # > "${fpath[1]}/_opprof"
  opprof completion fish       # > ~/.config/fish/completions/opprof.fish`,
		Args:      exactly("SHELL"),
		ValidArgs: shells,
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			switch shell := args[0]; {
			case !slices.Contains(shells, shell):
				return usageErrorf("there is no completion for %q: the shells are %s", shell, strings.Join(shells, ", "))
			case shell == "bash":
				return root.GenBashCompletionV2(env.Stdout, true)
			case shell == "zsh":
				return root.GenZshCompletion(env.Stdout)
			default:
				return root.GenFishCompletion(env.Stdout, true)
			}
		},
	}
}

// completeRuns offers the ids of the runs under the runs root, then files.
func completeRuns(env *Env) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		runs, err := env.runs()
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		ids := []cobra.Completion{latestRun}
		for _, r := range runs {
			if printable(r.ID) == r.ID { // another name could not be typed
				ids = append(ids, r.ID+"\t"+printable(r.Path))
			}
		}
		return ids, cobra.ShellCompDirectiveDefault
	}
}
