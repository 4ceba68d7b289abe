package tui

import (
	"context"

	"opprof/traces/experts"
)

// ExpertSource is a Source that knows which experts tokens were routed to. The rules of Source hold for it too.
type ExpertSource interface {
	// HasExperts reports whether the run has files of routed experts by now. It does not block.
	HasExperts() bool
	// Experts are the choices as they are known now. It does not wait for files: the list says how far reading is.
	Experts(ctx context.Context) (*experts.List, error)
}
