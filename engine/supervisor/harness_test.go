package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"opprof/engine/control"
	"opprof/engine/journal"
	"opprof/engine/rundir"
	"opprof/engine/supervisor/fakeserver"
	"opprof/engine/supervisor/process"
	"opprof/engine/vllm"
	"opprof/engine/window"
)

// superviseVariable makes a test binary a supervisor of its own: the folder of the run.
const superviseVariable = "OPPROF_TEST_SUPERVISE"

func TestMain(m *testing.M) {
	switch {
	case fakeserver.Is():
		os.Exit(fakeserver.Main())
	case os.Getenv(superviseVariable) != "":
		os.Exit(superviseMain(os.Getenv(superviseVariable)))
	case os.Getenv(apartVariable) != "":
		os.Exit(apartMain(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// limit bounds every wait of these tests: a busy machine is slow, not wrong.
const limit = 60 * time.Second

// quick are timings for servers that do in milliseconds what vLLM does in seconds.
func quick() Timing {
	const ms = time.Millisecond
	return Timing{Tick: 20 * ms, Health: 20 * ms, HealthTimeout: time.Second, Unhealthy: 2 * time.Second, Stall: time.Second, Idle: 200 * ms,
		StopWindow: 5 * time.Second, Counters: time.Second, StopMargin: 8 * time.Second, Reap: 5 * time.Second, GPU: time.Second, Hangup: 300 * ms, Linger: 2 * time.Second}
}

func quickWindows() window.Settings {
	const ms = 1_000_000
	return window.Settings{MaxIterations: 10, StartDeadlineNS: 3000 * ms, StopDeadlineNS: 3000 * ms, FilesDeadlineNS: 2000 * ms, IdleNS: 2000 * ms, RecordLimitNS: 20_000 * ms}
}

// newConfig is the configuration of a fake server.
func newConfig(t testing.TB, o fakeserver.Options, ranks int) Config {
	t.Helper()
	dir := t.TempDir()
	sockets, err := os.MkdirTemp("", "opprof-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	c := configOf(dir, sockets, o, ranks)
	return c
}

func configOf(dir, sockets string, o fakeserver.Options, ranks int) Config {
	server := filepath.Join(sockets, "server")
	profiler, _ := json.Marshal(map[string]any{"profiler": "torch", "torch_profiler_dir": filepath.Join(dir, rundir.KinetoName), "max_iterations": 10})
	return Config{
		Dir: dir, ID: filepath.Base(sockets), Socket: filepath.Join(sockets, "c", "control"), Address: vllm.Address{Socket: server}, Profile: true,
		Command: Command{
			Argv: []string{os.Args[0], "-m", "vllm.entrypoints.cli.main", "serve", "tiny", "--uds", server, "--tensor-parallel-size", fmt.Sprint(ranks),
				"--profiler-config", string(profiler)},
			// A race-detecting binary waits a second before it exits, unless told otherwise.
			Env: append(os.Environ(), "GORACE=atexit_sleep_ms=0", o.Environ(), "VLLM_OPPROF_DIR="+filepath.Join(dir, rundir.Layer1Name)),
		},
		ShutdownTimeout: 200 * time.Millisecond, Timing: quick(), Window: quickWindows(), Inspect: countLabels,
	}
}

// countLabels is the least that an inspection does: labels by number and by the steps that the window saw, and which ones they are of.
func countLabels(_ context.Context, w window.Window, paths []string) (window.Inspection, error) {
	var found window.Inspection
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return found, err
		}
		var trace struct {
			Events []struct{ Name string } `json:"traceEvents"`
		}
		if err := json.Unmarshal(text, &trace); err != nil {
			found.Problems = append(found.Problems, fmt.Sprintf("%s: %v", filepath.Base(path), err))
			continue
		}
		found.Ranks = append(found.Ranks, window.InspectedRank{Path: path, Rank: int64(i), DataParallel: 0, Labels: int64(len(trace.Events))})
		for k, e := range trace.Events {
			if len(w.Engines) == 0 || k >= len(w.Engines[0].Steps) {
				break
			}
			s := w.Engines[0].Steps[k]
			if want := fmt.Sprintf("execute_context_0(0)_generation_%d(%d)", s.DecodeRequests, s.DecodeTokens); e.Name != want {
				found.Problems = append(found.Problems, fmt.Sprintf("label %d is not step %d", k+1, s.Index))
			}
		}
	}
	if len(w.Engines) == 1 && len(w.Engines[0].Steps) > 0 && len(found.Ranks) > 0 && len(found.Problems) == 0 {
		first := w.Engines[0].Steps[0].Index
		found.Labelled = map[string]window.Labelled{w.Engines[0].ID: {First: first, Last: first + found.Ranks[0].Labels - 1, Whole: true}}
	}
	return found, nil
}

// run is a supervised fake server and a client of it.
type run struct {
	t      testing.TB
	config Config
	client *control.Client
	stop   context.CancelFunc
	ended  chan struct{}
	err    error

	hang   context.CancelFunc // ends the stream of events
	mu     sync.Mutex
	events []map[string]any
	more   chan struct{}
}

// launch supervises in this process.
func launch(t testing.TB, c Config) *run {
	t.Helper()
	r := &run{t: t, config: c, ended: make(chan struct{}), more: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	r.stop = stop
	go func() {
		defer close(r.ended)
		r.err = Run(ctx, c)
	}()
	r.follow()
	return r
}

// follow connects a client that reads the events, which holds the run.
func (r *run) follow() {
	r.t.Helper()
	r.client = control.NewClient(r.config.Socket, false)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	r.hang = cancel
	gone := make(chan struct{})
	connected := make(chan struct{})
	go func() {
		defer close(gone)
		once := sync.OnceFunc(func() { close(connected) })
		defer once()
		for tries := time.NewTicker(10 * time.Millisecond); ; <-tries.C {
			_ = r.client.Events(ctx, 0, func(line []byte) error {
				once()
				r.take(line)
				return nil
			})
			select {
			case <-connected:
				return
			case <-ctx.Done():
				return
			case <-r.ended:
				return
			default:
			}
		}
	}()
	r.t.Cleanup(func() {
		r.stop()
		<-r.ended
		cancel()
		<-gone
		r.client.Close()
		if left := (process.Family{Mark: r.config.mark(), Leader: process.Identity{BootID: journal.BootID()}}).Members(); len(left) > 0 {
			r.t.Errorf("processes are left: %v", left)
			for _, id := range left {
				syscall.Kill(id.PID, syscall.SIGKILL)
			}
		}
		if r.t.Failed() {
			text, _ := os.ReadFile(filepath.Join(r.config.Dir, rundir.JournalName))
			r.t.Logf("journal:\n%s", text)
		}
	})
	<-connected
}

func (r *run) take(line []byte) {
	var e map[string]any
	if err := json.Unmarshal(line, &e); err != nil {
		r.t.Errorf("event %q: %v", line, err)
		return
	}
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// find is the first event of a name whose fields match, nil when there is none yet.
func (r *run) find(name string, fields map[string]any) map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e["event"] != name {
			continue
		}
		fits := true
		for k, v := range fields {
			fits = fits && fmt.Sprint(e[k]) == fmt.Sprint(v)
		}
		if fits {
			return e
		}
	}
	return nil
}

// await waits for an event.
func (r *run) await(name string, fields map[string]any) map[string]any {
	r.t.Helper()
	out := time.NewTimer(limit)
	defer out.Stop()
	for {
		if e := r.find(name, fields); e != nil {
			return e
		}
		select {
		case <-r.more:
		case <-r.ended:
			if e := r.find(name, fields); e != nil {
				return e
			}
			r.t.Fatalf("the supervisor ended (%v) before %s %v", r.err, name, fields)
		case <-out.C:
			r.t.Fatalf("no event %s %v within %s", name, fields, limit)
		}
	}
}

func (r *run) state(to string) map[string]any {
	r.t.Helper()
	return r.await(eventState, map[string]any{"to": to})
}

func (r *run) status() control.Status {
	r.t.Helper()
	s, err := r.client.Status(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// until asks for the status until it is as wanted.
func (r *run) until(what string, as func(control.Status) bool) control.Status {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), limit)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		s := r.status()
		if as(s) {
			return s
		}
		select {
		case <-ctx.Done():
			r.t.Fatalf("not %s: %+v", what, s)
		case <-ticker.C:
		}
	}
}

// arm orders windows and waits for the last of them to end.
func (r *run) arm(trigger control.Trigger, count int) control.Window {
	r.t.Helper()
	armed, err := r.client.Arm(r.t.Context(), trigger, count)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.windowEnds(armed[len(armed)-1].N)
}

func (r *run) windowEnds(n int) control.Window {
	r.t.Helper()
	s := r.until(fmt.Sprintf("through with window %d", n), func(s control.Status) bool {
		return slices.Contains([]string{control.WindowVerified, control.WindowIncomplete, control.WindowFailed, control.WindowCancelled}, s.Windows[n-1].State)
	})
	return s.Windows[n-1]
}

// end stops the server and gives the run's last word.
func (r *run) end() string {
	r.t.Helper()
	if err := r.client.Stop(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return r.closed()
}

// closed waits for the end of the run and gives its last word.
func (r *run) closed() string {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(limit):
		r.t.Fatal("the supervisor did not end")
	}
	replay, err := journal.Read(filepath.Join(r.config.Dir, rundir.JournalName))
	if err != nil {
		r.t.Fatal(err)
	}
	last := replay.Entries[len(replay.Entries)-1]
	var e closedEvent
	if err := last.Decode(&e); err != nil || last.Event != eventClosed || replay.Bad > 0 || replay.TornTail {
		r.t.Fatalf("the journal ends with %s, %v; %d bad lines", last.Raw, err, replay.Bad)
	}
	m, problems := rundir.ReadManifest(r.config.Dir)
	if m == nil || len(problems) > 0 || m.Exit == nil || m.Exit.Reason != e.Reason {
		r.t.Errorf("the manifest says %+v, %v; the journal %q", m, problems, e.Reason)
	}
	return e.Reason
}

func has(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
}

// child is a supervisor in a process of its own, to be killed.
func child(t testing.TB, dir, sockets string, o fakeserver.Options) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), superviseVariable+"="+dir, "OPPROF_TEST_SOCKETS="+sockets, o.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func superviseMain(dir string) int {
	var o fakeserver.Options
	if err := json.Unmarshal([]byte(os.Getenv(fakeserver.Variable)), &o); err != nil {
		return 2
	}
	os.Unsetenv(superviseVariable)
	if err := Run(context.Background(), configOf(dir, os.Getenv("OPPROF_TEST_SOCKETS"), o, 1)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// taken occupies a server's address.
func taken(t *testing.T, socket string) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}
