package cmd

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"opprof/engine/compact"
	"opprof/engine/supervisor"
)

// newCompress is what a supervisor starts for the traces of a window; nobody types it.
func newCompress(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:     "compress TRACE…",
		Short:   "Compress traces until standard input ends (started by supervise)",
		Example: "  opprof compress TRACE",
		Hidden:  true,
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return compress(c.Context(), env, args) },
	}
}

// compress has the lowest priority: serving comes first.
func compress(ctx context.Context, env *Env, paths []string) error {
	compact.Yield()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with its input, at the latest with the process
		_, _ = io.Copy(io.Discard, env.Stdin)
		cancel()
	}()
	out, err := supervisor.WriteCompressed(ctx, paths)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "%s\n", out)
	return err
}

// thisProgram leads to the file that this process runs, also after another one has taken its name or it was deleted, as go run does.
const thisProgram = "/proc/self/exe"

// compressor starts opprof again for each window.
func compressor(env *Env) (supervisor.Compress, error) {
	argv := []string{os.Args[0], "compress", "--"}
	if _, err := os.Stat(thisProgram); err == nil {
		return supervisor.CompressApart(thisProgram, argv, env.Environ), nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this program: %w", err)
	}
	return supervisor.CompressApart(self, argv, env.Environ), nil
}
