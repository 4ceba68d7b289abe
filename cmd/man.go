package cmd

import (
	"fmt"
	"strings"

	mcobra "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"

	"opprof/tui/keys"
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
			for _, section := range []struct{ name, text string }{
				{"Keys", keysHelp()}, {"Files", filesHelp}, {"Environment", environmentHelp()}, {"Exit status", exitStatusHelp},
			} {
				page = page.WithSection(section.name, strings.ReplaceAll(section.text, "%", "%%")) // the library takes it for a format
			}
			_, err = fmt.Fprint(env.Stdout, page.Build(roff.NewDocument()))
			return err
		},
	}
}

const filesHelp = `$OPPROF_RUNS, else $XDG_STATE_HOME/opprof/runs  the runs root: one folder per run
<run>/layer1/opprof-v1-dp<k>-pid<p>-<start>.jsonl  one line per scheduler step, one file per engine
<run>/kineto/, <run>/windows/  profiler traces and what is known of their windows
<run>/run.json, <run>/server.log  manifest and output of the server
<file>.opidx, else under $XDG_CACHE_HOME/opprof/index  index of a long stream; safe to delete
$XDG_CONFIG_HOME/opprof/config.toml  preferences
$XDG_STATE_HOME/opprof/opprof.log  the program's own log`

// keysHelp lists the screens' keys.
func keysHelp() string {
	var b strings.Builder
	for _, section := range keys.Default().Help("") {
		fmt.Fprintf(&b, "%s:\n", section.Group)
		for _, k := range section.Bindings {
			fmt.Fprintf(&b, "  %s  %s\n", k.Label(), k.Long)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// environmentHelp lists the variables that are read.
func environmentHelp() string {
	var b strings.Builder
	b.WriteString("OPPROF_RUNS  the runs root\nOPPROF_CONFIG  the preferences file, as --config\nNO_COLOR  with any text: no colours\n")
	for _, s := range settings() {
		fmt.Fprintf(&b, "%s  %s, as --%s\n", s.variable(), s.usage, s.flag())
	}
	return strings.TrimRight(b.String(), "\n")
}
