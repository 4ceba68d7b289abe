package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// attendDelay is how long a program that was told to end may take.
const attendDelay = 5 * time.Second

// Attend runs a program to its end and returns what it printed. Its standard input is a pipe on which nothing comes and which closes when
// this process ends, however it ends: the program is to end then. When the context ends it is sent SIGTERM.
func Attend(ctx context.Context, path string, argv, env []string) ([]byte, error) {
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = argv, env, "/", &out, &complaint
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = attendDelay
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", path, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", path, err)
	}
	if err := cmd.Wait(); err != nil {
		if said := strings.TrimSpace(complaint.String()); said != "" {
			err = fmt.Errorf("%s: %w", said, err)
		}
		return out.Bytes(), errors.Join(ctx.Err(), err)
	}
	return out.Bytes(), nil
}
