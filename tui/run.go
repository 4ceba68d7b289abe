package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"opprof/engine/trap"
)

// ErrStalled is returned by Run when the program was asked to end and the terminal did not take its last lines in time.
var ErrStalled = errors.New("the terminal does not take output: left without restoring the screen")

// quitGrace is how long a terminal may take to show the last frame and leave the alternate screen.
const quitGrace = 2 * time.Second

// Run shows the screen on the terminal until the reader quits, ctx ends or the terminal is lost. It returns nil when the reader quit, ErrLost
// when the terminal went away, and a *trap.Panic when the program is at fault; the terminal has been put back then, as far as it can be.
func Run(ctx context.Context, source Source, opt Options) error {
	m, err := New(ctx, source, opt)
	if err != nil {
		return err
	}
	defer m.cancel()
	if m.opt.Keep != nil {
		defer func() { m.opt.Keep(m.state()) }()
	}
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	fail := func(err error) {
		end(err)
		m.cancel()
	}
	program := tea.NewProgram(guarded{m, fail}, m.programOptions(running, fail)...)
	before, _ := term.GetState(os.Stdin.Fd())
	m.opt.Log.Info("screen opened", "theme", m.theme.Name, "ascii", m.theme.Glyphs.ASCII)

	ended := make(chan error, 1)
	go func() {
		_, err := program.Run()
		ended <- err
	}()
	select {
	case err := <-ended:
		return m.reason(running, err)
	case <-m.ctx.Done():
	}
	late := time.NewTimer(quitGrace)
	defer late.Stop()
	select {
	case err := <-ended:
		return m.reason(running, err)
	case <-late.C:
		// The renderer sits in a write to a dead link. Only the line discipline can be put right from here.
		if before != nil {
			_ = term.Restore(os.Stdin.Fd(), before)
		}
		return m.reason(running, ErrStalled)
	}
}

// programOptions are those of the terminal. Colours are the theme's business: what it asks for is written as it is, and Bubble Tea, which
// takes NO_COLOR for a boolean, decides nothing.
func (m *Model) programOptions(ctx context.Context, fail func(error)) []tea.ProgramOption {
	lost := func(err error) { fail(fmt.Errorf("%w: %w", ErrLost, err)) }
	return append([]tea.ProgramOption{
		tea.WithContext(ctx), tea.WithFPS(framesPerS), tea.WithFilter(m.filter), tea.WithColorProfile(colorprofile.ANSI256),
		tea.WithInput(watchedFile{os.Stdin, lost}), tea.WithOutput(watchedFile{os.Stdout, lost}),
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
