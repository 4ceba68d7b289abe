package cmd

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/tui"
)

// resize gives the terminal another size, which the kernel tells the program.
func (x *terminal) resize(columns, rows int) {
	x.t.Helper()
	x.screen.resize(columns, rows)
	if err := pty.Setsize(x.master, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
		x.t.Fatal(err)
	}
}

// written is all that the program wrote, once it has ended.
func (x *terminal) written() string {
	x.t.Helper()
	_ = x.slave.Close()
	<-x.shown
	return x.raw.String()
}

// TestSuspendAndResume: ^Z gives the shell its terminal back with its modes, fg repaints, and the program ends as ever.
func TestSuspendAndResume(t *testing.T) {
	x := startCommand(t, 100, 30, nil, "sh", "-c", `set -m; opprof demo; case "$(stty -a)" in *" icanon"*" echo "*) echo shell is back;; esac; read line; fg`)
	x.await("a full picture", full)
	x.press("\x1a")
	x.await("the shell", func(s string) bool { return strings.Contains(s, "shell is back") })
	if alternate, hidden := x.screen.modes(); alternate || hidden {
		t.Errorf("the shell has the alternate screen %t, a hidden cursor %t", alternate, hidden)
	}
	x.press("\n")
	first := stepShown(x.await("the picture again", full))
	x.await("another step", func(s string) bool { return full(s) && stepShown(s) != first })
	x.press("q")
	if code := x.ended(); code != int(ExitOK) {
		t.Errorf("exit %d", code)
	}
}

// TestResizeStorm: a window that is dragged about ends with a whole picture of its last size, and not with one written for each size between.
func TestResizeStorm(t *testing.T) {
	x := startTerminal(t, 180, 50, "demo")
	x.await("a full picture", full)
	before := x.bytes.Load()
	const sizes = 400
	for i := range sizes {
		x.resize(60+i%120, 16+i%40)
	}
	x.resize(0, 0)
	x.resize(100, 30)
	screen := x.await("a picture of the last size", func(s string) bool {
		lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
		return full(s) && len(lines) == 30 && strings.Contains(lines[29], "q quit") && strings.HasSuffix(strings.TrimRight(lines[2], " "), "╮")
	})
	if n := x.bytes.Load() - before; n > sizes*2_000 {
		t.Errorf("%d bytes for %d sizes, a picture has some 10,000", n, sizes)
	}
	if strings.Count(screen, "step period") != 1 {
		t.Errorf("garbage:\n%s", screen)
	}
	x.press("q")
	if code := x.ended(); code != int(ExitOK) {
		t.Errorf("exit %d", code)
	}
}

// TestNoSize: a terminal that says it has no columns is waited for.
func TestNoSize(t *testing.T) {
	x := startTerminal(t, 0, 0, "demo")
	x.resize(100, 30)
	x.await("a full picture", full)
	x.press("q")
	if code := x.ended(); code != int(ExitOK) {
		t.Errorf("exit %d", code)
	}
}

// brokenSource breaks after a few pictures.
type brokenSource struct{ asked int }

func (*brokenSource) Run() rundir.Description { return rundir.Description{ID: "broken", Kind: "live"} }
func (b *brokenSource) Frame(context.Context, store.Query) (*store.Frame, error) {
	if b.asked++; b.asked > 3 {
		panic("the source broke")
	}
	return &store.Frame{}, nil
}
func (*brokenSource) Find(context.Context, store.Event, string, int64, bool) (int64, bool, error) {
	return 0, false, nil
}
func (*brokenSource) AtStep(context.Context, string, int64) (int64, bool, error) {
	return 0, false, nil
}

// brokenMain is a program with a mistake, as seen from its terminal.
func brokenMain(env *Env) ExitCode {
	p := &preferences{logLevel: "info"}
	file, log := openLog(env, p)
	defer file.close()
	err := file.tell(tui.Run(context.Background(), &brokenSource{}, tui.Options{Log: log}))
	printError(env.Stderr, err)
	return exitCode(err)
}

// TestPanicOnATerminal: the terminal is as it was, and the last lines say what happened, where, and where the trace is.
func TestPanicOnATerminal(t *testing.T) {
	x := startCommand(t, 180, 30, nil, "opprof-broken")
	said := x.await("the mistake", func(s string) bool { return strings.Contains(s, "opprof.log") })
	if code := x.ended(); code != int(ExitFailure) {
		t.Errorf("exit %d", code)
	}
	log := filepath.Join(x.temp, ".local/state/opprof/opprof.log")
	for _, want := range []string{"internal error in ", "brokenSource", "terminal_test.go:", "the source broke", log} {
		if !strings.Contains(strings.ReplaceAll(said, "\n", ""), want) {
			t.Errorf("%q is not said:\n%s", want, said)
		}
	}
	text, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(text), "goroutine ") || !strings.Contains(string(text), "screen opened") {
		t.Errorf("the log (%v):\n%s", err, text)
	}
}

// TestLostTerminalWithoutSignal: the other end goes away and no SIGHUP comes, as under nohup or when the terminal is not the session's own.
func TestLostTerminalWithoutSignal(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Cols: 100, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	command := exec.Command("opprof", "demo")
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "TERM=xterm-256color", "LANG=C.UTF-8"}
	command.Stdin, command.Stdout, command.Stderr = slave, slave, slave
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	buf := make([]byte, 4096)
	for read := 0; read < 20_000; { // the first picture and the next
		n, err := master.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		read += n
	}
	_ = master.Close()
	exited := make(chan error, 1)
	go func() { exited <- command.Wait() }()
	select {
	case <-exited:
	case <-time.After(90 * time.Second):
		_ = command.Process.Kill()
		t.Fatal("the program goes on without a terminal")
	}
	if code := command.ProcessState.ExitCode(); code != int(ExitInterrupted) {
		t.Errorf("exit %d", code)
	}
	text, err := os.ReadFile(filepath.Join(home, ".local/state/opprof/opprof.log"))
	if err != nil || !strings.Contains(string(text), "the terminal is gone") {
		t.Errorf("the log (%v):\n%s", err, text)
	}
	if left, _ := filepath.Glob(filepath.Join(home, "opprof-demo-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestColoursOfTheTerminal: what is written has the colours that environment and preferences ask for, and no others.
func TestColoursOfTheTerminal(t *testing.T) {
	for _, c := range []struct {
		name    string
		environ []string
		args    []string
		colours bool // of the 256
		basic   bool // of the 16
	}{
		{"as it is", nil, nil, true, false},
		{"NO_COLOR with any text", []string{"NO_COLOR=please"}, nil, false, false},
		{"NO_COLOR empty", []string{"NO_COLOR="}, nil, true, false},
		{"NO_COLOR overruled", []string{"NO_COLOR=1"}, []string{"--color", "always"}, true, false},
		{"never", nil, []string{"--color", "never"}, false, false},
		{"mono", nil, []string{"--theme", "mono"}, false, false},
		{"16 colours", []string{"TERM=xterm"}, nil, false, true},
		{"screen", []string{"TERM=screen"}, nil, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := startCommand(t, 100, 30, c.environ, append([]string{"opprof", "demo"}, c.args...)...)
			x.await("a full picture", full)
			x.press("q")
			x.ended()
			raw := x.written()
			if got := strings.Contains(raw, "38;5;"); got != c.colours {
				t.Errorf("256 colours: %v", got)
			}
			if got := strings.Contains(raw, "\x1b[36m") || strings.Contains(raw, "\x1b[96m") || strings.Contains(raw, ";96m"); got != c.basic {
				t.Errorf("16 colours: %v", got)
			}
		})
	}
}

// TestDumbTerminal: a terminal that cannot move its cursor gets a summary without any sequence.
func TestDumbTerminal(t *testing.T) {
	x := startCommand(t, 100, 30, []string{"TERM=dumb"}, "opprof", "demo")
	x.await("the summary", func(s string) bool { return strings.Contains(s, "share of known") })
	if code := x.ended(); code != int(ExitOK) {
		t.Errorf("exit %d", code)
	}
	if raw := x.written(); strings.Contains(raw, "\x1b") {
		t.Errorf("sequences in %q", raw)
	}
}

// TestFarewell: what was seen and where the files are stays on the terminal.
func TestFarewell(t *testing.T) {
	x := startTerminal(t, 100, 30, "demo")
	x.await("a full picture", full)
	x.press("q")
	x.ended()
	for _, want := range []string{"demo-h200-tp1", "watched for", "warnings", "files"} {
		if s := x.screen.text(); !strings.Contains(s, want) {
			t.Errorf("%q is not said:\n%s", want, s)
		}
	}
}

// TestChoicesComeBack: what was chosen on the screen is there at the next start; a file that is damaged is said, and is no choice.
func TestChoicesComeBack(t *testing.T) {
	state := t.TempDir()
	environ := []string{"XDG_STATE_HOME=" + state}
	path := filepath.Join(state, "opprof", "state.json")
	quit := func(x *terminal) {
		x.press("q")
		if code := x.ended(); code != int(ExitOK) {
			t.Errorf("exit %d", code)
		}
	}
	x := startCommand(t, 100, 30, environ, "opprof", "demo")
	x.await("a full picture", full)
	x.press("ttv\r")
	x.await("a maximised panel", func(s string) bool { return !strings.Contains(s, "chunk size") && full(s) })
	quit(x)
	x = startCommand(t, 100, 30, environ, "opprof", "demo")
	x.await("the layout of before", func(s string) bool { return full(s) && !strings.Contains(s, "chunk size") })
	quit(x)
	if raw := x.written(); strings.Contains(raw, "38;5;") {
		t.Error("the theme is another one")
	}
	if err := os.WriteFile(path, []byte("{\"schema\": 1, \"theme"), 0o600); err != nil {
		t.Fatal(err)
	}
	x = startCommand(t, 160, 30, environ, "opprof", "demo")
	x.await("the note", func(s string) bool { return strings.Contains(s, "cannot read screen state") })
	quit(x)
	if s, err := loadState(path); err != nil || s.Page != "live" {
		t.Errorf("the file is not whole again: %+v, %v", s, err)
	}
}

// TestNowhereToWrite: without a place for state and log the screen works as ever.
func TestNowhereToWrite(t *testing.T) {
	x := startCommand(t, 100, 30, []string{"XDG_STATE_HOME=/dev/null/state"}, "opprof", "demo")
	x.await("a full picture", full)
	x.press("q")
	if code := x.ended(); code != int(ExitOK) {
		t.Errorf("exit %d", code)
	}
}

func TestLoadState(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, text, says string }{
		{"whole", `{"schema": 1, "theme": "mono", "span_ns": 5}`, ""},
		{"empty", "", "unexpected end"},
		{"cut", `{"schema": 1, "th`, "unexpected end"},
		{"of a later version", `{"schema": 2}`, "schema 2"},
		{"of another kind", `[1, 2]`, "cannot unmarshal"},
		{"another type", `{"schema": 1, "theme": 7}`, "cannot unmarshal"},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := loadState(path)
		switch {
		case c.says == "" && (err != nil || s.Theme != "mono" || s.SpanNS != 5):
			t.Errorf("%s: %+v, %v", c.name, s, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) || s != tui.State{}):
			t.Errorf("%s: %+v, %v", c.name, s, err)
		}
	}
	if s, err := loadState(filepath.Join(dir, "none")); err != nil || s != (tui.State{}) {
		t.Errorf("no file: %+v, %v", s, err)
	}
}

// TestLogFile: the log is made when something is written, put aside when it is large, and its failures are harmless.
func TestLogFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "deep", "opprof.log")
	env := emptyEnv()
	file, log := openLog(env, &preferences{logFile: path, logLevel: "warn"})
	log.Info("not this")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a log of nothing: %v", err)
	}
	log.Warn("this")
	file.close()
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "msg=this") || strings.Contains(string(text), "not this") {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.Truncate(path, logMaxBytes+1); err != nil {
		t.Fatal(err)
	}
	file, log = openLog(env, &preferences{logFile: path, logLevel: "debug"})
	log.Debug("afresh")
	file.close()
	if text, err := os.ReadFile(path); err != nil || len(text) > 1000 || !strings.Contains(string(text), "afresh") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if _, err := os.Stat(path + ".1"); err != nil {
		t.Error(err)
	}
	file, log = openLog(env, &preferences{logFile: "/dev/full", logLevel: "info"})
	log.Info("nowhere")
	log.Info("nowhere")
	if file.failed == nil {
		t.Error("a full disk is not noticed")
	}
	file.close()
	file, _ = openLog(env, &preferences{logFile: path, logLevel: off})
	if _, err := file.Write([]byte("x")); err == nil {
		t.Error("a log that is off is written")
	}
}
