package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"opprof/engine/supervisor/fakeserver"
)

// launched is a home with a configuration of a fake server.
type launched struct {
	t       *testing.T
	config  string
	environ []string
}

// newHome is a home without a configuration, to which the test's own runs are confined.
func newHome(t *testing.T) *launched {
	t.Helper()
	dir, err := os.MkdirTemp("", "opprof-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	l := &launched{t: t, config: filepath.Join(dir, "c.toml"), environ: []string{"OPPROF_RUNS=" + filepath.Join(dir, "runs"), "XDG_RUNTIME_DIR=" + dir}}
	t.Cleanup(func() {
		_, _ = l.opprof("stop")
		_ = os.RemoveAll(dir)
	})
	return l
}

func newLaunched(t *testing.T) *launched {
	t.Helper()
	l := newHome(t)
	dir := filepath.Dir(l.config)
	model := filepath.Join(dir, "model")
	writeFile(t, filepath.Join(model, "config.json"), "{}")
	l.environ = append(l.environ, fakeserver.Options{}.Environ())
	writeFile(t, l.config, fmt.Sprintf("[server]\nmodel = %q\npython = \"fakepython\"\nuds = %q\nargs = [\"--load-format\", \"dummy\"]\n", model, filepath.Join(dir, "s")))
	return l
}

// opprof runs a command and gives what it printed.
func (l *launched) opprof(args ...string) (string, error) {
	c := exec.Command("opprof", args...)
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(l.config)}, l.environ...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// refused runs a command that must fail and say why.
func (l *launched) refused(want string, args ...string) {
	l.t.Helper()
	if out, err := l.opprof(args...); err == nil || !strings.Contains(out, want) {
		l.t.Errorf("opprof %s printed %q, %v; want a refusal with %q", strings.Join(args, " "), out, err, want)
	}
}

func (l *launched) expect(want string, args ...string) {
	l.t.Helper()
	if out, err := l.opprof(args...); err != nil || !strings.Contains(out, want) {
		l.t.Errorf("opprof %s printed %q, %v; want %q", strings.Join(args, " "), out, err, want)
	}
}

// TestATerminalThatIsKilledChangesNothingForTheServer: launch on one terminal, which is killed, and attach on another, which is left.
func TestATerminalThatIsKilledChangesNothingForTheServer(t *testing.T) {
	l := newLaunched(t)
	first := startCommand(t, 120, 40, l.environ, "opprof", "launch", "-c", l.config)
	first.await("a step", full)
	l.expect(`"clients": 1`, "status", "--json")
	first.close() // SIGKILL to the client, and the terminal is gone
	l.expect("verified", "window", "arm", "latest", "--wait")
	second := startCommand(t, 120, 40, l.environ, "opprof", "attach", "latest")
	second.await("a step", full)
	second.press("q")
	if code := second.ended(); code != 0 {
		t.Errorf("attach ended with %d", code)
	}
	l.expect("state    busy", "status")
	l.expect("stopped: ordered by a client", "stop")
}

func TestRelativePathsAmongArguments(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	got := absoluteArgs([]string{"--chat-template", "./a.jinja", "--x=../b", "-cc.mode=./c", "--y=1", "a/b", "../d=./e"})
	want := []string{"--chat-template", filepath.Join(here, "a.jinja"), "--x=" + filepath.Join(here, "..", "b"), "-cc.mode=" + filepath.Join(here, "c"), "--y=1", "a/b",
		filepath.Join(here, "..", "d=.", "e")}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%q, want %q", got, want)
	}
}
