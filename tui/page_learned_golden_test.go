package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"opprof/traces/experts"
	"opprof/tui/theme"
)

func TestExpertGoldens(t *testing.T) {
	scenes := map[string]struct {
		list func(t testing.TB) *experts.List
		keys string
	}{
		"recorded": {recordedExperts, "] ] j j"},
		"uneven":   {func(t testing.TB) *experts.List { return routed(t, uneven(t, t.TempDir(), 12, 256, 4)) }, "s s ] ] ] p"},
		"few":      {func(t testing.TB) *experts.List { return routed(t, uneven(t, t.TempDir(), 3, 8, 2)) }, "G tab"},
		"broken":   {broken, "tab tab"},
		"nothing":  {func(t testing.TB) *experts.List { l := broken(t); l.Load = nil; return l }, ""},
		"empty": {func(testing.TB) *experts.List {
			return &experts.List{Version: 1, Problem: "cannot find routed experts"}
		}, ""},
		"reading": {func(testing.TB) *experts.List { return &experts.List{Version: 1, Of: 3} }, ""},
		"explain": {recordedExperts, "e"},
	}
	for name, sc := range scenes {
		for _, size := range windowSizes {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				s := learnedScreen(t, &learnedSource{experts: sc.list(t)}, "finished", "experts", size[0], size[1], Options{})
				s.presses(sc.keys)
				got := s.plain()
				lineWidths(t, got, size[0], size[1])
				golden.RequireEqual(t, got)
			})
		}
	}
	for _, th := range theme.All() {
		t.Run("styled/"+th.Name, func(t *testing.T) {
			s := learnedScreen(t, &learnedSource{experts: routed(t, uneven(t, t.TempDir(), 12, 64, 4))}, "finished", "experts", 120, 40, Options{Theme: theme.Prefs{Theme: th.Name}})
			golden.RequireEqual(t, s.content())
		})
	}
	t.Run("ascii", func(t *testing.T) {
		s := learnedScreen(t, &learnedSource{experts: routed(t, uneven(t, t.TempDir(), 12, 64, 4))}, "finished", "experts", 80, 24, Options{Theme: theme.Prefs{Glyphs: "ascii"}})
		got := s.plain()
		if strings.ContainsFunc(got, func(r rune) bool { return r > 0x7e }) {
			t.Error("not ASCII")
		}
		golden.RequireEqual(t, got)
	})
}

func TestCostGoldens(t *testing.T) {
	scenes := map[string]struct {
		recording string
		most      int
		kind      string
		keys      string
	}{
		"newest":  {"h200-tp1", 9, "finished", ""},
		"now":     {"h200-tp1", 9, "live", ""},
		"outside": {"h200-tp1", 9, "finished", "/ d e c o d e = 4 8 , c o n t e x t = 8 1 9 2 enter"},
		"table":   {"h200-tp1", 9, "finished", "tab s s j j enter"},
		"windows": {"h200-tp1", 9, "finished", "tab tab"},
		"model":   {"h200-tp1", 9, "finished", "tab tab tab"},
		"two":     {"h200-tp1", 2, "finished", ""},
		"one":     {"h200-tp1", 1, "live", ""},
		"ranks":   {"h200-tp2", 9, "finished", "tab"},
		"none":    {"h200-tp1", 0, "live", ""},
		"refused": {"h200-tp1", 9, "finished", "/ d e c o d e = 4 8 , c o n t e x t = 2 5 6 , b u c k e t = 8 enter"},
		"explain": {"h200-tp1", 9, "finished", "e"},
	}
	for name, sc := range scenes {
		for _, size := range windowSizes {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				s := learnedScreen(t, &learnedSource{cost: learnedFrom(t, sc.recording, sc.most)}, sc.kind, "cost", size[0], size[1], Options{})
				s.presses(sc.keys)
				got := s.plain()
				lineWidths(t, got, size[0], size[1])
				golden.RequireEqual(t, got)
			})
		}
	}
	for _, th := range theme.All() {
		t.Run("styled/"+th.Name, func(t *testing.T) {
			s := learnedScreen(t, &learnedSource{cost: learnedFrom(t, "h200-tp1", 9)}, "finished", "cost", 120, 40, Options{Theme: theme.Prefs{Theme: th.Name}})
			golden.RequireEqual(t, s.content())
		})
	}
	t.Run("ascii", func(t *testing.T) {
		s := learnedScreen(t, &learnedSource{cost: learnedFrom(t, "h200-tp1", 9)}, "finished", "cost", 80, 24, Options{Theme: theme.Prefs{Glyphs: "ascii"}})
		golden.RequireEqual(t, s.plain())
	})
}
