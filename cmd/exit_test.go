package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestExitCodeRidesOnTheError(t *testing.T) {
	plain := errors.New("x")
	for _, c := range []struct {
		err  error
		want ExitCode
	}{
		{nil, ExitOK},
		{plain, ExitFailure},
		{WithCode(plain, ExitUsage), ExitUsage},
		{fmt.Errorf("more: %w", WithCode(plain, ExitCheck)), ExitCheck},
		{WithHint(WithCode(plain, ExitUndecided), "hint"), ExitUndecided},
		{WithCode(nil, ExitCheck), ExitOK},
		{WithHint(nil, "hint"), ExitOK},
		{context.Canceled, ExitInterrupted},
		{fmt.Errorf("reading: %w", context.Canceled), ExitInterrupted},
		{WithCode(context.Canceled, ExitFailure), ExitFailure},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("exitCode(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

func TestPrintError(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errSilent, ""},
		{WithCode(errSilent, ExitCheck), ""},
		{context.Canceled, ""},
		{errors.New("cannot read x"), "opprof: cannot read x\n"},
		{WithHint(errors.New("cannot read x"), "opprof check x"), "opprof: cannot read x\n  try: opprof check x\n"},
	} {
		var out bytes.Buffer
		printError(&out, c.err)
		if out.String() != c.want {
			t.Errorf("printError(%v) = %q, want %q", c.err, out.String(), c.want)
		}
	}
}

func TestCommandLineFaultsAreUsageErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"revieww"}, "opprof review"},
		{[]string{"nothing-like-it"}, "opprof --help"},
		{[]string{"--nonsense"}, "opprof --help"},
		{[]string{"version", "now"}, "opprof version takes no argument, got 1"},
		{[]string{"config", "prnt"}, "opprof config print"},
		{[]string{"completion", "tcsh"}, "bash, zsh, fish"},
		{[]string{"completion"}, "takes SHELL"},
		{[]string{"review"}, "takes RUN"},
		{[]string{"check"}, "at least one PATH"},
		{[]string{"demo", "--speed", "0"}, "--speed"},
		{[]string{"demo", "--recording", "h20"}, "h200-tp1"},
	} {
		env, _, stderr := memoryEnv(nil, c.args...)
		if code := Main(env); code != ExitUsage {
			t.Errorf("%v: exit %d, want %d", c.args, code, ExitUsage)
		}
		if !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v: %q does not say %q", c.args, stderr, c.want)
		}
	}
}
