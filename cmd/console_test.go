package cmd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// TestStoppedFromOutside: a stop from elsewhere leaves the shell a usable terminal, and whoever continues the program has its picture back.
func TestStoppedFromOutside(t *testing.T) {
	x := startCommand(t, 100, 30, nil, "sh", "-c", `set -m; opprof demo; case "$(stty -a)" in *" icanon"*" echo "*) echo shell is back;; esac; read line; fg`)
	x.await("a full picture", full)
	group, err := foreground(x.master)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(group, syscall.SIGTSTP); err != nil {
		t.Fatal(err)
	}
	x.await("the shell", func(s string) bool { return strings.Contains(s, "shell is back") })
	if alternate, hidden := x.screen.modes(); alternate || hidden {
		t.Errorf("the shell has the alternate screen %t, a hidden cursor %t", alternate, hidden)
	}
	x.press("\n")
	x.await("the picture again", full)
	x.press("q")
	if code := x.ended(); code != int(ExitOK) {
		t.Errorf("exit %d", code)
	}
}

// TestStoppedWithoutWarning: SIGSTOP cannot be seen coming; the shell's modes are replaced when the program goes on.
func TestStoppedWithoutWarning(t *testing.T) {
	x := startTerminal(t, 100, 30, "demo")
	x.await("a full picture", full)
	pid := x.command.Process.Pid
	raw, err := modes(x.slave)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := setModes(x.slave, x.before); err != nil {
		t.Fatal(err)
	}
	x.screen.write([]byte("\x1b[2J\x1b[Hrubbish"))
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	x.await("the picture again", func(s string) bool { return full(s) && !strings.Contains(s, "rubbish") })
	if now, err := modes(x.slave); err != nil || *now != *raw {
		t.Errorf("modes %+v, %v; want %+v", now, err, raw)
	}
	x.press("q")
	if code := x.ended(); code != int(ExitOK) {
		t.Errorf("exit %d", code)
	}
}

// TestNoShellToGoBackTo: a program that is its session's leader could not be continued: ^Z says so.
func TestNoShellToGoBackTo(t *testing.T) {
	x := startTerminal(t, 100, 30, "demo")
	x.await("a full picture", full)
	x.press("\x1a")
	x.await("the reason", func(s string) bool { return strings.Contains(s, "no shell") })
	x.press("q")
	if code := x.ended(); code != int(ExitOK) {
		t.Errorf("exit %d", code)
	}
}

// TestQuitSignal: SIGQUIT puts the terminal back and removes the demo's folder before it ends the process, with the stacks.
func TestQuitSignal(t *testing.T) {
	x := startTerminal(t, 100, 30, "demo")
	x.await("a full picture", full)
	if err := x.command.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if code := x.ended(); code == int(ExitOK) || code == int(ExitInterrupted) {
		t.Errorf("exit %d", code)
	}
	if raw := x.written(); !strings.Contains(raw, "SIGQUIT") || strings.Index(raw, "SIGQUIT") < strings.Index(raw, "\x1b[?1049l") {
		t.Errorf("no stacks behind the screen: %q", raw[max(0, len(raw)-500):])
	}
}

// TestTitle: the window's title is the program's while it runs, and is taken back from the terminal's stack.
func TestTitle(t *testing.T) {
	x := startTerminal(t, 100, 30, "demo")
	x.await("a full picture", full)
	x.press("q")
	x.ended()
	raw := x.written()
	push, set, pop := strings.Index(raw, "\x1b[22;0t"), strings.Index(raw, "\x1b]2;opprof"), strings.LastIndex(raw, "\x1b[23;0t")
	if push < 0 || set < push || pop < strings.LastIndex(raw, "\x1b]2;") {
		t.Errorf("pushed at %d, set at %d, popped at %d", push, set, pop)
	}
}

// TestAbsurdSizes: a terminal that claims to be larger than any gets a picture of a size that fits into memory, and is told.
func TestAbsurdSizes(t *testing.T) {
	x := startTerminal(t, 100, 30, "demo")
	x.await("a full picture", full)
	for _, size := range []pty.Winsize{{Cols: 65535, Rows: 65535}, {Cols: 4000, Rows: 200}, {Cols: 20, Rows: 60000}, {Cols: 1, Rows: 1}} {
		if err := pty.Setsize(x.master, &size); err != nil {
			t.Fatal(err)
		}
	}
	x.screen.resize(600, 300)
	if err := pty.Setsize(x.master, &pty.Winsize{Cols: 30000, Rows: 30000}); err != nil {
		t.Fatal(err)
	}
	x.await("what is drawn", func(s string) bool {
		return full(s) && strings.Contains(s, "30000 x 30000: the picture takes 500 x 200")
	})
	if n := peakBytes(t, x.command.Process.Pid); n > 600<<20 {
		t.Errorf("%d MB of memory", n>>20)
	}
	x.press("q")
	if code := x.ended(); code != int(ExitOK) {
		t.Errorf("exit %d", code)
	}
}

// stalled is the program on a terminal that nobody reads.
type stalled struct {
	*exec.Cmd
	t      *testing.T
	master *os.File
	slave  *os.File
	exited chan error
	home   string
}

// startStalled starts the demo, reads its first pictures and then nothing more until the terminal is full.
func startStalled(t *testing.T) *stalled {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Cols: 180, Rows: 50}); err != nil {
		t.Fatal(err)
	}
	x := &stalled{Cmd: exec.Command("opprof", "demo", "--speed", "10"), t: t, master: master, slave: slave, exited: make(chan error, 1), home: t.TempDir()}
	x.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + x.home, "TMPDIR=" + x.home, "TERM=xterm-256color", "LANG=C.UTF-8",
		"GORACE=log_path=" + filepath.Join(x.home, "race")} // a report on the full terminal would stop the whole process for ever
	x.Stdin, x.Stdout, x.Stderr = slave, slave, slave
	x.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = x.Process.Kill()
		_ = slave.Close()
		_ = master.Close()
	})
	go func() { x.exited <- x.Wait() }()
	buf := make([]byte, 4096)
	for read := 0; read < 30_000; {
		n, err := master.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		read += n
	}
	waitFull(t, slave)
	return x
}

// stacks ends a program that hangs and gives what its goroutines were at.
func (x *stalled) stacks() string {
	goOn(x.slave)
	_ = x.Process.Signal(syscall.SIGABRT)
	var said bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = said.ReadFrom(x.master) })
	select {
	case <-x.exited:
	case <-time.After(10 * time.Second):
	}
	_ = x.slave.Close()
	_ = x.master.Close()
	reading.Wait()
	text := said.String()
	return text[max(0, strings.Index(text, "SIGABRT")):]
}

// TestStalledTerminal: a terminal that takes nothing holds nobody up; it has the sequences that restore it when it is read again.
func TestStalledTerminal(t *testing.T) {
	if raceDetector {
		t.Skip("a program that ends while its output is stalled closes its input under the reader of github.com/muesli/cancelreader, which the race detector tells of")
	}
	for _, c := range []struct {
		name string
		out  func(*stalled)
		code ExitCode
	}{
		{"q", func(x *stalled) { _, _ = x.master.WriteString("jkq") }, ExitFailure},
		{"ctrl+c", func(x *stalled) { _, _ = x.master.WriteString("\x03") }, ExitFailure},
		{"SIGTERM", func(x *stalled) { _ = x.Process.Signal(syscall.SIGTERM) }, ExitInterrupted},
		{"SIGHUP", func(x *stalled) { _ = x.Process.Signal(syscall.SIGHUP) }, ExitInterrupted},
		{"SIGINT", func(x *stalled) { _ = x.Process.Signal(syscall.SIGINT) }, ExitInterrupted},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := startStalled(t)
			c.out(x)
			select {
			case <-x.exited:
			case <-time.After(90 * time.Second):
				t.Fatalf("the program does not end:\n%s", x.stacks())
			}
			if code := x.ProcessState.ExitCode(); code != int(c.code) {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			if races, _ := filepath.Glob(filepath.Join(x.home, "race.*")); len(races) > 0 {
				text, err := os.ReadFile(races[0])
				t.Errorf("%s, %v", text, err)
			}
			var rest bytes.Buffer
			var reading sync.WaitGroup
			reading.Go(func() { _, _ = rest.ReadFrom(x.master) })
			_ = x.slave.Close() // the last one: reading ends
			reading.Wait()
			if said := rest.String(); !strings.Contains(said, "\x1b[?1049l") || !strings.Contains(said, "\x1b[?25h") {
				t.Errorf("not restored: %q", said[max(0, len(said)-300):])
			}
			if left, _ := filepath.Glob(filepath.Join(x.home, "opprof-demo-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestKilledDemoIsTidiedUp: the folder of a demo that was killed goes with the next one.
func TestKilledDemoIsTidiedUp(t *testing.T) {
	x := startTerminal(t, 100, 30, "demo")
	x.await("a full picture", full)
	_ = x.command.Process.Kill()
	<-x.exited
	if left, _ := filepath.Glob(filepath.Join(x.temp, "opprof-demo-*")); len(left) != 1 {
		t.Fatalf("folders %v", left)
	}
	y := startCommand(t, 100, 30, []string{"TMPDIR=" + x.temp}, "opprof", "demo")
	y.await("a full picture", full)
	y.press("q")
	y.ended()
	if left, _ := filepath.Glob(filepath.Join(x.temp, "opprof-demo-*")); len(left) != 0 {
		t.Errorf("folders %v", left)
	}
}
