package cmd

import (
	"strings"
	"testing"

	"opprof/engine/alert"
)

// TestLimits: what the preferences say about warnings is what is judged by.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		key, value string
		says       string // of the error; "" takes the value
		want       func(*alert.Thresholds)
	}{
		{"warn_stall", "2s", "", func(l *alert.Thresholds) { l.StallNS = 2_000_000_000 }},
		{"warn_stall", "off", "", func(l *alert.Thresholds) { l.StallNS = 0 }},
		{"warn_stall", "0s", "want a duration", nil},
		{"warn_stall", "-1s", "want a duration", nil},
		{"warn_stall", "soon", "want a duration", nil},
		{"warn_preemptions", "3", "", func(l *alert.Thresholds) { l.Preemptions = 3 }},
		{"warn_preemptions", "off", "", func(l *alert.Thresholds) { l.Preemptions = 0 }},
		{"warn_preemptions", "0", "want a number", nil},
		{"warn_preemptions", "many", "want a number", nil},
		{"warn_kv", "80%", "", func(l *alert.Thresholds) { l.KVUsage = 0.8 }},
		{"warn_kv", "99.5", "", func(l *alert.Thresholds) { l.KVUsage = 0.995 }},
		{"warn_kv", "off", "", func(l *alert.Thresholds) { l.KVUsage = 0 }},
		{"warn_kv", "101%", "want a share", nil},
		{"warn_kv", "0%", "want a share", nil},
		{"warn_kv", "NaN%", "want a share", nil},
		{"warn_graph_misses", "25 %", "", func(l *alert.Thresholds) { l.GraphMisses = 0.25 }},
		{"warn_padding", "100%", "", func(l *alert.Thresholds) { l.Padding = 1 }},
	} {
		p := &preferences{limits: alert.Default()}
		s, ok := settingOf(c.key)
		if !ok {
			t.Fatalf("%s is no preference", c.key)
		}
		err := s.assign(p, c.value)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.key) {
				t.Errorf("%s = %s: %v, want %q", c.key, c.value, err, c.says)
			}
			continue
		}
		want := alert.Default()
		c.want(&want)
		if err != nil || p.limits != want {
			t.Errorf("%s = %s: %+v, %v", c.key, c.value, p.limits, err)
		}
		again := &preferences{limits: alert.Default()}
		if err := s.assign(again, s.get(p)); err != nil || again.limits != want {
			t.Errorf("%s is printed as %q, which is %+v, %v", c.key, s.get(p), again.limits, err)
		}
	}
	p := &preferences{}
	for _, s := range settings() {
		if err := s.assign(p, s.initial); err != nil {
			t.Errorf("the default of %s: %v", s.key, err)
		}
	}
	if p.limits != alert.Default() {
		t.Errorf("defaults are %+v", p.limits)
	}
}
