package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"opprof/engine/record"
	"opprof/engine/regular"
	"opprof/engine/rundir"
	"opprof/engine/store"
)

// Item is one line. It is reused by the next one.
type Item struct {
	Stream int    // number, by name
	Path   string // of the file
	Engine string // of the line, or of the line before it for one that names none; "" when no line did
	Line   *record.Line
	Place  store.Place // of a step
}

// Count is what was read.
type Count struct {
	Bytes    int64 // of lines, inflated
	Lines    int64
	Steps    int64
	Bad      int64 // lines that are no record
	Torn     int64 // last lines without their end: cut off, or still being written
	Unknown  int64 // records of a type that this version does not know
	FirstBad string
	Problems []string // files that could not be read, or not to their end
}

// Feed is a run's streams as they were when it was opened.
type Feed struct {
	streams []stream
	total   int64
	read    atomic.Int64
}

// stream is the parts of one stream, oldest first.
type stream struct {
	base  string
	parts []part
}

type part struct {
	path  string
	age   int
	bytes int64 // on disk
}

// Open looks at the files at paths: later growth is not read. A file that is gone meanwhile is left out; of a file and its compressed copy, the
// file is read.
func Open(paths []string) (*Feed, error) {
	f := &Feed{}
	byBase := map[string][]part{}
	for _, path := range paths {
		st, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot look at stream: %w", err)
		}
		base, age, ok := rundir.StreamName(path)
		if !ok {
			base, age = path, 0
		}
		byBase[base] = append(byBase[base], part{path: path, age: age, bytes: st.Size()})
	}
	for base, parts := range byBase {
		s := stream{base: base, parts: oldestFirst(parts)}
		for _, p := range s.parts {
			f.total += p.bytes
		}
		f.streams = append(f.streams, s)
	}
	slices.SortFunc(f.streams, func(a, b stream) int { return strings.Compare(a.base, b.base) })
	return f, nil
}

// oldestFirst sorts parts and leaves one of each age: the shortest name is the one without a compressor's ending.
func oldestFirst(parts []part) []part {
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(-cmp.Compare(a.age, b.age), cmp.Compare(len(a.path), len(b.path)), strings.Compare(a.path, b.path))
	})
	return slices.CompactFunc(parts, func(a, b part) bool { return a.age == b.age })
}

// Bytes is the size of all files on disk, in bytes.
func (f *Feed) Bytes() int64 { return f.total }

// Read is how many of those bytes have been read. Any goroutine may ask.
func (f *Feed) Read() int64 { return f.read.Load() }

// Each gives every line to take, stream by stream; after tells that a stream has ended and may be nil. Damage is counted and read on behind.
// It ends with the first error of take or after, or with that of ctx.
func (f *Feed) Each(ctx context.Context, take func(*Item) error, after func() error) (Count, error) {
	var count Count
	placer := NewPlacer()
	for i := range f.streams {
		r := reading{feed: f, count: &count, placer: placer, number: i, take: take}
		for _, p := range f.streams[i].parts {
			if err := r.part(ctx, p); err != nil {
				return count, err
			}
		}
		if after != nil {
			if err := after(); err != nil {
				return count, err
			}
		}
	}
	return count, nil
}

// reading is one stream while it is read.
type reading struct {
	feed   *Feed
	count  *Count
	placer *Placer
	number int
	take   func(*Item) error
}

// checkEvery is after how many lines the end of the context is looked for.
const checkEvery = 1024

func (r *reading) part(ctx context.Context, p part) error {
	in, closeIn, err := r.open(p)
	if err != nil {
		r.count.Problems = append(r.count.Problems, err.Error())
		return ctx.Err()
	}
	defer closeIn()
	lines := record.NewReader(in, p.path)
	item := Item{Stream: r.number, Path: p.path}
	for n := 0; lines.Scan(); n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		item.Line = lines.Line()
		item.Engine, item.Place = r.placer.Place(r.number, item.Line)
		r.note(item.Line)
		if err := r.take(&item); err != nil {
			return err
		}
	}
	s := lines.Stats()
	r.count.Bytes, r.count.Lines, r.count.Steps = r.count.Bytes+s.Bytes, r.count.Lines+s.Lines, r.count.Steps+s.Steps
	r.count.Bad, r.count.Torn = r.count.Bad+s.Bad, r.count.Torn+s.Torn
	if err := lines.Err(); err != nil {
		r.count.Problems = append(r.count.Problems, fmt.Sprintf("cannot read %s to its end, exported is what lies before: %v", p.path, err))
	}
	return ctx.Err()
}

func (r *reading) open(p part) (io.Reader, func(), error) {
	f, err := regular.Open(p.path)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open stream: %w", err)
	}
	in, closeIn, err := inflate(&counting{io.NewSectionReader(f, 0, p.bytes), &r.feed.read})
	if err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("cannot read stream %s: %w", p.path, err)
	}
	return in, func() { closeIn(); _ = f.Close() }, nil
}

// note counts what the reader's own statistics do not tell.
func (r *reading) note(l *record.Line) {
	switch {
	case l.Kind == record.KindUnknown:
		r.count.Unknown++
	case l.Kind == record.KindBad && r.count.FirstBad == "" && !l.Err.TornTail:
		r.count.FirstBad = l.Err.Error()
	}
}
