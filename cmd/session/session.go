package session

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"opprof/engine/alert"
	remarks "opprof/engine/notes"
	"opprof/engine/rundir"
	"opprof/engine/serverlog"
	"opprof/engine/store"
	"opprof/engine/tail"
	"opprof/engine/trap"
	"opprof/traces/catalog"
	"opprof/traces/experts"
)

// Kinds of a Description.
const (
	KindLive     = "live"
	KindFinished = "finished"
	KindDemo     = "demo"
)

// Options of a Session. The zero value opens a finished run.
type Options struct {
	Kind     string            // KindFinished reads what is there once; the other kinds follow the files as they grow. "" is KindFinished
	Running  bool              // the server of a run that is read once still writes
	Now      func() time.Time  // wall clock; nil is time.Now
	Poll     time.Duration     // between two looks at the files; 0 is the tailer's own
	Ticks    <-chan time.Time  // replaces the ticker of Poll
	IndexDir string            // where indexes go whose stream's folder is not writable; "" is nowhere
	NotesDir string            // where notes go about a run whose folder is not writable; "" is nowhere
	Beside   []string          // folders of runs whose profiler windows count for the cost of a step, too
	Limits   *alert.Thresholds // from when a condition is a warning; nil is alert.Default

	wholeBytes, recentBytes int64            // of archives; 0 is the constant of that name
	traceNote               string           // why windows have no traces; "" when they may have
	expertTicks             <-chan time.Time // replaces the ticker that looks for routed experts
	pending                 func() string    // says of a window that is armed; "" when none is. nil is never
}

// Session is an open run. Close ends it.
type Session struct {
	run     *rundir.Run
	options Options
	store   *store.Store
	tailer  *tail.Tailer
	notes   *notes
	limits  alert.Thresholds
	watch   *alert.Watch
	old     oldWarnings // of the archives
	disk    *diskWatch  // used by the reading goroutine
	asOfNS  int64       // when a run that still ran was opened; 0 for others
	past    past
	log     *serverlog.Log
	windows *catalog.Catalog
	numbers *numbers
	experts *experts.Watch
	cost    *cost
	book    *remarks.Book
	arm     func(context.Context) (said string, err error) // nil when nobody takes orders

	describe atomic.Pointer[published]
	failure  atomic.Pointer[error]

	searching searching

	building sync.WaitGroup // of archives and of the log; waited for before ended
	looking  sync.WaitGroup // at traces and routed experts, and searching, until the session is closed

	looked chan struct{} // closed when the traces of a finished run have been read
	read   chan struct{} // closed when everything there was at the start has been read
	ended  chan struct{} // closed when the last goroutine has ended
	cancel context.CancelFunc
}

// Open begins to read a run and returns at once. The session ends with ctx or Close.
func Open(ctx context.Context, run *rundir.Run, o Options) *Session {
	if o.Kind == "" {
		o.Kind = KindFinished
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.wholeBytes == 0 {
		o.wholeBytes, o.recentBytes = wholeBytes, recentBytes
	}
	s := &Session{run: run, options: o, store: store.New(store.Options{}), read: make(chan struct{}), looked: make(chan struct{}), ended: make(chan struct{})}
	if o.Running && o.Kind == KindFinished {
		s.asOfNS = o.Now().UnixNano()
	}
	s.limits = alert.Default()
	if o.Limits != nil {
		s.limits = *o.Limits
	}
	s.watch, s.disk = alert.New(s.limits), newDiskWatch(o.Now)
	s.notes = newNotes(s.store, s.watch, s.replaced)
	s.log = newLog(run)
	s.numbers = newNumbers(run.Root)
	s.windows = s.newCatalog()
	s.experts, s.cost = s.newExperts(), newCost(o.Beside)
	s.book = remarks.NewBook(run.Root, o.NotesDir, o.Now)
	ctx, s.cancel = context.WithCancel(ctx)
	s.tailer = tail.New(run.ListStreams, tail.Options{
		Now: o.Now, PassBytes: passBytes,
		Start: func(path string, size int64) (int64, int64) { return s.start(ctx, path, size) },
	})
	s.publish()
	s.building.Go(func() { s.guard(func() error { return s.followLog(ctx) }) })
	s.looking.Go(func() { s.guard(func() error { return s.followTraces(ctx) }) })
	s.looking.Go(func() { s.guard(func() error { return s.followExperts(ctx) }) })
	s.looking.Go(func() { s.guard(func() error { return s.followCost(ctx) }) })
	go s.work(ctx)
	return s
}

// OpenDemo replays a recording into a temporary run folder and opens it. Close removes the folder.
func OpenDemo(ctx context.Context, d DemoOptions, o Options) (*Session, error) {
	o.Kind = KindDemo
	if o.Now == nil {
		o.Now = time.Now
	}
	d.Now = o.Now
	demo, err := newDemo(d)
	if err != nil {
		return nil, err
	}
	run, err := rundir.Open(demo.run)
	if err != nil {
		demo.close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	o.traceNote, o.pending = demo.traces.note(d.Speed), demo.pending
	s := Open(ctx, run, o)
	s.arm = demo.order
	stopReading := s.cancel
	var played sync.WaitGroup
	played.Go(func() { s.guard(func() error { return demo.play(ctx) }) })
	played.Go(func() { s.guard(func() error { return demo.traces.land(ctx) }) })
	s.cancel = func() {
		cancel()
		stopReading()
		played.Wait()
		<-s.ended
		s.looking.Wait()
		demo.close()
	}
	return s, nil
}

// Close ends the session and waits until its goroutines have ended. It returns the reason if reading had ended before. It may be called
// more than once.
func (s *Session) Close() error {
	s.searching.close()
	s.cancel()
	<-s.ended
	s.looking.Wait()
	s.past.close()
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Wait returns when everything that the run held at the start has been read or indexed.
func (s *Session) Wait(ctx context.Context) error {
	if err := s.await(ctx, s.read); err != nil {
		return err
	}
	for _, finished := range s.past.finished() { // all archives are there once the ends have been read
		if err := s.await(ctx, finished); err != nil {
			return err
		}
	}
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *Session) await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
	case <-s.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (s *Session) work(ctx context.Context) {
	defer close(s.ended)
	defer s.building.Wait()
	defer s.tailer.Close()
	s.guard(func() error { return s.follow(ctx) })
}

// guard turns an error or a panic of one of the session's goroutines into its failure, so that a screen can put the terminal back first.
func (s *Session) guard(work func() error) {
	if err := trap.Run(work); err != nil {
		s.failure.CompareAndSwap(nil, &err)
	}
}

// follow reads the streams: once to their end for a finished run, for ever otherwise.
func (s *Session) follow(ctx context.Context) error {
	ticks := s.options.Ticks
	if ticks == nil {
		ticker := time.NewTicker(s.pollEvery())
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		progress, err := s.tailer.Poll(ctx, s.notes)
		if err == nil && !progress.More && s.options.Kind == KindFinished {
			err = s.tailer.Flush(ctx, s.notes)
		}
		if err != nil {
			return nil // ctx has ended
		}
		s.publish()
		if progress.More {
			continue
		}
		s.markRead()
		if s.options.Kind == KindFinished {
			s.build(ctx, ticks)
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

// build publishes how far the archives of a finished run are until all are complete.
func (s *Session) build(ctx context.Context, ticks <-chan time.Time) {
	for _, finished := range s.past.finished() {
		for done := false; !done; {
			select {
			case <-ctx.Done():
				return
			case <-ticks:
			case <-finished:
				done = true
			}
			s.publish()
		}
	}
}

// start says where the tailer begins in a stream. A long one is read from near its end; what lies before is sampled and indexed beside it.
// It is called from the reading goroutine, right before the stream's first line.
func (s *Session) start(ctx context.Context, path string, size int64) (offset, line int64) {
	a, err := openArchive(path, size, s.options.wholeBytes, s.options.recentBytes)
	if err != nil || a == nil {
		return 0, 0
	}
	s.past.add(a)
	s.notes.skipped = a
	s.building.Go(func() {
		defer close(a.finished)
		s.guard(func() error {
			if err := a.build(ctx, s.options.IndexDir, s.keepPast); err != nil && ctx.Err() == nil {
				a.say(err.Error())
			}
			return nil
		})
	})
	return a.end, -1
}

// replaced forgets what was indexed of a stream that begins again.
func (s *Session) replaced(stream int) {
	if statuses := s.tailer.Streams(); stream < len(statuses) {
		if left := s.past.drop(statuses[stream].Path); !left {
			s.notes.recentNS.Store(0)
		}
	}
}

// markRead closes read once. Only the reading goroutine calls it.
func (s *Session) markRead() {
	select {
	case <-s.read:
	default:
		close(s.read)
	}
}

const (
	defaultPoll = 250 * time.Millisecond
	// passBytes lets a description be published several times a second while a long file is read.
	passBytes = 32 << 20
)

func (s *Session) pollEvery() time.Duration {
	if s.options.Poll > 0 {
		return s.options.Poll
	}
	return defaultPoll
}
