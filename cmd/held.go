package cmd

import (
	"context"
	"errors"
	"sync"
	"time"

	"opprof/engine/control"
	"opprof/engine/supervisor"
)

// held is a supervised run that a screen shows: its supervisor while there is one, its journal when there is none any more, and the next
// supervisor when another opprof has taken the run over.
type held struct {
	dir      string
	readOnly bool

	mu     sync.Mutex
	client *control.Client
}

// holdAgain is how long after a supervisor has gone another one is looked for.
const holdAgain = time.Second

func newHeld(dir string, client *control.Client, readOnly bool) *held {
	return &held{dir: dir, client: client, readOnly: readOnly}
}

func (h *held) now() *control.Client {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.client
}

func (h *held) close() { h.now().Close() }

// errKilled says that a supervisor is gone and its run is not over.
var errKilled = errors.New("the supervisor is gone, the server is on its own: opprof attach in another terminal takes the run over")

// Status asks the supervisor. Without one it is what the journal says, with the reason unless the run has ended in order.
func (h *held) Status(ctx context.Context) (control.Status, error) {
	c := h.now()
	s, err := c.Status(ctx)
	if !errors.Is(err, control.ErrUnreachable) {
		return s, err
	}
	stand, readErr := supervisor.Stand(h.dir)
	switch {
	case readErr != nil:
		return control.Status{}, errors.Join(err, readErr)
	case !stand.Open:
		return stand.Status, nil
	case !stand.Supervised:
		return stand.Status, errKilled
	}
	if next := reach(ctx, h.dir, h.readOnly); next != nil {
		h.mu.Lock()
		h.client = next
		h.mu.Unlock()
		c.Close()
		return next.Status(ctx)
	}
	return stand.Status, err
}

// Arm orders windows.
func (h *held) Arm(ctx context.Context, t control.Trigger, count int) ([]control.Window, error) {
	return h.now().Arm(ctx, t, count)
}

// Cancel takes a window back.
func (h *held) Cancel(ctx context.Context, n int) error { return h.now().Cancel(ctx, n) }

// Stop orders the server to stop.
func (h *held) Stop(ctx context.Context) error { return h.now().Stop(ctx) }

// hold counts as a client of the run until ctx ends, with whichever supervisor it has.
func (h *held) hold(ctx context.Context) {
	wait := time.NewTicker(holdAgain)
	defer wait.Stop()
	for ctx.Err() == nil {
		// That the stream ends with the supervisor is no error of the screen.
		_ = h.now().Events(ctx, 1<<62, func([]byte) error { return nil })
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
	}
}
