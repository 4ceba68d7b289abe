package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"opprof/tui/layout"
	"opprof/tui/theme"
)

// liveScreen is the page over the first 3500 steps of a recording, 120 x 40.
func liveScreen(t testing.TB) *screen {
	s := scenes()[0].screen(t, Options{})
	scenes()[0].show(s, 120, 40)
	return s
}

func reviewScreen(t testing.TB) *screen {
	sc := scene{stream: "h200-tp1", kind: "finished"}
	s := sc.screen(t, Options{})
	sc.show(s, 120, 40)
	return s
}

func boardOf(s *screen) *board { return s.m.pages[0].(*board) }

// TestKeys is a table of facts: after these keys, the screen says this, and does not say that.
func TestKeys(t *testing.T) {
	tests := []struct {
		name   string
		review bool
		keys   string
		says   string
		not    string
	}{
		{"live at first", false, "", "► live", "FROZEN"},
		{"space freezes loudly", false, "space", "FROZEN", "► live"},
		{"space again goes on", false, "space space", "► live", "FROZEN"},
		{"left leaves the newest step", false, "left", "▮ past", "► live"},
		{"the scrubber comes with the past", false, "left", "w window", ""},
		{"end comes back", false, "left left end", "► live", "w window"},
		{"G comes back too", false, "pgup G", "► live", "past"},
		{"right at the newest step stays live", false, "right", "► live", "past"},
		{"frozen, then moved, is past", false, "space left", "▮ past", "FROZEN"},
		{"end is off while live", false, "end", "the picture is live already", ""},
		{"freeze in the past says why not", false, "left space", "the picture already stands", "FROZEN"},
		{"freeze in a review says why not", true, "space", "freeze: the run is finished", "FROZEN"},
		{"a comma goes one step back", false, ", ,", "step 3,498", "step 3,500"},
		{"a point goes one step on", false, ", , .", "step 3,499", ""},
		{"home is the first step", true, "home", "step 1 ", ""},
		{"find a step", true, "/ 1 2 3 4 enter", "step 1,234 ", "go to"},
		{"find a missing step says so", true, "/ 5 0 0 0 enter", "no step 5,000: steps ", ""},
		{"find nonsense keeps the prompt", true, "/ x enter", "write a step index", ""},
		{"esc closes the prompt", true, "/ 1 esc", "q quit", "go to"},
		{"the prompt has a cursor", true, "/ 1 2 left left 3", "go to 312 ", ""},
		{"backspace edits the prompt", true, "/ 1 2 backspace", "go to 1 ", "go to 12"},
		{"a review begins with the first step", true, "", "step 1 ", "► live"},
		{"all of the run is in the picture", true, "", "span 2m26s", ""},
		{"next preemption says how many requests", true, "p", "preemption: step ", "no later"},
		{"previous preemption", true, "end P", "preemption: step ", "no earlier"},
		{"next preemption behind the last goes round", true, "end p", "no later preemption: back to the first.  preemption: step ", ""},
		{"previous preemption before the first goes round", true, "P", "no earlier preemption: on to the last.  preemption: step ", ""},
		{"a stall says how long and in which window", true, "s s s", "stall: step 255, 943 ms, in profiler window 1 (its longest step)", "no later"},
		{"a window says its steps", true, "n", "profiler window 1: steps ", ""},
		{"a gap says what is missing", true, "x", "gap: steps ", "no later"},
		{"a gap says that nothing was dropped", true, "x", "missing (1,527), none reported as dropped", ""},
		{"a graph miss says mode and size", true, "m", "graph miss: step ", ""},
		{"a graph miss says its tokens", true, "m", "NONE, ", ""},
		{"a point at a gap goes on behind it", true, "/ 4 4 1 3 enter .", "are missing: step 5,941 is the next", ""},
		{"a comma before the first step says so", true, ",", "step 1 is the first of the run", ""},
		{"a point behind the last step says so", true, "end .", "is the last of the run", ""},
		{"a step behind the last says so", true, "/ 9 9 9 9 9 enter", "no step 99,999: the last is ", ""},
		{"a missing step leads to the nearest", true, "/ 4 5 0 0 enter", "step 4,413 is the nearest", ""},
		{"a key clears what was said", true, "s tab", "q quit", "stall: step"},
		{"the hints stand beside what is said", true, "s", "q quit", ""},
		{"the step's detail has a key", false, "o", "KV used blocks", "batch  requests"},
		{"and goes back", false, "o o", "batch  requests", "KV used blocks"},
		{"density says what fits", false, "d d d", "density full: normal is all that fits 120x40", ""},
		{"the past labels the rates of the newest step", false, "left", "newest step: ", ""},
		{"enter maximises", false, "enter", "step period", "batch  requests"},
		{"enter again goes back", false, "enter enter", "batch  requests", ""},
		{"esc leaves the maximised panel", false, "enter esc", "batch  requests", ""},
		{"tab walks through all panels when maximised", false, "enter tab", "KV cache", "step period"},
		{"zoom out ends with the whole run", false, "-", "span 1m39s", ""},
		{"zoom in shortens it", false, "+", "span 3", "span 1m"},
		{"one engine cannot be chosen", false, "E", "the run has one engine", ""},
		{"no supervisor, no window", false, "w", "no supervisor", ""},
		{"help lists keys", false, "?", "leave the program from anywhere", ""},
		{"esc closes help", false, "? esc", "► live", "leave the program from anywhere"},
		{"q closes help", false, "? q", "► live", "leave the program from anywhere"},
		{"help filters", false, "? / s t a l l", "2 matches", "leave the program"},
		{"esc clears the filter", false, "? / s t a l l esc", "leave the program", "matches"},
		{"explain names the source field", false, "tab e", "from decode_batch_size", ""},
		{"density is named", false, "d", "density compact", "queues  requests"},
		{"theme is named", false, "t", "theme light", ""},
		{"copy says so", false, "y", "copied to the clipboard", ""},
		{"a page that is not there says so", false, "9", "there is no page 9: the last is", ""},
		{"an unknown key changes nothing", false, "ö", "► live", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := liveScreen(t)
			if tt.review {
				s = reviewScreen(t)
			}
			s.keys(strings.Fields(tt.keys)...)
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

func TestQuitKeys(t *testing.T) {
	tests := []struct {
		keys string
		quit bool
		size [2]int
	}{
		{"q", true, [2]int{120, 40}},
		{"ctrl+c", true, [2]int{120, 40}},
		{"? ctrl+c", true, [2]int{120, 40}},
		{"/ ctrl+c", true, [2]int{120, 40}},
		{"/ q", false, [2]int{120, 40}},
		{"? q", false, [2]int{120, 40}},
		{"enter q", true, [2]int{120, 40}},
		{"q", true, [2]int{20, 5}},
		{"x", false, [2]int{20, 5}},
		{"q", true, [2]int{0, 0}},
	}
	for _, tt := range tests {
		s := liveScreen(t)
		s.size(tt.size[0], tt.size[1])
		var cmd tea.Cmd
		for _, k := range strings.Fields(tt.keys) {
			_, cmd = s.m.Update(press(k))
		}
		quit := false
		if cmd != nil {
			_, quit = cmd().(tea.QuitMsg)
		}
		if quit != tt.quit {
			t.Errorf("%q at %v: quits %v, want %v", tt.keys, tt.size, quit, tt.quit)
		}
		if quit != (s.m.ctx.Err() != nil) {
			t.Errorf("%q: questions are called off %v, want %v", tt.keys, s.m.ctx.Err() != nil, quit)
		}
	}
}

// TestCopy: the copied text is the panel's figures with what and when, and no border.
func TestCopy(t *testing.T) {
	s := liveScreen(t)
	s.keys("tab")
	text := s.m.clip()
	for _, want := range []string{"batch  requests, tokens", "h200-tp1", "step 3,500", "decode"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %q", want, text)
		}
	}
	if strings.ContainsAny(text, "│╭╮╰╯") {
		t.Errorf("border in %q", text)
	}
}

// TestDegenerateSizes: at any size the screen has exactly that size, or says what it needs.
func TestDegenerateSizes(t *testing.T) {
	s := liveScreen(t)
	r := reviewScreen(t)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom([]*screen{s, r}).Draw(t, "screen")
		w, h := rapid.IntRange(0, 220).Draw(t, "width"), rapid.IntRange(0, 70).Draw(t, "height")
		s.size(w, h)
		for range rapid.IntRange(0, 3).Draw(t, "keys") {
			s.keys(rapid.SampledFrom([]string{"enter", "tab", "left", "?", "e", "esc", "+", "-", "end", "P"}).Draw(t, "key"))
		}
		content := s.content()
		if w == 0 || h == 0 {
			if content != "" {
				t.Fatalf("%dx%d: %q", w, h, content)
			}
			return
		}
		plain := s.plain()
		lines := strings.Split(plain, "\n")
		if len(lines) != h {
			t.Fatalf("%d lines at height %d", len(lines), h)
		}
		for _, l := range lines {
			if n := len([]rune(l)); n != w {
				t.Fatalf("a line of %d columns at width %d: %q", n, w, l)
			}
		}
		if w >= 22 && h >= 4 && !layout.Fits(w, h) && !strings.Contains(plain, fmt.Sprintf("need %d x %d", layout.MinWidth, layout.MinHeight)) {
			t.Fatalf("%dx%d does not say what it needs:\n%s", w, h, plain)
		}
	})
}

// TestPanelsDrawnOnce: a panel is drawn again only when the picture or its rectangle changed.
func TestPanelsDrawnOnce(t *testing.T) {
	lines := recording(t, "h200-tp1", 3500)
	source := &fakeSource{run: describe("live"), store: filled(lines[:3400])}
	s := newScreen(t, source, newestTime(lines[:3400]), Options{})
	s.size(120, 40)
	s.tick(0)
	b := boardOf(s)
	count := func() int {
		s.m.View()
		return b.renders[layout.KV]
	}
	if n := count(); n != 1 {
		t.Fatalf("drawn %d times at first", n)
	}
	steps := []struct {
		name string
		do   func()
		want int
	}{
		{"tick without news", func() { s.tick(0) }, 1},
		{"another focus", func() { s.keys("tab") }, 1},
		{"another theme", func() { s.keys("t") }, 1},
		{"overlay opened and closed", func() { s.keys("?", "esc") }, 1},
		{"new steps", func() {
			for i := 3400; i < len(lines); i++ {
				source.store.Line(0, &lines[i])
			}
			s.tick(time.Second)
		}, 2},
		{"another size", func() { s.size(121, 40) }, 3},
	}
	for _, st := range steps {
		st.do()
		if n := count(); n != st.want {
			t.Errorf("%s: drawn %d times, want %d", st.name, n, st.want)
		}
	}
}

// TestUnchangedScreenIsTheSameString: without news nothing is written to the terminal.
func TestUnchangedScreenIsTheSameString(t *testing.T) {
	s := reviewScreen(t)
	before := s.content()
	for range 20 {
		s.tick(250 * time.Millisecond)
		if s.content() != before {
			t.Fatal("a finished run changes on the screen")
		}
	}
}

// TestOneQuestionAtATime: a slow source is not asked twice, its age is shown, and what changed meanwhile is asked at once afterwards.
func TestOneQuestionAtATime(t *testing.T) {
	s := liveScreen(t)
	s.source.asked()
	_, pull := s.m.Update(TickMsg(s.clock.at)) // the question is out as long as this is not run
	for range 12 {
		s.tick(250 * time.Millisecond)
	}
	s.keys("left")
	if n := len(s.source.asked()); n != 0 {
		t.Fatalf("%d questions while one is out", n)
	}
	if got := s.plain(); !strings.Contains(got, "picture 3.00 s old") {
		t.Errorf("the age of the picture is not shown:\n%s", got)
	}
	s.send(pull())
	if queries := s.source.asked(); len(queries) < 2 || queries[0].AtNS != 0 || queries[1].AtNS == 0 {
		t.Errorf("the key's question did not follow: %+v", queries)
	}
	if strings.Contains(s.plain(), "old ") {
		t.Error("the age stays after the answer")
	}
}

// TestSourceError: the last picture stays, and the header says what is wrong.
func TestSourceError(t *testing.T) {
	s := liveScreen(t)
	s.source.err = errors.New("stream vanished")
	s.tick(250 * time.Millisecond)
	if got := s.plain(); !strings.Contains(got, "stream vanished") || !strings.Contains(got, "step 3,500") {
		t.Errorf("got:\n%s", got)
	}
	s.source.err = fmt.Errorf("cannot write %s: no space left", strings.Repeat("long/", 60))
	for _, w := range []int{60, 80, 120} {
		s.size(w, 24)
		s.tick(250 * time.Millisecond)
		if head, _, _ := strings.Cut(s.plain(), "\n"); !strings.Contains(head, "cannot write long/") {
			t.Errorf("%d columns: %q hides a long reason", w, head)
		}
	}
	s.source.err = nil
	s.tick(250 * time.Millisecond)
	if strings.Contains(s.plain(), "stream vanished") {
		t.Error("the error stays after a picture")
	}
}

// TestFrozen: the picture stands while the recording goes on, and the header counts how far it is behind.
func TestFrozen(t *testing.T) {
	lines := recording(t, "h200-tp1", 3500)
	source := &fakeSource{run: describe("live"), store: filled(lines[:3000])}
	s := newScreen(t, source, newestTime(lines[:3000]), Options{})
	s.size(120, 40)
	s.tick(0)
	s.keys("space")
	body := strings.Split(s.plain(), "\n")[2:]
	for i := 3000; i < len(lines); i++ {
		source.store.Line(0, &lines[i])
	}
	s.tick(15 * time.Second)
	s.tick(15 * time.Second)
	got := strings.Split(s.plain(), "\n")
	for i := range body {
		if got[i+2] != body[i] {
			t.Fatalf("line %d moved:\n%s\n%s", i+2, body[i], got[i+2])
		}
	}
	if !strings.Contains(got[0], "FROZEN 1") || !strings.Contains(got[0], " s behind") {
		t.Errorf("header: %q", got[0])
	}
}

// TestBackground: the terminal's answer about its background chooses the theme, unless the reader has.
func TestBackground(t *testing.T) {
	light := tea.BackgroundColorMsg{Color: white{}}
	s := liveScreen(t)
	s.send(light)
	if s.m.theme.Name != "light" {
		t.Errorf("theme %s on a white background", s.m.theme.Name)
	}
	s = liveScreen(t)
	s.keys("t", "t")
	chosen := s.m.theme.Name
	s.send(light)
	if s.m.theme.Name != chosen {
		t.Errorf("the answer overrules the reader: %s, not %s", s.m.theme.Name, chosen)
	}
	s = scenes()[0].screen(t, Options{Theme: theme.Prefs{Theme: "mono"}})
	s.send(light)
	if s.m.theme.Name != "mono" {
		t.Errorf("the answer overrules the preference: %s", s.m.theme.Name)
	}
}

type white struct{}

func (white) RGBA() (r, g, b, a uint32) { return 0xffff, 0xffff, 0xffff, 0xffff }

// TestSynchronizedOutput: the terminal is asked where Bubble Tea does not ask, and the reader's wish wins.
func TestSynchronizedOutput(t *testing.T) {
	offer := tea.ModeReportMsg{Mode: ansi.ModeSynchronizedOutput, Value: ansi.ModeReset}
	tests := []struct {
		name   string
		sync   SyncOutput
		ssh    bool
		asks   any  // what the first command says
		passes bool // the terminal's offer reaches the renderer
	}{
		{"auto", SyncAuto, false, nil, true},
		{"auto over SSH", SyncAuto, true, tea.RawMsg{Msg: ansi.RequestModeSynchronizedOutput}, true},
		{"on", SyncOn, true, offer, true},
		{"off", SyncOff, true, nil, false},
	}
	for _, tt := range tests {
		s := scenes()[0].screen(t, Options{Sync: tt.sync, Env: func(k string) string {
			return map[string]string{"TERM": "xterm-256color", "SSH_TTY": map[bool]string{true: "/dev/pts/1"}[tt.ssh]}[k]
		}})
		var got any
		if cmd := s.m.querySync(); cmd != nil {
			got = cmd()
		}
		if got != tt.asks {
			t.Errorf("%s: asks %v, want %v", tt.name, got, tt.asks)
		}
		if passes := s.m.filter(s.m, offer) != nil; passes != tt.passes {
			t.Errorf("%s: the offer passes %v, want %v", tt.name, passes, tt.passes)
		}
	}
}
