package cmd

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opprof/engine/control"
	"opprof/engine/launch"
	"opprof/engine/rundir"
	"opprof/engine/serverconf"
	"opprof/engine/supervisor"
	"opprof/engine/supervisor/process"
	"opprof/engine/unit"
)

// campaignFile is what launch reads when no other file is named.
const campaignFile = "campaign.toml"

type launchOptions struct {
	campaign string
	run      string
	detach   bool
	noWait   bool
	dryRun   bool
	screen   screenOptions
}

func newLaunch(env *Env) *cobra.Command {
	o := &launchOptions{}
	c := &cobra.Command{
		Use:   "launch [-c FILE] [--run DIR] [--detach] [-- VLLM-ARGUMENT…]",
		Short: "Start a vLLM server under a supervisor and watch it",
		Long: `Looks at everything that a start needs, lists all that is wrong at once, and starts the server with OpProf's recorder under a supervisor
in a session of its own: closing the terminal, losing the connection or killing opprof changes nothing for the server. opprof attach comes
back to it, opprof stop ends it.

With a terminal the screen opens at once. Without one, or with --detach, the phases of the start are printed until the server is ready
(exit code 0) or has failed (1, with the cause).

Run it on the machine that has the devices: over ssh, log in there and run opprof launch. For a server in a container, run
opprof patch apply when the image is built, set VLLM_OPPROF_DIR to a mounted folder, and opprof attach to that folder.`,
		Example: `  opprof launch                              # by ./campaign.toml
  opprof launch -c h20.toml --detach -- --max-num-seqs 256
  opprof launch -c h20.toml --dry-run        # what would be started, and what is wrong`,
		Args: onlyAfterDash,
		RunE: func(c *cobra.Command, args []string) error { return o.do(c.Context(), env, args) },
	}
	flags := c.Flags()
	flags.StringVarP(&o.campaign, "campaign", "c", "", "configuration `file` with a [server] section (default ./campaign.toml)")
	flags.StringVar(&o.run, "run", "", "`folder` of the run, new or empty (default a new one under the runs root)")
	flags.BoolVarP(&o.detach, "detach", "d", false, "open no screen: print the start and leave")
	flags.BoolVar(&o.noWait, "no-wait", false, "with --detach: leave as soon as the server's process runs")
	flags.BoolVar(&o.dryRun, "dry-run", false, "look and print, start nothing")
	o.screen = screenOptions{columns: defaultColumns, span: liveSpan}
	o.screen.preferences = bindPreferences(flags)
	return c
}

// onlyAfterDash takes vLLM's arguments behind -- and nothing before it.
func onlyAfterDash(c *cobra.Command, args []string) error {
	if n := c.ArgsLenAtDash(); n > 0 || n < 0 && len(args) > 0 {
		return WithHint(usageErrorf("%s takes no argument %q", c.CommandPath(), args[0]), "arguments of vLLM stand behind --, the model in the configuration")
	}
	return nil
}

// launchPlan is what is going to be started.
type launchPlan struct {
	server serverconf.Server
	dir    string
	id     string
}

func (o *launchOptions) do(ctx context.Context, env *Env, extra []string) error {
	if _, err := o.screen.resolve(env); err != nil {
		return err
	}
	p, err := o.plan(env, extra)
	if err != nil {
		return err
	}
	report := launch.Preflight(ctx, env.machine(), p.server, p.dir)
	if err := printPreflight(env.Stderr, report); err != nil {
		return err
	}
	if o.dryRun {
		if err := printf(env.Stdout, "run     %s\ncommand %s\n", p.dir, strings.Join(quoted(launch.Argv(p.server, p.dir)), " ")); err != nil {
			return err
		}
	}
	if len(report.Problems) > 0 {
		return WithCode(fmt.Errorf("nothing was started: %s", unit.Counted(len(report.Problems), "problem")), ExitCheck)
	}
	if o.dryRun {
		return nil
	}
	if err := p.prepare(); err != nil {
		return err
	}
	client, err := env.startSupervisor(ctx, p.dir)
	if err != nil {
		return err
	}
	if !o.detach && env.interactive() {
		o.screen.launched = true
		return openControlled(ctx, env, &o.screen, newHeld(p.dir, client, false))
	}
	defer client.Close()
	if err := printf(env.Stdout, "run      %s\nfolder   %s\nserver   %s\n", p.id, p.dir, p.server.Address()); err != nil {
		return err
	}
	if o.noWait {
		return nil
	}
	return followStart(ctx, env, p.dir, client)
}

// plan reads the configuration and chooses the run's folder.
func (o *launchOptions) plan(env *Env, extra []string) (launchPlan, error) {
	path := o.campaign
	if path == "" {
		path = campaignFile
	}
	s, err := serverconf.Load(path)
	if err != nil {
		if o.campaign == "" && errors.Is(err, fs.ErrNotExist) {
			return launchPlan{}, WithHint(usageErrorf("there is no %s here: launch needs to know the model and how to serve it", campaignFile), "opprof config init --server > campaign.toml, then edit its model")
		}
		return launchPlan{}, WithCode(err, ExitUsage)
	}
	s.Args = append(s.Args, extra...)
	absoluteServer(&s)
	p := launchPlan{server: s, dir: o.run}
	if p.dir != "" {
		p.dir = absolutePath(p.dir)
		p.id = folderID(p.dir)
		return p, freshFolder(p.dir)
	}
	root, err := env.places().Runs()
	if err != nil {
		return launchPlan{}, err
	}
	p.id = rundir.NewID(env.Now(), s.Model, s.TensorParallel)
	p.dir = filepath.Join(absolutePath(root), p.id)
	return p, nil
}

// absoluteServer resolves the paths of a configuration: the server runs in a folder of its own.
func absoluteServer(s *serverconf.Server) {
	s.Args = absoluteArgs(s.Args)
	if st, err := os.Stat(s.Model); err == nil && st.IsDir() {
		s.Model = absolutePath(s.Model)
	}
	if s.UDS != "" {
		s.UDS = absolutePath(s.UDS)
	}
	if strings.ContainsRune(s.Python, filepath.Separator) {
		s.Python = absolutePath(s.Python)
	}
}

// absoluteArgs resolves arguments that are written as relative paths: the server runs in the folder of its run.
func absoluteArgs(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		flag, path := "", arg
		if name, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(name, "-") {
			flag, path = name+"=", value
		}
		if strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../") {
			path = absolutePath(path)
		}
		out[i] = flag + path
	}
	return out
}

func absolutePath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// folderID is the id of a run in a folder that was chosen by hand: two of one name must not share a socket.
func folderID(dir string) string {
	h := fnv.New32a()
	_, _ = io.WriteString(h, dir) // never fails
	return fmt.Sprintf("%s-%04x", filepath.Base(dir), h.Sum32()&0xffff)
}

// freshFolder refuses a folder that holds something: a run is never written over.
func freshFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0:
		return nil
	case err != nil:
		return fmt.Errorf("cannot use run folder: %w", err)
	}
	hint := "name a new folder, or none to have one made"
	if _, err := os.Stat(filepath.Join(dir, rundir.JournalName)); err == nil {
		hint = "opprof attach " + dir + " shows the run that it holds"
	}
	return WithHint(usageErrorf("cannot use run folder %s: it is not empty", dir), hint)
}

// prepare makes the run's folder with its configuration.
func (p launchPlan) prepare() error {
	if err := os.MkdirAll(p.dir, rundir.DirMode); err != nil {
		return fmt.Errorf("cannot make run folder: %w", err)
	}
	path := filepath.Join(p.dir, rundir.ConfigName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, rundir.FileMode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("another launch has taken run folder %s", p.dir)
	}
	if err != nil {
		return fmt.Errorf("cannot write the run's configuration: %w", err)
	}
	if err := errors.Join(p.server.Write(f), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("cannot write the run's configuration: %w", err)
	}
	return nil
}

// machine is this one, for a preflight.
func (e *Env) machine() launch.Machine {
	return launch.Machine{Environ: e.Environ, GPUs: process.GPUs, LookPath: process.LookPath,
		Patch: func(ctx context.Context, python string) (string, error) {
			o, err := e.Patch(ctx, python)
			if err != nil {
				return "", err
			}
			return o.Site.Version, o.Close()
		}}
}

func printPreflight(w io.Writer, r launch.Report) error {
	var b strings.Builder
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "problem: %s\n", strings.ReplaceAll(p, "\n", "\n  "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// quoted shows words as a shell would have to be told them.
func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$`{}[]()<>|&;*?~#!") {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return out
}

// followEvery is how often the start is looked at.
const followEvery = 200 * time.Millisecond

// followStart prints the phases of a start until the server is ready or gone.
func followStart(ctx context.Context, env *Env, dir string, client *control.Client) error {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	began, phase := env.Now(), control.Phase{}
	for {
		s, err := client.Status(ctx)
		switch {
		case ctx.Err() != nil:
			_ = printf(env.Stderr, "the start goes on: opprof attach %s, opprof stop %s\n", s.Run, s.Run)
			return ctx.Err()
		case err != nil:
			return startFailed(dir, err)
		case s.State == control.Dead || s.State == control.Stopping:
		case s.State != control.Starting:
			return printf(env.Stdout, "ready    after %s: opprof attach %s, opprof window arm %s, opprof stop %s\n", env.Now().Sub(began).Round(time.Second), s.Run, s.Run, s.Run)
		case s.Phase.Name != phase.Name:
			phase = s.Phase
			if err := printf(env.Stdout, "%-8s %s\n", env.Now().Sub(began).Round(time.Second), phase.Name); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// startFailed is why a run whose supervisor has gone has ended.
func startFailed(dir string, err error) error {
	s, readErr := supervisor.Stand(dir)
	if readErr != nil || s.Open {
		return errors.Join(err, readErr)
	}
	return WithHint(errors.New(s.Status.Reason), "the whole log: "+wholeLog(dir))
}
