package experts

import (
	"context"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// List is what is known of a run's routed experts at one moment. It is immutable.
type List struct {
	Version uint64 // changes with the rest
	Load    *Load  // of all files together; nil before any array was read
	Files   []FileReport
	Done    int    // files read or given up
	Of      int    // files seen
	Problem string // why the folder could not be looked at; "" when it could
	Remark  string // what a reader has to know of where they come from; "" for nothing
}

// Watch reads routed experts as their files come and change. One goroutine looks at the files; any goroutine may ask what is known.
type Watch struct {
	find func() ([]string, error)
	list atomic.Pointer[List]

	files   map[string]*watched // the rest belongs to the looking goroutine
	problem string
}

// watched is one file and what it gave the last time it was read.
type watched struct {
	size   int64
	at     time.Time
	read   bool
	load   *Load
	report FileReport
}

// NewWatch returns a watch over the files that find lists. It has not looked yet.
func NewWatch(find func() ([]string, error)) *Watch {
	w := &Watch{find: find, files: map[string]*watched{}}
	w.list.Store(&List{})
	return w
}

// List is what is known now. It does not block.
func (w *Watch) List() *List { return w.list.Load() }

// Run looks at every tick until ctx ends.
func (w *Watch) Run(ctx context.Context, ticks <-chan time.Time) error {
	for {
		if w.Look(ctx) != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

// Look reads the files that are new or have changed and publishes what is known. An error means that ctx ended.
func (w *Watch) Look(ctx context.Context) error {
	paths, err := w.find()
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	changed := problem != w.problem
	w.problem = problem
	for path := range w.files {
		if err == nil && !slices.Contains(paths, path) {
			delete(w.files, path)
			changed = true
		}
	}
	var next []string
	for _, path := range paths {
		if w.differs(path) {
			next = append(next, path)
		}
	}
	if changed || len(next) > 0 {
		w.publish(paths)
	}
	for _, path := range next {
		if err := w.read(ctx, path); err != nil {
			return err
		}
		w.publish(paths)
	}
	return nil
}

// differs reports whether a file is not the one that was read, and takes note of what it is now.
func (w *Watch) differs(path string) bool {
	f := w.files[path]
	if f == nil {
		f = &watched{size: -1}
		w.files[path] = f
	}
	st, err := os.Stat(path)
	switch {
	case err != nil && f.read: // the next look does not list it, or it cannot be read any more
		return false
	case err != nil:
		return true
	case f.read && st.Size() == f.size && st.ModTime().Equal(f.at):
		return false
	}
	f.size, f.at = st.Size(), st.ModTime()
	return true
}

func (w *Watch) read(ctx context.Context, path string) error {
	load := NewLoad(0)
	reports, err := ReadFiles(ctx, []string{path}, load)
	if err != nil {
		return err
	}
	f := w.files[path]
	f.read, f.load, f.report = true, load, reports[0]
	return nil
}

// publish adds the files up, in their order.
func (w *Watch) publish(paths []string) {
	l := &List{Version: w.List().Version + 1, Of: len(paths), Problem: w.problem}
	all := NewLoad(0)
	for _, path := range paths {
		f := w.files[path]
		if f == nil || !f.read {
			continue
		}
		l.Done++
		r := f.report
		if err := all.Merge(f.load); err != nil {
			r.Problems = append(slices.Clone(r.Problems), err.Error())
			r.Arrays, r.Tokens = 0, 0
		}
		l.Files = append(l.Files, r)
	}
	if all.Arrays > 0 {
		l.Load = all
	}
	w.list.Store(l)
}
