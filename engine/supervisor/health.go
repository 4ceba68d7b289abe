package supervisor

import (
	"context"
	"time"
)

// health is what /health has said.
type health struct {
	ready  bool
	goodNS int64 // the last good answer
	err    error // the last answer, nil for a good one
}

// watchHealth asks until the supervisor ends.
func (s *Supervisor) watchHealth() {
	ticker := time.NewTicker(s.config.Timing.Health)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(s.ctx, s.config.Timing.HealthTimeout)
		err := s.client.Health(ctx)
		cancel()
		if !s.post(func() { s.tookHealth(err) }) {
			return
		}
	}
}

func (s *Supervisor) tookHealth(err error) {
	h := &s.health
	h.err = err
	if s.server.watched {
		s.looksGone(err)
	}
	if err != nil || !s.server.running() {
		return
	}
	h.goodNS = s.clock.now()
	if h.ready {
		return
	}
	h.ready = true
	s.windows.controller.Hold(false)
	s.papers.dirty = true
}
