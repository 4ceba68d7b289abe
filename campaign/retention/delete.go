package retention

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"opprof/engine/rundir"
)

// doomed begins the hidden name under which a run is deleted: from then on it is no run any more, also when deleting is killed.
const doomed = ".opprof-deleted-"

// ErrUsed is wrapped by the error about a run that is in use after all.
var ErrUsed = errors.New("it is in use")

// Remove deletes a run below a runs root, and nothing else. It asks once more whether the run is in use, and keeps supervisors away from its
// journal until it has lost its name.
func Remove(root string, r Run, now time.Time) error {
	fail := func(err error) error { return fmt.Errorf("cannot delete %s: %w", r.Path, err) }
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return fail(err)
	}
	below, err := filepath.Rel(root, r.Path)
	if err != nil || !filepath.IsLocal(below) || below == "." {
		return fail(fmt.Errorf("it does not lie below %s", root))
	}
	if link := linkBelow(root, r.Path); link != "" {
		return fail(fmt.Errorf("%s is a link or is no folder", link))
	}
	unlock, err := lockJournal(r.Path)
	if err != nil {
		return fail(err)
	}
	defer unlock()
	if why := used(r.Path, now); why != "" {
		return fail(fmt.Errorf("%w: %s", ErrUsed, why))
	}
	if why := noted(r.Path, r.notesDir); why != "" {
		return fail(errors.New(why))
	}
	dir, err := os.OpenRoot(root) // names are looked up below it, whatever links appear meanwhile
	if err != nil {
		return fail(err)
	}
	defer dir.Close()
	hidden := filepath.Join(filepath.Dir(below), doomed+filepath.Base(below))
	if err := dir.Rename(below, hidden); err != nil {
		return fail(err)
	}
	if err := dir.RemoveAll(hidden); err != nil {
		return fail(fmt.Errorf("%w; what is left has the name %s and goes with the next call", err, hidden))
	}
	return nil
}

// lockJournal keeps supervisors away from a run. A run without a journal has none.
func lockJournal(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, rundir.JournalName), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		_ = f.Close()
		return nil, fmt.Errorf("%w: a process writes its journal", ErrUsed)
	}
	return func() { _ = f.Close() }, nil
}

// Sweep removes what killed calls of Remove left below a runs root.
func Sweep(root string) error {
	root, err := filepath.EvalSymlinks(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot clean up: %w", err)
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return fmt.Errorf("cannot clean up: %w", err)
	}
	defer dir.Close()
	var failed []error
	sweep := func(below string) {
		entries, err := fs.ReadDir(dir.FS(), below)
		if err != nil {
			return
		}
		for _, e := range entries {
			if e.IsDir() && strings.HasPrefix(e.Name(), doomed) {
				failed = append(failed, dir.RemoveAll(filepath.Join(below, e.Name())))
			}
		}
	}
	sweep(".")
	entries, err := fs.ReadDir(dir.FS(), ".")
	for _, e := range entries {
		if e.IsDir() {
			sweep(filepath.Join(e.Name(), "runs"))
		}
	}
	return errors.Join(append(failed, err)...)
}
