package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"opprof/engine/regular"
	"opprof/engine/rundir"
	"opprof/engine/serverlog"
	"opprof/engine/vllm"
)

// newLog follows the server's log of a run; there need not be one yet.
func newLog(run *rundir.Run) *serverlog.Log {
	path := run.ServerLog
	if path == "" {
		path = filepath.Join(run.Root, rundir.ServerLogName)
	}
	return serverlog.New(path, serverlog.Options{})
}

// followLog reads the log until ctx ends; that of a finished run once.
func (s *Session) followLog(ctx context.Context) error {
	ticker := time.NewTicker(s.pollEvery())
	defer ticker.Stop()
	s.log.Run(ctx, ticker.C, s.options.Kind == KindFinished)
	return nil
}

// alignLog lays the log beside what the streams say about time.
func (s *Session) alignLog() {
	k := serverlog.Known{LastNS: s.notes.lastNS}
	if h := s.notes.header; h != nil {
		k.StartNS = h.StartWallNS
	}
	s.log.Align(k)
}

// Log answers a question about the server's log. While View.Done is false, the same question goes on with the search.
func (s *Session) Log(ctx context.Context, q serverlog.Query) (*serverlog.View, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	return s.log.Look(ctx, q)
}

// Contents are the manifest, the configuration and the files of the run as they are now.
func (s *Session) Contents(ctx context.Context) (*rundir.Contents, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	return s.run.Contents(ctx)
}

// Metrics is the snapshot of /metrics in the run's folder; nil when there is none.
func (s *Session) Metrics(ctx context.Context) (*vllm.Metrics, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	path := filepath.Join(s.run.Root, rundir.MetricsName)
	f, err := regular.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read metrics: %w", err)
	}
	defer f.Close()
	m, err := vllm.ReadMetrics(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if st, err := f.Stat(); err == nil {
		m.SavedNS = st.ModTime().UnixNano()
	}
	return &m, nil
}
