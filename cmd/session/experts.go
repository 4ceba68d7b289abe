package session

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"opprof/engine/rundir"
	"opprof/traces/experts"
)

// expertsEvery is how often the folder of a live run is looked at for routed experts.
const expertsEvery = 2 * time.Second

// newExperts reads the routed experts of the session's run.
func (s *Session) newExperts() *experts.Watch {
	return experts.NewWatch(func() ([]string, error) {
		if !s.hasExpertsFolder() {
			return nil, nil
		}
		return experts.Find(filepath.Join(s.run.Root, rundir.ExpertsName))
	})
}

func (s *Session) hasExpertsFolder() bool {
	st, err := os.Stat(filepath.Join(s.run.Root, rundir.ExpertsName))
	return err == nil && st.IsDir()
}

// followExperts looks at the files until ctx ends; at those of a finished run once.
func (s *Session) followExperts(ctx context.Context) error {
	if s.options.Kind == KindFinished {
		return s.experts.Run(ctx, nil)
	}
	if s.options.expertTicks != nil {
		return s.experts.Run(ctx, s.options.expertTicks)
	}
	ticker := time.NewTicker(expertsEvery)
	defer ticker.Stop()
	return s.experts.Run(ctx, ticker.C)
}

// HasExperts reports whether the run has routed experts by now.
func (s *Session) HasExperts() bool {
	l := s.experts.List()
	return l.Of > 0 || l.Problem != ""
}
