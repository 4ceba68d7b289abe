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

// campaignScreen shows a campaign until the reader quits. How it stood then stays on the terminal.
func campaignScreen(ctx context.Context, env *Env, o *screenOptions, dir string) error {
	source, err := campaignAt(env, dir, o.readOnly)
	if err != nil {
		return err
	}
	if err := openList(ctx, env, o, source, o.readOnly); err != nil {
		return err
	}
	s, err := runner.Stand(dir)
	if err != nil {
		return err
	}
	return printf(env.Stdout, "%-9s%s\n%-9s%s\n%-9s%s\n", "campaign", s.Name+", "+campaignState(&s), "files", dir, "again", "opprof campaign attach "+dir)
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

// stoppableCampaign is one whose runner may be told to end.
type stoppableCampaign struct{ *campaignStands }

// Stop tells the runner to end.
func (c stoppableCampaign) Stop(context.Context) error { return runner.Stop(c.dir) }
