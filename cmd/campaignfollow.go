package cmd

import (
	"context"
	"time"

	"opprof/campaign/progress"
	"opprof/campaign/runner"
)

// followCampaign prints a line for each event of a campaign until nobody works on it. It looks as seldom as a screen does: it shares the
// machine with what is measured, and lines carry the times of their events.
func followCampaign(ctx context.Context, env *Env, dir string) error {
	ticker := time.NewTicker(standEvery)
	defer ticker.Stop()
	var after int64
	for {
		// The standing first: what is written between the two is printed then.
		s, err := runner.Stand(dir)
		if err != nil {
			return err
		}
		events, err := runner.Events(dir, after)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := printf(env.Stdout, "%s  %s\n", time.Unix(0, e.WallNS).Format("15:04:05"), printable(e.Text)); err != nil {
				return err
			}
			after = e.Seq
		}
		if s.State != progress.Running {
			return nil
		}
		select {
		case <-ctx.Done():
			_ = printf(env.Stderr, "the campaign goes on: opprof campaign attach %s, opprof campaign stop %s\n", dir, dir)
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
