package tui

import (
	"context"

	"opprof/engine/meter"
)

// MetricsSource is a Source that knows what a server says itself, without records of its steps. The rules of Source hold for it too.
type MetricsSource interface {
	// Reading is what is known by now. It does not wait for the server.
	Reading(ctx context.Context) (*meter.Reading, error)
}
