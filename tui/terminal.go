package tui

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

const (
	// The largest picture that is drawn. More than that is no terminal that anyone reads.
	maxColumns = 500
	maxRows    = 200
	// awayLeast is how long the terminal is given away at least: the goroutine of the renderer that was stopped stops the ticker of the one that
	// is started if it is late (Bubble Tea, startRenderer), and the signal that continues us is told from another one.
	awayLeast = 100 * time.Millisecond
)

const (
	pushTitle = "\x1b[22;0t" // the window's title and icon go onto the terminal's stack
	popTitle  = "\x1b[23;0t"
	// restoreScreen undoes whatever the program has switched, behind a sequence that was cut off: CAN ends one.
	restoreScreen = "\x18\x1b[?2026l\x1b[m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[>4m\x1b[<1u\x1b[?1049l\x1b[?25h" + popTitle
)

// continuedMsg says that the process was continued without having been stopped by us.
type continuedMsg struct{}

// console is what the program does with the terminal beside drawing: it follows its size, and leaves it while the process is stopped.
type console struct {
	in, out *os.File
	outlet  *outlet
	program *tea.Program
	env     func(string) string
	signals chan os.Signal
	real    bool        // both ends are terminals
	away    atomic.Bool // the terminal is somebody else's
}

func newConsole(in, out *os.File, lost func(error), env func(string) string) *console {
	c := &console{in: in, out: out, outlet: newOutlet(out, lost), env: env, signals: make(chan os.Signal, 8)}
	c.real = term.IsTerminal(in.Fd()) && term.IsTerminal(out.Fd())
	return c
}

// size is that of the terminal, and what of it is drawn into. A terminal that does not tell has the size that its variables say.
func (c *console) size() (size tea.WindowSizeMsg, cut string) {
	width, height, err := term.GetSize(c.out.Fd())
	if err != nil || width <= 0 {
		width = numberOr(c.env("COLUMNS"), 80)
	}
	if err != nil || height <= 0 {
		height = numberOr(c.env("LINES"), 24)
	}
	return fitted(width, height)
}

func fitted(width, height int) (size tea.WindowSizeMsg, cut string) {
	size = tea.WindowSizeMsg{Width: min(width, maxColumns), Height: min(height, maxRows)}
	if size.Width < width || size.Height < height {
		cut = fmt.Sprintf("the terminal says %d x %d: the picture takes %d x %d of it", width, height, size.Width, size.Height)
	}
	return size, cut
}

func numberOr(s string, other int) int {
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return n
	}
	return other
}

// enter keeps the window's title for later.
func (c *console) enter() {
	if c.real {
		_, _ = c.outlet.Write([]byte(pushTitle))
	}
}

// follow tells the program of sizes and signals until ctx ends.
func (c *console) follow(ctx context.Context) {
	if !c.real {
		return
	}
	signal.Notify(c.signals, unix.SIGWINCH, unix.SIGCONT, unix.SIGTSTP)
	defer signal.Stop(c.signals)
	c.tellSize()
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-c.signals:
			switch {
			case s == unix.SIGWINCH:
				c.tellSize()
			case c.away.Load(): // our own stop, or its end
			case s == unix.SIGTSTP:
				c.program.Send(tea.SuspendMsg{})
			case s == unix.SIGCONT:
				c.program.Send(continuedMsg{})
			}
		}
	}
}

func (c *console) tellSize() {
	size, cut := c.size()
	c.program.Send(size)
	if cut != "" {
		c.program.Send(noticeMsg(cut))
	}
}

// filter does what concerns the terminal itself, while the program waits.
func (c *console) filter(msg tea.Msg) tea.Msg {
	switch msg.(type) {
	case tea.SuspendMsg:
		if !stoppable() {
			return noticeMsg("there is no shell that could continue the program")
		}
		c.released(c.stop)
	case continuedMsg:
		c.released(func() {}) // whoever had the terminal has left it in a mode of its own
	default:
		return msg
	}
	return tea.ResumeMsg{}
}

// released gives the terminal back as it was found, for as long as meanwhile takes.
func (c *console) released(meanwhile func()) {
	if !c.real || c.program.ReleaseTerminal() != nil {
		return
	}
	c.away.Store(true)
	defer c.away.Store(false)
	_, _ = c.outlet.Write([]byte(popTitle))
	c.outlet.drain(quitGrace)
	meanwhile()
	time.Sleep(awayLeast)
	_, _ = c.outlet.Write([]byte(pushTitle))
	_ = c.program.RestoreTerminal()
	go c.tellSize() // ends with the program
}

// stop stops the process and those beside it in its group, as ^Z does, until the shell continues them.
func (c *console) stop() {
	signal.Ignore(unix.SIGTSTP)
	_ = unix.Kill(0, unix.SIGTSTP)
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP) // the runtime keeps its handler of the other signal once it had one
	signal.Notify(c.signals, unix.SIGTSTP)
}

// stoppable reports whether somebody could continue the process: a parent outside its group in the same session, as a shell is.
func stoppable() bool {
	group := unix.Getpgrp()
	session, err := unix.Getsid(0)
	for pid := os.Getppid(); err == nil && pid > 0; pid = parentOf(pid) {
		var other int
		if other, err = unix.Getpgid(pid); err == nil && other != group {
			other, err = unix.Getsid(pid)
			return err == nil && other == session
		}
	}
	return false
}

// parentOf is 0 where it is not known (proc(5), /proc/pid/stat).
func parentOf(pid int) int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if err != nil || len(fields) < 2 {
		return 0
	}
	return numberOr(fields[1], 0)
}

// leave writes what is to stay on the terminal and waits for it to be taken. A terminal that does not take it is put back by force.
func (c *console) leave(limit time.Duration, last string) (stalled bool) {
	defer c.outlet.end()
	if !c.real {
		_, _ = c.outlet.Write([]byte(last))
		return !c.outlet.drain(limit) && c.outlet.behind()
	}
	_, _ = c.outlet.Write([]byte(popTitle + last))
	if c.outlet.drain(limit) || c.outlet.gone() {
		return false
	}
	_ = c.outlet.force(restoreScreen)
	return true
}
