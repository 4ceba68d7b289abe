package tui

import (
	"context"

	"opprof/engine/rundir"
	"opprof/engine/store"
)

// Source is where a screen's pictures come from. What else it can tell decides the screen's pages: StepSource, WindowSource, LogSource,
// ServerSource, CampaignSource. The screen asks, a few times a second and never twice at once; nothing is pushed to it. All methods may be
// called from any goroutine, return promptly once ctx is done, and leave what they returned unchanged.
type Source interface {
	// Run describes what is open as far as it is known by now. It does not block.
	Run() rundir.Description
}

// StepSource is a Source with the steps of a run that is live, finished or replayed. The rules of Source hold for it too.
type StepSource interface {
	Source
	// Frame computes the picture that q selects. An error is shown in the header and the last picture stays.
	Frame(ctx context.Context, q store.Query) (*store.Frame, error)
	// Find is the time of the next event after fromNS, or of the last one before it; ok is false when there is none.
	Find(ctx context.Context, ev store.Event, engine string, fromNS int64, forward bool) (atNS int64, ok bool, err error)
	// AtStep is the completion time of a step; engine "" takes the first engine that has it. ok is false when none has.
	AtStep(ctx context.Context, engine string, step int64) (atNS int64, ok bool, err error)
}
