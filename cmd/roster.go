package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"opprof/campaign/compare"
	"opprof/campaign/plan"
	"opprof/campaign/progress"
	"opprof/campaign/roster"
	"opprof/campaign/runner"
	"opprof/cmd/session"
	"opprof/engine/rundir"
	"opprof/engine/supervisor"
	"opprof/engine/unit"
)

type runsOptions struct {
	screen  screenOptions
	sort    string
	turned  bool
	filter  string
	columns string
}

func newRuns(env *Env) *cobra.Command {
	o := &runsOptions{}
	c := &cobra.Command{
		Use:   "runs [FOLDER]",
		Short: "Look at the runs of a folder: sort, filter, open, compare",
		Long: `Lists the runs of a folder, and those of the campaigns in it, with the figures of each: model, size, length, tokens, step period, losses,
windows, state. From the list a run is opened, and two are compared at equal composition. Figures come from manifests and indexes; they are
read beside the screen and kept until a file changes. Those of a long run without an index are estimates, marked ~, until it was opened once.

` + screenHelp + `

FOLDER is the runs root unless one is named.`,
		Example: `  opprof runs
  opprof runs --sort p95 --reverse
  opprof runs --once --json --filter tp2`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return WithHint(usageErrorf("%s takes one FOLDER at most, got %d", c.CommandPath(), len(args)), c.CommandPath()+" --help")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args) },
	}
	flags := c.Flags()
	flags.BoolVar(&o.screen.once, "once", false, "print the list instead of opening the screen")
	flags.BoolVar(&o.screen.json, "json", false, "with --once: print one JSON object")
	flags.StringVar(&o.sort, "sort", "", "the `column` that runs are sorted by (default the run begun last first)")
	flags.BoolVar(&o.turned, "reverse", false, "sort from the largest to the smallest")
	flags.StringVar(&o.filter, "filter", "", "only runs whose id, model, state, campaign or versions hold this `text`")
	flags.StringVar(&o.columns, "columns", "", "the `columns` that are shown, by comma: "+columnNames())
	o.screen.preferences = bindPreferences(flags)
	o.screen.columns = defaultColumns
	return c
}

func columnNames() string {
	var ids []string
	for _, c := range roster.Columns() {
		ids = append(ids, c.ID)
	}
	return strings.Join(ids, ",")
}

func (o *runsOptions) view() (roster.View, error) {
	v := roster.View{Sort: o.sort, Turned: o.turned, Filter: o.filter}
	if o.columns != "" {
		v.Columns = strings.Split(o.columns, ",")
	}
	return v, WithCode(v.Check(), ExitUsage)
}

func (o *runsOptions) run(ctx context.Context, env *Env, args []string) error {
	view, err := o.view()
	if err != nil {
		return err
	}
	root, err := env.runsFolder(args)
	if err != nil {
		return err
	}
	keeper := roster.New(roster.Options{Root: root, CacheDir: env.indexDir(), IndexDir: env.indexDir(), Now: env.Now, Stand: env.standing})
	if o.screen.plain(env) {
		return o.print(ctx, env, keeper, view)
	}
	keeping, end := context.WithCancel(ctx)
	ticker := time.NewTicker(rosterEvery)
	defer ticker.Stop()
	var keeps sync.WaitGroup
	keeps.Go(func() { keeper.Run(keeping, ticker.C) })
	defer keeps.Wait()
	defer end()
	return openList(ctx, env, &o.screen, &runsSource{env, keeper, root, view}, false)
}

// rosterEvery is how often the folder is listed.
const rosterEvery = 2 * time.Second

// runsFolder is the folder that is listed. One that was named has to be there.
func (e *Env) runsFolder(args []string) (string, error) {
	if len(args) == 0 {
		return e.places().Runs()
	}
	st, err := os.Stat(args[0])
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot list runs: %w", err)
	case !st.IsDir():
		return "", WithHint(usageErrorf("cannot list runs: %s is not a folder", args[0]), "opprof review "+args[0])
	}
	return filepath.Clean(args[0]), nil
}

// standing is how a run stands by its supervisor, or, where it has none, whether its files are written.
func (e *Env) standing(ctx context.Context, l *rundir.Listed) roster.Standing {
	s := roster.Standing{Live: e.kindOf(l.Path) == session.KindLive}
	if _, err := supervisor.Stand(l.Path); err == nil {
		r := e.listed(ctx, *l)
		s.State, s.Reason = r.State, r.Reason
	}
	s.Verdict, s.Why = judged(l)
	return s
}

// judged is what the runner of a campaign made of one of its runs; "" for other runs and those that have not ended.
func judged(l *rundir.Listed) (verdict, why string) {
	dir := filepath.Dir(filepath.Dir(absolutePath(l.Path)))
	if l.Campaign == "" || !runner.Is(dir) {
		return "", ""
	}
	c, err := runner.Stand(dir)
	if err != nil {
		return "", ""
	}
	for i := range c.Cells {
		for _, r := range c.Cells[i].Runs {
			switch {
			case r.ID != filepath.Base(l.Path) && r.ID != l.ID:
			case r.Void != "":
				return "void", "its pair does not count: " + r.Void
			case r.State == progress.Failed:
				return progress.Failed, r.Reason
			case r.State == progress.Done && r.Kind == plan.Measured:
				return "counted", ""
			}
		}
	}
	return "", ""
}

func (o *runsOptions) print(ctx context.Context, env *Env, keeper *roster.Keeper, view roster.View) error {
	p, _, err := o.screen.preferences.resolve(env)
	if err != nil {
		return err
	}
	r, err := keeper.Once(ctx)
	if err != nil {
		return err
	}
	if r.Problem != "" {
		return fmt.Errorf("%s", r.Problem)
	}
	r.Runs = view.Rows(r)
	if o.screen.json {
		for i := range r.Runs {
			r.Runs[i].Problems, r.Runs[i].Unread = list(r.Runs[i].Problems), list(r.Runs[i].Unread)
		}
		return printJSON(env.Stdout, r)
	}
	return writeRuns(env, r, view, p.location())
}

// writeRuns prints the list as a table, and below it what is wrong with which run.
func writeRuns(env *Env, r *roster.Roster, view roster.View, zone *time.Location) error {
	s := section{title: fmt.Sprintf("%s in %s", unit.Counted(len(r.Runs), "run"), r.Root), left: map[int]bool{}}
	columns := view.Shown()
	for i, c := range columns {
		s.head = append(s.head, c.Head)
		s.left[i] = !c.Right
	}
	problems := section{title: "Problems", head: []string{"run", ""}, left: map[int]bool{1: true}}
	for i := range r.Runs {
		e := &r.Runs[i]
		var cells []string
		for _, c := range columns {
			cells = append(cells, c.Text(e, zone))
		}
		s.row(cells...)
		for _, p := range e.Problems {
			problems.row(e.ID, p)
		}
	}
	d := document{sections: []section{s}}
	if len(problems.rows) > 0 {
		d.sections = append(d.sections, problems)
	}
	return d.write(env.Stdout, false)
}

// runsSource shows a folder of runs on the screen.
type runsSource struct {
	env    *Env
	keeper *roster.Keeper
	root   string
	view   roster.View
}

// Run names the folder.
func (s *runsSource) Run() rundir.Description {
	return rundir.Description{ID: filepath.Base(s.root), Path: s.root, Kind: "runs"}
}

// View is how the list is shown at first.
func (s *runsSource) View() roster.View { return s.view }

// Runs are the runs as far as they are known.
func (s *runsSource) Runs(context.Context) (*roster.Roster, error) { return s.keeper.Roster(), nil }

// Compare reads two runs and compares them, with the built-in rules for kernels.
func (s *runsSource) Compare(ctx context.Context, a, b string) (*compare.Comparison, error) {
	rules, err := kernelRules("")
	if err != nil {
		return nil, err
	}
	quiet := *s.env // the screen has the terminal
	quiet.Stderr = io.Discard
	return quiet.compare(ctx, [2]string{a, b}, [2]compare.Span{}, rules)
}
