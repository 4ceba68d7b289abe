package tui

import (
	"context"
	"errors"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// ErrStalled is returned by Run when the program was asked to end and the terminal did not take its last lines in time.
var ErrStalled = errors.New("the terminal does not take output: left without restoring the screen")

// quitGrace is how long a terminal may take to show the last frame and leave the alternate screen.
const quitGrace = 2 * time.Second

// Run shows the screen on the terminal until the reader quits, ctx ends or the terminal is lost. It returns nil when the reader quit.
func Run(ctx context.Context, source Source, opt Options) error {
	m, err := New(ctx, source, opt)
	if err != nil {
		return err
	}
	defer m.cancel()
	options := append([]tea.ProgramOption{tea.WithContext(ctx), tea.WithFPS(framesPerS), tea.WithFilter(m.filter)}, opt.Tea...)
	program := tea.NewProgram(m, options...)
	before, _ := term.GetState(os.Stdin.Fd())

	ended := make(chan error, 1)
	go func() {
		_, err := program.Run()
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-m.ctx.Done():
	}
	late := time.NewTimer(quitGrace)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		// The renderer sits in a write to a dead link. Only the line discipline can be put right from here.
		if before != nil {
			_ = term.Restore(os.Stdin.Fd(), before)
		}
		return ErrStalled
	}
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
