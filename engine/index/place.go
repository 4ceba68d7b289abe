package index

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"opprof/engine/regular"
	"opprof/engine/rundir"
)

// Extension of an index beside its stream.
const Extension = ".opidx"

// ErrBusy says that another process or goroutine is writing this index.
var ErrBusy = errors.New("the index is being built by another process")

// Paths are where the index of a stream may lie, in the order in which they are looked at: beside the stream, and under cacheDir, named by
// the stream's absolute path, for folders that are not writable. cacheDir may be "". A compressed stream has the index of its lines: that of the
// plain file that it was made of.
func Paths(stream, cacheDir string) []string {
	stream = strings.TrimSuffix(stream, ".zst")
	paths := []string{stream + Extension}
	if cacheDir != "" {
		abs, err := filepath.Abs(stream)
		if err != nil {
			abs = stream
		}
		sum := sha256.Sum256([]byte(abs))
		paths = append(paths, filepath.Join(cacheDir, hex.EncodeToString(sum[:8])+"-"+filepath.Base(stream)+Extension))
	}
	return paths
}

// writer is the right to write one index file.
type writer struct {
	path string
	file *os.File
}

// newWriter takes the first of the paths whose folder is writable. It holds until release, and ends with the process.
func newWriter(paths []string) (*writer, error) {
	var failed []string
	for i, path := range paths {
		if i > 0 {
			if err := os.MkdirAll(filepath.Dir(path), rundir.DirMode); err != nil {
				failed = append(failed, err.Error())
				continue
			}
		}
		f, err := lock(path + ".lock")
		if err == nil {
			return &writer{path, f}, nil
		}
		if errors.Is(err, ErrBusy) {
			return nil, err
		}
		failed = append(failed, err.Error())
	}
	return nil, fmt.Errorf("cannot write an index: %s; it is made anew each time", strings.Join(failed, "; "))
}

// lock takes an advisory lock on a file that it creates. Where the file system has no locks, the rename alone keeps the index whole, and two
// writers do the work twice.
func lock(path string) (*os.File, error) {
	for {
		f, err := regular.OpenFile(path, os.O_RDWR|os.O_CREATE, rundir.FileMode)
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("%w (%s)", ErrBusy, path)
		}
		mine, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, err
		}
		if now, err := os.Stat(path); err == nil && os.SameFile(mine, now) {
			return f, nil
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.Close()
			return nil, err
		}
		f.Close() // the writer before removed it between our open and our lock
	}
}

func (w *writer) release() {
	os.Remove(w.file.Name())
	w.file.Close()
}
