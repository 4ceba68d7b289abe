package tui

import (
	"context"

	"opprof/campaign/compare"
	"opprof/campaign/roster"
)

// RunsSource is a Source that knows the runs of a folder. The rules of Source hold for it too.
type RunsSource interface {
	Source
	// View is how the list is shown at first.
	View() roster.View
	// Runs are the runs and their figures, as far as they are known by now.
	Runs(ctx context.Context) (*roster.Roster, error)
	// Compare sets two runs against each other, named by their paths. It may take as long as reading them does.
	Compare(ctx context.Context, a, b string) (*compare.Comparison, error)
}
