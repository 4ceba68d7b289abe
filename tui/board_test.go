package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"opprof/engine/store"
	"opprof/tui/theme"
)

// TestEngines: two engines have rows, and one can be chosen alone.
func TestEngines(t *testing.T) {
	lines := recording(t, "h200-tp1", 600)
	both := store.New(store.Options{})
	for i := range lines {
		l := lines[i]
		both.Line(0, &l)
		l.Step.EngineID = "dp1-pid1091"
		l.Header.EngineID = "dp1-pid1091"
		both.Line(1, &l)
	}
	s := newScreen(t, &fakeSource{run: describe("live"), store: both}, newestTime(lines), Options{})
	s.size(120, 40)
	s.tick(0)
	if got := s.plain(); !strings.Contains(got, "engines") || !strings.Contains(got, "dp1-pid1091") || !strings.Contains(got, "all together") {
		t.Fatalf("no engine rows:\n%s", got)
	}
	whole := boardOf(s).shown.main.Now.ScheduledRequests
	s.keys("E", "E")
	if got := s.plain(); !strings.Contains(got, "engine dp1-pid1091") || !strings.Contains(got, "selected dp1-pid1091") {
		t.Errorf("second engine is not selected:\n%s", got)
	}
	if one := boardOf(s).shown.main.Now.ScheduledRequests; 2*one != whole {
		t.Errorf("one engine has %d requests, both %d", one, whole)
	}
	s.keys("E")
	if got := s.plain(); !strings.Contains(got, "all together") {
		t.Errorf("not all engines again:\n%s", got)
	}
}

// TestEmptyRun: before the first step there is a page that says so.
func TestEmptyRun(t *testing.T) {
	for kind, says := range map[string]string{"live": "no step yet", "finished": "no records"} {
		s := newScreen(t, &fakeSource{run: describe(kind), store: store.New(store.Options{})}, time.Unix(1_800_000_000, 0), Options{})
		for _, size := range sizes {
			s.size(size[0], size[1])
			s.tick(0)
			s.keys("left", "home", "+", ",", "P", "e", "esc", "enter", "tab", "enter", "end")
			lineWidths(t, s.plain(), size[0], size[1])
		}
		if got := s.plain(); !strings.Contains(got, says) || strings.Contains(got, "p50 -") {
			t.Errorf("%s: got:\n%s", kind, got)
		}
	}
}

// TestOutsideTextIsHarmless: control bytes of names and errors never reach the terminal.
func TestOutsideTextIsHarmless(t *testing.T) {
	bad := "\x1b]0;evil\a\x1b[2J\u202eh\x00\r\n日本"
	lines := recording(t, "h200-tp1", 50)
	for i := range lines {
		lines[i].Step.EngineID = bad
		lines[i].Header.EngineID = bad
		lines[i].Header.Model = bad
	}
	run := describe("live")
	run.ID, run.Model, run.VLLMVersion, run.PatchHash, run.Path = bad, bad, bad, bad, bad
	s := newScreen(t, &fakeSource{run: run, store: filled(lines)}, newestTime(lines), Options{Theme: theme.Prefs{Theme: "plain"}})
	s.size(180, 50)
	s.tick(0)
	s.keys("E")
	s.source.err = errors.New(bad)
	s.tick(time.Second)
	for _, r := range s.content() + s.m.View().WindowTitle {
		if r < ' ' && r != '\n' || r == 0x7f || r == 0x202e || r > 0x3000 {
			t.Fatalf("rune %U on the screen", r)
		}
	}
	lineWidths(t, s.plain(), 180, 50)
}

// TestSampledIsSaid: a picture from probes is never taken for a whole one.
func TestSampledIsSaid(t *testing.T) {
	s := reviewScreen(t)
	f := *boardOf(s).shown.main
	f.Sampled = true
	boardOf(s).shown.main = &f
	s.m.stale = true
	if !strings.Contains(strings.Split(s.plain(), "\n")[1], "sampled") {
		t.Error(s.plain())
	}
}
