package supervisor

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"opprof/engine/control"
	"opprof/engine/regular"
	"opprof/engine/rundir"
)

// PlainTraces are the traces of a run's verified windows that were left plain. Traces of a server that OpProf did not start stay as they are, and
// are none of them. The error tells of windows whose summaries cannot be read; what is plain of the others is given with it.
func PlainTraces(dir string) ([]string, error) {
	var plain []string
	err := eachVerified(dir, func(_ Summary, paths []string) error {
		for _, path := range paths {
			if anyPlain([]string{path}) {
				plain = append(plain, path)
			}
		}
		return nil
	})
	return plain, err
}

// CompressVerified compresses what PlainTraces gives and writes the summaries of the windows anew. No supervisor may work on the run. What goes
// wrong with a trace leaves it and those behind it plain.
func CompressVerified(ctx context.Context, dir string) error {
	return eachVerified(dir, func(summary Summary, paths []string) error {
		packed, failed := CompressTraces(ctx, paths)
		for i := range packed {
			if below, err := filepath.Rel(dir, packed[i]); err == nil {
				summary.Ranks[i].File = below
			}
		}
		return errors.Join(failed, writeSummary(dir, summary))
	})
}

// eachVerified calls f with every verified window of which a trace is plain.
func eachVerified(dir string, f func(s Summary, paths []string) error) error {
	stand, err := Stand(dir)
	if err != nil || stand.Watched {
		return err
	}
	var unread []error
	for _, w := range stand.Status.Windows {
		if w.State != control.WindowVerified {
			continue
		}
		summary, err := readSummary(dir, w.N)
		if err != nil { // of a supervisor that was killed before it wrote it: those of other windows are there
			unread = append(unread, err)
			continue
		}
		paths := summary.paths(dir)
		if !anyPlain(paths) {
			continue
		}
		if err := f(summary, paths); err != nil {
			return errors.Join(append(unread, err)...)
		}
	}
	return errors.Join(unread...)
}

// Compress replaces verified traces by compressed copies and gives the paths that there are now: one for each of those that it was given.
type Compress func(ctx context.Context, paths []string) ([]string, error)

// CompressTraces is a Compress within this process. A trace is removed only after its copy is on disk and has been read back; what goes
// wrong leaves the plain file, and those behind it.
func CompressTraces(ctx context.Context, paths []string) ([]string, error) {
	out := append([]string(nil), paths...)
	for i, path := range paths {
		if filepath.Ext(path) != ".json" {
			continue
		}
		err := compressTrace(ctx, path)
		if now := whereNow(path); now != path { // by this process, or by one that a supervisor left behind when it was killed
			out[i] = now
			continue
		}
		if err != nil {
			return out, fmt.Errorf("cannot compress %s: %w; it stays as it is", path, err)
		}
	}
	return out, nil
}

func compressTrace(ctx context.Context, path string) error {
	in, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	temp, err := rundir.NewStaged(path + ".gz")
	if err != nil {
		return err
	}
	defer temp.Discard()
	sum := crc32.NewIEEE()
	z := gzip.NewWriter(temp)
	size, err := io.Copy(io.MultiWriter(z, sum), reading{ctx, in})
	if err := cmp.Or(err, z.Close()); err != nil { // the second says again what the first does
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := readsBack(ctx, temp.File, size, sum.Sum32()); err != nil {
		return err
	}
	st, err := in.Stat()
	if err != nil || st.Size() != size {
		return errors.New("it has grown meanwhile")
	}
	switch err := temp.Create(path + ".gz"); {
	case errors.Is(err, fs.ErrExist): // of a process that was killed before it removed the plain file, or of somebody else
		if same := holds(ctx, path+".gz", size, sum.Sum32()); same != nil {
			return fmt.Errorf("%w, and does not hold the same (%w): move one of them away", err, same)
		}
	case err != nil:
		return err
	}
	// Its time is when the server wrote it: a copy that looked newer would be taken for a trace of the window that is open meanwhile.
	if err := os.Chtimes(path+".gz", st.ModTime(), st.ModTime()); err != nil {
		return err
	}
	if err := syncFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return os.Remove(path)
}

// reading ends a long copy when its context does.
type reading struct {
	ctx context.Context
	in  io.Reader
}

func (r reading) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(p)
}

// holds returns nil if a compressed file that is there already inflates to the same bytes.
func holds(ctx context.Context, path string, size int64, sum uint32) error {
	f, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := readsBack(ctx, f, size, sum); err != nil {
		return err
	}
	return f.Sync()
}

func readsBack(ctx context.Context, f *os.File, size int64, sum uint32) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	back := crc32.NewIEEE()
	n, err := io.Copy(back, reading{ctx, z})
	if err != nil {
		return err
	}
	if n != size || back.Sum32() != sum {
		return errors.New("the compressed copy does not read back as it was")
	}
	return nil
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
