package runreport

import (
	"testing"

	"opprof/engine/rundir"
)

func TestEnding(t *testing.T) {
	for want, e := range map[string]rundir.Exit{
		"stopped: ordered by a client": {State: "stopped", Reason: "stopped: ordered by a client"},
		"failed: out of memory":        {State: "failed", Reason: "out of memory"},
		"stopped":                      {State: "stopped"},
	} {
		if got := ending(&e); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
}
