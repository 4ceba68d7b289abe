package openmetrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"time"

	"opprof/engine/rundir"
)

const (
	// path is where Prometheus asks.
	path = "/metrics"
	// patience with one request, of which only a head is read.
	patience = 10 * time.Second
)

// Serve answers GET /metrics on a listener, which it closes, until ctx ends. It returns nil then.
func Serve(ctx context.Context, at net.Listener, write func(io.Writer) error) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", ContentType)
		_ = write(w) // the reader left
	})
	s := &http.Server{Handler: mux, ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, MaxHeaderBytes: 64 << 10}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = s.Close()
	})
	err := s.Serve(at)
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) && ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("cannot serve metrics: %w", err)
}

// textfileMode lets the collector, which runs as another user, read what it says nothing secret.
const textfileMode fs.FileMode = 0o644

// WriteFile replaces the file at path, which a collector may read at any time.
func (s *State) WriteFile(path string) error {
	return rundir.WriteAtomic(path, func(w io.Writer) error {
		if f, ok := w.(interface{ Chmod(fs.FileMode) error }); ok {
			if err := f.Chmod(textfileMode); err != nil {
				return err
			}
		}
		return s.Write(w)
	})
}
