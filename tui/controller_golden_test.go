package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"opprof/engine/control"
	"opprof/engine/serverlog"
	"opprof/tui/theme"
)

// TestOrderGoldens holds the screens of a supervised run at four sizes as plain text.
func TestOrderGoldens(t *testing.T) {
	windows := func(t *testing.T, w, h int, opt Options) *screen {
		c := supervisedRun(t)
		firstWindows(c, filled(recording(t, "h200-tp1", 0)))
		return orderedScreen(t, w, h, opt, c)
	}
	start := func(state, reason string) func(t *testing.T, w, h int, opt Options) *screen {
		return func(t *testing.T, w, h int, opt Options) *screen {
			c := supervisedRun(t)
			c.status.SinceNS = newestTime(recording(t, "h200-tp2", 800)).UnixNano() - 75_000_000_000
			c.status.State, c.status.Reason = state, reason
			c.status.Phase = control.Phase{Name: "capturing graphs", Done: 20, Total: 67}
			return startScreen(t, w, h, startOf(t, "Graph capturing finished"), c, opt)
		}
	}
	for _, sc := range []struct {
		name string
		show func(t *testing.T, w, h int, opt Options) *screen
		keys string
	}{
		{"windows", windows, "G"},
		{"form", windows, "W d e c o d e _ b tab space > = space 2"},
		{"form-wrong", windows, "W p r e"},
		{"form-every", windows, "W shift+tab right right down 5 0 0 down 3"},
		{"activity", windows, "a"},
		{"start", start(control.Starting, ""), ""},
		{"failed", start(control.Dead, "the server ended with exit code 1: ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`."), ""},
		{"question", func(t *testing.T, w, h int, opt Options) *screen {
			c := supervisedRun(t)
			c.status.Windows = []control.Window{{N: 1, State: control.WindowRecording}, {N: 2, State: control.WindowArmed, Trigger: control.Trigger{Kind: control.TriggerStep, Step: 3000}}}
			opt.Control = c
			src := newServerSource(t, "live", serverlog.Options{})
			src.write(t, recordedLog(t))
			s := newServerScreen(t, src, opt)
			s.size(w, h)
			s.tick(0)
			s.keys("3")
			s.tick(0)
			return s
		}, "ctrl+x"},
	} {
		press := func(s *screen) {
			for _, k := range strings.Fields(sc.keys) {
				s.content()
				s.keys(k)
			}
			s.m.fade = 0
			s.m.stale = true
		}
		for _, size := range windowSizes {
			t.Run(fmt.Sprintf("%s/%dx%d", sc.name, size[0], size[1]), func(t *testing.T) {
				s := sc.show(t, size[0], size[1], Options{})
				press(s)
				golden.RequireEqual(t, s.plain())
			})
		}
		t.Run(sc.name+"/ascii", func(t *testing.T) {
			s := sc.show(t, 120, 40, Options{Theme: theme.Prefs{Glyphs: "ascii"}})
			press(s)
			golden.RequireEqual(t, s.plain())
		})
	}
}
