package tui

import (
	"testing"
	"time"

	"opprof/tui/layout"
	"opprof/tui/theme"
)

// TestStateComesBack: what was chosen on one screen is there on the next.
func TestStateComesBack(t *testing.T) {
	s := liveScreen(t)
	s.keys("t", "d", "%", "tab", "+")
	chosen := s.m.state()
	want := State{Theme: "light", Density: "compact", Layout: "all", Page: "live", SpanNS: int64(30 * time.Second), Mouse: "off"}
	want.Focus = string(whole(boardOf(s).focus))
	if chosen != want {
		t.Fatalf("chosen %+v\nwant   %+v", chosen, want)
	}
	again := scenes()[0].screen(t, Options{State: chosen})
	scenes()[0].show(again, 120, 40)
	if got := again.m.state(); got != chosen {
		t.Errorf("restored %+v\nwant     %+v", got, chosen)
	}
}

// TestStateOfAnotherVersion: names that are not known are no choice.
func TestStateOfAnotherVersion(t *testing.T) {
	first := scenes()[0].screen(t, Options{})
	strange := scenes()[0].screen(t, Options{State: State{Theme: "solarised", Density: "huge", Layout: "spiral", Page: "windows 95", Focus: "gpu", SpanNS: -4}})
	if got, want := strange.m.state(), first.m.state(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestStateYieldsToPreferences: a theme that was asked for by name is shown, and the next start finds no other choice.
func TestStateYieldsToPreferences(t *testing.T) {
	s := scenes()[0].screen(t, Options{Theme: theme.Prefs{Theme: "mono"}, NoMouse: true})
	if got := s.m.state(); got.Theme != "" || s.m.theme.Name != "mono" || got.Mouse != "off" {
		t.Errorf("%+v, theme %s", got, s.m.theme.Name)
	}
}

// TestEveryPanelCanBeRemembered: the focus of each panel comes back.
func TestEveryPanelCanBeRemembered(t *testing.T) {
	for _, id := range layout.Panels(1) {
		s := scenes()[0].screen(t, Options{State: State{Focus: string(id)}})
		scenes()[0].show(s, 200, 60)
		if got := boardOf(s).focus; got != id {
			t.Errorf("focus %s, want %s", got, id)
		}
	}
}
