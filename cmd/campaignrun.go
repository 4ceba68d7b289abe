package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"opprof/campaign/bench"
	"opprof/campaign/plan"
	"opprof/campaign/runner"
	"opprof/engine/journal"
	"opprof/engine/launch"
	"opprof/engine/regular"
	"opprof/engine/serverconf"
	"opprof/engine/unit"
)

type campaignRunOptions struct {
	file   string
	dir    string
	model  string
	python string
	until  time.Duration
	detach bool
	noWait bool
	dryRun bool
	screen screenOptions
}

func newCampaignRun(env *Env) *cobra.Command {
	o := &campaignRunOptions{}
	c := &cobra.Command{
		Use:   "run [-c FILE] [--dir DIR] [--until TIME]",
		Short: "Begin a campaign and follow it",
		Long: `Reads the plan, says what it takes, lists everything that is wrong at once, and starts the runner in a session of its own. With a terminal the
screen of the campaign opens; without one, or with --detach, a line is printed for each event until the end, and the exit code is the gate's:
0 it passes, 3 it fails, 4 it is undecided, 1 the campaign could not be finished.

--until ends after the last pair that fits into that time; opprof campaign resume goes on. A verdict is given when every declared pair has been
judged and not before.`,
		Example: `  opprof campaign run -c campaign.toml --dry-run
  opprof campaign run -c campaign.toml --until 8h
  opprof campaign run -c testdata/campaign/cpu.toml --model tiny --python venv/bin/python --dir try`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return o.do(c.Context(), env) },
	}
	flags := c.Flags()
	flags.StringVarP(&o.file, "campaign", "c", campaignFile, "configuration `file` with [server] and [campaign]")
	flags.StringVar(&o.dir, "dir", "", "`folder` of the campaign, new or empty (default a new one under the runs root)")
	flags.StringVar(&o.model, "model", "", "another `model` than the file's")
	flags.StringVar(&o.python, "python", "", "another `interpreter` than the file's")
	flags.DurationVar(&o.until, "until", 0, "begin no pair that would not end within this `time`")
	flags.BoolVarP(&o.detach, "detach", "d", false, "open no screen: print a line for each event")
	flags.BoolVar(&o.noWait, "no-wait", false, "leave as soon as the runner works")
	flags.BoolVar(&o.dryRun, "dry-run", false, "look and print, start nothing")
	o.screen = screenOptions{columns: defaultColumns, span: liveSpan}
	o.screen.preferences = bindPreferences(flags)
	return c
}

func (o *campaignRunOptions) do(ctx context.Context, env *Env) error {
	if _, err := o.screen.resolve(env); err != nil {
		return err
	}
	if o.until < 0 {
		return usageErrorf("--until %s: expected a time such as 8h", o.until)
	}
	source, p, err := o.read()
	if err != nil {
		return err
	}
	dir, err := o.folder(env, p)
	if err != nil {
		return err
	}
	if err := o.look(ctx, env, p, dir); err != nil || o.dryRun {
		return err
	}
	if err := runner.Create(dir, source, p, journal.SystemClock{}); err != nil {
		return err
	}
	return o.start(ctx, env, dir)
}

// read reads the plan and makes its paths absolute: the runner works in another folder.
func (o *campaignRunOptions) read() ([]byte, *plan.Plan, error) {
	const most = 1 << 20
	source, err := regular.Read(o.file, most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, WithHint(usageErrorf("there is no %s: a campaign is declared in a file", o.file), "opprof config init --server > campaign.toml, then edit its model and its loads")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read configuration: %w", err)
	}
	p, err := plan.Parse(o.file, string(source))
	if err != nil {
		return nil, nil, WithCode(err, ExitUsage)
	}
	if o.model != "" {
		p.Server.Model = o.model
	}
	if o.python != "" {
		p.Server.Python = o.python
	}
	absoluteServer(&p.Server)
	for i := range p.Loads {
		p.Loads[i].Args, p.Loads[i].Command = absoluteArgs(p.Loads[i].Args), absoluteArgs(p.Loads[i].Command)
	}
	return source, p, nil
}

// folder chooses the campaign's folder.
func (o *campaignRunOptions) folder(env *Env, p *plan.Plan) (string, error) {
	if o.dir != "" {
		dir := absolutePath(o.dir)
		if runner.Is(dir) {
			return "", WithHint(usageErrorf("%s holds a campaign already", dir), "opprof campaign resume "+dir+" goes on with it")
		}
		return dir, freshFolder(dir)
	}
	root, err := env.places().Runs()
	if err != nil {
		return "", err
	}
	base := filepath.Join(absolutePath(root), env.Now().Format("20060102")+"-campaign-"+p.Name)
	dir := base
	for n := 2; freshFolder(dir) != nil; n++ {
		dir = fmt.Sprintf("%s-%d", base, n)
	}
	return dir, nil
}

// look prints what the campaign takes and what is wrong, all at once.
func (o *campaignRunOptions) look(ctx context.Context, env *Env, p *plan.Plan, dir string) error {
	needs := p.Needs()
	lines := []string{
		fmt.Sprintf("campaign %s: %s of %s, %d of them in pairs of the first look", p.Name, unit.Counted(needs.Runs, "run"), unit.Counted(needs.Cells, "cell"), measured(p)),
		fmt.Sprintf("folder   %s", dir),
		"time     " + takes(needs),
		fmt.Sprintf("devices  %d at most", needs.GPUs),
		fmt.Sprintf("disk     about %d MiB of records, and the traces of %s", recordsMiB(p), unit.Counted(p.Campaign.Windows*needs.Cells, "window")),
	}
	for _, w := range p.Warnings {
		lines = append(lines, "warning: "+w)
	}
	for _, l := range lines {
		if err := printf(env.Stdout, "%s\n", l); err != nil {
			return err
		}
	}
	report := env.preflights(ctx, p, dir)
	if err := printPreflight(env.Stderr, report); err != nil {
		return err
	}
	if n := len(report.Problems); n > 0 {
		return WithCode(fmt.Errorf("nothing was started: %s", unit.Counted(n, "problem")), ExitCheck)
	}
	return nil
}

// takes is how long a campaign is expected to take.
func takes(n plan.Needs) string {
	s := fmt.Sprintf("about %s, a pair %s", n.Time.Round(time.Minute), n.Pair.Round(time.Second))
	if n.Second > 0 {
		s += fmt.Sprintf("; a second look %s more", n.Second.Round(time.Minute))
	}
	return s
}

// measured are the runs in pairs of a first look.
func measured(p *plan.Plan) (n int) {
	for _, r := range p.Runs(false) {
		if r.Kind == plan.Measured {
			n++
		}
	}
	return n
}

// recordsPerSecond is what a busy engine records, in bytes: 44 GB a day.
const recordsPerSecond = 44e9 / 86400

func recordsMiB(p *plan.Plan) int64 {
	var sum time.Duration
	for _, r := range p.Runs(true) {
		if load, ok := p.Load(r.Cell.Load); ok && r.Arm == plan.On {
			sum += time.Duration(load.Estimate)
		}
	}
	return int64(sum.Seconds()*recordsPerSecond*float64(p.Server.DataParallel))>>20 + 1
}

// preflights looks at the server and the load of each different cell. What is said twice is printed once.
func (e *Env) preflights(ctx context.Context, p *plan.Plan, dir string) launch.Report {
	var out launch.Report
	seen := map[string]bool{}
	add := func(to *[]string, lines []string) {
		for _, l := range lines {
			if !seen[l] {
				seen[l] = true
				*to = append(*to, l)
			}
		}
	}
	done := map[string]bool{}
	for _, r := range p.Runs(false) {
		s := p.Config(r)
		if key := fmt.Sprint(s.TensorParallel, s.Args, s.Profiler.Enabled); !done[key] {
			done[key] = true
			found := launch.Preflight(ctx, e.machine(), s, filepath.Join(dir, runner.RunsName, r.ID()))
			add(&out.Problems, found.Problems)
			add(&out.Notes, found.Notes)
		}
		load, _ := p.Load(r.Cell.Load)
		if _, err := bench.Argv(load, bench.Target{Server: s}); err != nil {
			add(&out.Problems, []string{err.Error()})
		}
		if len(load.Command) > 0 {
			if _, err := e.machine().LookPath(load.Command[0]); err != nil {
				add(&out.Problems, []string{fmt.Sprintf("load %s: %v", load.Name, err)})
			}
		}
	}
	return out
}

// start starts the runner and follows it.
func (o *campaignRunOptions) start(ctx context.Context, env *Env, dir string) error {
	if err := env.startRunner(ctx, dir, o.until, false); err != nil {
		return err
	}
	if o.noWait {
		return printf(env.Stdout, "the runner works: opprof campaign attach %s, opprof campaign stop %s\n", dir, dir)
	}
	return openCampaign(ctx, env, &o.screen, dir, o.detach)
}

func newCampaignResume(env *Env) *cobra.Command {
	o := &campaignRunOptions{}
	c := &cobra.Command{
		Use:   "resume [CAMPAIGN] [--until TIME]",
		Short: "Go on with a campaign that was paused, stopped or killed",
		Long: `Ends what an earlier runner left, begins the interrupted pair again as a whole, and goes on. On another machine, or after a restart of this
one, the warm-up runs of the cell are made again first.

` + campaignArgument,
		Example: `  opprof campaign resume
  opprof campaign resume CAMPAIGN --until 8h`,
		Args:              atMostOne("CAMPAIGN"),
		ValidArgsFunction: completeCampaigns(env),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := o.screen.resolve(env); err != nil {
				return err
			}
			dir, err := env.findCampaign(args)
			if err != nil {
				return err
			}
			return o.start(c.Context(), env, dir)
		},
	}
	flags := c.Flags()
	flags.DurationVar(&o.until, "until", 0, "begin no pair that would not end within this `time`")
	flags.BoolVarP(&o.detach, "detach", "d", false, "open no screen: print a line for each event")
	flags.BoolVar(&o.noWait, "no-wait", false, "leave as soon as the runner works")
	o.screen = screenOptions{columns: defaultColumns, span: liveSpan}
	o.screen.preferences = bindPreferences(flags)
	return c
}

// supervisors are how the runner starts and reaches the supervisors of its runs.
func (e *Env) supervisors() runner.Supervisors {
	return runner.Supervisors{
		Preflight: func(ctx context.Context, s serverconf.Server, dir string) []string {
			return launch.Preflight(ctx, e.machine(), s, dir).Problems
		},
		Start:  e.startSupervisor,
		Reach:  e.reachSupervisor,
		APIKey: e.Getenv("VLLM_API_KEY"),
	}
}
