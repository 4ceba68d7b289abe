package cmd

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"opprof/traces/family"
)

type kernelOptions struct {
	rules  string
	reason bool
}

func newKernel(env *Env) *cobra.Command {
	o := &kernelOptions{}
	c := &cobra.Command{
		Use:   "kernel [NAME…|-]",
		Short: "Say which family a kernel belongs to, and by which rule",
		Long: `Prints name, family and rule of each kernel name, separated by tabs. Names are taken from the command line, or one a line from
standard input where there is none, or where it is "-". Rules look at names alone; opprof trace also uses a kernel's place in the layer.`,
		Example: `  opprof kernel fused_moe_kernel
  opprof kernel --reason - < names.txt`,
		RunE: func(_ *cobra.Command, args []string) error { return o.run(env, args) },
	}
	c.Flags().BoolVar(&o.reason, "reason", false, "add why the rule takes it")
	c.Flags().StringVar(&o.rules, "rules", "", "a TOML `file` of kernel rules that are tried before the built-in ones")
	return c
}

func (o *kernelOptions) run(env *Env, args []string) error {
	rules, err := kernelRules(o.rules)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(env.Stdout)
	if len(args) == 0 {
		args = []string{"-"}
	}
	for _, arg := range args {
		if arg != "-" {
			o.line(out, rules, arg)
			continue
		}
		if err := o.lines(out, env.Stdin, rules); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("cannot print families: %w", err)
	}
	return nil
}

// longestName bounds a line of standard input: template names of some tens of kilobytes exist.
const longestName = 4 << 20

func (o *kernelOptions) lines(out *bufio.Writer, in io.Reader, rules *family.Rules) error {
	s := bufio.NewScanner(in)
	s.Buffer(nil, longestName)
	for s.Scan() {
		if name := strings.TrimRight(s.Text(), "\r"); name != "" {
			o.line(out, rules, name)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("cannot read kernel names: %w", err)
	}
	return nil
}

// line prints one answer. A name with tabs or newlines would break the columns: they are printed as blanks.
func (o *kernelOptions) line(out *bufio.Writer, rules *family.Rules, name string) {
	v := rules.Classify(name)
	_ = printf(out, "%s\t%s\t%s", strings.NewReplacer("\t", " ", "\n", " ", "\r", " ").Replace(name), v.Family.String(), v.Rule)
	if o.reason {
		_ = printf(out, "\t%s", v.Reason)
	}
	fmt.Fprintln(out)
}
