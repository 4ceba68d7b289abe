package tui

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// Screen is what is opened from a list: a source, and what goes with it.
type Screen struct {
	Source   Source
	Control  Controller   // gives orders to the run's supervisor; nil when there is none
	ReadOnly bool         // its orders would be refused
	Page     string       // looked at first; "" is the one that was left the last time
	Close    func() error // ends the source when the screen was left; it may wait
}

// Opener opens what a list names by its path. It runs beside the screen; ctx is that of the program, which the screen's source may live by.
type Opener func(ctx context.Context, path string) (*Screen, error)

// shelf holds what was opened until it is closed. Its methods may be called from any goroutine.
type shelf struct {
	open Opener // nil opens nothing

	mu      sync.Mutex
	closed  bool
	opening sync.WaitGroup
	screens []*Screen
}

// take opens a screen.
func (s *shelf) take(ctx context.Context, path string) (*Screen, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, context.Canceled
	}
	s.opening.Add(1)
	s.mu.Unlock()
	defer s.opening.Done()
	screen, err := s.open(ctx, path)
	if err != nil {
		return nil, err
	}
	screen.Close = sync.OnceValue(screen.Close)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.screens = append(s.screens, screen)
	return screen, nil
}

// back returns a command that closes a screen.
func (s *shelf) back(screen *Screen, log *slog.Logger) tea.Cmd {
	return func() tea.Msg {
		if err := screen.Close(); err != nil {
			log.Error("reading ended", "error", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.screens = slices.DeleteFunc(s.screens, func(other *Screen) bool { return other == screen })
		return nil
	}
}

// close closes what is still open, once what is being opened is there. No screen is opened any more.
func (s *shelf) close(log *slog.Logger) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.opening.Wait()
	s.mu.Lock()
	screens := slices.Clone(s.screens)
	s.mu.Unlock()
	var errs []error
	for _, screen := range screens {
		errs = append(errs, screen.Close())
	}
	if err := errors.Join(errs...); err != nil {
		log.Error("reading ended", "error", err)
	}
}
