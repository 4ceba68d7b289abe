package cmd

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"opprof/engine/launch"
	"opprof/engine/overlay"
	"opprof/engine/rundir"
	"opprof/engine/serverconf"
	"opprof/engine/supervisor"
	"opprof/engine/window"
	"opprof/traces/verify"
)

// newSupervise is what launch starts in a session of its own; nobody types it.
func newSupervise(env *Env) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:     "supervise --run DIR",
		Short:   "Own the server of a run until it ends (started by launch)",
		Example: "  opprof supervise --run DIR",
		Hidden:  true,
		Args:    exactly(),
		RunE:    func(c *cobra.Command, _ []string) error { return supervise(c.Context(), env, dir) },
	}
	c.Flags().StringVar(&dir, "run", "", "folder of the run")
	return c
}

func supervise(ctx context.Context, env *Env, dir string) error {
	signal.Ignore(syscall.SIGHUP) // a terminal that goes is nothing to a supervisor
	syscall.Umask(0o077)          // traces hold shapes and paths
	dir = absolutePath(dir)
	if w, err := supervisor.ReadWatch(dir); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return err
		}
		return superviseWatch(ctx, env, dir, w)
	}
	s, err := serverconf.Load(filepath.Join(dir, rundir.ConfigName))
	if err != nil {
		return err
	}
	c := supervisor.Config{Dir: dir, Address: s.Address(), Profile: s.Profiler.Enabled, ShutdownTimeout: time.Duration(s.ShutdownTimeout),
		StartTimeout: time.Duration(s.StartTimeout), OnHangup: s.OnHangup, Window: launch.Windows(s), Profiler: launch.Profiler(s, dir), Gzip: s.Profiler.Gzip}
	if c.ID, c.Socket, err = identify(env, dir); err != nil {
		return err
	}
	if c.Inspect, err = inspector(); err != nil {
		return err
	}
	if c.Compress, err = compressor(env); err != nil {
		return err
	}
	// Nothing may keep a takeover from watching a server that runs: a patch that cannot be built any more is only a reason not to start one.
	patched, err := env.patched(ctx, s)
	if err != nil {
		if stand, standErr := supervisor.Stand(dir); standErr != nil || !stand.Open {
			return err
		}
		patched = &overlay.Overlay{}
	}
	defer func() { _ = patched.Close() }()
	c.Command = supervisor.Command{Argv: launch.Argv(s, dir), Env: launch.Environ(env.Environ, s, dir, patched.PythonPath), Dir: dir}
	if lease := patched.Lease(); lease != nil {
		c.Command.Inherit = []*os.File{lease}
	}
	c.Manifest = manifest(s, patched, c.Command.Env)
	return supervisor.Run(ctx, c)
}

// patched is what a server is patched with: nothing for one that runs as it was installed.
func (e *Env) patched(ctx context.Context, s serverconf.Server) (*overlay.Overlay, error) {
	if !s.Patch {
		return &overlay.Overlay{}, nil
	}
	return e.Patch(ctx, s.Python)
}

// inspector reads traces with the built-in kernel rules.
func inspector() (supervisor.Inspect, error) {
	rules, err := kernelRules("")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, w window.Window, paths []string) (window.Inspection, error) {
		return verify.Window(ctx, rules, w, paths)
	}, nil
}

// identify gives the run its id and socket: those of the supervisor before, else new ones.
func identify(env *Env, dir string) (id, socket string, err error) {
	s, err := supervisor.Stand(dir)
	if err != nil && !errors.Is(err, supervisor.ErrNoJournal) {
		return "", "", err
	}
	if err == nil && s.Status.Run != "" && s.Socket != "" {
		return s.Status.Run, s.Socket, nil
	}
	id = folderID(dir)
	if root, err := env.places().Runs(); err == nil && filepath.Dir(dir) == absolutePath(root) {
		id = filepath.Base(dir)
	}
	socket, err = env.places().Socket(id)
	return id, socket, err
}

// manifest is what is known before the server speaks.
func manifest(s serverconf.Server, o *overlay.Overlay, environ []string) rundir.Manifest {
	m := rundir.Manifest{Versions: map[string]string{"opprof": buildVersion()}, Env: launch.Recorded(environ), GPUs: []rundir.GPU{},
		Parallel: rundir.Parallel{TP: int64(s.TensorParallel), PP: int64(s.PipelineParallel), DP: int64(s.DataParallel)}}
	for name, v := range map[string]string{"vllm": o.Site.Version, "patch_hash": o.PatchHash} {
		if v != "" {
			m.Versions[name] = v
		}
	}
	m.Model.Name = cmp.Or(s.ServedName, s.Model)
	if st, err := os.Stat(s.Model); err == nil && st.IsDir() {
		m.Model.Path = s.Model
	}
	return m
}
