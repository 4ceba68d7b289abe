package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"opprof/engine/supervisor/process"
)

// compressedFiles is what a process that compresses prints.
type compressedFiles struct {
	Paths  []string `json:"paths"`
	Reason string   `json:"reason"`
}

// CompressApart returns a Compress that has a program do it: argv and the paths of the traces behind it, which prints what WriteCompressed
// writes. A thread of low priority in this process would not do: whatever of the runtime it holds while servers that spin keep it from
// running, all other threads wait for, and the supervisor neither arms a window nor sees a step.
func CompressApart(path string, argv, env []string) Compress {
	return func(ctx context.Context, paths []string) ([]string, error) {
		out, err := process.Attend(ctx, path, append(append([]string(nil), argv...), paths...), env)
		var said compressedFiles
		if unread := json.Unmarshal(out, &said); unread != nil || len(said.Paths) != len(paths) {
			return foundCompressed(paths), fmt.Errorf("cannot compress the traces of a window: %w; those that are plain stay as they are",
				errors.Join(err, unread))
		}
		if ctx.Err() != nil {
			return said.Paths, ctx.Err()
		}
		if said.Reason != "" {
			return said.Paths, errors.New(said.Reason)
		}
		return said.Paths, err
	}
}

// WriteCompressed compresses traces and gives, as JSON, the paths that there are afterwards and why some are plain, "" when none is.
func WriteCompressed(ctx context.Context, paths []string) ([]byte, error) {
	packed, err := CompressTraces(ctx, paths)
	said := compressedFiles{Paths: packed}
	if err != nil {
		said.Reason = err.Error()
	}
	return json.Marshal(said)
}

// foundCompressed looks for what became of traces that somebody compressed.
func foundCompressed(paths []string) []string {
	out := append([]string(nil), paths...)
	for i, path := range paths {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			out[i] = path + ".gz"
		}
	}
	return out
}
