// Command screen measures what an open screen costs: bytes to the terminal, processor time, memory, and the time from a key to its picture. It
// runs a built opprof on pseudo terminals of 180 by 50: one replays a recorded server, another attaches to it and is measured.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

const columns, rows = 180, 50

func main() {
	program := flag.String("opprof", "opprof", "the program to measure")
	length := flag.Duration("for", 30*time.Second, "how long each measurement takes")
	flag.Parse()
	if err := measureAll(*program, *length); err != nil {
		fmt.Fprintln(os.Stderr, "screen:", err)
		os.Exit(1)
	}
}

func measureAll(program string, length time.Duration) error {
	fmt.Println("| screen | kB/s to the terminal | % of a core | memory, MB | key to picture, ms: median, longest of 20 |")
	fmt.Println("|---|---|---|---|---|")
	for _, speed := range []string{"1", "10"} {
		if err := live(program, speed, length); err != nil {
			return fmt.Errorf("speed %s: %w", speed, err)
		}
	}
	return nil
}

// live measures a screen that follows a server, and then one on the same run once the server has gone.
func live(program, speed string, length time.Duration) error {
	temp, err := os.MkdirTemp("", "opprof-screen-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	server, err := start(temp, program, "demo", "--speed", speed)
	if err != nil {
		return err
	}
	defer server.stop()
	if err := server.await("step period"); err != nil {
		return err
	}
	runs, err := filepath.Glob(filepath.Join(temp, "opprof-demo-*", "demo-*"))
	if err != nil || len(runs) != 1 {
		return fmt.Errorf("the demo has %d runs in %s (%v)", len(runs), temp, err)
	}
	if err := measure(speed+" x the recorded rate", length, temp, program, "attach", runs[0]); err != nil {
		return err
	}
	kept := filepath.Join(temp, "kept")
	if err := os.CopyFS(kept, os.DirFS(runs[0])); err != nil {
		return err
	}
	if err := server.stop(); err != nil {
		return err
	}
	return measure("a finished run, nothing pressed", length, temp, program, "review", kept)
}

func measure(name string, length time.Duration, temp string, line ...string) error {
	s, err := start(temp, line...)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.await("step period"); err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // the first pictures are not what it costs to leave it open
	bytes, busy, begin := s.bytes.Load(), s.processorTime(), time.Now()
	time.Sleep(length)
	took := time.Since(begin).Seconds()
	perSecond := float64(s.bytes.Load()-bytes) / took / 1000
	share := 100 * (s.processorTime() - busy).Seconds() / took
	memory := s.memoryMB()
	keys, err := s.keys(20)
	if err != nil {
		return err
	}
	fmt.Printf("| %s | %.1f | %.1f | %.0f | %.0f, %.0f |\n", name, perSecond, share, memory, keys[len(keys)/2], keys[len(keys)-1])
	return nil
}

// screen is a program on a pseudo terminal whose other end is an emulator.
type screen struct {
	command *exec.Cmd
	master  *os.File
	bytes   atomic.Int64
	fresh   chan struct{}
	mu      sync.Mutex // guards vt
	vt      *vt.Emulator
	stopped sync.Once
}

func start(temp string, line ...string) (*screen, error) {
	s := &screen{command: exec.Command(line[0], line[1:]...), fresh: make(chan struct{}, 1), vt: vt.NewEmulator(columns, rows)}
	s.command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + temp, "TMPDIR=" + temp, "TERM=xterm-256color", "LANG=C.UTF-8"}
	var err error
	if s.master, err = pty.StartWithSize(s.command, &pty.Winsize{Cols: columns, Rows: rows}); err != nil {
		return nil, err
	}
	go s.show()
	go func() { _, _ = io.Copy(s.master, s.vt) }()
	return s, nil
}

func (s *screen) show() {
	buf := make([]byte, 64<<10)
	for {
		n, err := s.master.Read(buf)
		if err != nil {
			return
		}
		s.bytes.Add(int64(n))
		s.mu.Lock()
		_, _ = s.vt.Write(buf[:n])
		s.mu.Unlock()
		select {
		case s.fresh <- struct{}{}:
		default:
		}
	}
}

func (s *screen) holds(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.vt.String(), text)
}

func (s *screen) await(text string) error { return s.until(text, true) }

func (s *screen) until(text string, there bool) error {
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	for s.holds(text) != there {
		select {
		case <-s.fresh:
		case <-late.C:
			return fmt.Errorf("%q on the screen never became %t", text, there)
		}
	}
	return nil
}

// keys opens and closes the help and returns how long each took to show, in ms, shortest first.
func (s *screen) keys(n int) ([]float64, error) {
	var took []float64
	for i := range n {
		begin := time.Now()
		if _, err := s.master.WriteString("?"); err != nil {
			return nil, err
		}
		if err := s.until("all keys \u2500", i%2 == 0); err != nil {
			return nil, err
		}
		took = append(took, float64(time.Since(begin).Microseconds())/1000)
		time.Sleep(time.Duration(137+31*i) * time.Millisecond) // at any moment between two pictures
	}
	slices.Sort(took)
	return took, nil
}

// processorTime is what the program has used so far, its kernel part included (proc(5), stat).
func (s *screen) processorTime() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.command.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int64
	for _, f := range fields[11:13] {
		n, _ := strconv.ParseInt(f, 10, 64)
		ticks += n
	}
	const perSecond = 100 // USER_HZ, the same on every Linux that Go runs on
	return time.Duration(ticks) * time.Second / perSecond
}

func (s *screen) memoryMB() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kb / 1000
}

func (s *screen) stop() error {
	var err error
	s.stopped.Do(func() {
		_ = s.command.Process.Signal(syscall.SIGTERM)
		_ = s.command.Wait()
		err = s.master.Close()
	})
	return err
}
