package tui

import (
	"context"
	"errors"

	"opprof/engine/rundir"
)

// errNoPage is returned by New for a source that tells nothing that a page could show.
var errNoPage = errors.New("the source has nothing to show")

// pagesOf are the pages that a source can fill, in the order of their keys.
func pagesOf(ctx context.Context, source Source, run rundir.Description, opt Options) []page {
	var pages []page
	if from, ok := source.(StepSource); ok {
		pages = append(pages, newBoard(ctx, from, run, opt))
	}
	if from, ok := source.(RunsSource); ok {
		pages = append(pages, newRunsPage(ctx, from, opt))
	}
	if from, ok := source.(CampaignSource); ok {
		pages = append(pages, newCampaignPage(ctx, from, opt))
	}
	if _, ok := source.(MetricsSource); ok {
		pages = append(pages, newMetricsPage(opt))
	}
	return append(pages, serverPages(ctx, source, run, opt)...)
}
