package tui

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"opprof/campaign/gate"
	"opprof/campaign/plan"
	"opprof/campaign/progress"
	"opprof/tui/theme"
)

// TestCampaignGoldens holds the page at all sizes as plain text, and its styles in every theme.
func TestCampaignGoldens(t *testing.T) {
	scenes := map[string]struct {
		campaign func() *progress.Campaign
		keys     string
	}{
		"running": {cpuCampaign, ""},
		"runs":    {cpuCampaign, "tab tab k k k"},
		"remarks": {cpuCampaign, "shift+tab"},
		"begun":   {begunCampaign, ""},
		"ended":   {endedCampaign, ""},
		"paused":  {pausedCampaign, "m m"},
		"noisy":   {noisyCampaign, ""},
	}
	for name, sc := range scenes {
		for _, size := range sizes {
			for _, glyphs := range []string{"unicode", "ascii"} {
				t.Run(fmt.Sprintf("%s/%s/%dx%d", glyphs, name, size[0], size[1]), func(t *testing.T) {
					s, _ := campaignScreen(t, sc.campaign(), size[0], size[1], Options{Theme: theme.Prefs{Glyphs: glyphs}})
					s.keys(strings.Fields(sc.keys)...)
					got := s.plain()
					lineWidths(t, got, size[0], size[1])
					if glyphs == "ascii" && strings.ContainsFunc(got, func(r rune) bool { return r > 0x7e }) {
						t.Fatal("not ASCII")
					}
					golden.RequireEqual(t, got)
				})
			}
		}
	}
	for _, name := range themeNames() {
		t.Run("styled/"+name, func(t *testing.T) {
			s, _ := campaignScreen(t, cpuCampaign(), 120, 40, Options{Theme: theme.Prefs{Theme: name}})
			golden.RequireEqual(t, s.content())
		})
	}
}

// TestWriteCampaignPictures writes the styled page to a folder, as TestWritePictures does.
func TestWriteCampaignPictures(t *testing.T) {
	dir := os.Getenv("OPPROF_PICTURES")
	if dir == "" {
		t.Skip("OPPROF_PICTURES names no folder")
	}
	for name, c := range map[string]func() *progress.Campaign{"running": cpuCampaign, "ended": endedCampaign, "noisy": noisyCampaign} {
		for _, size := range fourSizes {
			for _, th := range themeNames() {
				s, _ := campaignScreen(t, c(), size[0], size[1], Options{Theme: theme.Prefs{Theme: th}})
				path := filepath.Join(dir, fmt.Sprintf("campaign-%s-%dx%d-%s.ansi", name, size[0], size[1], th))
				if err := os.WriteFile(path, []byte(s.content()+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestCampaignSays is a table of facts: after these keys, the screen says this, and does not say that.
func TestCampaignSays(t *testing.T) {
	for _, tt := range []struct {
		name     string
		campaign func() *progress.Campaign
		keys     string
		says     string
		not      string
	}{
		{"the state", cpuCampaign, "", "● running", ""},
		{"fewer than five pairs", cpuCampaign, "", "2 of at least 5 pairs", ""},
		{"the run in progress is selected", cpuCampaign, "", "► ● tp1-eager-steady", ""},
		{"its phase", cpuCampaign, "", "starting 1m24s: capturing CUDA graphs, 12 of 35", ""},
		{"its arm and pair", cpuCampaign, "", "arm on, pair 4 BA", ""},
		{"time left", cpuCampaign, "", "about 1h02m left", ""},
		{"the newest remark", cpuCampaign, "", "2 remarks, the newest: 2 of 200 requests failed", ""},
		{"point and bound", cpuCampaign, "", "✓ +0.50   +0.97", ""},
		{"the limit", cpuCampaign, "", "limit +3.00 %", ""},
		{"void pairs", cpuCampaign, "", "1 void", ""},
		{"why a pair is void", cpuCampaign, "", "void: compilation was cold: 41.2 s", ""},
		{"why a run failed", cpuCampaign, "", "2 of 200 requests failed", ""},
		{"no value is no zero", cpuCampaign, "j", "pending      -            -", "  0.0"},
		{"another cell", cpuCampaign, "k", "pairs of tp1-default-steady", ""},
		{"the cell's runs come with it", cpuCampaign, "k", "runs of tp1-default-steady", ""},
		{"a cell without pairs", cpuCampaign, "j", "no pair yet: 6 planned, a verdict needs 5", ""},
		{"back to the run in progress", cpuCampaign, "k f", "pairs of tp1-eager-steady", "pairs of tp1-default-steady"},
		{"nothing is followed once it is over", endedCampaign, "tab tab j", "enter open run", "f follow"},
		{"a choice can be taken back while it runs", cpuCampaign, "tab tab k", "f follow", ""},
		{"follow is off while it follows", cpuCampaign, "f", "follow: the picture is live already", ""},
		{"another metric", cpuCampaign, "m", "►tpot_p95", "►ttft_p95"},
		{"metrics go round", cpuCampaign, "M", "►throughput", "►ttft_p95"},
		{"the pairs choose the metric", cpuCampaign, "tab j", "►tpot_p95", ""},
		{"a selected run says why", cpuCampaign, "tab tab k", "tp1-eager-steady-p003-2-on 2 of 200 requests failed", ""},
		{"a run that has not begun", cpuCampaign, "tab tab G enter", "this run has not begun", ""},
		{"explain", cpuCampaign, "e", "expanded-percentile", ""},
		{"copy", cpuCampaign, "y", "copied to the clipboard", ""},
		{"stop asks", cpuCampaign, "ctrl+x", "Stop cpu-qwen3?", ""},
		{"and says what is lost", cpuCampaign, "ctrl+x", "tp1-eager-steady-p004-1-on is starting: its server is stopped", ""},
		{"nothing to stop", pausedCampaign, "ctrl+x", "stop campaign: no runner works on the campaign", "Stop cpu"},
		{"paused says why", pausedCampaign, "", "paused: its runner was killed during", ""},
		{"and what to do", pausedCampaign, "", "opprof campaign resume", ""},
		{"no run in progress", pausedCampaign, "enter", "no run is in progress", ""},
		{"nothing is known yet", begunCampaign, "", "time left -", "about"},
		{"no pair yet", begunCampaign, "", "0 of at least 5 pairs", "PASS"},
		{"no remark", begunCampaign, "", "no remark", ""},
		{"the verdict at the end", endedCampaign, "", "verdict × FAIL: ttft_p95: the upper bound is", "so far"},
		{"a pair of unknown order", noisyCampaign, "", "3  -", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := campaignScreen(t, tt.campaign(), 180, 50, Options{})
			s.plain()
			s.keys(strings.Fields(tt.keys)...)
			got := s.plain()
			lineWidths(t, got, 180, 50)
			if !strings.Contains(got, tt.says) || tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("want %q and not %q in\n%s", tt.says, tt.not, got)
			}
		})
	}
}

// TestCampaignLooksBeforeTheEnd: as long as pairs are to come, no cell passes or fails, whatever its bound is.
func TestCampaignLooksBeforeTheEnd(t *testing.T) {
	for n := 1; n <= 8; n++ {
		effects := make([][3]float64, n)
		for i := range effects {
			effects[i] = [3]float64{0.1 + 0.01*float64(i), 9 + 0.1*float64(i), 0.2 - 0.01*float64(i)}
		}
		for void := range 3 {
			c := begunCampaign()
			cell := campaignCell("tp1", 8, effects)
			cell.Void = void
			c.Cells, c.Current = []progress.Cell{cell}, nil
			s, _ := campaignScreen(t, c, 120, 40, Options{})
			over := n+void >= 8 && n >= gate.MinPairs
			if got := strings.Contains(s.plain(), "FAIL"); got != over {
				t.Errorf("%d pairs and %d void of 8: fails %t, want %t", n, void, got, over)
			}
		}
	}
}

// TestCampaignFollows: the selection goes with the campaign until the reader chooses, and stays with what was chosen then.
func TestCampaignFollows(t *testing.T) {
	s, src := campaignScreen(t, cpuCampaign(), 120, 40, Options{})
	next := func(cell, run int) {
		c := cpuCampaign()
		c.Current = &c.Cells[cell].Runs[run]
		src.c = c
		s.tick(time.Second)
	}
	p := s.m.pages[0].(*campaignPage)
	next(1, 8)
	if p.run != src.c.Current.ID {
		t.Errorf("selected %s, in progress %s", p.run, src.c.Current.ID)
	}
	next(2, 0)
	if p.cell != "tp1-default-burst" {
		t.Errorf("selected %s", p.cell)
	}
	s.keys("k", "k")
	next(2, 1)
	if p.cell != "tp1-default-steady" {
		t.Errorf("the choice is lost: %s", p.cell)
	}
	src.c.Cells = src.c.Cells[1:]
	s.tick(time.Second)
	if p.cell != "tp1-eager-steady" {
		t.Errorf("a cell that is gone stays selected: %s", p.cell)
	}
	s.keys("f")
	if p.run != src.c.Current.ID {
		t.Errorf("f selects %s", p.run)
	}
}

// TestCampaignStop: the order is given once, after the question, and not by a screen that only watches.
func TestCampaignStop(t *testing.T) {
	s, src := campaignScreen(t, cpuCampaign(), 120, 40, Options{})
	s.keys("ctrl+x")
	s.clock.at = s.clock.at.Add(time.Second)
	s.keys("n")
	if src.told != 0 {
		t.Error("no stops the campaign")
	}
	s.keys("ctrl+x")
	s.clock.at = s.clock.at.Add(time.Second)
	s.keys("y")
	s.shows("the runner was told to stop", "")
	src.wrong = errors.New("process 4711 is another one")
	s.keys("ctrl+x")
	s.clock.at = s.clock.at.Add(time.Second)
	s.keys("y")
	s.shows("stop campaign: process 4711 is another one", "")
	if src.told != 2 {
		t.Errorf("told %d times", src.told)
	}
	s, src = campaignScreen(t, cpuCampaign(), 120, 40, Options{ReadOnly: true})
	s.keys("ctrl+x")
	s.shows("this screen only watches", "Stop cpu")
	if src.told != 0 {
		t.Error("a screen that only watches stops the campaign")
	}
}

// TestCampaignOpensRuns: enter opens the run in progress, and from the list of runs the selected one.
func TestCampaignOpensRuns(t *testing.T) {
	o := &opener{t: t}
	s, src := campaignScreen(t, cpuCampaign(), 120, 40, Options{Open: o.open})
	s.keys("enter")
	s.shows("q back", "cells")
	s.keys("q", "tab", "tab", "home", "j", "enter", "q")
	want := []string{src.c.Current.Path, src.c.Cells[1].Runs[1].Path}
	if len(o.opened) != 2 || o.opened[0] != want[0] || o.opened[1] != want[1] || o.closed != 2 {
		t.Errorf("opened %q, closed %d, want %q", o.opened, o.closed, want)
	}
	s.shows("► pair 1 AB", "q back")
}

// TestCampaignMouse: a click selects, a second one on a run opens it, the wheel moves the selection.
func TestCampaignMouse(t *testing.T) {
	o := &opener{t: t}
	s, src := campaignScreen(t, cpuCampaign(), 120, 40, Options{Open: o.open})
	p := s.m.pages[0].(*campaignPage)
	s.plain()
	r := p.boxes[partRuns]
	s.m.Update(tea.MouseClickMsg{X: r.X + 4, Y: r.Y + 4, Button: tea.MouseLeft})
	if p.focus != partRuns || p.run != src.c.Cells[1].Runs[2].ID {
		t.Errorf("focus %d, run %s", p.focus, p.run)
	}
	s.send(tea.MouseClickMsg{X: r.X + 4, Y: r.Y + 4, Button: tea.MouseLeft})
	if len(o.opened) != 1 {
		t.Errorf("opened %q", o.opened)
	}
	s.keys("q")
	c := p.boxes[partCells]
	s.send(tea.MouseClickMsg{X: c.X + 4, Y: c.Y + 2, Button: tea.MouseLeft})
	s.send(tea.MouseWheelMsg{X: c.X + 4, Y: c.Y + 2, Button: tea.MouseWheelDown})
	if p.cell != src.c.Cells[1].Name {
		t.Errorf("cell %s", p.cell)
	}
	for y := range 40 {
		for x := 0; x < 120; x += 7 {
			s.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
			s.send(tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelUp})
		}
	}
	lineWidths(t, s.seen(), 120, 40)
}

// TestCampaignWithoutAnswer: an error stands in the first line, and the last picture stays.
func TestCampaignWithoutAnswer(t *testing.T) {
	s, src := campaignScreen(t, cpuCampaign(), 120, 40, Options{})
	src.err = errors.New("cannot read journal: permission denied")
	s.tick(time.Second)
	s.shows("cannot read journal", "")
	s.shows("pairs of tp1-eager-steady", "")
	src = &campaignSource{c: cpuCampaign(), err: src.err}
	s = newScreen(t, src, campaignTime(src.c), Options{})
	s.size(80, 24)
	s.tick(0)
	s.shows("reading the campaign's journal", "")
	s.keys(strings.Fields("j k m M f enter tab ctrl+x y G e esc")...)
	src.err, src.c = nil, &progress.Campaign{}
	s.tick(time.Second)
	s.shows("the plan has no cell", "")
	s.keys(strings.Fields("j k m M f enter tab j tab j tab j y G e esc")...)
	lineWidths(t, s.plain(), 80, 24)
}

// TestCampaignOfAnyKind: whatever a campaign holds and however large the terminal is, every line is as wide as the screen and holds no
// sequence, and no key breaks the page.
func TestCampaignOfAnyKind(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "on", "AB", progress.Running, progress.Done, gate.Fail, "\x1b[2J\x1b]0;x\a", "\u202ex", "日本語", strings.Repeat("x", 200)}))
		number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -3, 3, 1e300}))
		ns := rapid.Ptr(rapid.Int64(), true)
		c := &progress.Campaign{Name: text.Draw(r, "name"), Path: text.Draw(r, "path"), State: text.Draw(r, "state"), Reason: text.Draw(r, "reason"),
			StartedNS: ns.Draw(r, "started"), EndedNS: ns.Draw(r, "ended"), UntilNS: ns.Draw(r, "until"), LeftNS: ns.Draw(r, "left"), LimitPct: number.Draw(r, "limit"),
			Verdict: text.Draw(r, "verdict"), Remarks: rapid.SliceOfN(text, 0, 3).Draw(r, "remarks"), SecondLook: rapid.Bool().Draw(r, "second")}
		for range rapid.IntRange(0, 4).Draw(r, "cells") {
			c.Cells = append(c.Cells, anyCell(r, text, number, ns))
		}
		if n := len(c.Cells); n > 0 && len(c.Cells[n-1].Runs) > 0 && rapid.Bool().Draw(r, "current") {
			c.Current = &c.Cells[n-1].Runs[0]
		}
		w, h := rapid.IntRange(1, 200).Draw(r, "w"), rapid.IntRange(1, 60).Draw(r, "h")
		glyphs := rapid.SampledFrom([]string{"ascii", "unicode"}).Draw(r, "glyphs")
		s, _ := campaignScreen(t, c, w, h, Options{Theme: theme.Prefs{Glyphs: glyphs}})
		for _, k := range rapid.SliceOfN(rapid.SampledFrom(strings.Fields("tab j k m M G g f e esc enter y ! pgdown ctrl+x n")), 0, 8).Draw(r, "keys") {
			s.keys(k)
			if err := strange(s.content(), w); err != nil {
				r.Fatal(err)
			}
		}
		if lines := strings.Count(s.content(), "\n") + 1; lines != h {
			r.Fatalf("%d lines of %d", lines, h)
		}
		for _, l := range strings.Split(s.m.clip(), "\n") {
			if strings.ContainsFunc(l, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e }) {
				r.Fatalf("copied %q", l)
			}
		}
	})
}

func anyCell(r *rapid.T, text *rapid.Generator[string], number *rapid.Generator[float64], ns *rapid.Generator[*int64]) progress.Cell {
	count := rapid.IntRange(-1, 9)
	cell := progress.Cell{Name: text.Draw(r, "cell"), Planned: count.Draw(r, "planned"), Counted: count.Draw(r, "counted"), Void: count.Draw(r, "void"),
		Decision: gate.Decision{Verdict: text.Draw(r, "verdict"), Reasons: rapid.SliceOfN(text, 0, 2).Draw(r, "reasons")}}
	for range rapid.IntRange(0, 3).Draw(r, "metrics") {
		pct := rapid.Ptr(number, true)
		m := gate.Result{Name: text.Draw(r, "metric"), Verdict: text.Draw(r, "verdict"), N: count.Draw(r, "n"), PointPct: pct.Draw(r, "point"), UpperPct: pct.Draw(r, "upper"),
			TUpperPct: pct.Draw(r, "t"), Warnings: rapid.SliceOfN(text, 0, 2).Draw(r, "warnings")}
		for range rapid.IntRange(0, 5).Draw(r, "pairs") {
			m.Pairs = append(m.Pairs, gate.Effect{Pair: text.Draw(r, "pair"), Order: text.Draw(r, "order"), Pct: number.Draw(r, "pct")})
		}
		cell.Decision.Metrics = append(cell.Decision.Metrics, m)
	}
	for range rapid.IntRange(0, 5).Draw(r, "runs") {
		cell.Runs = append(cell.Runs, progress.Run{ID: text.Draw(r, "run"), Path: text.Draw(r, "path"), Kind: plan.Kind(text.Draw(r, "kind")), Arm: text.Draw(r, "arm"),
			Pair: count.Draw(r, "pair"), Order: text.Draw(r, "order"), State: text.Draw(r, "state"), Phase: text.Draw(r, "phase"), Reason: text.Draw(r, "reason"),
			Void: text.Draw(r, "void"), StartedNS: ns.Draw(r, "started"), EndedNS: ns.Draw(r, "ended"), Metrics: map[string]float64{text.Draw(r, "metric"): number.Draw(r, "value")}})
	}
	return cell
}

// TestProgramWithScreens: on a terminal, a run replaces the campaign and goes back to it in one program, and nothing outlives it.
func TestProgramWithScreens(t *testing.T) {
	o := &opener{t: t}
	src := &campaignSource{c: cpuCampaign()}
	p := startProgram(t, src, campaignTime(src.c), 120, 40, func(opt *Options) { opt.Open = o.open })
	shows := func(text string) {
		t.Helper()
		p.await(t, text, func(s string) bool { return strings.Contains(s, text) })
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.em.IsAltScreen() {
			t.Error("the alternate screen was left")
		}
	}
	shows("pairs of tp1-eager-steady")
	p.press("k")
	shows("pairs of tp1-default-steady")
	p.press("\r")
	shows("q back")
	p.press("q")
	shows("pairs of tp1-default-steady")
	p.press("\r")
	shows("q back")
	p.press("\x03")
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	if len(o.opened) != 2 || o.closed != 2 {
		t.Errorf("opened %q, closed %d", o.opened, o.closed)
	}
}
