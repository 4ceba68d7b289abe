package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"opprof/engine/regular"
	"opprof/engine/rundir"
	"opprof/engine/unit"
)

// writeOut writes what a command makes to the file of its --out: whole or not at all, over an existing file only with force, and never into
// something that is no file or over one of those that it was made of.
func writeOut(path string, force bool, sources []string, write func(io.Writer) error) error {
	target, err := outTarget(path, force, sources)
	switch {
	case err != nil:
		return err
	case target == "":
		return rundir.CreateAtomic(path, write)
	}
	return rundir.WriteAtomic(target, write)
}

// tellWritten says which file was written and how large it is.
func tellWritten(w io.Writer, path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot find what was written: %w", err)
	}
	return printf(w, "%s  %s\n", path, unit.Bytes(st.Size()))
}

// outTarget is the file that --out replaces, behind all links; "" when none is there yet. A command that reads for long asks before it does.
func outTarget(path string, force bool, sources []string) (string, error) {
	before, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return "", fmt.Errorf("cannot write %s: it is a link that leads nowhere", path)
		}
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return "", fmt.Errorf("cannot write %s: %w", path, err)
		}
		return "", nil
	case err != nil:
		return "", fmt.Errorf("cannot write: %w", err)
	case before.IsDir():
		return "", WithHint(usageErrorf("cannot write %s: it is a folder", path), "name the file in it, such as "+filepath.Join(path, "report.html"))
	case !before.Mode().IsRegular():
		return "", WithHint(fmt.Errorf("cannot write %s: %w", path, regular.ErrNotRegular), "leave --out out to print")
	case slices.ContainsFunc(sources, func(s string) bool { st, err := os.Stat(s); return err == nil && os.SameFile(st, before) }):
		return "", fmt.Errorf("cannot write %s: it is a file of the run", path)
	case !force:
		return "", WithHint(fmt.Errorf("cannot write %s: it exists", path), "--force replaces it")
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("cannot write: %w", err)
	}
	return target, nil
}
