package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"

	"opprof/engine/overlay"
	"opprof/engine/rundir"
)

// Env is the outside world of a command. Tests fill it with buffers and fixed clocks; OS fills it with the process's own.
type Env struct {
	Args    []string // without the program's name
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string // KEY=value, for programs that read their whole environment
	Getenv  func(string) string
	Now     func() time.Time
	// Patch finds the vLLM of an interpreter and makes what patches it.
	Patch func(ctx context.Context, python string) (*overlay.Overlay, error)
	// Notify returns a context that ends at the first signal that asks the program to stop, and a function that stops listening.
	Notify func(context.Context) (context.Context, context.CancelFunc)
}

// OS is the process's own environment.
func OS() *Env {
	return &Env{
		Args:    os.Args[1:],
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Environ: os.Environ(),
		Getenv:  os.Getenv,
		Now:     time.Now,
		Patch:   patchOf,
		Notify:  notify,
	}
}

// patchOf builds or verifies the user's overlay of an installation.
func patchOf(ctx context.Context, python string) (*overlay.Overlay, error) {
	p, err := overlay.Embedded()
	if err != nil {
		return nil, err
	}
	site, err := overlay.FindPython(ctx, python)
	if err != nil {
		return nil, err
	}
	root, err := overlay.CacheRoot(os.Getenv)
	if err != nil {
		return nil, err
	}
	return overlay.NewCache(root, time.Now).Build(ctx, p, site)
}

// errQuit is the cause of a context that SIGQUIT has ended.
var errQuit = errors.New("SIGQUIT")

// A lost terminal (SIGHUP) is listened to as well: the demo has a folder to remove. So has a reader of its output that went away: with SIGPIPE
// taken, the write fails instead of ending the process, and the command ends in order. After the first SIGQUIT the next one ends the process
// at once, with the stacks of whatever does not end.
func notify(ctx context.Context) (context.Context, context.CancelFunc) {
	quitting, end := context.WithCancelCause(ctx)
	pipes, quit := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	signal.Notify(quit, syscall.SIGQUIT)
	go func() {
		select {
		case <-quit:
			signal.Reset(syscall.SIGQUIT)
			end(errQuit)
		case <-quitting.Done():
		}
	}()
	ctx, stop := signal.NotifyContext(quitting, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return ctx, func() {
		stop()
		end(nil)
		signal.Stop(pipes)
		signal.Stop(quit)
	}
}

// dieOfQuit ends the process as SIGQUIT does that nobody listens to.
func dieOfQuit() ExitCode {
	signal.Reset(syscall.SIGQUIT)
	_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT)
	time.Sleep(time.Second) // it takes effect on another thread
	return exitQuit
}

// interactive reports whether a screen can be shown: both ends are terminals and the terminal can move its cursor.
func (e *Env) interactive() bool {
	t := e.Getenv("TERM")
	return t != "" && t != "dumb" && isTerminal(e.Stdin) && isTerminal(e.Stdout)
}

func isTerminal(stream any) bool {
	f, ok := stream.(term.File)
	return ok && term.IsTerminal(f.Fd())
}

// terminalSize returns the columns and rows of standard output, or zeros when it is no terminal.
func (e *Env) terminalSize() (columns, rows int) {
	f, ok := e.Stdout.(term.File)
	if !ok {
		return 0, 0
	}
	columns, rows, err := term.GetSize(f.Fd())
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

func (e *Env) places() rundir.Places { return rundir.Places{Env: e.Getenv, UID: os.Getuid()} }

// notesDir is where notes go about runs in folders that are not ours, "" when the user has no state folder.
func (e *Env) notesDir() string {
	dir, err := e.places().Notes()
	if err != nil {
		return ""
	}
	return dir
}

// indexDir is where indexes of streams in folders that are not ours go, "" when the user has no cache.
func (e *Env) indexDir() string {
	dir, err := e.places().IndexCache()
	if err != nil {
		return ""
	}
	return dir
}
