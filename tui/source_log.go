package tui

import (
	"context"

	"opprof/engine/rundir"
	"opprof/engine/serverlog"
	"opprof/engine/vllm"
)

// LogSource is a Source that knows the server's log. The rules of Source hold for it too.
type LogSource interface {
	// Log answers a question about the log. While View.Done is false the same question goes on with the search that it asks for.
	Log(ctx context.Context, q serverlog.Query) (*serverlog.View, error)
}

// ServerSource is a Source that knows what a run's folder says about the server beside its records.
type ServerSource interface {
	// Contents are the manifest, the configuration and the files of the run as they are now.
	Contents(ctx context.Context) (*rundir.Contents, error)
	// Metrics is the snapshot of /metrics in the run's folder; nil when there is none.
	Metrics(ctx context.Context) (*vllm.Metrics, error)
}
