package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
)

// ExitCode is the status that the process ends with.
type ExitCode int

// Exit codes, stable for scripts.
const (
	ExitOK          ExitCode = 0
	ExitFailure     ExitCode = 1   // something could not be done
	ExitUsage       ExitCode = 2   // the command line or the configuration is wrong
	ExitCheck       ExitCode = 3   // a check or a gate does not hold
	ExitUndecided   ExitCode = 4   // a gate cannot decide
	ExitInterrupted ExitCode = 130 // stopped by a signal

	exitQuit ExitCode = 131 // stopped by SIGQUIT, where the signal itself did not end the process
)

type codedError struct {
	error
	code ExitCode
}

func (e codedError) Unwrap() error { return e.error }

// WithCode makes an error end the process with a code other than ExitFailure.
func WithCode(err error, code ExitCode) error {
	if err == nil {
		return nil
	}
	return codedError{err, code}
}

type hintedError struct {
	error
	hint string
}

func (e hintedError) Unwrap() error { return e.error }

// WithHint adds what the user can do about an error, printed on a line of its own.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return hintedError{err, hint}
}

const exitStatusHelp = `0  success
1  failure: something could not be done
2  the command line or the preferences are wrong
3  a check or a gate does not hold, or a search found nothing
4  a gate cannot decide
130  stopped by a signal`

// errSilent only carries an exit code: what there is to say has been printed.
var errSilent = errors.New("")

func usageErrorf(format string, args ...any) error {
	return WithCode(fmt.Errorf(format, args...), ExitUsage)
}

// exitCode is the code an error carries: its own, 130 after a signal, or 1.
func exitCode(err error) ExitCode {
	var coded codedError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, context.Canceled), readerLeft(err):
		return ExitInterrupted
	}
	return ExitFailure
}

// readerLeft reports whether whoever read the output had enough of it, as head does.
func readerLeft(err error) bool { return errors.Is(err, syscall.EPIPE) }

// printError writes an error and its hint, if it has anything to say.
func printError(w io.Writer, err error) {
	if err == nil || errors.Is(err, errSilent) || errors.Is(err, context.Canceled) || readerLeft(err) {
		return
	}
	_, _ = fmt.Fprintf(w, "opprof: %s\n", strings.Join(errorLines(err), "\n"))
	if hint := hintOf(err); hint != "" {
		_ = printf(w, "  try: %s\n", hint)
	}
}

// errorLines is an error's text, made printable: a line for each of the errors that are joined in it. A line end in a name makes none.
func errorLines(err error) []string {
	lines := strings.Split(strings.TrimRight(marked(err), "\n"), lineEnd)
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return lines
}

// lineEnd stands for the line ends that joining made.
const lineEnd = "\x00"

// marked is the text of an error with lineEnd between the errors that are joined in it.
func marked(err error) string {
	text := strings.ReplaceAll(err.Error(), lineEnd, "?")
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return strings.Replace(text, strings.ReplaceAll(inner.Error(), lineEnd, "?"), marked(inner), 1)
		}
	case interface{ Unwrap() []error }:
		parts := make([]string, 0, 4)
		for _, part := range e.Unwrap() {
			parts = append(parts, marked(part))
		}
		if joined := strings.Join(parts, lineEnd); strings.ReplaceAll(joined, lineEnd, "\n") == text {
			return joined
		}
	}
	return text
}

func hintOf(err error) string {
	var hinted hintedError
	switch {
	case errors.As(err, &hinted):
		return hinted.hint
	case errors.Is(err, fs.ErrPermission):
		return "run as the user that owns the run, or ask for read permission on it"
	}
	return ""
}
