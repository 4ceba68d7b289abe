package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// WriteAtomic replaces the file at path by what write gives, or leaves it as it was: a staged file beside it, fsync, the name, fsync of
// the folder. A reader sees the old file or the new one, also after a crash.
func WriteAtomic(path string, write func(w io.Writer) error) error {
	return put(path, write, (*Staged).Replace)
}

// CreateAtomic is WriteAtomic for a file that must not be there yet, also when another program creates it meanwhile: the error is fs.ErrExist then.
func CreateAtomic(path string, write func(w io.Writer) error) error {
	return put(path, write, (*Staged).Create)
}

func put(path string, write func(w io.Writer) error, give func(s *Staged, path string) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot write %s: %w", path, err)
		}
	}()
	s, err := NewStaged(path)
	if err != nil {
		return err
	}
	defer s.Discard()
	if err := write(s.File); err != nil {
		return err
	}
	if err := s.Sync(); err != nil {
		return err
	}
	if err := give(s, path); err != nil {
		return err
	}
	_ = SyncFolder(filepath.Dir(path)) // the name is there all the same
	return nil
}

// SyncFolder makes the names in a folder durable. Some network and union file systems refuse to sync a folder; the names are there all the
// same, and that is no error.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
