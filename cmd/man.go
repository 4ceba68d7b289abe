package cmd

import (
	"fmt"

	mcobra "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"
)

func newMan(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:     "man",
		Short:   "Print the manual page",
		Example: "  opprof man                   # opprof man | man -l -",
		Hidden:  true,
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			page, err := mcobra.NewManPage(1, c.Root())
			if err != nil {
				return fmt.Errorf("cannot make the manual page: %w", err)
			}
			_, err = fmt.Fprint(env.Stdout, page.WithSection("Exit status", exitStatusHelp).Build(roff.NewDocument()))
			return err
		},
	}
}
