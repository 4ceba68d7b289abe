package cmd

import (
	"testing"
	"time"

	"opprof/campaign/plan"
)

// A second look is spoken of only where one was declared.
func TestWhatACampaignTakes(t *testing.T) {
	for want, n := range map[string]plan.Needs{
		"about 18m0s, a pair 4m24s":                               {Time: 18 * time.Minute, Pair: 264 * time.Second},
		"about 18m0s, a pair 4m24s; a second look 9m0s more":      {Time: 18 * time.Minute, Pair: 264 * time.Second, Second: 9 * time.Minute},
		"about 13h12m0s, a pair 11m0s; a second look 1h0m0s more": {Time: 792 * time.Minute, Pair: 11 * time.Minute, Second: time.Hour},
	} {
		if got := takes(n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
