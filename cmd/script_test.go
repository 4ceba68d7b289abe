package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"opprof/campaign/runner"
	"opprof/engine/overlay"
	"opprof/engine/rundir"
	"opprof/engine/supervisor"
	"opprof/engine/supervisor/fakeserver"
	"opprof/testdata"
)

func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){
		"opprof":        func() { os.Exit(int(Main(scriptEnv()))) },
		"opprof-broken": func() { os.Exit(int(brokenMain(OS()))) },
		"fakepython":    func() { os.Exit(fakeserver.Main()) },
		"load":          func() { os.Exit(load(os.Args[1])) },
	})
}

// leakChecked fails when the tests leave goroutines behind.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	code := l.m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// pairsVariable says how many pairs the campaign on a real server has, with windows and experts; without it there is one pair and no more.
const pairsVariable = "OPPROF_CAMPAIGN_PAIRS"

// testTraces is where the recorded traces lie, seen from the scripts' process.
var testTraces = absolute(filepath.Join("..", "testdata", "traces"))

func absolute(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return path
}

// scriptEnv is the process's own environment. A script that has a fake server needs no vLLM to be patched.
func scriptEnv() *Env {
	env := OS()
	if env.Getenv(fakeserver.Variable) != "" {
		env.Patch = func(context.Context, string) (*overlay.Overlay, error) {
			return &overlay.Overlay{Site: overlay.Site{Version: vllmVersion}}, nil
		}
	}
	return env
}

// The scripts run the whole program as a process of its own, without a terminal.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../testdata/scripts",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("TMPDIR", filepath.Join(env.WorkDir, "tmp"))
			env.Setenv("OPPROF_RUNS", filepath.Join(env.WorkDir, "runs"))
			env.Setenv("OPPROF_TIME_ZONE", "utc")
			env.Setenv("XDG_RUNTIME_DIR", env.WorkDir)
			for _, name := range []string{pythonVariable, pairsVariable} {
				env.Setenv(name, os.Getenv(name))
			}
			repository, err := filepath.Abs("..")
			if err != nil {
				return err
			}
			env.Setenv("REPOSITORY", repository)
			_, port, err := net.SplitHostPort(freePort(t))
			if err != nil {
				return err
			}
			env.Setenv("PORT", port)
			env.Defer(func() { stopAll(env) })
			return os.MkdirAll(filepath.Join(env.WorkDir, "tmp"), 0o700)
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "root":
				return os.Geteuid() == 0, nil
			case "vllm":
				return os.Getenv(pythonVariable) != "", nil
			case "pairs":
				return os.Getenv(pairsVariable) != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"recording": writeRecording,
			"trace":     writeTraces,
			"fill":      fill,
			"same":      same,
		},
	})
}

// stopAll ends the servers that a script has left, as a failed one does.
func stopAll(env *testscript.Env) {
	for _, pattern := range []string{"*", filepath.Join("*", "*")} {
		campaigns, _ := filepath.Glob(filepath.Join(env.WorkDir, pattern, runner.PlanName))
		for _, c := range campaigns {
			stop := exec.Command("opprof", "campaign", "stop", filepath.Dir(c))
			stop.Env = env.Vars
			_ = stop.Run()
		}
	}
	journals, _ := filepath.Glob(filepath.Join(env.WorkDir, "*", "*", rundir.JournalName))
	alone, _ := filepath.Glob(filepath.Join(env.WorkDir, "*", rundir.JournalName))
	for _, j := range append(journals, alone...) {
		if s, err := supervisor.Stand(filepath.Dir(j)); err != nil || !s.Open {
			continue
		}
		c := exec.Command("opprof", "stop", filepath.Dir(j))
		c.Env = env.Vars
		_ = c.Run() // what a test leaves is told by the test itself
	}
}

// exits CODE PROGRAM ARG… runs a program that must end with CODE.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = strconv.Itoa(exit.ExitCode())
	case err != nil:
		ts.Fatalf("cannot run %s: %v", args[1], err)
	}
	if code != args[0] {
		ts.Fatalf("%s exited with %s, want %s", strings.Join(args[1:], " "), code, args[0])
	}
}

// recording NAME FILE [FIRST LAST] writes a recorded stream, or its lines FIRST to LAST, counted from 1.
func writeRecording(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 && len(args) != 4 {
		ts.Fatalf("usage: recording NAME FILE [FIRST LAST]")
	}
	stream, err := testdata.Recording(args[0])
	ts.Check(err)
	if len(args) == 4 {
		first, err := strconv.Atoi(args[2])
		ts.Check(err)
		last, err := strconv.Atoi(args[3])
		ts.Check(err)
		stream = bytes.Join(bytes.SplitAfter(stream, []byte("\n"))[first-1:last], nil)
	}
	path := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
	ts.Check(appendTo(path, stream))
}

// trace NAME FOLDER writes the recorded traces of a server, unpacked.
func writeTraces(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: trace NAME FOLDER")
	}
	files, err := filepath.Glob(filepath.Join(testTraces, args[0], "*.zst"))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("there are no traces of %s", args[0])
	}
	folder := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(folder, 0o700))
	for _, file := range files {
		packed, err := os.ReadFile(file)
		ts.Check(err)
		z, err := zstd.NewReader(nil)
		ts.Check(err)
		text, err := z.DecodeAll(packed, nil)
		z.Close()
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(folder, strings.TrimSuffix(filepath.Base(file), ".zst")), text, 0o600))
	}
}

// fill FILE TEXT COUNT appends TEXT (a Go string) COUNT times.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: fill FILE TEXT COUNT")
	}
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
	ts.Check(appendTo(path, bytes.Repeat([]byte(text), n)))
}

// same FILE FILE compares two files after squeezing blanks.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: same FILE FILE")
	}
	a, b := strings.Fields(ts.ReadFile(args[0])), strings.Fields(ts.ReadFile(args[1]))
	if equal := strings.Join(a, " ") == strings.Join(b, " "); equal == neg {
		ts.Fatalf("%s and %s: same is %t", args[0], args[1], equal)
	}
}

func appendTo(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
