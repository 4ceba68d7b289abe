package tail

import (
	"context"
	"sync"
	"time"

	"opprof/engine/record"
	"opprof/engine/rundir"
)

// Sink takes what is read. The calls come from the goroutine that polls. A line and all in it are reused after the call.
type Sink interface {
	// Line gives the next line of a stream, bad ones included. Line.Offset and Number count within the file they came from; Number is 0
	// where reading started in the middle and the number is not known.
	Line(stream int, l *record.Line)
	// Restart says that what comes next does not continue what came before: the file was cut, overwritten or replaced. What was given stays
	// true of its time; where a file was overwritten in its middle, lines may come again.
	Restart(stream int, why string)
}

// Options of a Tailer. The zero value works.
type Options struct {
	// Start says where to begin in a file that is not compressed or made of frames (engine/frames): an offset in its lines, size bytes, at the
	// start of one, and the number of lines before it, -1 if not known. nil begins at the first byte.
	Start func(path string, size int64) (offset, line int64)
	// Poll is the time between passes of Run; 0 is 250 ms.
	Poll time.Duration
	// Ticks replaces Run's own ticker.
	Ticks <-chan time.Time
	// PassBytes is the most that one pass reads of one stream, so that a large backlog does not starve the others; 0 is 8 MiB.
	PassBytes int64
	// MaxLine is the longest line in bytes that is parsed; a longer one is a bad line. 0 is record.MaxLine.
	MaxLine int
	// Now is the clock for rates; nil is time.Now.
	Now func() time.Time
}

const (
	defaultPoll      = 250 * time.Millisecond
	defaultPassBytes = 8 << 20
	// goneGrace is how long a deleted file is read on: its writer may still have it open.
	goneGrace  = 30 * time.Second
	chunkBytes = 256 << 10
)

// Tailer follows all streams of a run. Use New.
type Tailer struct {
	find    func() ([]string, error)
	options Options
	disk    disk
	streams []*stream
	byBase  map[string]*stream
	buf     []byte // shared by all streams, within a pass
	line    record.Line

	mu       sync.Mutex // guards what other goroutines may ask for
	statuses []Status
	progress Progress
}

// New follows the files that find lists; find is called at the start of every pass. The lowest numbers go to the streams found first.
func New(find func() ([]string, error), o Options) *Tailer {
	if o.Poll <= 0 {
		o.Poll = defaultPoll
	}
	if o.PassBytes <= 0 {
		o.PassBytes = defaultPassBytes
	}
	if o.MaxLine <= 0 {
		o.MaxLine = record.MaxLine
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Tailer{find: find, options: o, disk: osDisk{}, byBase: map[string]*stream{}, buf: make([]byte, 2*chunkBytes)}
}

// Poll makes one pass: it looks for files again and gives to the sink what they have, at most PassBytes of each stream. Errors of files
// are statuses; the error is that of ctx.
func (t *Tailer) Poll(ctx context.Context, sink Sink) (Progress, error) {
	if err := ctx.Err(); err != nil {
		return t.Progress(), err
	}
	paths, findErr := t.find()
	if findErr == nil {
		t.group(paths)
	}
	now := t.options.Now()
	for _, s := range t.streams {
		s.pass(ctx, sink)
		s.rate.add(now, s.total)
		s.letGo(now)
		if err := ctx.Err(); err != nil {
			return t.publish(findErr), err
		}
	}
	return t.publish(findErr), nil
}

// group gives each listed path to its stream, oldest part first as find lists them. A stream whose files are gone keeps its open one.
func (t *Tailer) group(paths []string) {
	for _, s := range t.streams {
		s.listed = s.listed[:0]
	}
	for _, path := range paths {
		base, _, ok := rundir.StreamName(path)
		if !ok {
			base = path
		}
		s := t.byBase[base]
		if s == nil {
			s = newStream(t, len(t.streams), path)
			t.byBase[base] = s
			t.streams = append(t.streams, s)
		}
		s.listed = append(s.listed, path)
	}
}

// Run polls until ctx ends: at each tick, and without waiting while a stream has more than one pass reads. It closes the files at its
// end and returns the error of ctx.
func (t *Tailer) Run(ctx context.Context, sink Sink) error {
	defer t.Close()
	ticks := t.options.Ticks
	if ticks == nil {
		ticker := time.NewTicker(t.options.Poll)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		p, err := t.Poll(ctx, sink)
		if err != nil {
			return err
		}
		if p.More {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks:
		}
	}
}

// Flush gives the torn last line of every stream to the sink, as a good line if it parses whole and as a bad one with TornTail if not. It
// is for runs that have ended: more bytes that come later start a line of their own.
func (t *Tailer) Flush(ctx context.Context, sink Sink) error {
	for _, s := range t.streams {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.flush(ctx, sink)
	}
	t.publish(nil)
	return nil
}

// Close closes all files. A later Poll opens them again and goes on where it was.
func (t *Tailer) Close() {
	for _, s := range t.streams {
		s.close()
	}
}

// room returns the shared buffer with space for a chunk behind its first n bytes, which it keeps. A line of up to MaxLine fits.
func (t *Tailer) room(n int) []byte {
	if len(t.buf)-n < chunkBytes {
		grown := make([]byte, min(max(2*len(t.buf), n+chunkBytes), t.options.MaxLine+chunkBytes))
		copy(grown, t.buf[:n])
		t.buf = grown
	}
	return t.buf
}

func (t *Tailer) publish(findErr error) Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.statuses = t.statuses[:0]
	t.progress = Progress{Streams: len(t.streams), Err: findErr}
	for _, s := range t.streams {
		st := s.status()
		t.statuses = append(t.statuses, st)
		t.progress.add(st)
	}
	return t.progress
}

// Streams tells the state of every stream after the last pass, by number. A sink may ask, too: during a pass it is told of the one before.
func (t *Tailer) Streams() []Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Status(nil), t.statuses...)
}

// Progress tells how far all streams together are.
func (t *Tailer) Progress() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.progress
}
