package tui

import (
	"testing"

	"opprof/engine/serverlog"
	"opprof/tui/theme"
)

// FuzzLogText: no line of a log brings a control byte onto the screen or moves its borders.
func FuzzLogText(f *testing.F) {
	f.Add("\x1b]0;evil\a\x1b[2J\u202eh\x00 日本\ttab", "evil")
	f.Add("(Worker_\x1b[31m pid=1) ERROR 11-30 01:57:19 [\x9b1m] x", "/./")
	src := newServerSource(f, "live", serverlog.Options{})
	s := newServerScreen(f, src, Options{Theme: theme.Prefs{Theme: "plain"}})
	s.size(100, 20)
	s.keys("2")
	f.Fuzz(func(t *testing.T, line, find string) {
		src.write(t, line+"\n")
		s.keys("G")
		p := s.m.page().(*logPage)
		if flt := (serverlog.Filter{Text: find}); flt.Check() == nil {
			p.setFilter(flt)
		}
		s.tick(0)
		for _, r := range s.content() {
			if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == 0x202e {
				t.Fatalf("rune %U on the screen", r)
			}
		}
		lineWidths(t, s.plain(), 100, 20)
	})
}
