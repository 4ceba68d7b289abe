package supervisor

import (
	"context"
	"io"
	"path/filepath"

	"opprof/engine/rundir"
)

// saving is how far the saving of something has come.
type saving uint8

const (
	notSaved saving = iota
	beingSaved
	saved
)

// countersAreBeingSaved reports whether a stop has to wait for vLLM's own counters, which are written beside the records that they are held against,
// and go with the server. A server that is not ready has none; one that does not answer keeps no stop waiting.
func (s *Supervisor) countersAreBeingSaved() bool {
	v := &s.server
	if v.counters != notSaved || !s.health.ready {
		return v.counters == beingSaved
	}
	v.counters = beingSaved
	path, limit := filepath.Join(s.config.Dir, rundir.MetricsName), s.config.Timing.Counters
	s.do(func(ctx context.Context) func() {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err := rundir.WriteAtomic(path, func(w io.Writer) error { return s.client.CopyMetrics(ctx, w) })
		return func() {
			v.counters = saved
			event := countersEvent{}
			if err != nil {
				event.Reason = err.Error()
			}
			s.record(eventCounters, event)
			s.advance()
		}
	})
	return true
}
