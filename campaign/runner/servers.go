package runner

import (
	"context"
	"io"
	"time"

	"opprof/campaign/plan"
	"opprof/engine/control"
	"opprof/engine/serverconf"
	"opprof/engine/supervisor/process"
)

// Servers starts and ends the servers of runs.
type Servers interface {
	// Check lists what stands against starting a server in dir now.
	Check(ctx context.Context, s serverconf.Server, dir string) []string
	// Start starts a server under a supervisor that outlives this process, and returns once it is ready.
	Start(ctx context.Context, s serverconf.Server, dir string) (Server, error)
	// Stop ends what is left of the run in dir, whoever started it, and returns when nothing is. It gives the run's last word.
	Stop(ctx context.Context, dir string) (reason string, err error)
}

// Server is a server that is ready. Its methods may be called from any goroutine.
type Server interface {
	// Counters are those of the prefix cache.
	Counters(ctx context.Context) (*Counters, error)
	// Watch returns why the server is gone, or nil when ctx ends.
	Watch(ctx context.Context) error
	// CPU is the processor time that its processes have used; false when that cannot be told.
	CPU() (CPUTime, bool)
	// PIDs are its processes.
	PIDs() []int
	Arm(ctx context.Context, t control.Trigger, count int) error
	Windows(ctx context.Context) ([]control.Window, error)
	Cancel(ctx context.Context, n int) error
	// Complete posts a request to /v1/completions and gives the response.
	Complete(ctx context.Context, request []byte) ([]byte, error)
	Close()
}

// CPUTime is processor time since the processes began. Nil is unknown: there is no such process.
type CPUTime struct {
	At       time.Time
	Engine   *time.Duration // of the engines' own processes
	FrontEnd *time.Duration // of the API server
	Workers  *time.Duration // of the worker processes, where they are processes of their own
}

// Loads makes load.
type Loads interface {
	// Run runs a load generator until it ends, tells its process before it waits, and kills it when ctx ends.
	Run(ctx context.Context, w Work, started func(process.Identity) error) (LoadEnd, error)
	// Kill ends a generator that an earlier runner left.
	Kill(id process.Identity)
	// Open gives the results that a load wrote, and when they were written.
	Open(path string) (io.ReadCloser, time.Time, error)
	// Version is the generator's, "" when it cannot be told.
	Version(ctx context.Context, s serverconf.Server, l plan.Load) string
}

// Work is a load generator to run.
type Work struct {
	Argv   []string
	Env    []string // more variables than this process has
	Dir    string   // the folder that it runs in
	Log    string   // file for what it says
	Result string   // file that it must write
}

// LoadEnd is how a generator ended.
type LoadEnd struct {
	Exit process.Exit
	Tail string // the last words of its log
}

// Host looks at the machine.
type Host interface {
	// Look says where a server with this configuration runs.
	Look(ctx context.Context, s serverconf.Server) Machine
	// Strangers lists processes of others on the devices, while own are the server's.
	Strangers(ctx context.Context, m Machine, own []int) []string
	// Compiled counts the kernels that came into Triton's caches of a server within a time; compiled are the folders of its compiled graphs.
	Compiled(s serverconf.Server, compiled []string, from, to time.Time) int
}
