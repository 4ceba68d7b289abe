package compact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"opprof/engine/record"
	"opprof/engine/regular"
)

// For how long nobody may have written to a file where the file system cannot tell whether a writer has it open: one that ends with the
// recorder's footer, and one that does not, whose server may be without work.
const (
	quietClosed = 10 * time.Minute
	quietOpen   = 7 * 24 * time.Hour
)

// source is a file that may be replaced: one regular file with one name.
type source struct {
	file *os.File
	st   fs.FileInfo
}

// openSource opens a file that is neither a link nor has other names, in a folder that is no link.
func openSource(path string) (*source, error) {
	refuse := func(why string) error { return &RefusedError{Path: path, Why: why} }
	if dir, err := os.Lstat(filepath.Clean(filepath.Dir(path))); err == nil && dir.Mode()&fs.ModeSymlink != 0 {
		return nil, refuse("its folder is a link; name the folder that it leads to")
	}
	st, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot compress: %w", err)
	}
	switch {
	case st.Mode()&fs.ModeSymlink != 0:
		return nil, refuse("it is a link; name the file that it leads to")
	case !st.Mode().IsRegular():
		return nil, refuse("it is not a regular file")
	case names(st) > 1:
		return nil, refuse(fmt.Sprintf("it has %d names (hard links): removing one would free nothing", names(st)))
	case st.Size() == 0:
		return nil, refuse("it is empty")
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot compress: %w", err)
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(st, now) {
		err = refuse("another file took its name just now")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &source{f, now}, nil
}

func names(st fs.FileInfo) uint64 {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(sys.Nlink)
	}
	return 1
}

func (s *source) close()            { _ = s.file.Close() }
func (s *source) size() int64       { return s.st.Size() }
func (s *source) reader() io.Reader { return io.NewSectionReader(s.file, 0, s.st.Size()) }

// writing says why the file may still be written to; "" when it is not. The kernel grants a read lease only on a file that nobody has open for
// writing, in any container; where there are no leases, as over NFS, the file must have rested.
func (s *source) writing(now time.Time) string {
	_, err := unix.FcntlInt(s.file.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	switch {
	case err == nil:
		_, _ = unix.FcntlInt(s.file.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		return ""
	case errors.Is(err, unix.EAGAIN):
		return "it is being written: a process has it open for writing"
	}
	return s.restless(now)
}

// restless says why a file that may be open for writing has not rested for long enough.
func (s *source) restless(now time.Time) string {
	st, err := s.file.Stat()
	if err != nil {
		return "whether it is being written is not known: " + err.Error()
	}
	wait, footer := quietOpen, "does not end with a footer"
	if s.closed() {
		wait, footer = quietClosed, "ends with a footer"
	}
	if age := now.Sub(st.ModTime()); age < wait {
		return fmt.Sprintf("it was written to %s ago and %s, and this file system does not tell whether a process has it open; it is left alone for %s",
			age.Round(time.Second), footer, wait)
	}
	return ""
}

// closed reports whether the last line is the recorder's footer.
func (s *source) closed() bool {
	st, err := s.file.Stat()
	if err != nil {
		return false
	}
	tail := make([]byte, min(st.Size(), 64<<10))
	if n, err := s.file.ReadAt(tail, st.Size()-int64(len(tail))); n < len(tail) && err != nil {
		return false
	}
	lines, last := record.NewReader(bytes.NewReader(tail), s.file.Name()), record.KindBad
	for lines.Scan() {
		last = lines.Line().Kind
	}
	return last == record.KindFooter
}

// changed says why the file is not what was read; "" when it is.
func (s *source) changed(path string, now time.Time) string {
	named, err := os.Lstat(path)
	if err != nil {
		return "it lost its name meanwhile: " + err.Error()
	}
	if !os.SameFile(named, s.st) || named.Size() != s.st.Size() || !named.ModTime().Equal(s.st.ModTime()) || names(named) > 1 {
		return "it has changed meanwhile"
	}
	return s.writing(now)
}

// dress gives a copy the owner, mode and times of the file.
func (s *source) dress(copied *os.File) error {
	if sys, ok := s.st.Sys().(*syscall.Stat_t); ok {
		now, err := copied.Stat()
		if err != nil {
			return err
		}
		if own, ok := now.Sys().(*syscall.Stat_t); ok && (own.Uid != sys.Uid || own.Gid != sys.Gid) {
			if err := copied.Chown(int(sys.Uid), int(sys.Gid)); err != nil {
				return fmt.Errorf("the copy cannot be given to the file's owner: %w", err)
			}
		}
	}
	if err := copied.Chmod(s.st.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(copied.Name(), s.st.ModTime(), s.st.ModTime())
}

// Written says why the file at path may still be written to; "" when it is not, and for what is no file.
func Written(path string, now time.Time) string {
	const unknown = "whether it is being written is not known: "
	f, err := regular.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, regular.ErrNotRegular):
		return ""
	case err != nil:
		return unknown + err.Error()
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return unknown + err.Error()
	}
	s := source{f, st}
	return s.writing(now)
}
