package tui

import (
	"context"

	"opprof/traces/catalog"
)

// WindowSource is a Source that knows the run's profiler windows. The rules of Source hold for it too.
type WindowSource interface {
	// Windows are the windows as they are known now. It does not wait for files: the list says how far reading is. open are the keys of the
	// windows that are looked at, whose events are kept.
	Windows(ctx context.Context, open []string) (*catalog.List, error)
}

// WindowControl is a Source that can arm profiler windows.
type WindowControl interface {
	// MayArm reports whether anybody would hear an order.
	MayArm() bool
	// Arm asks for the next window and says in a sentence what happens now. An error says why there is none.
	Arm(ctx context.Context) (said string, err error)
}
