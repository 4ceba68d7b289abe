package session

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"opprof/engine/frames"
	"opprof/engine/index"
	"opprof/engine/record"
	"opprof/engine/store"
)

const (
	// A stream up to this size is read line by line from its first byte.
	wholeBytes = 64 << 20
	// The end of a longer one that is read so: some ten minutes of a busy server.
	recentBytes = 32 << 20
)

// archive is the part of a long stream that is not read line by line: everything before a line near its end. Until its index is complete
// it is known from samples. Its methods may be called from any goroutine.
type archive struct {
	path string
	end  int64 // bytes; the tailer reads from here
	file *frames.File
	dead atomic.Bool // the file was cut or replaced

	finished chan struct{} // closed when building has ended

	done  atomic.Int64 // bytes indexed
	mu    sync.Mutex   // guards what follows
	past  steps        // the index, or else the sample; nil before either
	whole bool         // past is the index of all of it
	parts []store.Part
	note  string

	counted  int64  // lines of the archive, once it is whole
	badLines int64  // of them
	firstBad string // located; "" if none
}

// steps is what index.Index and index.Sample have in common.
type steps interface {
	StepsAround(ctx context.Context, r io.ReaderAt, engine string, atNS int64, n int) (index.Around, error)
	AtStep(ctx context.Context, r io.ReaderAt, engine string, step int64) (atNS int64, ok bool, err error)
}

// openArchive cuts a stream of size bytes at the first line of its last recent bytes. It returns nil when the stream has no more than whole
// bytes and is read from its start.
func openArchive(path string, size, whole, recent int64) (*archive, error) {
	if size <= whole {
		return nil, nil
	}
	f, err := frames.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the beginning of a long stream: %w", err)
	}
	end, err := lineStart(f, size-recent, size)
	if err != nil || end == 0 {
		_ = f.Close()
		return nil, err
	}
	return &archive{path: path, end: end, file: f, finished: make(chan struct{})}, nil
}

// lineStart is the first line that begins at or after a byte; 0 when none does.
func lineStart(r io.ReaderAt, from, size int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for at := from - 1; at < size; at += int64(len(buf)) {
		n, err := r.ReadAt(buf, at)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("cannot read the end of a long stream: %w", err)
		}
	}
	return 0, nil
}

// opening is what the beginning of the archive tells: its last header before the first step, nil without one, and what the time axis of the
// stream adds to the monotonic clock. That is the difference of the two clocks at the stream's first step, if that is of the same engine as
// s, a step behind the archive, or else at s.
func (a *archive) opening(s *record.Step) (offsetNS int64, h *record.Header) {
	lines := record.NewReader(io.NewSectionReader(a.file, 0, min(a.end, wholeBytes)), a.path)
	for lines.Scan() {
		switch l := lines.Line(); l.Kind {
		case record.KindHeader:
			header := l.Header
			h = &header
		case record.KindStep:
			if l.Step.EngineID != s.EngineID || l.Step.SubmitMonoNS > s.SubmitMonoNS {
				return s.SubmitWallNS - s.SubmitMonoNS, h
			}
			return l.Step.SubmitWallNS - l.Step.SubmitMonoNS, h
		}
	}
	return s.SubmitWallNS - s.SubmitMonoNS, h
}

// build samples the archive and then indexes it. The overview goes to past when it is exact.
func (a *archive) build(ctx context.Context, cacheDir string, past func(store.Part)) error {
	reader := io.NewSectionReader(a.file, 0, a.end)
	if err := a.sample(ctx, reader); err != nil {
		return err
	}
	return index.Keep(ctx, index.Keeping{
		Stream: a.path, Reader: reader, Size: func() (int64, error) { return a.end, nil }, CacheDir: cacheDir,
		Update: func(x *index.Index) {
			if x.Size() == a.end {
				a.complete(x, past)
			}
		},
		Progress: func(done, _ int64) { a.done.Store(done) },
		Note:     a.say,
	})
}

func (a *archive) sample(ctx context.Context, r io.ReaderAt) error {
	s, err := index.Probe(ctx, r, a.end, index.ProbeCount)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.past, a.parts = s, s.Parts(a.path)
	return nil
}

func (a *archive) complete(x *index.Index, past func(store.Part)) {
	parts, err := x.Parts(a.path)
	if err != nil {
		a.say(err.Error())
		return
	}
	firstBad := a.locate(x)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.whole || a.dead.Load() {
		return
	}
	a.past, a.parts, a.whole = x, parts, true
	a.counted, a.firstBad = x.Lines(), firstBad
	a.badLines = x.Loss().BadLines
	for _, e := range x.Engines() {
		a.badLines += e.Loss.BadLines
	}
	a.done.Store(a.end)
	for _, p := range parts {
		past(p)
	}
}

// locate says which is the first bad line of the archive, and what is wrong with it; "" if none is.
func (a *archive) locate(x *index.Index) string {
	blocks := x.Blocks()
	i, found := slices.BinarySearchFunc(blocks, x.FirstBadLine()-1, func(b index.Block, line int64) int { return cmp.Compare(b.FirstLine, line) })
	if !found {
		i-- // the block that holds it begins before it
	}
	if x.FirstBadLine() == 0 || i < 0 {
		return ""
	}
	lines := record.NewReader(io.NewSectionReader(a.file, blocks[i].Offset, blocks[i].End-blocks[i].Offset), a.path)
	lines.StartAt(blocks[i].Offset, blocks[i].FirstLine)
	for lines.Scan() {
		if l := lines.Line(); l.Kind == record.KindBad {
			return l.Err.Error()
		}
	}
	return fmt.Sprintf("%s:%d", a.path, x.FirstBadLine())
}

// lines are how many the archive has, how many of them are bad and which is the first; ok is false before it is whole.
func (a *archive) lines() (all, bad int64, firstBad string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counted, a.badLines, a.firstBad, a.whole
}

func (a *archive) say(note string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.note = note
}

// view is what is known of the archive now; ok is false before it was sampled or after it was replaced.
func (a *archive) view() (past steps, parts []store.Part, whole, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.past, a.parts, a.whole, a.past != nil && !a.dead.Load()
}

// problem says in a sentence what is missing while the archive is not whole.
func (a *archive) problem() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.dead.Load():
		return ""
	case a.note != "":
		return a.note
	case !a.whole:
		return fmt.Sprintf("%s: the older part is shown from samples; %d %% of it is indexed", a.path, 100*a.done.Load()/a.end)
	}
	return ""
}

func (a *archive) close() { _ = a.file.Close() }
