package tui

import (
	"context"

	"opprof/campaign/progress"
)

// CampaignSource is a Source that knows how a campaign stands. The rules of Source hold for it too.
type CampaignSource interface {
	// Campaign is how it stands now.
	Campaign(ctx context.Context) (*progress.Campaign, error)
}

// CampaignControl is a CampaignSource whose campaign can be told to stop.
type CampaignControl interface {
	// Stop tells the runner to end after cleaning up. It returns once the runner was told.
	Stop(ctx context.Context) error
}
