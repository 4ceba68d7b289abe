package cmd

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// foreground is the process group that the terminal belongs to.
func foreground(tty *os.File) (int, error) { return unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP) }

func modes(tty *os.File) (*term.State, error) { return term.GetState(tty.Fd()) }

func setModes(tty *os.File, s *term.State) error { return term.Restore(tty.Fd(), s) }

// waitFull fills what room a terminal has left, until it takes nothing more for half a second, and then stops it as ^S does: what the system
// still moves from one of its buffers into the next makes room for nobody.
func waitFull(t *testing.T, tty *os.File) {
	t.Helper()
	// A description of its own: the program's must go on to block.
	fd, err := unix.Open(tty.Name(), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	begin := time.Now()
	for full := 0; full < 10; {
		switch _, err := unix.Write(fd, []byte(" ")); err {
		case nil:
			full = 0
			continue
		case unix.EAGAIN, unix.EINTR:
			full++
		default:
			t.Fatal(err)
		}
		if time.Since(begin) > 90*time.Second {
			t.Fatal("the terminal takes output for ever")
		}
		<-time.After(50 * time.Millisecond)
	}
	if err := unix.IoctlSetInt(fd, unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
}

// goOn lets a terminal take output again that waitFull has stopped.
func goOn(tty *os.File) { _ = unix.IoctlSetInt(int(tty.Fd()), unix.TCXONC, unix.TCOON) }

// peakBytes is the most memory that a process ever had.
func peakBytes(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kb), "kB")), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("no peak")
	return 0
}
