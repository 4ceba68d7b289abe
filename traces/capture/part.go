package capture

import (
	"context"
	"fmt"

	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/traces/kineto"
	"opprof/traces/rank"
)

// Part is one file of a capture that is put together file by file, as a live run's is.
type Part struct {
	Path      string
	Breakdown *rank.Breakdown
	Timeline  *rank.Timeline // nil where it was not asked for or would be too long
	Whole     bool           // the file's end was there: nobody is writing it any more
}

// Read reads one file. events bounds its timeline; 0 asks for none. What Load refuses is an error here.
func Read(ctx context.Context, path string, rules *family.Rules, taxonomy rank.Taxonomy, events int) (Part, error) {
	t, err := kineto.Open(ctx, path, kineto.Options{})
	if err != nil {
		return Part{}, err
	}
	if why := foreign(t); why != "" {
		return Part{}, fmt.Errorf("%s: %w: %s", path, ErrForeign, why)
	}
	p := Part{Path: path, Whole: t.Closed && !t.Truncated}
	p.Breakdown, p.Timeline = rank.AnalyseTimeline(t, rules, taxonomy, events)
	return p, nil
}

// Join groups breakdowns into windows, by time, and ties them to the steps of the streams.
func Join(ctx context.Context, streams []string, all []*rank.Breakdown) ([]join.Window, error) {
	groups := join.Groups(all, ranksOf(streams))
	steps, err := collect(ctx, streams, groups)
	if err != nil {
		return nil, err
	}
	windows := make([]join.Window, len(groups))
	for i, g := range groups {
		windows[i] = steps.window(i, g)
	}
	return windows, nil
}
