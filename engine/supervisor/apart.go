package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"opprof/engine/supervisor/process"
	"opprof/engine/unit"
)

// compressedFiles is what a process that compresses prints. It names no path: one that is not UTF-8 would not come back as it was.
type compressedFiles struct {
	Packed []bool `json:"packed"` // for each trace that it was given: a compressed copy has taken its place
	Reason string `json:"reason"` // why some are plain, "" when none is
}

// CompressApart returns a Compress that has a program do it: argv and the paths of the traces behind it, which prints what WriteCompressed
// writes. A thread of low priority in this process would not do: whatever of the runtime it holds while servers that spin keep it from
// running, all other threads wait for, and the supervisor neither arms a window nor sees a step.
func CompressApart(path string, argv, env []string) Compress {
	return func(ctx context.Context, paths []string) ([]string, error) {
		out, err := process.Attend(ctx, path, append(append([]string(nil), argv...), paths...), env)
		var said compressedFiles
		if unread := json.Unmarshal(out, &said); unread != nil || len(said.Packed) != len(paths) {
			if err == nil { // otherwise there is a better reason than what it did not say
				err = fmt.Errorf("%s answered %.100q: expected what became of %s", path, out, unit.Counted(len(paths), "trace"))
			}
			return foundCompressed(paths), fmt.Errorf("cannot compress %s: %w; what is plain stays as it is", andMore(paths), err)
		}
		packed := append([]string(nil), paths...)
		for i := range packed {
			if said.Packed[i] {
				packed[i] += ".gz"
			}
		}
		if ctx.Err() != nil {
			return packed, ctx.Err()
		}
		if said.Reason != "" {
			return packed, errors.New(said.Reason)
		}
		return packed, err
	}
}

// andMore names the first of some files.
func andMore(paths []string) string {
	if len(paths) < 2 {
		return strings.Join(paths, "")
	}
	return fmt.Sprintf("%s and %d more", paths[0], len(paths)-1)
}

// WriteCompressed compresses traces and tells, as JSON, of which there is a compressed copy now in place of a plain file, and why some are plain.
func WriteCompressed(ctx context.Context, paths []string) ([]byte, error) {
	packed, err := CompressTraces(ctx, paths)
	said := compressedFiles{Packed: make([]bool, len(paths))}
	for i := range paths {
		said.Packed[i] = packed[i] != paths[i]
	}
	if err != nil {
		said.Reason = err.Error()
	}
	return json.Marshal(said)
}

// foundCompressed looks for what became of traces that somebody compressed.
func foundCompressed(paths []string) []string {
	out := append([]string(nil), paths...)
	for i := range out {
		out[i] = whereNow(out[i])
	}
	return out
}

// whereNow is where a trace lies that was at path: its compressed copy where that has taken its place.
func whereNow(path string) string {
	if _, err := os.Lstat(path); filepath.Ext(path) != ".json" || !errors.Is(err, fs.ErrNotExist) {
		return path
	}
	if st, err := os.Stat(path + ".gz"); err != nil || !st.Mode().IsRegular() {
		return path
	}
	return path + ".gz"
}
