package tui

import (
	"context"

	"opprof/campaign/calibrate"
)

// CostSource is a Source that knows what steps cost. The rules of Source hold for it too.
type CostSource interface {
	// HasCost reports whether there is any profiler window by now to learn from. It does not block.
	HasCost() bool
	// Cost is what the windows that were read teach. It does not wait for files: the answer says how far reading is.
	Cost(ctx context.Context) (*calibrate.Learned, error)
}
