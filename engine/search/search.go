package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"opprof/engine/frames"
	"opprof/engine/query"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/store"
)

// KeptHits bounds the matches that are kept, about 64 MB. Further ones are counted and marked, and found again by reading their block.
const KeptHits = 4 << 20

// Hit is a step that matches.
type Hit struct {
	Engine string
	Step   int64 // step_index
	AtNS   int64 // its completion, ns since 1970
}

// Counts say how far a search is and what it has found.
type Counts struct {
	Steps    int64 `json:"steps"`      // of the selected engines
	Matches  int64 `json:"matches"`    // steps that match
	Unknown  int64 `json:"unknown"`    // steps that lack a field which the expression needs
	Unplaced int64 `json:"-"`          // matches whose clock has no place on the time axis: they are counted, and not walked
	Bytes    int64 `json:"bytes"`      // that are searched by now
	Size     int64 `json:"-"`          // of the streams
	Read     int64 `json:"read_bytes"` // of them, that had to be read: an index excludes the rest
}

// Options of a Search. The zero value searches all engines of files that may grow.
type Options struct {
	Engine   string                          // only steps of this engine; "" all
	CacheDir string                          // where indexes lie of streams in folders that are not writable; "" for none
	Match    func(*record.Step, store.Place) // told of each match, in the order of reading; the step may be reused afterwards. nil for nobody
	Final    bool                            // the files do not grow any more: a last line without its newline counts

	kept int // 0 is KeptHits
}

// Search is one expression over a run's streams.
type Search struct {
	options Options
	query   *query.Query

	extending sync.Mutex // one Extend at a time
	files     []*file    // in the order of reading; changed with both locks

	mu     sync.Mutex // guards what follows, and the cells of the files
	counts Counts
	hits   int
	done   bool
}

// New prepares a search for an expression.
func New(q *query.Query, o Options) *Search {
	if o.kept == 0 {
		o.kept = KeptHits
	}
	return &Search{options: o, query: q.Clone()}
}

// Counts are those of what was searched until now. done says that this is all there was when Extend looked last.
func (s *Search) Counts() (c Counts, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts, s.done
}

// Extend searches what the streams hold more than the last time. A stream that is gone, was cut or replaced takes its matches with it.
// Streams that cannot be read are errors, joined; the others are searched.
func (s *Search) Extend(ctx context.Context, streams []string) error {
	s.extending.Lock()
	defer s.extending.Unlock()
	var errs []error
	opened, err := s.open(streams)
	errs = append(errs, err)
	defer func() {
		for _, o := range opened {
			o.close()
		}
	}()
	s.adopt(opened)
	var before *file
	for _, o := range opened {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := o.file.extend(ctx, s, o, before); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			errs = append(errs, err)
		}
		before = o.file
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	s.done = true
	s.mu.Unlock()
	return errors.Join(errs...)
}

// Close lets go of the indexes.
func (s *Search) Close() {
	s.extending.Lock()
	defer s.extending.Unlock()
	for _, f := range s.files {
		f.close()
	}
}

// openFile is a stream that is about to be read.
type openFile struct {
	path   string
	stream *frames.File // nil for compressed data that can only be read from its start
	info   fs.FileInfo
	size   int64 // bytes to be searched: of the lines, or of the file where they cannot be told beforehand
	file   *file
}

func (o *openFile) close() {
	if o.stream != nil {
		_ = o.stream.Close()
	}
}

// newOpenFile opens a stream.
func newOpenFile(path string) (*openFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	o := &openFile{path: path, info: info, size: info.Size()}
	o.stream, err = frames.Open(path)
	switch {
	case errors.Is(err, frames.ErrNotSeekable):
		o.stream, err = nil, nil
	case err == nil:
		o.size = o.stream.Size()
	}
	return o, err
}

// open opens the streams in the order of their steps: parts of one stream oldest first, and each part once where a compressed copy lies
// beside it.
func (s *Search) open(streams []string) ([]*openFile, error) {
	type part struct {
		path, base string
		age        int
	}
	var parts []part
	for _, path := range streams {
		base, age, ok := rundir.StreamName(path)
		if !ok {
			base, age = path, 0
		}
		parts = append(parts, part{path, base, age})
	}
	slices.SortStableFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.base, b.base), -cmp.Compare(a.age, b.age), cmp.Compare(len(a.path), len(b.path)))
	})
	parts = slices.CompactFunc(parts, func(a, b part) bool { return a.base == b.base && a.age == b.age })
	var opened []*openFile
	var errs []error
	for _, p := range parts {
		o, err := newOpenFile(p.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			errs = append(errs, fmt.Errorf("cannot search: %w", err))
		default:
			opened = append(opened, o)
		}
	}
	return opened, errors.Join(errs...)
}

// adopt gives the opened files what is known of them. What is not there any more is forgotten.
func (s *Search) adopt(opened []*openFile) {
	var files []*file
	size := int64(0)
	for _, o := range opened {
		i := slices.IndexFunc(s.files, func(f *file) bool { return os.SameFile(f.info, o.info) })
		if i >= 0 && s.files[i].size <= o.size {
			o.file = s.files[i]
		} else {
			o.file = &file{}
		}
		base, _, _ := rundir.StreamName(o.path)
		o.file.path, o.file.base, o.file.info = o.path, base, o.info
		size += o.size
		files = append(files, o.file)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if !slices.Contains(files, f) {
			f.close()
			s.forget(f)
		}
	}
	s.files, s.counts.Size = files, size
}

// forget takes a file out of the counts. The caller holds the lock.
func (s *Search) forget(f *file) {
	c := &s.counts
	c.Steps, c.Matches, c.Unknown, c.Unplaced = c.Steps-f.counts.Steps, c.Matches-f.counts.Matches, c.Unknown-f.counts.Unknown, c.Unplaced-f.counts.Unplaced
	c.Bytes, c.Read = c.Bytes-f.counts.Bytes, c.Read-f.counts.Read
	for i := range f.cells {
		s.hits -= len(f.cells[i].hits)
	}
	f.counts, f.cells = Counts{}, nil
}
