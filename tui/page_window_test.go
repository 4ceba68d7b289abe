package tui

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"opprof/engine/store"
	"opprof/traces/catalog"
	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/tui/layout"
	"opprof/tui/theme"
)

// windowSource is a run with profiler windows, which a catalog read from the recorded traces.
type windowSource struct {
	*fakeSource
	catalog *catalog.Catalog
	change  func(*catalog.List) *catalog.List // nil shows what there is
	said    string                            // what arming is answered with; "" is an error
	armed   int
}

func (s *windowSource) Windows(ctx context.Context, open []string) (*catalog.List, error) {
	s.catalog.Open(open)
	if err := s.catalog.Look(ctx); err != nil {
		return nil, err
	}
	if s.change != nil {
		return s.change(s.catalog.List()), nil
	}
	return s.catalog.List(), nil
}

func (s *windowSource) MayArm() bool { return s.run.Kind != "finished" }

func (s *windowSource) Arm(context.Context) (string, error) {
	s.armed++
	if s.said == "" {
		return "", errors.New("one is armed already")
	}
	return s.said, nil
}

// windowRun is what tests of the windows page look at: a recording's steps and its traces, read.
type windowRun struct {
	store   *store.Store
	catalog *catalog.Catalog
	newest  time.Time
}

func newWindowRun(t testing.TB, name string) *windowRun {
	t.Helper()
	lines := recording(t, name, 0)
	r := &windowRun{store: filled(lines), newest: newestTime(lines)}
	r.catalog = catalog.New(catalog.Options{
		Traces: func() ([]string, error) {
			return filepath.Glob(filepath.Join("..", "testdata", "traces", name, "*.zst"))
		},
		Streams: func() ([]string, error) {
			return []string{filepath.Join("..", "testdata", "records", name+".jsonl.zst")}, nil
		},
		Markers: func() []store.Window { return r.store.Snapshot().Frame(store.Query{Columns: 1}).Windows },
		Ranks:   func() int { return ranksOf(name) }, Rules: family.Default,
		Step: func(engine string, index int64) (join.Step, bool) {
			sn := r.store.Snapshot()
			at, ok := sn.AtStep(engine, index)
			now := sn.Frame(store.Query{AtNS: at, SpanNS: 1, Columns: 1}).Now
			return join.Step{Index: index, PrefillRequests: now.PrefillRequests, PrefillTokens: now.PrefillTokens, DecodeRequests: now.DecodeBatchSize,
				DecodeTokens: now.DecodeTokens, Graph: now.Graph.Mode.String()}, ok
		},
	})
	return r
}

func ranksOf(name string) int {
	if strings.Contains(name, "tp2") {
		return 2
	}
	return 1
}

// readRuns are read once for all tests that only look: reading the traces again for each picture takes most of the time.
var readRuns sync.Map // by recording

func readRun(t testing.TB, name string) *windowRun {
	t.Helper()
	load, _ := readRuns.LoadOrStore(name, sync.OnceValue(func() *windowRun { return newWindowRun(t, name) }))
	return load.(func() *windowRun)()
}

// windowScreen shows the windows page of a recording.
func windowScreen(t testing.TB, name, kind string, w, h int, opt Options, change func(*windowSource)) (*screen, *windowSource) {
	t.Helper()
	run := describe(kind)
	run.ID = name
	if n := ranksOf(name); n > 1 {
		run.TensorParallel = int64(n)
	}
	read := readRun
	if change != nil {
		read = newWindowRun
	}
	r := read(t, name)
	src := &windowSource{fakeSource: &fakeSource{run: run, store: r.store}, catalog: r.catalog}
	if change != nil {
		change(src)
	}
	s := newScreen(t, src, r.newest, opt)
	s.size(w, h)
	s.tick(0)
	s.keys("2")
	s.tick(0)
	s.tick(0)
	return s, src
}

var windowSizes = [][2]int{{80, 24}, {120, 40}, {180, 50}, {60, 16}}

// TestWindowGoldens holds the page at four sizes as plain text, and its styles in every theme.
func TestWindowGoldens(t *testing.T) {
	scenes := map[string]struct{ recording, keys string }{
		"newest":     {"h200-tp1", ""},
		"iterations": {"h200-tp1", "g j j enter s s"},
		"kernels":    {"h200-tp2", "g tab tab tab j j enter j"},
		"launches":   {"h200-tp2", "g tab tab tab j j enter enter"},
		"strip":      {"h200-tp2", "g j enter j enter + + right"},
		"compare":    {"h200-tp2", "g space j tab tab tab"},
		"ranks":      {"h200-tp2-eager", "g tab j"},
		"recorded":   {"h200-tp2-eager", "G"},
		"explain":    {"h200-tp1", "e"},
	}
	for name, sc := range scenes {
		for _, size := range windowSizes {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				s, _ := windowScreen(t, sc.recording, "finished", size[0], size[1], Options{}, nil)
				for _, k := range strings.Fields(sc.keys) {
					s.content()
					s.keys(k)
				}
				s.tick(0)
				s.tick(time.Minute) // notices have gone
				s.m.fade = 0
				golden.RequireEqual(t, s.plain())
			})
		}
	}
	for _, th := range theme.All() {
		t.Run("styled/"+th.Name, func(t *testing.T) {
			s, _ := windowScreen(t, "h200-tp2-eager", "finished", 180, 50, Options{Theme: theme.Prefs{Theme: th.Name}}, nil)
			s.keys("g")
			golden.RequireEqual(t, s.content())
		})
	}
	t.Run("ascii", func(t *testing.T) {
		s, _ := windowScreen(t, "h200-tp2-eager", "finished", 120, 40, Options{Theme: theme.Prefs{Glyphs: "ascii"}}, nil)
		s.keys("g")
		golden.RequireEqual(t, s.plain())
	})
}

// TestWindowKeys is a table of facts: after these keys, the screen says this, and does not say that.
func TestWindowKeys(t *testing.T) {
	for _, tt := range []struct{ name, recording, keys, says, not string }{
		{"the newest window is selected", "h200-tp1", "", "► 7  ✓ verified", "► 1"},
		{"g is the first", "h200-tp1", "g", "► 1  ✓ verified", "► 7"},
		{"j goes down and stops", "h200-tp1", "g j j j j j j j j j", "► 7", ""},
		{"the selected window's ranks", "h200-tp1", "g", "window 1  busy ms of its 8 active iterations", ""},
		{"unknown and suspect are always there", "h200-tp2", "g", "unknown 0 %  suspect 0 ms", ""},
		{"enter opens iterations", "h200-tp1", "g enter j", "iteration 4 over time", ""},
		{"an iteration opens its time line", "h200-tp1", "g enter enter +", "a cell", ""},
		{"esc comes back", "h200-tp1", "g enter esc j", "► 2  ✓ verified", ""},
		{"sorted by a column", "h200-tp1", "g enter s s s", "by period, largest first", ""},
		{"sorted the other way", "h200-tp1", "g enter s s s S", "by period, smallest first", ""},
		{"sorted by time again", "h200-tp1", "g " + strings.Repeat("s ", 20), "w warm-up", "by tokens"},
		{"a family opens its kernels", "h200-tp1", "g tab tab tab j j enter", "expert GEMM kernels", ""},
		{"a kernel opens its launches", "h200-tp1", "g tab tab tab j j enter enter", "launches by iteration", "reading the launches"},
		{"esc goes up", "h200-tp1", "g tab tab tab j j enter enter esc", "expert GEMM kernels", "launches by iteration"},
		{"the rule of a kernel", "h200-tp1", "g tab tab tab enter", "flash", ""},
		{"ranks are told", "h200-tp2", "g ]", "families of rank 0", "families of the critical"},
		{"ranks go round", "h200-tp2", "g ] ] ]", "families of the critical rank", ""},
		{"one rank cannot be chosen", "h200-tp1", "]", "the window has one rank", ""},
		{"collective wait is told from work", "h200-tp2", "g", "waits by clocks", ""},
		{"windows are compared", "h200-tp1", "g space j", "a window 1 rank 0   b window 2 rank 0", ""},
		{"ranks are compared", "h200-tp2", "g ] space ]", "a window 1 rank 0   b window 1 rank 1", ""},
		{"esc ends comparing", "h200-tp1", "g c j esc", "families  rank 0", "a window"},
		{"c twice takes the mark off", "h200-tp1", "g c c", "no longer compared", ""},
		{"o goes to the step", "h200-tp1", "g o", "step 246 of window 1", "profiler windows  "},
		{"o goes to the iteration's step", "h200-tp1", "g enter j o", "step 249 of window 1", ""},
		{"i comes back", "h200-tp1", "g enter j o i", "► 1  ✓ verified", ""},
		{"what has no traces says why", "h200-tp2-eager", "G", "no trace file in the run's folder", "over time"},
		{"nothing to compare", "h200-tp2-eager", "G space", "compare: the run has no traces", ""},
		{"eager is said", "h200-tp2-eager", "g", "kernels run by eager", ""},
		{"a finished run is not armed", "h200-tp1", "w", "the run is finished", ""},
		{"no time axis", "h200-tp1", "/", "q quit", "go to"},
		{"copy", "h200-tp1", "y", "copied to the clipboard", ""},
		{"explain", "h200-tp1", "e", "explain: profiler windows", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := windowScreen(t, tt.recording, "finished", 180, 50, Options{}, nil)
			for _, k := range strings.Fields(tt.keys) {
				s.content()
				s.keys(k)
			}
			got := s.plain()
			lineWidths(t, got, 180, 50)
			if !strings.Contains(got, tt.says) {
				t.Errorf("%q is not on the screen:\n%s", tt.says, got)
			}
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("%q is on the screen:\n%s", tt.not, got)
			}
		})
	}
}

func TestWindowsOfALiveRun(t *testing.T) {
	s, src := windowScreen(t, "h200-tp1", "live", 180, 50, Options{}, func(s *windowSource) { s.said = "window armed" })
	s.keys("w")
	if src.armed != 1 || !strings.Contains(s.plain(), "window armed") {
		t.Errorf("armed %d times:\n%s", src.armed, s.plain())
	}
	src.said = ""
	s.keys("w")
	if !strings.Contains(s.plain(), "no window: one is armed already") {
		t.Error(s.plain())
	}
	s.keys("W")
	if !strings.Contains(s.plain(), "only a supervised server") {
		t.Error(s.plain())
	}
	s.keys("G") // follows
	src.change = func(l *catalog.List) *catalog.List {
		next := *l
		next.Windows = append(slices.Clone(l.Windows), catalog.Window{Key: "new", Number: 8, State: catalog.Recording, TimeNS: 1})
		return &next
	}
	s.tick(time.Second)
	if !strings.Contains(s.plain(), "► 8  ● recording") {
		t.Error(s.plain())
	}
}

// Hostile names stay text, at every size, and what is not there does not panic.
func TestWindowsAtAnySize(t *testing.T) {
	hostile := func(l *catalog.List) *catalog.List {
		next := *l
		next.Problem = "\x1b[2Jgone\u202e"
		next.Windows = slices.Clone(l.Windows)
		next.Windows[0].Reason = "\x1b]52;c;x\x07\u200b wide 世界"
		next.Windows = append(next.Windows, catalog.Window{Key: "none", Number: 99})
		return &next
	}
	s, _ := windowScreen(t, "h200-tp2-eager", "finished", 180, 50, Options{}, func(src *windowSource) { src.change = hostile })
	known := []string{"g", "G", "j", "k", "enter", "esc", "tab", "shift+tab", "s", "S", "[", "]", "space", "+", "-", "left", "right", "pgdown", "pgup", "e", "y", "o", "2"}
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(0, 220).Draw(t, "w"), rapid.IntRange(0, 70).Draw(t, "h")
		s.size(w, h)
		for range rapid.IntRange(1, 8).Draw(t, "n") {
			s.keys(rapid.SampledFrom(known).Draw(t, "key"))
			s.content()
		}
		if !layout.Fits(w, h) {
			return
		}
		for _, line := range strings.Split(s.plain(), "\n") {
			if len([]rune(line)) != w || strings.ContainsAny(line, "\x1b\x07\u202e\u200b") {
				t.Fatalf("%q at %d x %d", line, w, h)
			}
		}
	})
}

func TestPanesShareTheLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rooms [windowPanes]room
		for i := range rooms {
			rooms[i].least = rapid.IntRange(0, 12).Draw(t, "least")
			rooms[i].best = rooms[i].least + rapid.IntRange(0, 20).Draw(t, "more")
		}
		h := rapid.IntRange(-2, 80).Draw(t, "h")
		focus := windowPane(rapid.IntRange(0, int(windowPanes)-1).Draw(t, "focus"))
		rooms[focus].least = max(1, rooms[focus].least)
		out := arrangePanes(h, focus, rooms)
		sum := 0
		for i, n := range out {
			sum += n
			if n < 0 || n > 0 && n < rooms[i].least && windowPane(i) != focus {
				t.Fatalf("pane %d has %d lines of %+v", i, n, rooms[i])
			}
		}
		if h > 0 && (sum != h || out[focus] == 0) || h <= 0 && sum != 0 {
			t.Fatalf("%v of %d lines, focus %d", out, h, focus)
		}
	})
}

// A finished run that is known whole is not asked about again, until other windows are looked at.
func TestWindowsAreIdle(t *testing.T) {
	s, src := windowScreen(t, "h200-tp2-eager", "finished", 120, 40, Options{}, nil)
	asked := 0
	src.change = func(l *catalog.List) *catalog.List {
		asked++
		still := *l
		still.Version = 1
		return &still
	}
	for range settledAfter + 3 {
		s.tick(time.Second)
	}
	asked = 0
	s.tick(time.Second)
	if asked != 0 {
		t.Errorf("asked %d times", asked)
	}
	s.keys("g")
	if asked == 0 {
		t.Error("another window was not asked for")
	}
}
