package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"opprof/engine/rundir"
	"opprof/engine/serverconf"
)

func newConfig(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Write or print the preferences",
		Long: `Preferences are how screens look and behave for you. Each is looked up as a flag, then as an environment variable
(OPPROF_ and its name in capitals), then in the preferences file, then as its default.`,
		Example: `  opprof config print          # every preference in force, and where it comes from
  opprof config init           # a commented file with the defaults, on standard output`,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newConfigInit(env), newConfigPrint(env))
	return c
}

type configInitOptions struct {
	user   bool
	server bool
}

func newConfigInit(env *Env) *cobra.Command {
	o := &configInitOptions{}
	c := &cobra.Command{
		Use:   "init",
		Short: "Write a commented preferences file with every default",
		Example: `  opprof config init
  opprof config init --user    # into $XDG_CONFIG_HOME/opprof/config.toml
  opprof config init --server  # a commented campaign.toml for opprof launch and opprof campaign`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return o.run(env) },
	}
	c.Flags().BoolVar(&o.server, "server", false, "write a commented configuration of a server and a campaign instead")
	c.Flags().BoolVar(&o.user, "user", false, "write the file to its place instead of standard output; an existing one stays")
	c.MarkFlagsMutuallyExclusive("user", "server")
	return c
}

func (o *configInitOptions) run(env *Env) error {
	if o.server {
		_, err := io.WriteString(env.Stdout, serverconf.Example())
		return err
	}
	var text bytes.Buffer
	writeDefaults(&text)
	if !o.user {
		_, err := env.Stdout.Write(text.Bytes())
		return err
	}
	path, err := env.places().Preferences()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), rundir.DirMode); err != nil {
		return fmt.Errorf("cannot write preferences: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, rundir.FileMode)
	if errors.Is(err, fs.ErrExist) {
		return WithHint(fmt.Errorf("cannot write preferences: %s exists already", path), "opprof config print shows what it says; remove it to start anew")
	}
	if err != nil {
		return fmt.Errorf("cannot write preferences: %w", err)
	}
	_, err = file.Write(text.Bytes())
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("cannot write preferences: %w", err)
	}
	_, err = fmt.Fprintln(env.Stdout, path)
	return err
}

func writeDefaults(w io.Writer) {
	_, _ = fmt.Fprint(w, "# Preferences of opprof. A flag wins over an OPPROF_ variable, which wins over this file.\n")
	for _, s := range settings() {
		_, _ = fmt.Fprintf(w, "\n# %s\n", s.usage)
		if s.choices != nil {
			_, _ = fmt.Fprintf(w, "# %s\n", strings.Join(s.choices, ", "))
		}
		_, _ = fmt.Fprintf(w, "# %s = %s\n", s.key, tomlValue(s.initial))
	}
	_, _ = fmt.Fprint(w, "\n# What opprof prune keeps. Without these keys it does nothing by itself.\n# [retention]\n")
	for _, k := range retentionKeys() {
		_, _ = fmt.Fprintf(w, "# %s; for example\n# %s = %q\n", k.usage, k.key, k.example)
	}
}

// tomlValue writes booleans bare and everything else as a string.
func tomlValue(v string) string {
	if v == "true" || v == "false" {
		return v
	}
	return fmt.Sprintf("%q", v)
}

func newConfigPrint(env *Env) *cobra.Command {
	var flags *preferenceFlags
	c := &cobra.Command{
		Use:     "print",
		Short:   "Print the preferences in force and where each comes from",
		Example: "  opprof config print\n  OPPROF_TICK=500ms opprof config print",
		Args:    exactly(),
		RunE: func(*cobra.Command, []string) error {
			p, from, err := flags.resolve(env)
			if err != nil {
				return err
			}
			for _, s := range settings() {
				if _, err := fmt.Fprintf(env.Stdout, "%-24s # %s\n", s.key+" = "+tomlValue(s.get(p)), from[s.key]); err != nil {
					return err
				}
			}
			return printRetention(env, flags)
		},
	}
	flags = bindPreferences(c.Flags())
	return c
}

// printRetention prints the table that only prune reads.
func printRetention(env *Env, flags *preferenceFlags) error {
	file, err := flags.read(env)
	if err != nil {
		return WithCode(err, ExitUsage)
	}
	headed := false
	for _, k := range retentionKeys() {
		v := k.get(file.retention)
		if v == "" {
			continue
		}
		if !headed {
			headed = true
			if err := printf(env.Stdout, "\n[%s]\n", retentionTable); err != nil {
				return err
			}
		}
		if err := printf(env.Stdout, "%s # %s\n", fmt.Sprintf("%-24s", k.key+" = "+tomlValue(v)), file.path); err != nil {
			return err
		}
	}
	return nil
}
