package compact

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"opprof/engine/frames"
)

// lockFolder keeps other processes that compress away from a folder until unlock. alone is false where the file system has no locks: then two
// may do the same work, and the first to name its copy has done it.
func lockFolder(dir string) (unlock func(), alone bool, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, false, fmt.Errorf("cannot compress: %w", err)
	}
	err = unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		_ = d.Close()
		return nil, false, &RefusedError{Path: dir, Why: "another opprof compresses here just now"}
	}
	return func() { _ = d.Close() }, err == nil, nil
}

const (
	leftoverBegin = "."
	leftoverEnd   = ".tmp"
)

// leftoverPattern is the hidden name of a copy that is being made; the star stands for digits.
func leftoverPattern(path string) string {
	return leftoverBegin + filepath.Base(path) + frames.Extension + ".*" + leftoverEnd
}

// removeLeftovers removes the copies of a file that killed processes left behind. The folder is locked.
func removeLeftovers(path string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	begin, end, _ := strings.Cut(leftoverPattern(path), "*")
	for _, e := range entries {
		middle, ok := strings.CutPrefix(e.Name(), begin)
		if !ok || !e.Type().IsRegular() {
			continue
		}
		if middle, ok = strings.CutSuffix(middle, end); ok && middle != "" && strings.Trim(middle, "0123456789") == "" {
			_ = os.Remove(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

// giveName names a finished copy, and never replaces a file of that name.
func giveName(temp, final string) error {
	err := unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, final, unix.RENAME_NOREPLACE)
	if err == nil || !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	if err := os.Link(temp, final); err != nil { // a file system without that kind of rename
		return err
	}
	return os.Remove(temp)
}
