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
	"pgregory.net/rapid"

	"opprof/engine/rundir"
	"opprof/engine/serverlog"
	"opprof/engine/store"
	"opprof/engine/vllm"
	"opprof/tui/layout"
	"opprof/tui/theme"
)

// serverSource is a fakeSource that knows the server too: a log in a file that a test writes, and what it puts into contents and metrics.
type serverSource struct {
	*fakeSource
	log      *serverlog.Log
	path     string
	contents *rundir.Contents
	metrics  *vllm.Metrics
}

func (s *serverSource) Log(ctx context.Context, q serverlog.Query) (*serverlog.View, error) {
	return s.log.Look(ctx, q)
}

func (s *serverSource) Contents(context.Context) (*rundir.Contents, error) { return s.contents, nil }
func (s *serverSource) Metrics(context.Context) (*vllm.Metrics, error)     { return s.metrics, nil }

// write appends to the log and lets it be read.
func (s *serverSource) write(t testing.TB, text string) {
	t.Helper()
	f, err := os.OpenFile(s.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	for more := true; more && err == nil; {
		more, err = s.log.Poll(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// newServerSource has the start of a recorded server in its log.
func newServerSource(t testing.TB, kind string, o serverlog.Options) *serverSource {
	t.Helper()
	lines := recording(t, "h200-tp2", 800)
	run := describe(kind)
	run.ID, run.TensorParallel = "h200-tp2", 2
	dir, err := os.MkdirTemp("", "opprof-log-") // a short path: it is cut on narrow screens
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &serverSource{fakeSource: &fakeSource{run: run, store: filled(lines)}, path: filepath.Join(dir, "server.log")}
	s.log = serverlog.New(s.path, o)
	t.Cleanup(s.log.Close)
	s.log.Align(serverlog.Known{StartNS: lines[0].Header.StartWallNS, LastNS: newestTime(lines).UnixNano()})
	return s
}

func recordedLog(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "engine", "serverlog", "testdata", "h200-tp2.log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func newServerScreen(t testing.TB, s *serverSource, opt Options) *screen {
	t.Helper()
	c := &clock{newestTime(recording(t, "h200-tp2", 800))}
	opt.Now, opt.Zone = c.now, time.UTC
	opt.Tick = func(time.Duration, func(time.Time) tea.Msg) tea.Cmd { return nil }
	opt.Env = func(k string) string { return map[string]string{"TERM": "xterm-256color", "LANG": "C.UTF-8"}[k] }
	m, err := New(context.Background(), s, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.cancel)
	return &screen{t: t, m: m, source: s.fakeSource, clock: c}
}

// logScreen shows the log page.
func logScreen(t testing.TB, kind string, w, h int, opt Options) (*screen, *serverSource) {
	src := newServerSource(t, kind, serverlog.Options{})
	src.write(t, recordedLog(t))
	s := newServerScreen(t, src, opt)
	s.size(w, h)
	s.tick(0)
	s.keys("2")
	return s, src
}

var logSizes = [][2]int{{60, 16}, {80, 24}, {120, 40}, {180, 50}}

func logScenes() map[string]string {
	return map[string]string{
		"end": "", "start": "g", "warnings": "g p p p", "filter": "/ k v enter", "around": "/ k v enter g c n n", "typing": "/ k v", "level": "v v g",
		"wrap": "g / d e e p enter c n r", "right": "g right", "facts": "i", "nothing": "/ z z z enter",
	}
}

// TestLogGoldens holds the log page at four sizes as plain text, and its styles in every theme.
func TestLogGoldens(t *testing.T) {
	for name, keys := range logScenes() {
		for _, size := range logSizes {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				s, _ := logScreen(t, "finished", size[0], size[1], Options{})
				s.keys(strings.Fields(keys)...)
				s.clearNotice()
				golden.RequireEqual(t, s.plain())
			})
		}
	}
	for _, th := range theme.All() {
		t.Run("styled/"+th.Name, func(t *testing.T) {
			s, _ := logScreen(t, "finished", 120, 40, Options{Theme: theme.Prefs{Theme: th.Name}})
			s.keys(strings.Fields(logScenes()["around"])...)
			s.clearNotice()
			golden.RequireEqual(t, s.content())
		})
	}
	t.Run("ascii", func(t *testing.T) {
		s, _ := logScreen(t, "finished", 120, 40, Options{Theme: theme.Prefs{Glyphs: "ascii"}})
		s.keys(strings.Fields(logScenes()["warnings"])...)
		s.clearNotice()
		golden.RequireEqual(t, s.plain())
	})
}

// clearNotice lets the footer show its keys again.
func (s *screen) clearNotice() {
	for s.m.fade > 0 {
		s.tick(0)
	}
}

// TestLogKeys is a table of facts: after these keys, the screen says this, and does not say that.
func TestLogKeys(t *testing.T) {
	tests := []struct {
		name, keys, says, not string
	}{
		{"opens at the newest line", "", "MPClient: complete", "ulimit"},
		{"and says so", "", "last line", ""},
		{"g is the first line", "g", "ulimit", "MPClient: complete"},
		{"G comes back", "g G", "MPClient: complete", "ulimit"},
		{"k leaves the newest line", "k", "line 199", "last line"},
		{"j at the end follows again", "k j", "last line", "line 199"},
		{"j moves one line", "g j j", "line 3 ", ""},
		{"k stops at the first line", "g k k", "line 1 ", ""},
		{"a page down", "g pgdown", "line 35 ", ""},
		{"^D and ^U are pages", "g ctrl+d ctrl+d ctrl+u", "line 35 ", ""},
		{"many pages at once", "pgup pgup pgup pgup pgup pgup pgup", "line 1 ", ""},
		{"filter shows only matches", "/ k v space c enter", "of 200 lines", "ulimit"},
		{"the count is live", "/ k v", "of 200 lines   enter keeps", ""},
		{"esc clears a filter while typing", "/ k v esc", "last line", "of 200 lines"},
		{"esc clears a kept filter", "/ k v enter esc", "lines 200", "of 200 lines"},
		{"a capital letter counts", "/ W A R N I N G enter", "of 200 lines", "no line passes"},
		{"nothing matches", "/ z z z enter", "no line passes the filter", ""},
		{"an expression", "/ / m o d . l space l o a d i n g / enter", "1 of 200 lines", ""},
		{"a broken expression keeps the prompt", "/ / ( / enter", "not a regular expression", ""},
		{"context shows all lines", "/ k v enter c", "among all", ""},
		{"context needs a filter", "c", "nothing is filtered", "among"},
		{"next match", "g / N C C L = = enter", "no line passes", ""},
		{"n goes on to the next match", "/ w a r m u p enter g c n", "later match", "no later"},
		{"N behind the first match says so", "/ n c c l enter g N", "no earlier match", ""},
		{"n without a filter says so", "n", "no match: / filters lines", ""},
		{"next warning", "g p", "later warning", "no later"},
		{"no next warning at the end", "p", "no later warning", ""},
		{"previous warning", "P", "earlier warning", "no earlier"},
		{"there is no error", "g x", "no later error", ""},
		{"level hides lesser lines", "v v", "WARNING and worse", "MPClient: complete"},
		{"four levels go round", "v v v v", "all lines", "and worse"},
		{"wrap", "g r", "ulimit", ""},
		{"facts", "i", "sizing the KV cache", ""},
		{"esc hides the facts", "i esc", "MPClient: complete", "sizing the KV cache"},
		{"to the step of a line", "enter", "1 review", "server log"},
		{"copy", "y", "copied to the clipboard", ""},
		{"explain", "e", "from server.log", ""},
		{"go to is for time axes", ":", "last line", ""},
		{"the review page leads to the log", "1 L", "server log", "step period"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := logScreen(t, "finished", 120, 40, Options{})
			for _, k := range strings.Fields(tt.keys) {
				s.keys(k)
			}
			got := s.plain()
			lineWidths(t, got, 120, 40)
			if !strings.Contains(got, tt.says) {
				t.Errorf("%q is not on the screen:\n%s", tt.says, got)
			}
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("%q is on the screen:\n%s", tt.not, got)
			}
		})
	}
}

// TestLogFollows: new lines come to the bottom while the newest line is under the cursor, and not otherwise.
func TestLogFollows(t *testing.T) {
	s, src := logScreen(t, "live", 120, 40, Options{})
	src.write(t, "INFO 11-30 02:00:01 [a.py:1] first news\n")
	s.tick(0)
	if got := strings.Split(s.plain(), "\n"); !strings.Contains(got[37], "first news") || !strings.Contains(got[2], "following") {
		t.Fatalf("got:\n%s", s.plain())
	}
	s.keys("k", "k", "k")
	before := s.plain()
	src.write(t, "INFO 11-30 02:00:02 [a.py:1] second news\n")
	s.tick(0)
	after := strings.Split(s.plain(), "\n")
	for i, l := range strings.Split(before, "\n")[3:37] {
		if after[i+3] != l {
			t.Fatalf("line %d moved:\n%s\n%s", i+3, l, after[i+3])
		}
	}
	s.keys("G")
	if got := s.plain(); !strings.Contains(got, "second news") {
		t.Errorf("got:\n%s", got)
	}
}

// TestLogLate: the log appears after the screen, is cut, and vanishes; the page says so each time.
func TestLogLate(t *testing.T) {
	src := newServerSource(t, "live", serverlog.Options{})
	s := newServerScreen(t, src, Options{})
	s.size(120, 40)
	s.keys("2")
	for _, step := range []struct {
		do   func()
		says string
	}{
		{func() {}, "there is no server log"},
		{func() { src.write(t, "INFO 11-30 01:57:19 [a.py:1] hello\n") }, "hello"},
		{func() { must(t, os.Truncate(src.path, 0)); src.write(t, "") }, "the log is empty so far"},
		{func() { src.write(t, "ERROR 11-30 01:57:19 [a.py:1] again\n") }, "errors 1"},
		{func() { must(t, os.Remove(src.path)); _, _ = src.log.Poll(context.Background()) }, "file deleted"},
	} {
		step.do()
		s.tick(0)
		if got := s.plain(); !strings.Contains(got, step.says) {
			t.Fatalf("%q is not on the screen:\n%s", step.says, got)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLogSearchShowsProgress: a search that takes several answers goes on by itself, one question at a time.
func TestLogSearchShowsProgress(t *testing.T) {
	src := newServerSource(t, "finished", serverlog.Options{LookBytes: 4096})
	src.write(t, recordedLog(t))
	s := newServerScreen(t, src, Options{})
	s.size(120, 40)
	s.keys("2")
	msg := press("/")
	s.send(msg)
	_, cmd := s.m.Update(press("k"))
	if cmd == nil {
		t.Fatal("typing asks nothing")
	}
	s.send(cmd())
	p := s.m.page().(*logPage)
	if !p.view.Done || p.view.Count == 0 {
		t.Errorf("the search stopped at %d of %d bytes", p.view.Searched, p.view.State.Read)
	}
	steps := 0
	s.keys("enter", "esc", "/")
	for _, cmd = s.m.Update(press("o")); cmd != nil; steps++ {
		_, cmd = s.m.Update(cmd())
	}
	if steps < 5 {
		t.Errorf("%d answers to a search of ten parts", steps)
	}
}

// TestLogBackToTheSameStep: L and then enter end at the step that they began with, although log lines tell whole seconds only; a line from
// before the first step says so.
func TestLogBackToTheSameStep(t *testing.T) {
	s, src := logScreen(t, "finished", 120, 40, Options{})
	first := src.store.Snapshot().Frame(store.Query{Columns: 1}).Run.Counts.FirstNS
	for i := range 5 {
		at := time.Unix(0, first).UTC().Add(time.Duration(i) * time.Second)
		src.write(t, at.Format("INFO 01-02 15:04:05 [a.py:1] a line\n"))
	}
	s.keys("1", "/", "2", "0", "0", "enter")
	before := boardOf(s).cursorNS()
	s.keys("L", "enter")
	if after := boardOf(s).cursorNS(); after != before || !strings.Contains(s.plain(), "back at the step that L left") {
		t.Errorf("from %d back to %d:\n%s", before, after, s.plain())
	}
	s.keys("2", "g")
	for range 20 {
		s.keys("j") // the first lines tell no time
	}
	s.keys("enter")
	if !strings.Contains(s.plain(), "is before the first step") {
		t.Errorf("got:\n%s", s.plain())
	}
}

// TestLogToStepAndBack: a line leads to the step that was completed when it was written, and the step to a line of that moment.
func TestLogToStepAndBack(t *testing.T) {
	src := newServerSource(t, "finished", serverlog.Options{})
	lines := recording(t, "h200-tp2", 800)
	middle := newestTime(lines).Add(-5 * time.Second).UTC().Truncate(time.Second)
	src.write(t, middle.Add(-time.Hour).Format("INFO 01-02 15:04:05 [a.py:1] ")+"before\n"+middle.Format("INFO 01-02 15:04:05 [a.py:1] ")+"in the middle\n")
	s := newServerScreen(t, src, Options{})
	s.size(120, 40)
	s.tick(0)
	b := boardOf(s)
	s.keys("2", "enter")
	if s.m.visible != 0 || b.time.cursorNS != middle.UnixNano() {
		t.Fatalf("page %d, cursor %v, want %v", s.m.visible, time.Unix(0, b.time.cursorNS).UTC(), middle)
	}
	if got := s.plain(); !strings.Contains(got, "L log") || !strings.Contains(got, "in the middle") {
		t.Errorf("the review page does not show the line at its cursor:\n%s", got)
	}
	s.keys("L")
	if p, ok := s.m.page().(*logPage); !ok || p.line().Message != "in the middle" {
		t.Errorf("back on page %d:\n%s", s.m.visible, s.plain())
	}
}

// TestServerPagesAtAnySize: at any size and after any keys the screen has exactly that size.
func TestServerPagesAtAnySize(t *testing.T) {
	s, _ := logScreen(t, "finished", 120, 40, Options{})
	missing := newServerScreen(t, newServerSource(t, "live", serverlog.Options{}), Options{})
	names := []string{"2", "3", "1", "i", "r", "v", "c", "n", "p", "P", "x", "g", "G", "j", "k", "pgup", "pgdown", "right", "left", "tab", "enter", "esc", "/", "k", "?", "e", "L", "t"}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom([]*screen{s, missing}).Draw(t, "screen")
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			w, h := rapid.IntRange(0, 200).Draw(t, "width"), rapid.IntRange(0, 60).Draw(t, "height")
			s.size(w, h)
			for _, k := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 5).Draw(t, "keys") {
				s.keys(k)
			}
			s.tick(0)
			if w == 0 || h == 0 {
				continue
			}
			lines := strings.Split(s.plain(), "\n")
			if len(lines) != h {
				t.Fatalf("%d lines at height %d", len(lines), h)
			}
			for _, l := range lines {
				if n := len([]rune(l)); n != w {
					t.Fatalf("a line of %d columns at width %d: %q", n, w, l)
				}
			}
			p := s.m.pages[1].(*logPage)
			if layout.Fits(w, h) && p.line() != nil && (p.cursor < p.top || p.cursor >= p.top+h) {
				t.Fatalf("cursor %d, top %d at height %d", p.cursor, p.top, h)
			}
		}
	})
}

// TestLogFactsGiveWay: where there is room for either the facts or the lines, a key about lines shows them.
func TestLogFactsGiveWay(t *testing.T) {
	for _, key := range []string{"v", "p", "r", "/"} {
		s, _ := logScreen(t, "finished", 80, 24, Options{})
		s.keys("i")
		s.shows("sizing the KV cache", "server log")
		s.keys(key)
		s.shows("server log", "sizing the KV cache")
	}
}
