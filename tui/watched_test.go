package tui

import (
	"strings"
	"testing"

	"opprof/engine/control"
	"opprof/engine/serverlog"
)

// TestAServerOfSomebodyElse: windows can be armed, what they cost is said to be unknown, and it cannot be stopped.
func TestAServerOfSomebodyElse(t *testing.T) {
	c := supervisedRun(t)
	c.status.Server = control.Server{Addr: "http://gpu7:8000", Profile: true, Watched: true}
	c.status.Cost.StallNS = nil
	s := orderedScreen(t, 180, 50, Options{}, c)
	s.tick(0)
	s.keys("W")
	for _, want := range []string{"unknown: its profiler's settings are somebody else's", "to be stopped after 10 steps"} {
		if !strings.Contains(s.plain(), want) {
			t.Errorf("the form does not say %q:\n%s", want, s.plain())
		}
	}
	s.keys("esc", "w")
	if len(c.orders) != 1 || !strings.HasPrefix(c.orders[0], "arm ") {
		t.Errorf("orders %q", c.orders)
	}
	s = newServerScreen(t, newServerSource(t, "live", serverlog.Options{}), Options{Control: c})
	s.size(120, 40)
	s.tick(0)
	s.keys("3", "ctrl+x")
	if got := s.plain(); strings.Contains(got, "Stop h200") || !strings.Contains(got, "did not start this server") || !strings.Contains(got, "somebody else") {
		t.Errorf("asked to stop:\n%s", got)
	}
}
