package cmd

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"opprof/engine/rundir"
	"opprof/engine/trap"
)

// logMaxBytes is the size from which a log is put aside when the program starts.
const logMaxBytes = 4 << 20

// logFile is the program's own log. The file is made when there is something to write; one that cannot be written disturbs nothing.
type logFile struct {
	path string // "" is nowhere

	mu     sync.Mutex
	file   *os.File
	failed error
}

// openLog returns the log that the preferences ask for, and a logger that writes to it.
func openLog(env *Env, p *preferences) (*logFile, *slog.Logger) {
	l := &logFile{path: logPath(env, p)}
	var level slog.Level
	if p.logLevel == off || l.path == "" || level.UnmarshalText([]byte(p.logLevel)) != nil {
		l.path = ""
		return l, slog.New(slog.DiscardHandler)
	}
	handler := slog.NewTextHandler(l, &slog.HandlerOptions{Level: level})
	return l, slog.New(handler).With("pid", os.Getpid())
}

// logPath is where the log lies; "" where there is no place for it.
func logPath(env *Env, p *preferences) string {
	if p.logFile != "" {
		return p.logFile
	}
	path, err := env.places().Log()
	if err != nil {
		return ""
	}
	return path
}

// Write appends to the log. After a failure nothing more is tried.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil && l.file == nil {
		l.file, l.failed = openRotated(l.path)
	}
	if l.failed != nil {
		return 0, l.failed
	}
	n, err := l.file.Write(p)
	l.failed = err
	return n, err
}

func openRotated(path string) (*os.File, error) {
	if path == "" {
		return nil, errors.New("there is no log")
	}
	if err := os.MkdirAll(filepath.Dir(path), rundir.DirMode); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > logMaxBytes {
		_ = os.Rename(path, path+".1")
	}
	return os.OpenFile(path, syscall.O_NONBLOCK|os.O_APPEND|os.O_CREATE|os.O_WRONLY, rundir.FileMode)
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close()
		l.file, l.failed = nil, os.ErrClosed
	}
}

// tell writes the trace of a panic into the log and says where it is; where there is no log the trace itself is said. Other errors are
// returned as they are.
func (l *logFile) tell(err error) error {
	var crash *trap.Panic
	if !errors.As(err, &crash) {
		return err
	}
	trace := "  " + strings.ReplaceAll(strings.TrimSpace(string(crash.Stack)), "\n", "\n  ") + "\n"
	if _, failed := io.WriteString(l, crash.Error()+"\n"+trace); failed != nil {
		said := []error{err}
		for line := range strings.Lines(trace) {
			said = append(said, errors.New(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")))
		}
		return errors.Join(said...)
	}
	return errors.Join(err, fmt.Errorf("  its trace is in %s: please report it with the log", l.path))
}
