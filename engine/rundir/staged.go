package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Staged is a file that is being written, in the folder of the one that it is to be, with mode 0600. It has no name until it is whole, so that
// a killed process leaves nothing behind and nobody ever has to tell what it left from a file of somebody else's. A file system that knows no
// files without a name (O_TMPFILE), or a system without /proc, gives it a hidden one, which stays behind there.
type Staged struct {
	*os.File
	hidden string // "" while it has no name
}

// NewStaged begins the file that is to be at path. Discard must follow.
func NewStaged(path string) (*Staged, error) {
	if f, err := nameless(filepath.Dir(path)); err == nil {
		return &Staged{File: f}, nil
	}
	return newHidden(path)
}

func newHidden(path string) (*Staged, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, err
	}
	return &Staged{File: f, hidden: f.Name()}, nil
}

// nameless opens a file that has no name, and that can be given one.
func nameless(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	f := os.NewFile(uintptr(fd), filepath.Join(dir, "staged file"))
	if _, err := os.Stat(byDescriptor(f)); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func byDescriptor(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// Discard closes the file. What has not been given a name is gone.
func (s *Staged) Discard() {
	_ = s.Close()
	if s.hidden != "" {
		_ = os.Remove(s.hidden)
	}
}

// Create gives the file, which was synced, a name that nothing has. The error is fs.ErrExist where something has it.
func (s *Staged) Create(path string) error {
	if s.hidden == "" {
		return s.link(path)
	}
	err := os.Link(s.hidden, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without links.
	return unix.Renameat2(unix.AT_FDCWD, s.hidden, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE)
}

// Replace gives the file, which was synced, a name, and takes it from what has it.
func (s *Staged) Replace(path string) error {
	if s.hidden == "" {
		err := s.link(path)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := s.hide(path); err != nil {
			return err
		}
	}
	return os.Rename(s.hidden, path)
}

// hide gives the file a hidden name, from which it can be renamed: a link replaces nothing.
func (s *Staged) hide(path string) error {
	for {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.tmp", filepath.Base(path), rand.Uint64()))
		err := s.link(name)
		if err == nil {
			s.hidden = name
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

func (s *Staged) link(path string) error {
	err := unix.Linkat(unix.AT_FDCWD, byDescriptor(s.File), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &fs.PathError{Op: "link", Path: path, Err: err}
	}
	return nil
}
