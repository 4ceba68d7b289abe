package cmd

import (
	"context"
	"sync"
	"time"

	"opprof/campaign/progress"
	"opprof/campaign/runner"
	"opprof/engine/rundir"
	"opprof/tui"
)

// campaignScreen shows a campaign until the reader quits.
func campaignScreen(ctx context.Context, env *Env, o *screenOptions, dir string) error {
	source, err := campaignAt(env, dir, o.readOnly)
	if err != nil {
		return err
	}
	return openList(ctx, env, o, source, o.readOnly)
}

// campaignAt is the campaign in a folder, for a screen.
func campaignAt(env *Env, dir string, readOnly bool) (tui.Source, error) {
	s, err := runner.Stand(dir)
	if err != nil {
		return nil, err
	}
	stands := &campaignStands{dir: dir, name: s.Name, now: env.Now}
	if readOnly {
		return stands, nil
	}
	return stoppableCampaign{stands}, nil
}

// standEvery is how often a campaign's journal and results are read.
const standEvery = time.Second

// campaignStands is a campaign for the screen. It holds what was read last.
type campaignStands struct {
	dir, name string
	now       func() time.Time

	mu   sync.Mutex
	last *progress.Campaign
	at   time.Time
}

// Run names the campaign.
func (c *campaignStands) Run() rundir.Description {
	return rundir.Description{ID: c.name, Path: c.dir, Kind: "campaign"}
}

// Campaign is how it stands, as of the last second.
func (c *campaignStands) Campaign(context.Context) (*progress.Campaign, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && c.now().Sub(c.at) < standEvery {
		return c.last, nil
	}
	s, err := runner.Stand(c.dir)
	if err != nil {
		return nil, err
	}
	c.last, c.at = &s, c.now()
	return c.last, nil
}

// farewell is how the campaign stood when its screen was left.
func (c *campaignStands) farewell() string {
	state := c.name
	if s, err := runner.Stand(c.dir); err == nil {
		state += ", " + campaignState(&s)
	}
	return lastLines([][2]string{{"campaign", state}, {"files", c.dir}, {"again", "opprof campaign attach " + c.dir}})
}

// stoppableCampaign is one whose runner may be told to end.
type stoppableCampaign struct{ *campaignStands }

// Stop tells the runner to end.
func (c stoppableCampaign) Stop(context.Context) error { return runner.Stop(c.dir) }
