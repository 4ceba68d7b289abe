package tui

import (
	"strings"
	"testing"
	"time"

	"opprof/engine/alert"
)

// judgedSource is a source with warnings.
type judgedSource struct {
	*fakeSource
	warnings []alert.Warning
}

func (s *judgedSource) Warnings() []alert.Warning { return s.warnings }

// TestWarnings: the header counts what holds now, loudly, and what is past, quietly; the list says what, how often and when.
func TestWarnings(t *testing.T) {
	lines := recording(t, "h200-tp1", 500)
	first := time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)
	source := &judgedSource{fakeSource: &fakeSource{run: describe("live"), store: filled(lines)}}
	s := newScreen(t, source, newestTime(lines), Options{})
	s.size(120, 40)
	s.tick(0)
	if got := s.plain(); strings.Contains(got, "warning") || strings.Contains(got, "past") {
		t.Errorf("a warning without one:\n%s", got)
	}
	s.keys("!")
	if got := s.plain(); !strings.Contains(got, "nothing to warn of") {
		t.Errorf("got:\n%s", got)
	}
	source.warnings = []alert.Warning{
		{Rule: alert.KVFull, Engine: "dp0-pid1", FirstNS: first.UnixNano(), LastNS: first.Add(90 * time.Second).UnixNano(), Count: 1234, Unit: "steps", Worst: 0.991, Active: true},
		{Rule: alert.BadLines, Count: 2, Unit: "lines"},
	}
	s.tick(time.Second)
	if head := strings.Split(s.plain(), "\n")[0]; !strings.Contains(head, "▲ 1 warning ") {
		t.Errorf("header %q", head)
	}
	s.keys("!")
	got := s.plain()
	for _, want := range []string{
		"▲ KV cache full  now  1,234 steps  dp0-pid1", "99.1 %", "first 2026-11-30 01:02:03  last 2026-11-30 01:03:33",
		"○ bad lines  over  2 lines", "first -  last -",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
	source.warnings[0].Active = false
	s.tick(time.Second)
	if got := s.plain(); !strings.Contains(got, "○ KV cache full  over") {
		t.Errorf("the open list stands still:\n%s", got)
	}
	s.keys("/", "b", "a", "d", "enter")
	if got := s.plain(); strings.Contains(got, "KV cache full") || !strings.Contains(got, "bad lines") {
		t.Errorf("the filter does nothing:\n%s", got)
	}
	s.keys("!")
	if head := strings.Split(s.plain(), "\n")[0]; !strings.Contains(head, "▲ 2 past") || s.m.overlay != nil {
		t.Errorf("header %q", head)
	}
}
