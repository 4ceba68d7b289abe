package session

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/engine/tail"
)

// Kinds of a Description.
const (
	KindLive     = "live"
	KindFinished = "finished"
	KindDemo     = "demo"
)

// Options of a Session. The zero value opens a finished run.
type Options struct {
	Kind     string           // KindFinished reads what is there once; the other kinds follow the files as they grow. "" is KindFinished
	Now      func() time.Time // wall clock; nil is time.Now
	Poll     time.Duration    // between two looks at the files; 0 is the tailer's own
	Ticks    <-chan time.Time // replaces the ticker of Poll
	IndexDir string           // where indexes go whose stream's folder is not writable; "" is nowhere
}

// Session is an open run. Close ends it.
type Session struct {
	run     *rundir.Run
	options Options
	store   *store.Store
	tailer  *tail.Tailer
	notes   *notes
	demo    *demo

	describe atomic.Pointer[rundir.Description]
	failure  atomic.Pointer[error]

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
	s := &Session{run: run, options: o, store: store.New(store.Options{}), read: make(chan struct{}), ended: make(chan struct{})}
	s.notes = newNotes(s.store)
	s.tailer = tail.New(run.ListStreams, tail.Options{Now: o.Now, PassBytes: passBytes})
	s.publish()
	ctx, s.cancel = context.WithCancel(ctx)
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
	s := Open(ctx, run, o)
	stopReading := s.cancel
	played := make(chan struct{})
	go func() {
		defer close(played)
		s.guard(func() error { return demo.play(ctx) })
	}()
	s.cancel = func() {
		cancel()
		stopReading()
		<-played
		<-s.ended
		demo.close()
	}
	return s, nil
}

// Close ends the session and waits until its goroutines have ended. It returns the reason if reading had ended before. It may be called
// more than once.
func (s *Session) Close() error {
	s.cancel()
	<-s.ended
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Wait returns when everything that the run held at the start has been read.
func (s *Session) Wait(ctx context.Context) error {
	select {
	case <-s.read:
	case <-s.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *Session) work(ctx context.Context) {
	defer close(s.ended)
	defer s.tailer.Close()
	s.guard(func() error { return s.follow(ctx) })
}

// guard turns an error or a panic of one of the session's goroutines into its failure, so that a screen can put the terminal back first.
func (s *Session) guard(work func() error) {
	defer func() {
		if p := recover(); p != nil {
			err := fmt.Errorf("reading stopped: %v\n%s", p, debug.Stack())
			s.failure.CompareAndSwap(nil, &err)
		}
	}()
	if err := work(); err != nil {
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
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
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
