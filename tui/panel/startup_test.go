package panel

import (
	"testing"
	"time"

	"opprof/engine/serverlog"
	"opprof/engine/vllm"
)

// A phase begins at the time that its line tells, also where nothing says which year and zone that is.
func TestPhaseBegun(t *testing.T) {
	said := serverlog.Moment{LogTime: vllm.LogTime{Month: 11, Day: 30, Hour: 10, Minute: 24, Second: 43}}
	for want, p := range map[string]serverlog.PhaseNS{
		"from 01:51:32": {AtNS: 1_796_003_492_000_000_000, Said: said},
		"from 10:24:43": {Said: said},
		"":              {},
	} {
		if got := begun(p, time.UTC); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
