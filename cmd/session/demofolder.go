package session

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"opprof/engine/regular"
	"opprof/engine/rundir"
)

const (
	demoPrefix = "opprof-demo-"
	// demoLock is locked in a demo's folder for as long as the demo's process lives.
	demoLock = ".lock"
)

// demoFolder is a demo's temporary folder and the lock that says that it is in use.
type demoFolder struct {
	path string
	lock *os.File
}

// newDemoFolder makes a folder below temp, and removes those of demos that were killed.
func newDemoFolder(temp string) (demoFolder, error) {
	removeStaleDemos(temp)
	const tries = 8
	for range tries {
		path, err := os.MkdirTemp(temp, demoPrefix)
		if err != nil {
			return demoFolder{}, err
		}
		f, err := regular.OpenFile(filepath.Join(path, demoLock), os.O_CREATE|os.O_EXCL|os.O_WRONLY, rundir.FileMode)
		if err != nil {
			_ = os.RemoveAll(path)
			return demoFolder{}, err
		}
		// Another demo that begins now may have found the lock free and taken the folder away.
		if locked(f) == nil && present(f) {
			return demoFolder{path, f}, nil
		}
		_ = f.Close()
	}
	return demoFolder{}, fmt.Errorf("%s: cannot keep a folder: other demos remove it", temp)
}

func (d demoFolder) remove() {
	_ = os.RemoveAll(d.path)
	if d.lock != nil {
		_ = d.lock.Close()
	}
}

func locked(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// present reports whether an open file still has its name.
func present(f *os.File) bool {
	st, err := f.Stat()
	now, statErr := os.Lstat(f.Name())
	return err == nil && statErr == nil && os.SameFile(st, now)
}

// removeStaleDemos removes folders of our own that a demo made whose process is gone. What cannot be told stays.
func removeStaleDemos(temp string) {
	paths, err := filepath.Glob(filepath.Join(temp, demoPrefix+"*"))
	if err != nil {
		return
	}
	for _, path := range paths {
		if !ownFolder(path) {
			continue
		}
		f, err := regular.OpenFile(filepath.Join(path, demoLock), os.O_WRONLY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if locked(f) == nil {
			_ = os.RemoveAll(path)
		}
		_ = f.Close()
	}
}

// ownFolder reports whether a path is a folder, no link to one, of this user.
func ownFolder(path string) bool {
	st, err := os.Lstat(path)
	if err != nil || !st.IsDir() {
		return false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Getuid()
}
