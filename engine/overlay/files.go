package overlay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"opprof/engine/rundir"

	"golang.org/x/sys/unix"
)

// writeFile writes a new file with the mode given and, as far as this user may set it, the owner of another one, and
// waits until it is on disk.
func writeFile(name string, text []byte, mode fs.FileMode, owner string) error {
	if err := removeIfThere(name); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, chownLike(f, owner), f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

// chownLike gives a file the owner of another one; only root can, and for others the files are theirs already.
func chownLike(f *os.File, owner string) error {
	at, err := os.Stat(owner)
	if err != nil {
		return err
	}
	stat, ok := at.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return f.Chown(int(stat.Uid), int(stat.Gid))
}

// replace renames a staged file over a target, drops the target's compiled forms and makes the rename durable.
func replace(staged, target string) error {
	if err := os.Rename(staged, target); err != nil {
		return err
	}
	return errors.Join(removeBytecode(target), rundir.SyncFolder(filepath.Dir(target)))
}

// removeBytecode removes the compiled forms of a source file. Python compares only size and whole seconds of the
// source's time, or nothing at all for hash-based files.
func removeBytecode(source string) error {
	folder, name := filepath.Split(source)
	stem := strings.TrimSuffix(name, ".py") + "."
	cache := filepath.Join(folder, "__pycache__")
	entries, err := os.ReadDir(cache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), stem) && strings.HasSuffix(entry.Name(), ".pyc") {
			err = errors.Join(err, removeIfThere(filepath.Join(cache, entry.Name())))
		}
	}
	return err
}

func removeIfThere(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// explain adds what to do to an error of the file system in an installation.
func explain(s Site, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		return fmt.Errorf("cannot write in %s: %w; run as the owner of the installation, or use opprof launch, which leaves it as it is", s.Package(), err)
	}
	return fmt.Errorf("cannot patch %s: %w", s.Package(), err)
}
