package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"opprof/campaign/runner"
	"opprof/engine/compact"
	"opprof/engine/frames"
	"opprof/engine/index"
	"opprof/engine/rundir"
	"opprof/engine/supervisor"
	"opprof/engine/unit"
)

// States of a file that compact looked at.
const (
	compactDone    = "compacted"
	compactWould   = "would be compacted"
	compactAlready = "already"
	compactLeft    = "left"
	compactRefused = "refused"
	compactFailed  = "failed"
)

// compactReport is what `compact --json` prints.
type compactReport struct {
	Schema int64           `json:"schema"`
	Files  []compactedFile `json:"files"`
	Before int64           `json:"before_bytes"` // of the files that were compacted
	After  int64           `json:"after_bytes"`  // of what they have become
}

// compactedFile is what became of one file.
type compactedFile struct {
	Run    string `json:"run"`
	Path   string `json:"path"`         // of the file as it is now
	Kind   string `json:"kind"`         // layer1 or trace
	State  string `json:"state"`        // compacted, would be compacted, already, left (compressed by another program), refused or failed
	Reason string `json:"reason"`       // why it was left, refused or failed; ""
	Before *int64 `json:"before_bytes"` // null unless it is compacted or would be
	After  *int64 `json:"after_bytes"`  // null unless it is compacted
	Steps  *int64 `json:"steps"`        // read back from it; null where nothing was read
}

type compactOptions struct {
	dryRun bool
	json   bool
}

func newCompact(env *Env) *cobra.Command {
	o := &compactOptions{}
	c := &cobra.Command{
		Use:   "compact RUN…",
		Short: "Compress the complete files of runs",
		Long: `Replaces Layer-1 files that nobody writes any more by zstd files that open and jump as fast, at about a twentieth of their size, and
compresses what profiler windows left plain. Each copy is read back and compared before the plain file goes. What is being written, is a link, has
other names or changes meanwhile stays, with the reason. A copy that was interrupted, also by kill -9, is taken up by the next call.

RUN may also be a campaign or a folder of runs.

` + runArgument,
		Example: `  opprof compact RUN --dry-run   # say what would be done
  opprof compact RUN
  opprof compact RUN --json`,
		Args:              atLeastOne("RUN"),
		ValidArgsFunction: completeRuns(env),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args) },
	}
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would be done")
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return c
}

func (o *compactOptions) run(ctx context.Context, env *Env, args []string) error {
	var runs []*rundir.Run
	for _, arg := range args {
		found, err := env.exportedRuns(arg)
		if err != nil {
			return err
		}
		for _, r := range found {
			runs = append(runs, r.run)
		}
	}
	if !o.dryRun {
		compact.Yield()
	}
	p := &compacting{env: env, dryRun: o.dryRun, report: compactReport{Schema: 1, Files: []compactedFile{}}}
	for _, r := range runs {
		if err := p.run(ctx, r); err != nil {
			return err // ctx has ended: what is done is done, and the rest is taken up by the next call
		}
	}
	if o.json {
		if err := printJSON(env.Stdout, p.report); err != nil {
			return err
		}
	} else if err := p.report.table().write(env.Stdout); err != nil {
		return err
	}
	return p.report.err()
}

// err is nil when nothing is left to be done.
func (r *compactReport) err() error {
	n := 0
	for i := range r.Files {
		if s := r.Files[i].State; s == compactRefused || s == compactFailed {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("not everything was compacted: %s stays as it is", unit.Counted(n, "file"))
}

func (r *compactReport) table() *table {
	t := &table{}
	for i := range r.Files {
		f := &r.Files[i]
		size := ""
		switch {
		case f.After != nil:
			size = "  " + unit.Bytes(*f.Before) + " to " + unit.Bytes(*f.After)
		case f.Before != nil:
			size = "  " + unit.Bytes(*f.Before)
		}
		t.line("%s  %s%s", f.Path, f.State, size)
		if f.Reason != "" {
			t.line("  %s", f.Reason)
		}
	}
	if len(r.Files) == 0 {
		t.line("there is no Layer-1 file and no trace to compact")
	}
	return t
}

// compacting is the work on several runs.
type compacting struct {
	env    *Env
	dryRun bool
	report compactReport
}

// run compacts one run. The error is that of ctx.
func (p *compacting) run(ctx context.Context, run *rundir.Run) error {
	busy := runnerWorks(run.Root)
	held := map[string]bool{}
	running := serverRuns(run.Root)
	if running {
		held = newestStreams(run.Streams)
	}
	for _, path := range run.Streams {
		f := compactedFile{Run: run.ID, Path: path, Kind: rundir.Layer1Name}
		base, _, _ := rundir.StreamName(path)
		switch {
		case busy != "":
			f.State, f.Reason = compactRefused, busy
		case held[base]:
			f.State, f.Reason = compactRefused, "its server runs, and this is the newest file of its engine"
		default:
			if err := p.stream(ctx, run, &f); err != nil {
				return err
			}
		}
		p.add(f)
	}
	if busy != "" || running {
		return nil
	}
	return p.traces(ctx, run)
}

func (p *compacting) add(f compactedFile) {
	if f.State == compactDone {
		p.report.Before += *f.Before
		p.report.After += *f.After
	}
	p.report.Files = append(p.report.Files, f)
}

// stream compacts one Layer-1 file.
func (p *compacting) stream(ctx context.Context, run *rundir.Run, f *compactedFile) error {
	if strings.HasSuffix(f.Path, frames.Extension) || strings.HasSuffix(f.Path, ".gz") {
		f.compressed()
		return nil
	}
	bar := p.env.newProgress()
	bar.begin()
	r, err := compact.Stream(ctx, f.Path, compact.Options{Workers: runtime.GOMAXPROCS(0), DryRun: p.dryRun, Now: p.env.Now,
		Progress: func(done, total int64) { bar.tell(run.ID, done, total) }})
	bar.clear()
	var refused *compact.RefusedError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &refused):
		f.State, f.Reason = compactRefused, refused.Why
	case err != nil:
		f.State, f.Reason = compactFailed, err.Error()
	case p.dryRun:
		f.State, f.Before = compactWould, &r.Before
	default:
		f.State, f.Path, f.Before, f.After, f.Steps = compactDone, r.Path, &r.Before, &r.After, &r.Check.Steps
		return p.index(ctx, r.Path)
	}
	return nil
}

// compressed tells of a file that was compressed before.
func (f *compactedFile) compressed() {
	s, err := frames.Open(f.Path)
	switch {
	case errors.Is(err, frames.ErrNotSeekable):
		f.State, f.Reason = compactLeft, "another program compressed it, as one piece: it is read, but always from its start"
		return
	case err != nil:
		f.State, f.Reason = compactFailed, err.Error()
		return
	}
	defer s.Close()
	f.State = compactAlready
}

// index sees to it that a compacted stream opens at once. It is a cache: what goes wrong is made up for by whoever opens the stream.
func (p *compacting) index(ctx context.Context, path string) error {
	s, err := frames.Open(path)
	if err != nil {
		return nil
	}
	defer s.Close()
	var last *index.Index
	_ = index.Keep(ctx, index.Keeping{Stream: path, Reader: s, Size: func() (int64, error) { return s.Size(), nil }, CacheDir: p.env.indexDir(),
		Update: func(x *index.Index) { last = x }})
	if last != nil {
		_ = last.Close()
	}
	return ctx.Err()
}

// traces compresses what verified windows left plain.
func (p *compacting) traces(ctx context.Context, run *rundir.Run) error {
	plain, err := supervisor.PlainTraces(run.Root)
	if err != nil && !errors.Is(err, supervisor.ErrNoJournal) {
		p.add(compactedFile{Run: run.ID, Path: run.Root, Kind: "trace", State: compactFailed, Reason: err.Error()})
	}
	sizes := map[string]int64{}
	for _, path := range plain {
		if st, err := os.Stat(path); err == nil {
			sizes[path] = st.Size()
		}
	}
	var failed error
	if !p.dryRun && len(plain) > 0 {
		failed = supervisor.CompressVerified(ctx, run.Root)
	}
	for _, path := range plain {
		before := sizes[path]
		f := compactedFile{Run: run.ID, Path: path, Kind: "trace", State: compactWould, Before: &before}
		_, still := os.Lstat(path) // beside a file of somebody else, which has the name of its copy
		if st, err := os.Stat(path + ".gz"); !p.dryRun && err == nil && still != nil {
			after := st.Size()
			f.State, f.Path, f.After = compactDone, path+".gz", &after
		} else if !p.dryRun {
			f.State, f.Before, f.Reason = compactFailed, nil, fmt.Sprint(failed)
		}
		p.add(f)
	}
	return ctx.Err()
}

// serverRuns reports whether a run's server is known to run, or may be about to.
func serverRuns(root string) bool {
	stand, err := supervisor.Stand(root)
	return err == nil && (stand.Supervised || stand.Open && stand.Status.Server.PID > 0)
}

// runnerWorks says that the runner of a run's campaign works; "" when none does.
func runnerWorks(root string) string {
	dir := filepath.Dir(filepath.Dir(absolutePath(root)))
	if campaignOf(root) == "" || !runner.Is(dir) {
		return ""
	}
	if c, err := runner.Stand(dir); err != nil {
		return "how its campaign stands is not known: " + err.Error()
	} else if c.RunnerPID != nil {
		return "the runner of its campaign works; it ends by itself, or by opprof campaign stop " + dir
	}
	return ""
}

// newestStreams are the streams that a running server may write: of each engine the one that began last.
func newestStreams(paths []string) map[string]bool {
	newest := map[string]string{}
	for _, path := range paths {
		base, _, ok := rundir.StreamName(path)
		if !ok {
			base = path
		}
		engine, _ := startOf(base)
		before, known := newest[engine]
		if !known {
			newest[engine] = base
			continue
		}
		_, now := startOf(base)
		if _, then := startOf(before); cmp.Or(cmp.Compare(len(now), len(then)), strings.Compare(now, then)) > 0 {
			newest[engine] = base
		}
	}
	held := map[string]bool{}
	for _, base := range newest {
		held[base] = true
	}
	return held
}

// startOf takes opprof-v1-dp<k>-pid<p>-<start ns>.jsonl apart. A file of another name is an engine of its own.
func startOf(base string) (engine, start string) {
	name := strings.TrimSuffix(filepath.Base(base), ".jsonl")
	parts := strings.Split(name, "-")
	if len(parts) != 5 || parts[0] != "opprof" {
		return name, ""
	}
	return parts[2], parts[4]
}
