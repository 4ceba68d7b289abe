package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/exp/golden"

	"opprof/engine/record"
	"opprof/tui/theme"
)

// screen drives a model without a program: commands run at once on the test's goroutine, ticks are sent by hand.
type screen struct {
	t      testing.TB
	m      *Model
	source *fakeSource
	clock  *clock
}

func newScreen(t testing.TB, source Source, at time.Time, opt Options) *screen {
	t.Helper()
	c := &clock{at}
	opt.Now = c.now
	opt.Zone = time.UTC
	opt.Tick = func(time.Duration, func(time.Time) tea.Msg) tea.Cmd { return nil }
	if opt.Env == nil {
		opt.Env = func(k string) string { return map[string]string{"TERM": "xterm-256color", "LANG": "C.UTF-8"}[k] }
	}
	m, err := New(context.Background(), source, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.cancel)
	fake, _ := source.(*fakeSource)
	return &screen{t: t, m: m, source: fake, clock: c}
}

// send delivers a message and all that its commands answer.
func (s *screen) send(msg tea.Msg) {
	_, cmd := s.m.Update(msg)
	s.run(cmd)
}

func (s *screen) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			s.run(c)
		}
	default:
		s.send(msg)
	}
}

func (s *screen) size(w, h int) { s.send(tea.WindowSizeMsg{Width: w, Height: h}) }

// tick lets time pass and pulls a picture.
func (s *screen) tick(d time.Duration) {
	s.clock.at = s.clock.at.Add(d)
	s.send(TickMsg(s.clock.at))
}

// keys presses keys by the names that bindings use.
func (s *screen) keys(names ...string) {
	for _, n := range names {
		s.send(press(n))
	}
}

func (s *screen) content() string { return s.m.View().Content }

// plain is the screen without styles.
func (s *screen) plain() string {
	s.m.View()
	return s.m.grid.Plain()
}

func press(name string) tea.KeyPressMsg {
	special := map[string]tea.Key{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
		"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
		"shift+left": {Code: tea.KeyLeft, Mod: tea.ModShift}, "shift+right": {Code: tea.KeyRight, Mod: tea.ModShift},
		"home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown},
		"space": {Code: tea.KeySpace, Text: " "}, "backspace": {Code: tea.KeyBackspace}, "delete": {Code: tea.KeyDelete},
	}
	if k, ok := special[name]; ok {
		return tea.KeyPressMsg(k)
	}
	if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
		k := press(rest)
		return tea.KeyPressMsg(tea.Key{Code: k.Code, Mod: tea.ModCtrl})
	}
	r := []rune(name)[0]
	return tea.KeyPressMsg(tea.Key{Code: r, Text: name})
}

// scenes are the pictures of the goldens.
func scenes() []scene {
	return []scene{
		{"busy", "h200-tp1", 3500, "live", 0, nil},
		{"stalled", "h200-tp1", 3500, "live", 9 * time.Second, nil},
		{"review", "h200-tp1", 0, "finished", 0, []string{"P", "left", "left"}},
		{"eager", "h200-tp2-eager", 300, "live", 0, nil},
		{"past", "h200-tp1", 3500, "live", 0, []string{"left", "left", "left", "left", "left", "left", "left", "left"}},
		{"help", "h200-tp1", 1000, "live", 0, []string{"?"}},
		{"explain", "h200-tp1", 1000, "live", 0, []string{"e"}},
		{"maximised", "h200-tp1", 3500, "live", 0, []string{"tab", "tab", "enter"}},
		{"find", "h200-tp1", 0, "finished", 0, []string{"/", "1", "2"}},
	}
}

type scene struct {
	name   string
	stream string
	steps  int
	kind   string
	later  time.Duration // between the newest step and the picture
	keys   []string
}

func (sc scene) screen(t testing.TB, opt Options) *screen {
	lines := recording(t, sc.stream, sc.steps)
	run := describe(sc.kind)
	run.ID = sc.stream
	if sc.kind == "finished" {
		run.Traces = []string{"kineto/a.json.gz"}
	}
	at := newestTime(lines).Add(sc.later)
	s := newScreen(t, &fakeSource{run: run, store: filled(lines)}, at, opt)
	return s
}

func (sc scene) show(s *screen, w, h int) {
	s.size(w, h)
	s.tick(0)
	s.keys(sc.keys...)
	s.tick(0)
}

var sizes = [][2]int{{60, 16}, {80, 24}, {100, 30}, {120, 40}, {180, 50}, {200, 60}}

// TestGoldens holds the page at all sizes as plain text, and its styles in a few themes.
func TestGoldens(t *testing.T) {
	for _, sc := range scenes() {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s/%dx%d", sc.name, size[0], size[1]), func(t *testing.T) {
				s := sc.screen(t, Options{})
				sc.show(s, size[0], size[1])
				golden.RequireEqual(t, s.plain())
			})
		}
	}
	for _, name := range themeNames() {
		for _, size := range fourSizes {
			t.Run(fmt.Sprintf("styled/%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				sc := scenes()[0]
				s := sc.screen(t, Options{Theme: theme.Prefs{Theme: name}})
				sc.show(s, size[0], size[1])
				golden.RequireEqual(t, s.content())
			})
		}
	}
	for _, sc := range scenes() {
		for _, size := range fourSizes {
			t.Run(fmt.Sprintf("ascii/%s/%dx%d", sc.name, size[0], size[1]), func(t *testing.T) {
				s := sc.screen(t, Options{Theme: theme.Prefs{Glyphs: "ascii"}})
				sc.show(s, size[0], size[1])
				got := s.plain()
				for _, r := range got {
					if r > 0x7e {
						t.Fatalf("%q is not ASCII", r)
					}
				}
				golden.RequireEqual(t, got)
			})
		}
	}
}

var fourSizes = [][2]int{{80, 24}, {100, 30}, {120, 40}, {180, 50}}

func themeNames() []string {
	var names []string
	for _, t := range theme.All() {
		names = append(names, t.Name)
	}
	return names
}

// TestWritePictures writes the styled screens to a folder, to be looked at: OPPROF_PICTURES=folder go test -run TestWritePictures.
func TestWritePictures(t *testing.T) {
	dir := os.Getenv("OPPROF_PICTURES")
	if dir == "" {
		t.Skip("OPPROF_PICTURES names no folder")
	}
	for _, sc := range scenes() {
		for _, size := range sizes {
			for _, name := range []string{"dark", "light"} {
				s := sc.screen(t, Options{Theme: theme.Prefs{Theme: name}})
				sc.show(s, size[0], size[1])
				path := filepath.Join(dir, fmt.Sprintf("%s-%dx%d-%s.ansi", sc.name, size[0], size[1], name))
				if err := os.WriteFile(path, []byte(s.content()+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// lineWidths checks that a screen has exactly its size.
func lineWidths(t testing.TB, text string, w, h int) {
	t.Helper()
	lines := strings.Split(text, "\n")
	if len(lines) != h {
		t.Fatalf("%d lines, want %d", len(lines), h)
	}
	for i, l := range lines {
		if n := len([]rune(l)); n != w {
			t.Fatalf("line %d has %d columns, want %d: %q", i, n, w, l)
		}
	}
}

var _ = record.KindStep
