package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// sliceBytes is how much is indexed between two updates.
	sliceBytes = 256 << 20
	// saveBytes is the least that is worth a file: less is read again in a blink.
	saveBytes = 16 << 20
)

// Keeping says which stream's index to keep. The functions are called from Keep's goroutine.
type Keeping struct {
	Stream   string // path
	Reader   io.ReaderAt
	Size     func() (int64, error)
	CacheDir string                 // for streams in folders that are not writable; "" for none
	Ticks    <-chan time.Time       // when to look whether the stream has grown; nil ends once all is indexed
	Update   func(*Index)           // an index that covers more than the one before, the saved one first
	Progress func(done, size int64) // bytes of the stream; may be nil
	Note     func(note string)      // why an index was not used or not saved; may be nil
}

// keeper is the state of Keep.
type keeper struct {
	Keeping
	builder *Builder // nil before the first pass
	saved   int64    // bytes covered by the file
	slice   int64
	said    string
}

// Keep loads the index of a stream or builds it, tells Update, goes on while the stream grows, and saves it: when it has grown by a
// sixteenth and at the end. While another process writes the file, the index is kept in memory only. Keep returns the error of ctx, or nil
// when all is indexed. The file of an index that was
// loaded stays open for its rollups; the last user closes it.
func Keep(ctx context.Context, o Keeping) error {
	k := &keeper{Keeping: o, slice: sliceBytes}
	var w *writer
	defer func() {
		if w != nil {
			k.save(w, k.saved+saveBytes)
			w.release()
		}
	}()
	for {
		if w == nil {
			w = k.claim()
		}
		err := k.pass(ctx, w)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			k.note(fmt.Sprintf("%s: %v", k.Stream, err))
		}
		if k.Ticks == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-k.Ticks:
		}
	}
}

// note says something once.
func (k *keeper) note(text string) {
	if k.Note != nil && text != k.said {
		k.said = text
		k.Note(text)
	}
}

// claim asks for the right to write. Without it the index is kept in memory only.
func (k *keeper) claim() *writer {
	w, err := newWriter(Paths(k.Stream, k.CacheDir))
	if err != nil {
		k.note(err.Error())
		return nil
	}
	return w
}

// pass brings the index up to the stream's size.
func (k *keeper) pass(ctx context.Context, w *writer) error {
	size, err := k.Size()
	if err != nil {
		return err
	}
	if k.builder != nil && size < k.builder.Covered() {
		k.note(fmt.Sprintf("%s was cut to %d bytes: its index is built again", k.Stream, size))
		k.builder, k.saved = nil, 0
	}
	if k.builder == nil {
		if err := k.start(size); err != nil {
			return err
		}
	}
	for {
		covered := k.builder.Covered()
		target := min(size, covered+k.slice)
		if err := k.builder.Extend(ctx, k.Reader, target, k.progress(size)); err != nil {
			return err
		}
		if target < size && k.builder.Covered() == covered {
			k.slice *= 2 // one line is longer than a slice
		}
		k.Update(k.builder.Index())
		if w != nil {
			k.save(w, k.saved+max(k.saved/16, 4*saveBytes))
		}
		if target == size {
			if w != nil && k.Ticks == nil {
				k.save(w, k.saved+saveBytes)
			}
			return nil
		}
	}
}

func (k *keeper) progress(size int64) func(int64, int64) {
	if k.Progress == nil {
		return nil
	}
	return func(done, _ int64) { k.Progress(done, size) }
}

// start goes on from a saved index, or begins.
func (k *keeper) start(size int64) error {
	k.builder = NewBuilder()
	for _, path := range Paths(k.Stream, k.CacheDir) {
		x, err := Load(path, k.Reader, size)
		if errors.Is(err, ErrNone) {
			continue
		}
		if err == nil {
			k.builder, err = Resume(x)
		}
		if err != nil {
			k.note(err.Error() + "; it is built again")
			k.builder = NewBuilder()
			continue
		}
		k.saved = x.Size()
		k.Update(x)
		return nil
	}
	return nil
}

// save writes the index if it covers at least so many bytes. A failure is noted: the next pass tries again.
func (k *keeper) save(w *writer, least int64) {
	if k.builder == nil || k.builder.Covered() < least {
		return
	}
	x := k.builder.Index()
	if err := x.Save(w.path, k.Reader); err != nil {
		k.note(err.Error())
		return
	}
	k.saved = k.builder.Covered()
}
