package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"opprof/engine/control"
	"opprof/engine/rundir"
	"opprof/engine/supervisor"
	"opprof/engine/vllm"
	"opprof/engine/window"
)

// watchOptions name somebody else's server beside the folder of its records.
type watchOptions struct {
	url    string
	traces string
}

const watchHelp = `With --url the run is of a server that somebody else started with the patch: its windows can be armed where it has profile endpoints. A
supervisor of its own then watches the server as long as a screen or a window needs it. It owns the windows and never the server: it sends
no signal, opprof stop refuses, and traces stay as the server wrote them.`

func (o *watchOptions) bind(flags *pflag.FlagSet) {
	flags.StringVar(&o.url, "url", "", "where the server of a run that opprof did not launch listens: http://`host:port` or unix:/path")
	flags.StringVar(&o.traces, "traces", "", "with --url: `folder` that the server's profiler writes to (default the one of the last time, else kineto in the run's folder)")
}

// check refuses flags that say nothing together.
func (o *watchOptions) check() error {
	if o.traces != "" && o.url == "" {
		return usageErrorf("--traces says where the server at --url writes: give both")
	}
	if o.url == "" {
		return nil
	}
	_, err := serverAddress(o.url)
	return err
}

// serverAddress reads where a server listens: what vllm.ParseAddress takes, or the path of a socket that is there.
func serverAddress(text string) (vllm.Address, error) {
	if isSocket(text) {
		return vllm.Address{Socket: absolutePath(text)}, nil
	}
	a, err := vllm.ParseAddress(text)
	switch {
	case err == nil && a.Socket != "":
		a.Socket = absolutePath(a.Socket)
	case err != nil && strings.HasPrefix(text, "https://"):
		err = WithHint(WithCode(err, ExitUsage), "OpProf speaks to the server itself, not to what encrypts before it")
	case err != nil:
		err = WithCode(err, ExitUsage)
	}
	return a, err
}

func isSocket(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().Type() == fs.ModeSocket
}

// probeLimit is how long a server may take to answer before it is watched.
const probeLimit = 10 * time.Second

// watch gives the supervisor that watches a server of somebody else, and starts it where there is none.
func (e *Env) watch(ctx context.Context, arg string, o *watchOptions) (*control.Client, string, error) {
	if err := o.check(); err != nil {
		return nil, "", err
	}
	run, err := e.openRun(arg)
	if err != nil {
		return nil, "", err
	}
	home, err := e.watchHome(run)
	if err != nil {
		return nil, "", err
	}
	address, err := serverAddress(o.url)
	if err != nil {
		return nil, "", err
	}
	want := supervisor.Watch{Addr: address.String(), Run: absolutePath(run.Root), Traces: filepath.Join(absolutePath(run.Root), rundir.KinetoName)}
	have, err := supervisor.ReadWatch(home)
	switch {
	case o.traces != "":
		want.Traces = absolutePath(o.traces)
	case err == nil && have.Addr == want.Addr && have.Run == want.Run:
		want.Traces = have.Traces // as it was said before
	}
	if client := reach(ctx, home, false); client != nil {
		if err != nil || have.Addr == want.Addr && (o.traces == "" || have.Traces == want.Traces) {
			return client, home, nil
		}
		if err := leave(ctx, client); err != nil {
			return nil, home, fmt.Errorf("%s is watched already, the server at %s and traces in %s: %w", arg, have.Addr, have.Traces, ordered(err))
		}
	}
	if err := answers(ctx, address); err != nil {
		return nil, home, WithHint(err, "opprof attach "+arg+" without --url watches its records all the same")
	}
	if err := want.Write(home); err != nil {
		return nil, home, err
	}
	if err := linkRun(home, run, want.Traces); err != nil {
		return nil, home, err
	}
	client, err := e.startSupervisor(ctx, home)
	return client, home, err
}

// leave ends a watch and waits for its end.
func leave(ctx context.Context, client *control.Client) error {
	defer client.Close()
	if err := client.Leave(ctx); err != nil {
		return err
	}
	_ = client.Events(ctx, 0, func([]byte) error { return nil }) // ends with the supervisor
	return ctx.Err()
}

// answers asks a server whether it is well.
func answers(ctx context.Context, a vllm.Address) error {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	c := vllm.NewClient(a)
	defer c.Close()
	if err := c.Health(ctx); err != nil {
		return fmt.Errorf("cannot watch the server at %s: %w", a, err)
	}
	return nil
}

// watchHome is the folder of a watch's journal and windows: the run's own where that can be written to, else one under the runs root.
func (e *Env) watchHome(run *rundir.Run) (string, error) {
	dir := absolutePath(run.Root)
	stand, err := supervisor.Stand(dir)
	switch {
	case err == nil && stand.Watched:
		return dir, nil
	case err == nil:
		return "", WithHint(usageErrorf("opprof launched %s itself: --url is for servers of somebody else", dir), "opprof attach "+dir)
	case !errors.Is(err, supervisor.ErrNoJournal):
		return "", err
	}
	if st, err := os.Stat(filepath.Join(dir, rundir.Layer1Name)); err == nil && st.IsDir() && supervisor.Writable(dir) {
		return dir, nil
	}
	home, err := e.watchElsewhere(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(home, rundir.DirMode); err != nil {
		return "", fmt.Errorf("cannot arm windows: %s cannot be written to, and neither can a folder of our own be made: %w", dir, err)
	}
	return home, nil
}

// watchElsewhere is the folder under the runs root for a watch over a run that cannot be written to.
func (e *Env) watchElsewhere(dir string) (string, error) {
	root, err := e.places().Runs()
	if err != nil {
		return "", err
	}
	return filepath.Join(absolutePath(root), "watch-"+folderID(dir)), nil
}

// linkRun makes a home of a watch a run that every command can open, by links to the records and traces.
func linkRun(home string, run *rundir.Run, traces string) error {
	if home == absolutePath(run.Root) {
		return nil
	}
	records := absolutePath(run.Root)
	if len(run.Streams) > 0 {
		records = filepath.Dir(absolutePath(run.Streams[0]))
	}
	for name, to := range map[string]string{rundir.Layer1Name: records, rundir.KinetoName: traces} {
		link := filepath.Join(home, name)
		if have, err := os.Readlink(link); err == nil && have == to {
			continue
		}
		if err := errors.Join(ignore(os.Remove(link), fs.ErrNotExist), os.Symlink(to, link)); err != nil {
			return fmt.Errorf("cannot link to the run: %w", err)
		}
	}
	return nil
}

// ignore drops an error of a kind.
func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// homeOf is the folder in which a run's journal lies: its own, or that of a watch that could not be there.
func (e *Env) homeOf(dir string) string {
	if _, err := supervisor.Stand(dir); !errors.Is(err, supervisor.ErrNoJournal) {
		return dir
	}
	home, err := e.watchElsewhere(dir)
	if err != nil {
		return dir
	}
	if w, err := supervisor.ReadWatch(home); err != nil || w.Run != dir {
		return dir
	}
	return home
}

// superviseWatch watches somebody else's server.
func superviseWatch(ctx context.Context, env *Env, home string, w supervisor.Watch) error {
	address, err := vllm.ParseAddress(w.Addr)
	if err != nil {
		return err
	}
	run, err := rundir.Open(w.Run)
	if err != nil {
		return err
	}
	settings := window.Defaults()
	settings.Loose, settings.Folder = true, w.Traces
	settings.FilesDeadlineNS = int64(30 * time.Second) // they are there before /stop_profile answers
	c := supervisor.Config{Dir: home, Address: address, Window: settings,
		Watched: &supervisor.Watched{Run: w.Run, Traces: w.Traces, Streams: run.ListStreams}}
	if c.ID, c.Socket, err = identify(env, home); err != nil {
		return err
	}
	if c.Inspect, err = inspector(); err != nil {
		return err
	}
	if c.Profile, err = profiles(ctx, address); err != nil {
		return err
	}
	return supervisor.Run(ctx, c)
}

// profiles asks whether a server can profile, without starting anything.
func profiles(ctx context.Context, a vllm.Address) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	c := vllm.NewClient(a)
	defer c.Close()
	return c.Profiles(ctx)
}
