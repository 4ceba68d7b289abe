package cmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// terminal is the real program on a pseudo terminal whose other end is an emulator.
type terminal struct {
	t       testing.TB
	command *exec.Cmd
	master  *os.File
	slave   *os.File // kept open, to look at its modes after the program
	before  *term.State
	screen  *emulator
	bytes   atomic.Int64
	raw     bytes.Buffer  // all of them; to be read when shown is closed
	shown   chan struct{} // closed when the program's output has ended
	fresh   chan struct{} // has a value when the screen may have changed
	exited  chan error
	temp    string

	patience time.Duration // of await
}

// emulator guards what vt.SafeEmulator leaves open: reading the screen while it is written.
type emulator struct {
	mu sync.Mutex
	vt *vt.Emulator
}

func (e *emulator) write(p []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = e.vt.Write(p)
}

func (e *emulator) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.vt.String()
}

func (e *emulator) resize(columns, rows int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.vt.Resize(columns, rows)
}

// modes are whether the alternate screen is shown and the cursor is hidden.
func (e *emulator) modes() (alternate, hidden bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.vt.IsAltScreen(), e.vt.CursorHidden()
}

// startTerminal starts opprof. TestMain has put this test binary into the PATH under that name.
func startTerminal(t testing.TB, columns, rows int, args ...string) *terminal {
	t.Helper()
	return startCommand(t, columns, rows, nil, append([]string{"opprof"}, args...)...)
}

// startCommand starts a command line with further variables in its environment.
func startCommand(t testing.TB, columns, rows int, environ []string, line ...string) *terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
	before, err := term.GetState(slave.Fd())
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{
		t: t, master: master, slave: slave, before: before, screen: &emulator{vt: vt.NewEmulator(columns, rows)}, temp: t.TempDir(),
		shown: make(chan struct{}), fresh: make(chan struct{}, 1), exited: make(chan error, 1), patience: 90 * time.Second,
	}
	x.command = exec.Command(line[0], line[1:]...)
	x.command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + x.temp, "TMPDIR=" + x.temp, "TERM=xterm-256color", "LANG=C.UTF-8", "OPPROF_TIME_ZONE=utc"}
	x.command.Env = append(x.command.Env, environ...)
	x.command.Stdin, x.command.Stdout, x.command.Stderr = slave, slave, slave
	x.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { x.exited <- x.command.Wait() }()
	go x.show()
	go x.answer()
	t.Cleanup(x.close)
	return x
}

// show feeds the emulator with what the program writes.
func (x *terminal) show() {
	defer close(x.shown)
	buf := make([]byte, 64<<10)
	for {
		n, err := x.master.Read(buf)
		x.bytes.Add(int64(n))
		x.raw.Write(buf[:n])
		x.screen.write(buf[:n])
		select {
		case x.fresh <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// answer returns the emulator's replies to the program.
func (x *terminal) answer() {
	buf := make([]byte, 4<<10)
	for {
		n, err := x.screen.vt.Read(buf)
		if n > 0 {
			_, _ = x.master.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (x *terminal) close() {
	_ = x.command.Process.Kill()
	_ = x.slave.Close()
	_ = x.master.Close()
	<-x.shown
	// The emulator's own Close is not safe beside Read; the end of its pipe ends answer.
	if pipe, ok := x.screen.vt.InputPipe().(io.Closer); ok {
		_ = pipe.Close()
	}
}

func (x *terminal) press(keys string) {
	x.t.Helper()
	if _, err := x.master.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// await returns the screen as soon as ok holds for it.
func (x *terminal) await(what string, ok func(screen string) bool) string {
	x.t.Helper()
	limit := time.NewTimer(x.patience)
	defer limit.Stop()
	for {
		if screen := x.screen.text(); ok(screen) {
			return screen
		}
		select {
		case <-x.fresh:
		case <-limit.C:
			x.t.Fatalf("the screen never showed %s:\n%s", what, x.screen.text())
		}
	}
}

// ended waits for the program, and holds that it left the terminal as it found it and no folder behind.
func (x *terminal) ended() int {
	x.t.Helper()
	select {
	case <-x.exited:
	case <-time.After(90 * time.Second):
		x.t.Fatalf("the program did not end; the screen is\n%s", x.screen.text())
	}
	after, err := term.GetState(x.slave.Fd())
	if err != nil {
		x.t.Fatal(err)
	}
	if *after != *x.before {
		x.t.Errorf("terminal modes after the program: %+v, before: %+v", *after, *x.before)
	}
	// What the program wrote last may still be on its way to the emulator.
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	alternate, hidden := x.screen.modes()
	for end := time.Now().Add(10 * time.Second); (alternate || hidden) && time.Now().Before(end); <-ticker.C {
		alternate, hidden = x.screen.modes()
	}
	if alternate || hidden {
		x.t.Errorf("left with the alternate screen %t and a hidden cursor %t", alternate, hidden)
	}
	left, err := filepath.Glob(filepath.Join(x.temp, "opprof-demo-*"))
	if err != nil || len(left) > 0 {
		x.t.Errorf("left behind: %v (%v)", left, err)
	}
	return x.command.ProcessState.ExitCode()
}

var shownStep = regexp.MustCompile(`step ([0-9,]+)`)

// stepShown is the step that the second line names, as text.
func stepShown(screen string) string {
	if m := shownStep.FindStringSubmatch(screen); m != nil {
		return m[1]
	}
	return ""
}

func full(screen string) bool {
	return stepShown(screen) != "" && strings.Contains(screen, "step period")
}

func TestDemoOnATerminal(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {180, 50}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			x := startTerminal(t, size[0], size[1], "demo")
			first := stepShown(x.await("a full picture", full))
			x.await("another step", func(s string) bool { return stepShown(s) != first })
			x.press("q")
			if code := x.ended(); code != int(ExitOK) {
				t.Errorf("exit %d", code)
			}
		})
	}
}

// Every way out leaves the terminal usable and the demo's folder removed.
func TestWaysOutOfTheScreen(t *testing.T) {
	for _, c := range []struct {
		name string
		out  func(*terminal)
		code ExitCode
	}{
		{"ctrl+c", func(x *terminal) { x.press("\x03") }, ExitOK},
		{"SIGTERM", func(x *terminal) { _ = x.command.Process.Signal(syscall.SIGTERM) }, ExitInterrupted},
		{"SIGINT", func(x *terminal) { _ = x.command.Process.Signal(syscall.SIGINT) }, ExitInterrupted},
		{"SIGHUP", func(x *terminal) { _ = x.command.Process.Signal(syscall.SIGHUP) }, ExitInterrupted},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := startTerminal(t, 100, 30, "demo")
			x.await("a full picture", full)
			c.out(x)
			if code := x.ended(); code != int(c.code) {
				t.Errorf("exit %d, want %d", code, c.code)
			}
		})
	}
}

// A configuration that is wrong is said on the plain terminal: nothing has been switched yet.
func TestFaultyPreferencesOnATerminal(t *testing.T) {
	x := startTerminal(t, 80, 24, "demo", "--theme", "pink")
	x.await("the fault", func(s string) bool { return strings.Contains(s, "pink") })
	if code := x.ended(); code != int(ExitUsage) {
		t.Errorf("exit %d", code)
	}
}

const pictureEvery = 250 * time.Millisecond

// bytesPerTick is what the program writes for one picture at 180x50, the first one left out.
func bytesPerTick(t testing.TB, ticks int, args ...string) float64 {
	x := startTerminal(t, 180, 50, args...)
	x.await("a full picture", full)
	start, begin := x.bytes.Load(), time.Now()
	end := time.NewTimer(time.Duration(ticks) * pictureEvery)
	<-end.C
	n, took := x.bytes.Load()-start, time.Since(begin)
	x.press("q")
	x.ended()
	return float64(n) / (float64(took) / float64(pictureEvery))
}

func TestScreenBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("watches the screen for seconds")
	}
	// 5,000 bytes are 20 kB a second at four pictures a second. At ten times the speed every number changes in every picture.
	for speed, most := range map[string]float64{"1": 5_000, "10": 8_000} {
		t.Run("speed "+speed, func(t *testing.T) {
			n := bytesPerTick(t, 16, "demo", "--speed", speed)
			t.Logf("%.0f bytes a picture, %.1f kB/s", n, n*4/1000)
			if n > most {
				t.Errorf("%.0f bytes a picture, want at most %.0f", n, most)
			}
		})
	}
}

func BenchmarkScreenBytes(b *testing.B) {
	for _, speed := range []string{"1", "10"} {
		b.Run("speed="+speed, func(b *testing.B) {
			for b.Loop() {
				n := bytesPerTick(b, 40, "demo", "--speed", speed)
				b.ReportMetric(n, "B/picture")
				b.ReportMetric(n*4/1000, "kB/s")
			}
		})
	}
}
