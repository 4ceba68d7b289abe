package compact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"opprof/engine/frames"
	"opprof/engine/record"
	"opprof/engine/regular"
	"opprof/engine/rundir"
)

// RefusedError says why a file stays as it is: it is not complete, or not a file that may be replaced.
type RefusedError struct {
	Path, Why string
}

func (e *RefusedError) Error() string { return e.Path + ": " + e.Why }

// Options of Stream.
type Options struct {
	Workers  int                     // frames that are compressed at once; 0 is 1
	DryRun   bool                    // only say what would be done
	Progress func(done, total int64) // bytes read of the plain file and read back, of twice its size; may be nil
	Now      func() time.Time        // nil is time.Now

	at      func(step string)         // told before each step; nil is nobody. Tests kill here
	through func(io.Writer) io.Writer // what the copy is written through; nil is nothing. Tests fill the disk here
}

// Result is what became of a file.
type Result struct {
	Path   string // of the compressed file
	Before int64  // bytes of the plain file
	After  int64  // bytes of the compressed one; 0 with DryRun
	Check  record.Check
}

// Steps at which Options.at is told.
const (
	stepBegin   = "begin"
	stepCreated = "created"
	stepWritten = "written"
	stepSynced  = "synced"
	stepRead    = "read back"
	stepNamed   = "named"
	stepSettled = "settled"
	stepRemoved = "removed"
)

// work is one file on its way.
type work struct {
	Options
	path, final string
	source      *source
	done        int64
}

// Stream compresses the Layer-1 file at path, x.jsonl or a rotated part of it, into a file of that name and frames.Extension, and removes it.
// A *RefusedError says that it stays as it is and why; any other error left it as it is, too.
func Stream(ctx context.Context, path string, o Options) (Result, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.at == nil {
		o.at = func(string) {}
	}
	w := &work{Options: o, path: path, final: path + frames.Extension}
	if _, _, ok := rundir.StreamName(path); !ok || strings.HasSuffix(path, ".gz") || strings.HasSuffix(path, frames.Extension) {
		return Result{}, w.refuse("it is not named as a plain Layer-1 file (.jsonl)")
	}
	unlock, alone, err := lockFolder(filepath.Dir(path))
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	if alone && !o.DryRun {
		removeLeftovers(path)
	}
	if w.source, err = openSource(path); err != nil {
		return Result{}, err
	}
	defer w.source.close()
	if why := w.source.writing(o.Now()); why != "" {
		return Result{}, w.refuse(why)
	}
	if o.DryRun {
		return Result{Path: w.final, Before: w.source.size()}, nil
	}
	w.at(stepBegin)
	r, err := w.run(ctx)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return r, err
}

func (w *work) refuse(why string) error { return &RefusedError{Path: w.path, Why: why} }

func (w *work) run(ctx context.Context) (Result, error) {
	switch _, err := os.Lstat(w.final); {
	case err == nil:
		return w.finish(ctx)
	case !errors.Is(err, fs.ErrNotExist):
		return Result{}, fmt.Errorf("cannot compress %s: %w", w.path, err)
	}
	r, err := w.compress(ctx)
	if err != nil {
		return Result{}, err
	}
	return r, w.remove()
}

// compress makes the copy and gives it its name.
func (w *work) compress(ctx context.Context) (r Result, err error) {
	temp, err := os.CreateTemp(filepath.Dir(w.path), leftoverPattern(w.path))
	if err != nil {
		return r, fmt.Errorf("cannot compress %s: %w", w.path, err)
	}
	defer func() {
		_ = temp.Close()
		if err != nil {
			_ = os.Remove(temp.Name())
			var refused *RefusedError
			if !errors.As(err, &refused) {
				err = fmt.Errorf("cannot compress %s: %w; it stays as it is", w.path, err)
			}
		}
	}()
	w.at(stepCreated)
	was, err := w.write(ctx, temp)
	if err != nil {
		return r, err
	}
	w.at(stepWritten)
	if err := w.source.dress(temp); err != nil {
		return r, err
	}
	if err := temp.Sync(); err != nil {
		return r, err
	}
	w.at(stepSynced)
	r = Result{Path: w.final, Before: was.bytes, Check: was.check}
	if r.After, err = w.readBack(ctx, temp, was); err != nil {
		return r, err
	}
	w.at(stepRead)
	if why := w.source.changed(w.path, w.Now()); why != "" {
		return r, w.refuse(why)
	}
	if err := giveName(temp.Name(), w.final); err != nil {
		return r, err
	}
	w.at(stepNamed)
	return r, nil
}

// write compresses the source into out and gives what was read.
func (w *work) write(ctx context.Context, out io.Writer) (digest, error) {
	if w.through != nil {
		out = w.through(out)
	}
	packer, err := frames.NewWriter(out, w.Workers)
	if err != nil {
		return digest{}, err
	}
	was, err := read(ctx, io.TeeReader(w.counted(w.source.reader()), packer), w.path)
	if end := packer.Close(); err == nil {
		err = end
	}
	if err == nil && was.bytes != w.source.size() {
		err = w.refuse("it was cut meanwhile")
	}
	return was, err
}

// readBack compares a file of frames with what was read of the source, and gives its size.
func (w *work) readBack(ctx context.Context, f *os.File, was digest) (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	packed, err := frames.NewReader(f, st.Size())
	if err != nil {
		return 0, err
	}
	defer packed.Close()
	now, err := read(ctx, w.counted(io.NewSectionReader(packed, 0, packed.Size())), w.path)
	if err != nil {
		return 0, err
	}
	if !now.equal(&was) {
		return 0, errors.New("the compressed copy does not read back as it was")
	}
	return st.Size(), nil
}

// finish ends what another process began: the copy has its name, the plain file is still there.
func (w *work) finish(ctx context.Context) (Result, error) {
	foreign := w.refuse(w.final + " exists and does not hold the same lines; move one of them away")
	packed, err := openSource(w.final)
	if err != nil {
		return Result{}, err
	}
	defer packed.close()
	was, err := read(ctx, w.counted(w.source.reader()), w.path)
	if err != nil {
		return Result{}, fmt.Errorf("cannot read %s: %w", w.path, regular.Cause(err, w.path))
	}
	r := Result{Path: w.final, Before: was.bytes, Check: was.check}
	if r.After, err = w.readBack(ctx, packed.file, was); err != nil {
		return Result{}, errors.Join(ctx.Err(), foreign)
	}
	if err := packed.file.Sync(); err != nil {
		return Result{}, fmt.Errorf("cannot compress %s: %w; it stays as it is", w.path, err)
	}
	if why := w.source.changed(w.path, w.Now()); why != "" {
		return Result{}, w.refuse(why)
	}
	return r, w.remove()
}

// remove takes the plain file's name away, once that of the copy is on the disk.
func (w *work) remove() error {
	if err := rundir.SyncFolder(filepath.Dir(w.path)); err != nil {
		return fmt.Errorf("cannot bring the name of %s to the disk: %w; %s stays beside it", w.final, err, w.path)
	}
	w.at(stepSettled)
	if err := os.Remove(w.path); err != nil {
		return fmt.Errorf("%s is compressed, but the plain file cannot be removed: %w", w.path, err)
	}
	w.at(stepRemoved)
	_ = rundir.SyncFolder(filepath.Dir(w.path)) // a plain file that comes back after a loss of power is removed by the next call
	return nil
}

// counted tells Progress what is read.
func (w *work) counted(r io.Reader) io.Reader { return &counter{r, w} }

type counter struct {
	io.Reader
	w *work
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.w.done += int64(n)
	if c.w.Progress != nil {
		c.w.Progress(c.w.done, 2*c.w.source.size())
	}
	return n, err
}

func (d *digest) equal(o *digest) bool {
	return d.sum == o.sum && d.bytes == o.bytes && reflect.DeepEqual(d.check, o.check)
}
