package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"opprof/engine/serverconf"
	"opprof/engine/supervisor/process"
)

// Machine is what a preflight asks about its surroundings.
type Machine struct {
	Environ []string
	GPUs    func(context.Context) ([]process.GPU, error)
	// Patch finds the interpreter's vLLM and makes what it is patched with. It gives the version that it found, also beside an error.
	Patch func(ctx context.Context, python string) (version string, err error)
	// LookPath finds a program.
	LookPath func(string) (string, error)
}

// Report is what a preflight found.
type Report struct {
	Problems []string // each would make the start fail, or the run worthless
	Notes    []string // worth knowing before hours are spent
}

func (r *Report) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Preflight looks at everything that a start needs, whatever it finds on the way. It changes nothing but what Patch does. runDir need not
// exist yet.
func Preflight(ctx context.Context, m Machine, s serverconf.Server, runDir string) Report {
	var r Report
	r.Problems = append(r.Problems, clashing(s.Args)...)
	checkWrapper(&r, m, s.Wrapper)
	if version, err := m.Patch(ctx, s.Python); err != nil {
		r.problem("%v", err)
	} else {
		r.note("vLLM %s", version)
	}
	checkAddress(&r, s)
	checkFolder(&r, runDir)
	weights := checkModel(&r, m, s)
	checkGPUs(ctx, &r, m, s, weights)
	checkSession(&r, m)
	if last(m.Environ, "VLLM_SERVER_DEV_MODE") == "1" {
		r.note("VLLM_SERVER_DEV_MODE is set: whoever reaches the server can change it")
	}
	return r
}

// wrappers become the server, so that its process is the one that was started.
var wrappers = []string{"numactl", "taskset", "nice", "ionice", "chrt", "setarch", "env", "srun"}

func checkWrapper(r *Report, m Machine, wrapper []string) {
	if len(wrapper) == 0 {
		return
	}
	switch name := filepath.Base(wrapper[0]); {
	case name == "ssh":
		r.problem("wrapper ssh: a supervisor must run where its server runs: log in there and run opprof launch on that machine")
	case slices.Contains([]string{"docker", "podman", "nerdctl", "kubectl", "enroot", "apptainer", "singularity"}, name):
		r.problem("wrapper %s: signals and files do not pass it reliably: run opprof patch apply when the image is built, start the container with VLLM_OPPROF_DIR set to a mounted folder, and opprof attach to that folder", name)
	case !slices.Contains(wrappers, name):
		r.problem("wrapper %s: expected a program that becomes the server: %s", name, strings.Join(wrappers, ", "))
	case name == "srun" && !oneTask(wrapper):
		r.problem("wrapper srun: add -n1, since one server is one task")
	default:
		if _, err := m.LookPath(wrapper[0]); err != nil {
			r.problem("wrapper %s: %v", wrapper[0], err)
		}
	}
}

func oneTask(srun []string) bool {
	for i, arg := range srun {
		if arg == "-n1" || arg == "--ntasks=1" || (arg == "-n" || arg == "--ntasks") && i+1 < len(srun) && srun[i+1] == "1" {
			return true
		}
	}
	return false
}

// maxSocketPath is the longest path of a Unix socket on Linux.
const maxSocketPath = 107

func checkAddress(r *Report, s serverconf.Server) {
	a := s.Address()
	if s.UDS != "" {
		switch {
		case len(s.UDS) > maxSocketPath:
			r.problem("uds %s: %d bytes, and a socket's path may have %d", s.UDS, len(s.UDS), maxSocketPath)
		case answers("unix", s.UDS):
			r.problem("uds %s: another server answers there", s.UDS)
		default:
			if err := unix.Access(filepath.Dir(s.UDS), unix.W_OK|unix.X_OK); err != nil {
				r.problem("uds %s: cannot make a socket in its folder: %v", s.UDS, err)
			}
		}
		return
	}
	l, err := net.Listen("tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
	if err != nil {
		r.problem("port %d: %v: choose another one, or stop what listens there", s.Port, errors.Unwrap(err))
	} else {
		_ = l.Close()
	}
	if s.Profiler.Enabled && !a.Local() {
		r.note("WARNING: %s can be reached from other machines, and the profile endpoints ask for no password: anybody can stall the server and fill its disk", a)
	}
}

func answers(network, address string) bool {
	c, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// leastDisk is what must be free where the run will lie: some windows and some hours of records.
const leastDisk = 2 << 30

// checkFolder looks at the nearest folder that exists.
func checkFolder(r *Report, dir string) {
	at := dir
	for {
		st, err := os.Stat(at)
		if err == nil && !st.IsDir() {
			r.problem("run folder %s: %s is not a folder", dir, at)
			return
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			r.problem("run folder %s: %v", dir, err)
			return
		}
		at = filepath.Dir(at)
	}
	if err := unix.Access(at, unix.W_OK|unix.X_OK); err != nil {
		r.problem("run folder %s: cannot write into %s: %v; choose another with --run or OPPROF_RUNS", dir, at, err)
		return
	}
	var st unix.Statfs_t
	if err := unix.Statfs(at, &st); err != nil {
		r.problem("run folder %s: cannot ask how much of its disk is free: %v", dir, err)
		return
	}
	if free := int64(st.Bavail) * st.Bsize; free < leastDisk {
		r.problem("run folder %s: %d MiB are free, and records and traces need at least %d: choose another disk with --run or OPPROF_RUNS", dir, free>>20, leastDisk>>20)
	}
}

// checkSession says what may end a supervisor that outlives its terminal.
func checkSession(r *Report, m Machine) {
	if job := last(m.Environ, "SLURM_JOB_ID"); job != "" {
		r.note("Slurm job %s: the run ends with the job; opprof stops the server in order when Slurm sends SIGTERM", job)
	}
	if last(m.Environ, "XDG_SESSION_ID") != "" && killsUserProcesses("/etc/systemd/logind.conf") && !lingers() {
		r.note("systemd ends your processes when you log out (KillUserProcesses): run loginctl enable-linger first")
	}
	if _, err := os.Stat("/.dockerenv"); err == nil {
		r.note("this is a container: the run ends with it, and its folder is lost unless it is mounted")
	}
}

func killsUserProcesses(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && strings.TrimSpace(name) == "KillUserProcesses" {
			return slices.Contains([]string{"yes", "true", "1", "on"}, strings.ToLower(strings.TrimSpace(value)))
		}
	}
	return false
}

func lingers() bool {
	u, err := user.Current()
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join("/var/lib/systemd/linger", u.Username))
	return err == nil
}
