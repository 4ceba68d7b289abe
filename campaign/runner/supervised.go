package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"opprof/engine/control"
	"opprof/engine/journal"
	"opprof/engine/rundir"
	"opprof/engine/serverconf"
	"opprof/engine/supervisor"
	"opprof/engine/supervisor/process"
	"opprof/engine/vllm"
)

// Supervisors are how the command line starts and reaches the supervisors of runs.
type Supervisors struct {
	// Preflight lists what stands against starting a server.
	Preflight func(ctx context.Context, s serverconf.Server, dir string) []string
	// Start starts the supervisor of a run whose configuration lies in dir, and waits until it answers.
	Start func(ctx context.Context, dir string) (*control.Client, error)
	// Reach finds the supervisor of a run, and starts another where it was killed. The client is nil for a run that has ended.
	Reach func(ctx context.Context, dir string) (*control.Client, error)
	// APIKey is what the servers want for requests, "" for nothing.
	APIKey string
}

// NewServers makes real servers, each under a supervisor of its own.
func NewServers(s Supervisors) Servers { return &servers{s} }

type servers struct{ Supervisors }

// Check implements Servers.
func (s *servers) Check(ctx context.Context, c serverconf.Server, dir string) []string {
	return s.Preflight(ctx, c, dir)
}

// watchEvery is how often a supervisor is asked how its server stands.
const watchEvery = 500 * time.Millisecond

// Start implements Servers.
func (s *servers) Start(ctx context.Context, c serverconf.Server, dir string) (Server, error) {
	if err := os.MkdirAll(filepath.Join(dir, rundir.BenchName), rundir.DirMode); err != nil {
		return nil, fmt.Errorf("cannot make run folder: %w", err)
	}
	if err := rundir.WriteAtomic(filepath.Join(dir, rundir.ConfigName), func(w io.Writer) error { return c.Write(w) }); err != nil {
		return nil, err
	}
	client, err := s.Supervisors.Start(ctx, dir)
	if err != nil {
		return nil, err
	}
	out := &server{client: client, vllm: vllm.NewClient(c.Address())}
	out.vllm.Authorize(s.APIKey)
	status, err := out.until(ctx, func(st control.Status) bool {
		return st.State == control.Ready || st.State == control.Busy || st.State == control.Idle
	})
	if err != nil {
		out.Close()
		return nil, err
	}
	out.find(status)
	return out, nil
}

// Stop implements Servers.
func (s *servers) Stop(ctx context.Context, dir string) (string, error) {
	s.settle(ctx, dir)
	if _, err := os.Stat(filepath.Join(dir, rundir.JournalName)); errors.Is(err, fs.ErrNotExist) {
		return "it was not started", nil
	}
	again := time.NewTicker(settleLook)
	defer again.Stop()
	for {
		client, err := s.Reach(ctx, dir)
		if err != nil {
			return "", err
		}
		if client != nil {
			if err := client.Stop(ctx); err == nil || errors.Is(err, control.ErrUnreachable) {
				_ = client.Events(ctx, 0, func([]byte) error { return nil }) // ends with the supervisor
			}
			client.Close()
		}
		stand, err := supervisor.Stand(dir)
		if err != nil || !stand.Open {
			return stand.Status.Reason, err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-again.C:
		}
	}
}

const (
	// settleSupervisor is how long a supervisor that was started a moment ago may take to say so in its journal: it verifies the overlay before.
	settleSupervisor = 30 * time.Second
	settleLook       = 100 * time.Millisecond
)

// settle waits for a supervisor that may have been started just before its runner was told to stop or was killed: one that nobody saw begin
// would start its server behind our back.
func (s *servers) settle(ctx context.Context, dir string) {
	if _, err := os.Stat(filepath.Join(dir, rundir.ConfigName)); errors.Is(err, fs.ErrNotExist) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleSupervisor)
	defer cancel()
	ticker := time.NewTicker(settleLook)
	defer ticker.Stop()
	for {
		if stand, err := supervisor.Stand(dir); err == nil && stand.Socket != "" {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// server is a server under its supervisor.
type server struct {
	client *control.Client
	vllm   *vllm.Client
	roles  roles
}

// until asks the supervisor until its server is as wanted, or gone.
func (s *server) until(ctx context.Context, wanted func(control.Status) bool) (control.Status, error) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		st, err := s.client.Status(ctx)
		switch {
		case ctx.Err() != nil:
			return st, ctx.Err()
		case errors.Is(err, control.ErrUnreachable):
			return st, errors.New("its supervisor does not answer any more")
		case err != nil:
			return st, err
		case st.State == control.Dead, st.State == control.Stopping:
			return st, errors.New(st.Reason)
		case wanted(st):
			return st, nil
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// find looks for the server's processes.
func (s *server) find(st control.Status) {
	leader, err := process.Identify(st.Server.PID, journal.BootID())
	if err != nil {
		return
	}
	s.roles = newRoles(leader, process.Family{Leader: leader, Mark: supervisor.MarkName + "=" + st.Run}.Members())
}

// Counters implements Server (vllm/v1/metrics/loggers.py).
func (s *server) Counters(ctx context.Context) (*Counters, error) {
	m, err := s.vllm.Metrics(ctx)
	if err != nil {
		return nil, err
	}
	queries, ok := m.Sum("vllm:prefix_cache_queries_total")
	hits, also := m.Sum("vllm:prefix_cache_hits_total")
	if !ok || !also {
		return nil, errors.New("/metrics has no vllm:prefix_cache_queries and _hits")
	}
	return &Counters{queries, hits}, nil
}

// Watch implements Server.
func (s *server) Watch(ctx context.Context) error {
	_, err := s.until(ctx, func(control.Status) bool { return false })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// CPU implements Server.
func (s *server) CPU() (CPUTime, bool) { return s.roles.time(), len(s.roles.members) > 0 }

// PIDs implements Server.
func (s *server) PIDs() []int {
	var out []int
	for _, m := range s.roles.members {
		out = append(out, m.id.PID)
	}
	return out
}

// Arm implements Server.
func (s *server) Arm(ctx context.Context, t control.Trigger, count int) error {
	_, err := s.client.Arm(ctx, t, count)
	return err
}

// Windows implements Server.
func (s *server) Windows(ctx context.Context) ([]control.Window, error) {
	st, err := s.client.Status(ctx)
	return st.Windows, err
}

// Cancel implements Server.
func (s *server) Cancel(ctx context.Context, n int) error { return s.client.Cancel(ctx, n) }

// Complete implements Server.
func (s *server) Complete(ctx context.Context, request []byte) ([]byte, error) {
	return s.vllm.Complete(ctx, request)
}

// Close implements Server.
func (s *server) Close() {
	s.client.Close()
	s.vllm.Close()
}
