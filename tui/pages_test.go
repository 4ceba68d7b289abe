package tui

import (
	"testing"

	"opprof/tui/keys"
)

// A live run is live on each of its pages: a window can be armed from there.
func TestPagesOfALiveRunAreLive(t *testing.T) {
	for _, live := range []bool{true, false} {
		for name, p := range map[string]page{
			"log": newLogPage(t.Context(), nil, live, Options{}), "server": newServerPage(live, Options{}),
			"experts": newExpertsPage(live, Options{}), "cost": newCostPage(live, Options{}),
		} {
			if got := p.needs()&keys.NeedLive != 0; got != live {
				t.Errorf("%s: live is %v, want %v", name, got, live)
			}
		}
	}
}
