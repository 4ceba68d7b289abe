package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"opprof/engine/overlay"
)

// patchTarget is the installation that a patch command is about, as the flags name it.
type patchTarget struct {
	python, site, source string
}

func newPatch(env *Env) *cobra.Command {
	var target patchTarget
	c := &cobra.Command{
		Use:   "patch",
		Short: "Show, apply or take back the patch of an installed vLLM",
		Long: `The patch adds OpProf's recorder to vLLM ` + vllmVersion + `. opprof launch needs none of these commands: it leaves the
installation alone and puts a private copy of the patched files before it. They are for those who build images.

Every command first checks the version, the hash of each file and the place of each edit, and names all that does not fit.`,
		Example: `  opprof patch check           # would the patch fit, is it there?
  opprof patch diff            # what it would change`,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	flags := c.PersistentFlags()
	flags.StringVar(&target.python, "python", "", "interpreter that vllm is installed for (default python3)")
	flags.StringVar(&target.site, "site", "", "folder that holds the vllm package")
	flags.StringVar(&target.source, "source", "", "vLLM source checkout; the patch's test is written too")
	c.AddCommand(
		newPatchCheck(env, &target),
		newPatchDiff(env, &target),
		newPatchOverlay(env, &target),
		newPatchApply(env, &target),
		newPatchRevert(env, &target),
	)
	return c
}

// find asks an interpreter, or opens the folder named.
func (t patchTarget) find(ctx context.Context) (overlay.Site, error) {
	switch {
	case t.python != "" && t.site != "", t.python != "" && t.source != "", t.site != "" && t.source != "":
		return overlay.Site{}, usageErrorf("--python, --site and --source each name an installation: give one of them")
	case t.source != "":
		return overlay.OpenSource(t.source)
	case t.site != "":
		return overlay.OpenSite(t.site)
	case t.python != "":
		return overlay.FindPython(ctx, t.python)
	}
	return overlay.FindPython(ctx, "python3")
}

// open gives what every patch command works with.
func (t patchTarget) open(ctx context.Context) (*overlay.Patch, overlay.Site, error) {
	p, err := overlay.Embedded()
	if err != nil {
		return nil, overlay.Site{}, err
	}
	s, err := t.find(ctx)
	return p, s, err
}

func newPatchCheck(env *Env, target *patchTarget) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Does the patch fit, and is it applied?",
		Long:  "Exit code 0: it fits or is applied. 3: it does not fit, or is applied in part; every reason is listed.",
		Example: `  opprof patch check
  opprof patch check --python /opt/venv/bin/python --json`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			p, s, err := target.open(c.Context())
			if err != nil {
				return err
			}
			r, err := p.Check(s)
			if err != nil {
				return err
			}
			if err := printPatchReport(env, r, asJSON); err != nil {
				return err
			}
			if r.Err() != nil {
				return WithCode(errSilent, ExitCheck)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func printPatchReport(env *Env, r overlay.Report, asJSON bool) error {
	if asJSON {
		return printJSON(env.Stdout, r)
	}
	version := r.Version
	if version == "" {
		version = "-"
	}
	err := printf(env.Stdout, "vllm   %s in %s\npatch  %s for vllm %s\nstate  %s\n", version, r.Site, r.PatchHash, r.PatchVersion, r.State)
	for _, file := range r.Files {
		err = errors.Join(err, printf(env.Stdout, "  %s\n", string(file)))
	}
	for _, problem := range r.Problems {
		err = errors.Join(err, printf(env.Stdout, "problem: %s\n", problem.Error()))
	}
	return err
}

func newPatchDiff(env *Env, target *patchTarget) *cobra.Command {
	return &cobra.Command{
		Use:     "diff",
		Short:   "Print what the patch changes, as a unified diff",
		Example: "  opprof patch diff --site /opt/venv/lib/python3.12/site-packages",
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			p, s, err := target.open(c.Context())
			if err != nil {
				return err
			}
			return refusedCode(p.Diff(env.Stdout, s))
		},
	}
}

func newPatchApply(env *Env, target *patchTarget) *cobra.Command {
	return &cobra.Command{
		Use:   "apply",
		Short: "Patch the installation in place",
		Long: `All new files are on disk before the first one changes, and backups stay in vllm/.opprof-patch. A run that was cut short is
finished by the next apply or taken back by revert.`,
		Example: `  opprof patch apply --python /opt/venv/bin/python
  opprof patch apply --source ~/src/vllm`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			p, s, err := target.open(c.Context())
			if err != nil {
				return err
			}
			changed, err := p.Apply(s)
			if err != nil {
				return refusedCode(err)
			}
			return printPatched(env, s, changed, "patched", "was patched already")
		},
	}
}

func newPatchRevert(env *Env, target *patchTarget) *cobra.Command {
	return &cobra.Command{
		Use:     "revert",
		Short:   "Restore the installation, byte for byte",
		Example: "  opprof patch revert --python /opt/venv/bin/python",
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			p, s, err := target.open(c.Context())
			if err != nil {
				return err
			}
			changed, err := p.Revert(s)
			if err != nil {
				return err
			}
			return printPatched(env, s, changed, "restored", "was not patched")
		},
	}
}

func printPatched(env *Env, s overlay.Site, changed bool, done, nothing string) error {
	word := done
	if !changed {
		word = nothing
	}
	return printf(env.Stdout, "%s %s\n", s.Package(), word)
}

// refusedCode marks an installation that the patch does not fit as a check that does not hold.
func refusedCode(err error) error {
	if refused := new(overlay.RefusedError); errors.As(err, &refused) {
		return WithCode(err, ExitCheck)
	}
	return err
}
