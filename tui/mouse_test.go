package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"opprof/tui/layout"
)

// clickOn clicks on the first place of a text on the screen.
func (s *screen) clickOn(text string) {
	s.t.Helper()
	for y, l := range strings.Split(s.plain(), "\n") {
		if i := strings.Index(l, text); i >= 0 {
			s.send(tea.MouseClickMsg{X: len([]rune(l[:i])), Y: y, Button: tea.MouseLeft})
			return
		}
	}
	s.t.Fatalf("%q is not on the screen:\n%s", text, s.plain())
}

func (s *screen) wheel(up bool) {
	b := tea.MouseWheelDown
	if up {
		b = tea.MouseWheelUp
	}
	s.send(tea.MouseWheelMsg{X: 10, Y: 10, Button: b})
}

func TestMouseOnTheBoard(t *testing.T) {
	s := liveScreen(t)
	s.clickOn("KV cache")
	if got := boardOf(s).focus; got != layout.KV {
		t.Errorf("focus on %s", got)
	}
	s.clickOn("KV cache")
	if !boardOf(s).maximised {
		t.Error("the second click does not maximise")
	}
	s.clickOn("KV cache")
	span := boardOf(s).time.spanNS
	s.wheel(true)
	if got := boardOf(s).time.spanNS; got >= span {
		t.Errorf("the wheel zooms from %d to %d", span, got)
	}
	s.wheel(false)
	if got := boardOf(s).time.spanNS; got != span {
		t.Errorf("and back to %d, not %d", got, span)
	}
	s.send(tea.MouseClickMsg{X: 10, Y: 20, Button: tea.MouseRight})
	if got := boardOf(s).focus; got != layout.KV {
		t.Errorf("the right button moves the focus to %s", got)
	}
}

// TestMouseOnTheRunsLine: a click goes to that part of the run.
func TestMouseOnTheRunsLine(t *testing.T) {
	s := reviewScreen(t)
	f := boardOf(s).overview
	area := boardOf(s).overviewArea(boardOf(s).scrubRect())
	for _, x := range []int{20, 60, 100} {
		s.send(tea.MouseClickMsg{X: x, Y: 3, Button: tea.MouseLeft})
		at := boardOf(s).time.cursorNS
		if want := f.FromNS + (f.ToNS-f.FromNS)*int64(x-area.X)/int64(area.W); at < want-(f.ToNS-f.FromNS)/50 || at > want+(f.ToNS-f.FromNS)/50 {
			t.Errorf("column %d goes to %d, want about %d", x, at, want)
		}
	}
}

// TestMouseOnTabsAndOverlays: a click on a page's name goes there, one beside an overlay closes it, the wheel scrolls it.
func TestMouseOnTabsAndOverlays(t *testing.T) {
	s, _ := logScreen(t, "live", 120, 40, Options{})
	s.clickOn("2 log")
	if s.m.visible != 1 {
		t.Errorf("page %d", s.m.visible)
	}
	s.wheel(true)
	s.wheel(false)
	s.clickOn("1 live")
	if s.m.visible != 0 {
		t.Errorf("page %d", s.m.visible)
	}
	s.keys("?")
	s.plain() // an overlay knows its length once it is drawn
	top := s.m.overlay.top
	s.wheel(false)
	if s.m.overlay == nil || s.m.overlay.top != top+wheelLines {
		t.Errorf("overlay %+v", s.m.overlay)
	}
	s.clickOn("all keys")
	if s.m.overlay == nil {
		t.Fatal("a click on the overlay closes it")
	}
	s.send(tea.MouseClickMsg{X: 0, Y: 30, Button: tea.MouseLeft})
	if s.m.overlay != nil {
		t.Error("a click beside the overlay leaves it open")
	}
}

// TestMouseOff: the program does not ask for what the reader does not want, and takes clicks in any state without harm.
func TestMouseOff(t *testing.T) {
	s := liveScreen(t)
	if s.m.View().MouseMode != tea.MouseModeCellMotion {
		t.Error("the mouse is off at first")
	}
	s.keys("%")
	if s.m.View().MouseMode != tea.MouseModeNone {
		t.Error("the mouse stays on")
	}
	for _, size := range [][2]int{{0, 0}, {5, 2}, {60, 16}} {
		s.size(size[0], size[1])
		for y := -1; y < 20; y++ {
			s.send(tea.MouseClickMsg{X: 3 * y, Y: y, Button: tea.MouseLeft})
		}
		s.wheel(true)
	}
}
