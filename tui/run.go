package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"opprof/engine/trap"
)

// ErrStalled is returned by Run when the program was asked to end and the terminal did not take its last lines in time. What it had not
// taken was thrown away, and the screen was left in their stead if that was taken.
var ErrStalled = errors.New("the terminal does not take output")

// quitGrace is how long a terminal may take to show the last frame and leave the alternate screen.
const quitGrace = 1500 * time.Millisecond

// Run shows the screen on the terminal until the reader quits, ctx ends or the terminal is lost. It returns nil when the reader quit, ErrLost
// when the terminal went away, and a *trap.Panic when the program is at fault; the terminal has been put back then, as far as it can be.
func Run(ctx context.Context, source Source, opt Options) error {
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	lost := func(err error) { end(fmt.Errorf("%w: %w", ErrLost, err)) }
	opt = opt.filled()
	c := newConsole(os.Stdin, os.Stdout, lost, opt.Env)
	opt.behind = c.outlet.behind
	m, err := New(running, source, opt)
	if err != nil {
		c.outlet.end()
		return err
	}
	defer m.shelf.close(m.opt.Log)
	defer m.cancel()
	if m.opt.Keep != nil {
		defer func() { m.opt.Keep(m.state()) }()
	}
	// Bubble Tea that is told to quit waits for its reader before it closes what that reads; when its context ends it does not.
	drawing, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	c.program = tea.NewProgram(guarded{m, end}, m.programOptions(drawing, c, lost)...)
	before, _ := term.GetState(os.Stdin.Fd())
	m.opt.Log.Info("screen opened", "theme", m.theme.Name, "ascii", m.theme.Glyphs.ASCII)

	var following sync.WaitGroup
	c.enter()
	following.Go(func() { c.follow(running) })
	ended := make(chan error, 1)
	go func() {
		_, err := c.program.Run()
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-m.ctx.Done():
		go c.program.Quit() // ends with drawing
		late := time.NewTimer(quitGrace)
		defer late.Stop()
		select {
		case err = <-ended:
		case <-late.C:
			err = ErrStalled
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	end(nil)
	abandon()
	following.Wait()
	if c.leave(quitGrace, m.farewell(err)) || errors.Is(err, ErrStalled) {
		if err = ErrStalled; before != nil {
			_ = term.Restore(os.Stdin.Fd(), before)
		}
	}
	return m.reason(running, err)
}

// farewell is what stays on the terminal. It is written as the screen is, never to wait for a terminal that has become full meanwhile.
func (m *Model) farewell(err error) string {
	if m.opt.Farewell == nil || errors.Is(err, ErrStalled) {
		return ""
	}
	return m.opt.Farewell()
}

// programOptions are those of the terminal. Colours are the theme's business: what it asks for is written as it is, and Bubble Tea, which
// takes NO_COLOR for a boolean, decides nothing. Sizes are the console's: Bubble Tea would make a picture of any.
func (m *Model) programOptions(ctx context.Context, c *console, lost func(error)) []tea.ProgramOption {
	size, _ := c.size()
	filter := func(model tea.Model, msg tea.Msg) tea.Msg { return c.filter(m.filter(model, msg)) }
	return append([]tea.ProgramOption{
		tea.WithContext(ctx), tea.WithFPS(framesPerS), tea.WithFilter(filter), tea.WithColorProfile(colorprofile.ANSI256),
		tea.WithInput(watchedFile{os.Stdin, lost}), tea.WithOutput(c.outlet), tea.WithWindowSize(size.Width, size.Height),
	}, m.opt.Tea...)
}

// reason is why the program ended: what ended it, if that was not the reader, says more than what Bubble Tea returned.
func (m *Model) reason(running context.Context, err error) error {
	var crash *trap.Panic
	if cause := context.Cause(running); errors.Is(cause, ErrLost) || errors.As(cause, &crash) {
		err = cause
	}
	switch {
	case crash != nil:
		m.opt.Log.Error("internal error", "error", crash, "trace", string(crash.Stack))
	case err != nil:
		m.opt.Log.Warn("screen ended", "error", err)
	default:
		m.opt.Log.Info("screen closed")
	}
	return err
}

// filter keeps the terminal's offer of synchronized output from the renderer when the reader does not want it.
func (m *Model) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	if r, ok := msg.(tea.ModeReportMsg); ok && m.opt.Sync == SyncOff && r.Mode == ansi.ModeSynchronizedOutput {
		return nil
	}
	return msg
}

// querySync asks the terminal for synchronized output where Bubble Tea does not ask: over SSH (tea.go, shouldQuerySynchronizedOutput).
func (m *Model) querySync() tea.Cmd {
	switch {
	case m.opt.Sync == SyncOn:
		return func() tea.Msg { return tea.ModeReportMsg{Mode: ansi.ModeSynchronizedOutput, Value: ansi.ModeReset} }
	case m.opt.Sync == SyncAuto && m.opt.Env("SSH_TTY") != "":
		return tea.Raw(ansi.RequestModeSynchronizedOutput)
	}
	return nil
}
