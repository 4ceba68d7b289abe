package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"opprof/campaign/retention"
	"opprof/engine/compact"
	"opprof/engine/rundir"
	"opprof/engine/unit"
)

// pruneReport is what `prune --json` prints.
type pruneReport struct {
	Schema  int64       `json:"schema"`
	Root    string      `json:"root"`
	DryRun  bool        `json:"dry_run"`     // nothing was touched
	Bytes   int64       `json:"bytes"`       // of all runs on the disk, before
	Freed   int64       `json:"freed_bytes"` // by what was deleted or would be, and by what was compacted
	Deletes bool        `json:"deletes"`     // whether the policy was allowed to delete
	Runs    []prunedRun `json:"runs"`        // oldest first
}

// prunedRun is what became of a run.
type prunedRun struct {
	ID       string `json:"id"`
	Path     string `json:"path"`
	Campaign string `json:"campaign"`   // its campaign's folder, "" for none
	Bytes    int64  `json:"bytes"`      // on the disk, before
	Touched  int64  `json:"touched_ns"` // when it was written to last, ns since 1970; 0 unknown
	Action   string `json:"action"`     // keep, compact, delete: what its policy says
	Reason   string `json:"reason"`     // why, or why it stays although a rule speaks of it; "" when none does
	Done     bool   `json:"done"`       // false in a dry run, for what is kept and where it failed
	Error    string `json:"error"`      // why it failed, or why it was not allowed; ""
}

type pruneOptions struct {
	dryRun bool
	yes    bool
	json   bool
	values map[string]*string
	file   *preferenceFlags
}

func newPrune(env *Env) *cobra.Command {
	o := &pruneOptions{values: map[string]*string{}}
	c := &cobra.Command{
		Use:   "prune",
		Short: "Compact and delete old runs by a policy",
		Long: `Applies [retention] of the preferences, or the policy of the flags, to the runs root: compacts runs that nothing was written to for compact_after,
and deletes the oldest ones beyond keep_days and keep_gb. A flag wins over the file. By flags alone, nothing is deleted without --yes.

Never deleted: a run whose server or supervisor runs or whose files are being written, a run with notes or bookmarks, a run of a campaign that is not
finished, and anything that lies outside the runs root or behind a link.`,
		Example: `  opprof prune --keep-days 90 --keep-gb 500 --compact-after 2d --dry-run
  opprof prune --compact-after 2d
  opprof prune --keep-gb 500 --yes --json`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c, env) },
	}
	o.file = &preferenceFlags{flags: c.Flags()}
	c.Flags().StringVar(&o.file.file, "config", "", "preferences file (default $XDG_CONFIG_HOME/opprof/config.toml)")
	for _, k := range retentionKeys() {
		o.values[k.key] = c.Flags().String(k.flag(), "", k.usage+", such as "+k.example)
	}
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would be done")
	c.Flags().BoolVar(&o.yes, "yes", false, "delete what the policy of the flags says")
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return c
}

// policy is that of the flags over that of the file, and whether it may delete: a written one says so itself.
func (o *pruneOptions) policy(c *cobra.Command, env *Env) (p retention.Policy, deletes bool, err error) {
	file, err := o.file.read(env)
	if err != nil {
		return p, false, WithCode(err, ExitUsage)
	}
	p, deletes = file.retention, true
	for _, k := range retentionKeys() {
		if !c.Flags().Changed(k.flag()) {
			continue
		}
		before := p
		if err := k.set(&p, *o.values[k.key]); err != nil {
			return p, false, usageErrorf("--%s: %w", k.flag(), err)
		}
		if before.KeepFor != p.KeepFor || before.KeepBytes != p.KeepBytes {
			deletes = false
		}
	}
	if p == (retention.Policy{}) {
		return p, false, WithHint(usageErrorf("there is no policy: neither [%s] of the preferences nor a flag says what is kept", retentionTable),
			"opprof prune --compact-after 2d --dry-run")
	}
	return p, deletes || o.yes, nil
}

func (o *pruneOptions) run(ctx context.Context, c *cobra.Command, env *Env) error {
	policy, deletes, err := o.policy(c, env)
	if err != nil {
		return err
	}
	root, err := env.places().Runs()
	if err != nil {
		return err
	}
	p := &pruning{env: env, policy: policy, dryRun: o.dryRun, report: pruneReport{Schema: 1, Root: root, DryRun: o.dryRun, Deletes: deletes, Runs: []prunedRun{}}}
	if err := p.run(ctx); err != nil {
		return err
	}
	if o.json {
		err = printJSON(env.Stdout, p.report)
	} else {
		err = p.report.table().write(env.Stdout)
	}
	return errors.Join(err, p.report.err())
}

// pruning is one pass over the runs root.
type pruning struct {
	env    *Env
	policy retention.Policy
	dryRun bool
	report pruneReport
}

// run compacts first: what that frees, no run need be deleted for.
func (p *pruning) run(ctx context.Context) error {
	root := p.report.Root
	if !p.dryRun {
		compact.Yield()
		if err := retention.Sweep(root); err != nil {
			p.env.note(err)
		}
	}
	runs, err := retention.Look(root, p.env.notesDir(), p.env.Now())
	if err != nil {
		return err
	}
	for _, r := range runs {
		p.report.Bytes += r.Bytes
	}
	compacted := map[string]prunedRun{}
	for _, v := range retention.Plan(p.policy, p.env.Now(), runs) {
		if v.Action != retention.Compact || p.dryRun {
			continue
		}
		done, err := p.compact(ctx, v)
		if err != nil {
			return err
		}
		compacted[v.Path] = done
	}
	if len(compacted) > 0 {
		if runs, err = retention.Look(root, p.env.notesDir(), p.env.Now()); err != nil {
			return err
		}
	}
	for _, v := range retention.Plan(p.policy, p.env.Now(), runs) {
		if err := ctx.Err(); err != nil {
			return err
		}
		done, was := compacted[v.Path]
		if v.Action == retention.Delete {
			done = p.delete(v)
		} else if !was {
			done = pruned(v)
		}
		p.report.Runs = append(p.report.Runs, done)
	}
	return nil
}

func pruned(v retention.Verdict) prunedRun {
	run := prunedRun{ID: v.ID, Path: v.Path, Campaign: v.Campaign, Bytes: v.Bytes, Action: string(v.Action), Reason: v.Why}
	if !v.Touched.IsZero() {
		run.Touched = v.Touched.UnixNano()
	}
	return run
}

// compact compacts a run. The error is that of ctx.
func (p *pruning) compact(ctx context.Context, v retention.Verdict) (prunedRun, error) {
	out := pruned(v)
	run, err := rundir.Open(v.Path)
	if err != nil {
		out.Error = err.Error()
		return out, nil
	}
	c := &compacting{env: p.env, report: compactReport{}}
	if err := c.run(ctx, run); err != nil {
		return out, err
	}
	p.report.Freed += c.report.Before - c.report.After
	if err := c.report.err(); err != nil {
		out.Error = err.Error()
		return out, nil
	}
	out.Done = true
	return out, nil
}

// delete deletes a run where that is allowed.
func (p *pruning) delete(v retention.Verdict) prunedRun {
	out := pruned(v)
	switch {
	case p.dryRun:
		p.report.Freed += v.Bytes
	case !p.report.Deletes:
		out.Error = "not deleted: --yes deletes by the policy of flags, [" + retentionTable + "] of the preferences by itself"
	default:
		if err := retention.Remove(p.report.Root, v.Run, p.env.Now()); err != nil {
			out.Error = err.Error()
			break
		}
		out.Done = true
		p.report.Freed += v.Bytes
	}
	return out
}

func (r *pruneReport) err() error {
	failed := 0
	for i := range r.Runs {
		if r.Runs[i].Error != "" {
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("not everything was done: %s stays as it is", unit.Counted(int64(failed), "run"))
}

func (r *pruneReport) table() *table {
	t := &table{}
	widest := 0
	for i := range r.Runs {
		widest = max(widest, utf8.RuneCountInString(printable(r.Runs[i].ID)))
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		action, touched := run.Action, unit.Unknown
		if run.Touched != 0 {
			touched = time.Unix(0, run.Touched).Format(time.DateTime)
		}
		switch {
		case run.Done:
			action = map[string]string{string(retention.Compact): "compacted", string(retention.Delete): "deleted"}[action]
		case r.DryRun && action != string(retention.Keep):
			action = "would " + action
		case run.Error != "":
			action = "stays"
		}
		why := cmp.Or(run.Error, run.Reason)
		if why != "" {
			why = "  " + why
		}
		t.line("%-*s  %-*s  %8s  %s%s", widest, printable(run.ID), len(time.DateTime), touched, unit.Bytes(run.Bytes), action, why)
	}
	freed := "freed"
	if r.DryRun {
		freed = "deleting would free"
	}
	t.line("%s in %s take %s; %s %s", unit.Counted(int64(len(r.Runs)), "run"), r.Root, unit.Bytes(r.Bytes), freed, unit.Bytes(r.Freed))
	return t
}
