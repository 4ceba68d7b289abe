package supervisor

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"opprof/engine/regular"
	"opprof/engine/rundir"
	"opprof/engine/window"
)

// traceKey names a trace whether it is compressed or not.
func traceKey(name string) string { return strings.TrimSuffix(filepath.Base(name), ".gz") }

// listTraces gives the traces of a folder, by key. The server's front end writes one of its own when it is asked to; it is none of a rank.
func listTraces(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	out := map[string]string{}
	for _, e := range entries {
		name := e.Name()
		if front, _ := filepath.Match("*.async_llm.*", name); front || !e.Type().IsRegular() || !rundir.IsTrace(name) {
			continue
		}
		out[traceKey(name)] = filepath.Join(dir, name)
	}
	return out, err
}

// traceLook watches the files of one window grow. A file is whole when its last byte says so and its size has not changed between two
// looks: the profiler writes in place.
type traceLook struct {
	sizes map[string]int64
	whole map[string]bool
}

func newTraceLook() *traceLook {
	return &traceLook{sizes: map[string]int64{}, whole: map[string]bool{}}
}

// files looks at the traces that are new, those not in before.
func (l *traceLook) files(dir string, before map[string]bool) ([]window.File, error) {
	found, err := listTraces(dir)
	if err != nil {
		return nil, err
	}
	var out []window.File
	for key, path := range found {
		if before[key] {
			continue
		}
		st, err := os.Stat(path)
		if err != nil {
			continue // it went away between the two calls
		}
		same := l.sizes[path] == st.Size()
		if !same {
			l.whole[path] = false
		} else if !l.whole[path] && st.Size() > 0 {
			l.whole[path] = closed(path, st.Size())
		}
		l.sizes[path] = st.Size()
		out = append(out, window.File{Path: path, Bytes: st.Size(), Complete: same && l.whole[path]})
	}
	return out, nil
}

// closed reports whether a trace ends as a whole one does: a JSON text by its last brace, a compressed one by a trailer that fits.
func closed(path string, size int64) bool {
	f, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return false
		}
		_, err = io.Copy(io.Discard, z)
		return err == nil
	}
	const tail = 64
	end := make([]byte, min(size, tail))
	if _, err := f.ReadAt(end, size-int64(len(end))); err != nil {
		return false
	}
	return bytes.HasSuffix(bytes.TrimRight(end, " \t\r\n\x00"), []byte("}"))
}

// tables are the profiler's text tables by name, with size and time, to tell which are new: each window overwrites the last one's.
func tables(dir string) map[string]string {
	paths, err := filepath.Glob(filepath.Join(dir, "profiler_out_*.txt"))
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, p := range paths {
		if st, err := os.Stat(p); err == nil {
			out[p] = fmt.Sprint(st.Size(), st.ModTime().UnixNano())
		}
	}
	return out
}

// keepTables copies the tables that changed since before into a window's folder.
func keepTables(dir, into string, before map[string]string) error {
	var errs []error
	for path, stamp := range tables(dir) {
		if before[path] == stamp {
			continue
		}
		if err := os.MkdirAll(into, rundir.DirMode); err != nil {
			return err
		}
		errs = append(errs, copyFile(path, filepath.Join(into, filepath.Base(path))))
	}
	return errors.Join(errs...)
}

func copyFile(from, to string) error {
	in, err := regular.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return rundir.WriteAtomic(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}
