package tui

import (
	"testing"
	"time"
)

func TestParseTarget(t *testing.T) {
	at := func(s string) int64 {
		x, err := time.Parse("2006-01-02 15:04:05.999999999", s)
		if err != nil {
			t.Fatal(err)
		}
		return x.UnixNano()
	}
	run := view{firstNS: at("2026-11-30 22:00:00"), lastNS: at("2026-12-02 03:00:00")}
	cursor := at("2026-12-01 10:00:00")
	tests := []struct {
		text string
		want target
		fail bool
	}{
		{"1234", target{step: 1234}, false},
		{" 1,234 ", target{step: 1234}, false},
		{"0", target{}, true},
		{"-", target{}, true},
		{"", target{}, true},
		{"x12", target{}, true},
		{"99999999999999999999", target{}, true},
		{"+30", target{atNS: cursor + 30*sec}, false},
		{"-1m30s", target{atNS: cursor - 90*sec}, false},
		{"+0.5", target{atNS: cursor + sec/2}, false},
		{"+1q", target{}, true},
		{"23:30", target{atNS: at("2026-11-30 23:30:00")}, false},
		{"12:00:01.25", target{atNS: at("2026-12-01 12:00:01.25")}, false},
		{"02:00", target{atNS: at("2026-12-01 02:00:00")}, false},
		{"2026-12-02 01:00:00", target{atNS: at("2026-12-02 01:00:00")}, false},
		{"2026-12-02 01:00", target{atNS: at("2026-12-02 01:00:00")}, false},
		{"25:00", target{}, true},
		{"0%", target{atNS: run.firstNS}, false},
		{"100 %", target{atNS: run.lastNS}, false},
		{"101%", target{}, true},
		{"NaN%", target{}, true},
	}
	for _, tt := range tests {
		got, err := parseTarget(tt.text, run, cursor, time.UTC)
		if got != tt.want || (err != nil) != tt.fail {
			t.Errorf("%q: got %+v, %v; want %+v, failing %v", tt.text, got, err, tt.want, tt.fail)
		}
	}
}

// TestParseTargetZone: a time of day is one of the zone that the screen prints.
func TestParseTargetZone(t *testing.T) {
	zone := time.FixedZone("east", 3*3600)
	first := time.Date(2026, 11, 30, 12, 0, 0, 0, zone).UnixNano()
	got, err := parseTarget("12:30", view{firstNS: first, lastNS: first + 3600*sec}, first, zone)
	if err != nil || got.atNS != first+1800*sec {
		t.Errorf("got %+v, %v", got, err)
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"1,234", "12:03:47.120", "+30", "-1m30s", "50%", "2026-11-30 12:00", "::", "+", "%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseTarget(s, minute(), minute().lastNS, time.UTC)
		if err == nil && got.step < 0 {
			t.Errorf("%q: step %d", s, got.step)
		}
		if err == nil && got.step == 0 && got.atNS == 0 && s == "" {
			t.Errorf("%q was taken", s)
		}
	})
}
