package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"opprof/campaign/compare"
	"opprof/campaign/roster"
	"opprof/engine/rundir"
	"opprof/tui/keys"
	"opprof/tui/theme"
)

// runsSource is a folder of runs that a test sets.
type runsSource struct {
	r        *roster.Roster
	view     roster.View
	c        *compare.Comparison
	err      error
	compared [][2]string
}

func (s *runsSource) Run() rundir.Description {
	return rundir.Description{ID: "runs", Path: s.r.Root, Kind: "runs"}
}
func (s *runsSource) View() roster.View                            { return s.view }
func (s *runsSource) Runs(context.Context) (*roster.Roster, error) { return s.r, nil }
func (s *runsSource) Compare(_ context.Context, a, b string) (*compare.Comparison, error) {
	s.compared = append(s.compared, [2]string{a, b})
	return s.c, s.err
}

func known[T any](v T) *T { return &v }

const runsBegan = int64(1_796_003_492) * int64(time.Second)

func aRun(id, state string, tp int64, minutes, steps, tokens, p95US, drops, windows int64) roster.Entry {
	e := roster.Entry{ID: id, Path: "/runs/" + id, State: state, Verdict: roster.Whole, Problems: []string{}}
	e.Model, e.TP, e.Windows, e.VLLM, e.GraphMode, e.Bytes = "Qwen3-30B-A3B", known(tp), known(windows), "0.24.0", "FULL_AND_PIECEWISE", steps*980
	e.Steps, e.PrefillTokens, e.DecodeTokens, e.Dropped = known(steps), known(tokens*3/4), known(tokens/4), known(drops)
	e.FirstNS, e.DurationNS, e.P50NS, e.P95NS = known(runsBegan-minutes*int64(time.Hour)), known(minutes*int64(time.Minute)), known(p95US*800), known(p95US*1000)
	return e
}

// someRuns are runs in every state: live, finished, cut off, broken, of a campaign, sampled, and one whose figures are being read.
func someRuns() *roster.Roster {
	live := aRun("20261130-Qwen3-30B-A3B-tp1-9c1e", "ready", 1, 12, 8_412, 1_204_112, 22_710, 0, 1)
	live.Live, live.Verdict = true, ""
	day := aRun("20261128-Qwen3-30B-A3B-tp4-77aa", roster.Finished, 4, 1440, 43_200_000, 5_912_000_000, 9_120, 0, 12)
	day.Sampled, day.Dropped, day.Windows, day.Verdict = true, nil, nil, ""
	cut := aRun("20261127-Qwen3-30B-A3B-tp2-0b0b", roster.CutOff, 2, 3, 7_083, 1_310_000, 15_700, 214, 7)
	of := aRun("tp1-default-steady-p001-1-off", roster.Finished, 1, 4, 6_018, 1_160_000, 22_690, 0, 0)
	of.Campaign, of.Verdict = "h20-overhead", "void"
	cut.Verdict = roster.Incomplete
	broken := roster.Entry{ID: "20261126-broken-tp1-aaaa", Path: "/runs/20261126-broken-tp1-aaaa", State: roster.Broken, Verdict: roster.Broken,
		Problems: []string{"cannot read run manifest: /runs/20261126-broken-tp1-aaaa/run.json: expected a JSON object: unexpected end of JSON input; the run is shown without it"}}
	waits := roster.Entry{ID: "20261125-Qwen3-30B-A3B-tp1-5d5d", Path: "/runs/20261125-Qwen3-30B-A3B-tp1-5d5d", Pending: true}
	return &roster.Roster{Schema: 1, Root: "/runs", Version: 1, Read: 5, Runs: []roster.Entry{live, day, cut, of, broken, waits}}
}

// aComparison has figures of every sort.
func aComparison() *compare.Comparison {
	kind := func(decode string, stepsA, stepsB int64, a, b, part float64, why string) compare.CellRow {
		r := compare.CellRow{Kind: compare.Kind{Graph: "FULL", Bucket: known(int64(16)), Decode: decode, Prefill: "0", Context: "512"}, StepsA: stepsA, StepsB: stepsB, Why: why, Judged: why == ""}
		r.MeanA, r.MedianA = known(a), known(int64(a))
		if stepsB > 0 {
			r.MeanB, r.MedianB, r.PartNS = known(b), known(int64(b)), known(part)
			r.Change = &compare.Change{Pct: 100 * (b/a - 1), Low: known(100*(b/a-1) - 1.2), High: known(100*(b/a-1) + 1.3)}
		}
		r.Moved = r.Judged && b > 1.02*a
		return r
	}
	c := &compare.Comparison{Schema: 1}
	c.A = compare.Side{Name: "/runs/a", Steps: 5_766, TotalNS: 92_774_000_000, MeanNS: known(16.09e6), BlockSteps: 256, Blocks: 23}
	c.B = compare.Side{Name: "/runs/b", Steps: 6_834, TotalNS: 86_108_000_000, MeanNS: known(12.6e6), BlockSteps: 32, Blocks: 214}
	c.A.Excluded.Perturbed, c.B.Excluded.First = 219, 10
	c.Differences = []compare.Difference{{What: "tensor parallel", A: "1", B: "2"}}
	c.Support = compare.Support{Cells: 163, Judged: 15, Distance: 0.228, TimeA: 0.853, TimeB: 0.855, JudgedA: 0.568, JudgedB: 0.503}
	c.Overall = compare.Overall{Weights: "shares", EqualA: known(14.75e6), EqualB: known(11.09e6), Equal: &compare.Change{Pct: -24.83, Low: known(-26.21), High: known(-23.42)},
		Raw: &compare.Change{Pct: -21.66}, RawNS: -3.4849e6, SpeedNS: -4.2078e6, MixNS: 0.9856e6, UnmatchedNS: -0.2627e6, ExplainedPct: known(-20.7)}
	c.Cells = []compare.CellRow{kind("9-16", 1008, 1278, 11.85e6, 8.221e6, -0.6557e6, ""), kind("3-4", 197, 102, 6.481e6, 7.294e6, 0.0291e6, ""),
		kind("33-64", 1, 9, 1773e6, 12.06e6, -1.3119e6, "too few steps"), kind("5-8", 44, 0, 9e6, 0, 0, "only A has such steps")}
	c.Families = []compare.FamilyRow{{Family: "expert_gemm", Cells: 5, StepsA: 19, StepsB: 18, WindowsA: 3, WindowsB: 3, EqualA: 20.77e6, EqualB: 11.31e6, Change: &compare.Change{Pct: -45.56}, PartNS: -9.46e6}}
	c.Verdict = compare.Verdict{Word: compare.Faster, Text: "at equal composition the step period of B is -24.83 % against A (95 %: -26.21 to -23.42 %)", Remarks: []string{"the servers differ in tensor parallel"}}
	return c
}

func runsScreen(t testing.TB, src *runsSource, w, h int, opt Options) *screen {
	s := newScreen(t, src, time.Unix(0, runsBegan), opt)
	s.size(w, h)
	s.tick(0)
	return s
}

// TestRunsGoldens holds the page at all sizes as plain text, and its styles in every theme.
func TestRunsGoldens(t *testing.T) {
	scenes := map[string]struct {
		source runsSource
		keys   string
	}{
		"list":    {runsSource{r: someRuns()}, ""},
		"sorted":  {runsSource{r: someRuns(), view: roster.View{Sort: "p95", Turned: true, Columns: []string{"state", "p95", "dropped", "size"}}}, "j space"},
		"broken":  {runsSource{r: someRuns()}, "j j j j"},
		"none":    {runsSource{r: &roster.Roster{Root: "/runs"}}, ""},
		"columns": {runsSource{r: someRuns()}, "o j j space"},
		"compare": {runsSource{r: someRuns(), c: aComparison()}, "space j c"},
		"scroll":  {runsSource{r: someRuns(), c: aComparison()}, "space j c pgdown"},
	}
	for name, sc := range scenes {
		for _, size := range sizes {
			for _, glyphs := range []string{"unicode", "ascii"} {
				t.Run(fmt.Sprintf("%s/%s/%dx%d", glyphs, name, size[0], size[1]), func(t *testing.T) {
					src := sc.source
					s := runsScreen(t, &src, size[0], size[1], Options{Theme: theme.Prefs{Glyphs: glyphs}})
					s.plain()
					s.keys(strings.Fields(sc.keys)...)
					s.plain() // what a drawing tells the keys
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
			s := runsScreen(t, &runsSource{r: someRuns()}, 120, 40, Options{Theme: theme.Prefs{Theme: name}})
			s.keys("space")
			golden.RequireEqual(t, s.content())
		})
	}
}

// TestRunsSay is a table of facts: after these keys, the screen says this, and does not say that.
func TestRunsSay(t *testing.T) {
	for _, tt := range []struct{ name, keys, says, not string }{
		{"how many", "", "6 runs", ""},
		{"how many are live", "", "1 live", ""},
		{"how many are read", "", "1 being read", ""},
		{"a live run", "", "● ready", ""},
		{"a run that ended well", "", "✓ finished", ""},
		{"an estimate", "", "~9.12", ""},
		{"unknown is no zero", "", "○ reading", "reading  Qwen3-30B-A3B   0"},
		{"where a run lies", "", "/runs/20261130-Qwen3-30B-A3B-tp1-9c1e", ""},
		{"what an estimate is", "j", "estimates from samples", ""},
		{"why a run is broken", "j j j j", "expected a JSON object", ""},
		{"sort by a figure, largest first", "s s s s s s", "by duration, largest first", ""},
		{"turned", "s s s s s s S", "by duration ", "largest first"},
		{"a mark", "space", "a 20261130", ""},
		{"two marks", "space j space", "b 20261128", ""},
		{"a third mark is b", "space j space j space", "b 20261127", "b 20261128"},
		{"a mark taken away", "space space", "► 20261130", "a 20261130"},
		{"esc clears marks", "space esc", "► 20261130", "a 20261130"},
		{"one run cannot be compared", "c", "mark two runs with space", ""},
		{"a run is not compared with itself", "space c", "mark two runs with space", ""},
		{"a comparison", "space j c", "faster: at equal composition", ""},
		{"of which runs", "space j c", "a 20261130-Qwen3-30B-A3B-tp1-9c1e and b 20261128", ""},
		{"what moved most", "space j c", "-0.6557", ""},
		{"back from a comparison", "space j c esc", "a 20261130", "faster"},
		{"columns hidden", "o space enter", "6 of 6", "finished"},
		{"columns left as they were", "o space esc", "finished", ""},
		{"explain", "e", "tensor-parallel ranks", ""},
		{"explain a comparison", "space j c e", "the smaller of the two shares", ""},
		{"copy", "y", "copied to the clipboard", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := &runsSource{r: someRuns(), c: aComparison()}
			s := runsScreen(t, src, 180, 50, Options{})
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

// TestRunsFilter: the list is narrowed while a text is typed, and whole again after esc.
func TestRunsFilter(t *testing.T) {
	s := runsScreen(t, &runsSource{r: someRuns()}, 120, 40, Options{})
	s.keys("/", "t", "p", "4")
	s.shows("1 run   enter keeps", "9c1e")
	s.keys("enter")
	s.shows(`1 of 6  with "tp4"`, "9c1e")
	s.keys("/", "x")
	s.shows(`no run holds "tp4x": esc shows all`, "")
	s.keys("enter", "esc")
	s.shows("6 of 6", "")
}

// TestRunsOpen: enter and a second click open the selected run, and the list is as it was when it is left.
func TestRunsOpen(t *testing.T) {
	o := &opener{t: t}
	s := runsScreen(t, &runsSource{r: someRuns()}, 120, 40, Options{Open: o.open})
	s.plain()
	s.keys("s", "j", "j", "enter")
	p := s.m.pages[0].(*runsPage)
	want := p.selected
	s.shows("q back", "")
	s.keys("q")
	if p.selected != want || p.view.Sort != "run" {
		t.Errorf("selected %s, sorted by %q, want %s", p.selected, p.view.Sort, want)
	}
	s.send(tea.MouseClickMsg{X: 10, Y: p.list.Y + 1, Button: tea.MouseLeft})
	first := p.selected
	s.send(tea.MouseClickMsg{X: 10, Y: p.list.Y + 1, Button: tea.MouseLeft})
	if len(o.opened) != 2 || o.opened[0] != want || o.opened[1] != first || first != p.rows[0].Path {
		t.Errorf("opened %q, want %q and %q", o.opened, want, first)
	}
}

// TestRunsFollow: the selected run stays selected while others come and go; marks of runs that are gone go too.
func TestRunsFollow(t *testing.T) {
	src := &runsSource{r: someRuns()}
	s := runsScreen(t, src, 120, 40, Options{})
	p := s.m.pages[0].(*runsPage)
	s.keys("j", "space", "j", "space")
	next := func(runs ...roster.Entry) {
		src.r = &roster.Roster{Root: "/runs", Version: src.r.Version + 1, Runs: runs}
		s.tick(time.Second)
	}
	all := someRuns().Runs
	next(append([]roster.Entry{aRun("20261201-new", "ready", 1, 1, 1, 1, 1, 0, 0)}, all...)...)
	if p.at() != 3 || p.selected != all[2].Path {
		t.Errorf("row %d, %s", p.at(), p.selected)
	}
	next(all[0], all[1])
	if p.selected != all[1].Path || !slices.Equal(p.marked, []string{all[1].Path}) {
		t.Errorf("selected %s, marked %q", p.selected, p.marked)
	}
	next()
	s.shows("no run in this folder", "")
	s.keys("enter", "space", "c", "s", "j")
}

// TestRunsCompareFails: the reason is shown; a comparison that was left is not shown when it comes.
func TestRunsCompareFails(t *testing.T) {
	src := &runsSource{r: someRuns(), err: errors.New("cannot compare /runs/x: it has no Layer-1 stream")}
	s := runsScreen(t, src, 120, 40, Options{})
	s.keys("space", "j", "c")
	s.shows("cannot compare /runs/x", "")
	s.shows("not compared", "")
	want := [2]string{"/runs/20261130-Qwen3-30B-A3B-tp1-9c1e", "/runs/20261128-Qwen3-30B-A3B-tp4-77aa"}
	if len(src.compared) != 1 || src.compared[0] != want {
		t.Errorf("compared %q, want %q", src.compared, want)
	}
	s.keys("esc")
	p := s.m.pages[0].(*runsPage)
	late := p.compare()
	s.m.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
	s.run(late)
	if p.comparing != nil {
		t.Error("a comparison that was left comes back")
	}
}

// TestRunsAnyKeys: whatever is pressed and however large the screen is, every frame fits it.
func TestRunsAnyKeys(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		src := &runsSource{r: someRuns(), c: aComparison()}
		w, h := rapid.IntRange(1, 200).Draw(rt, "w"), rapid.IntRange(1, 60).Draw(rt, "h")
		s := runsScreen(t, src, w, h, Options{})
		all := []string{"j", "k", "space", "c", "esc", "s", "S", "o", "enter", "pgdown", "pgup", "home", "end", "e", "/", "x", "?", "tab"}
		for range rapid.IntRange(0, 12).Draw(rt, "presses") {
			s.keys(rapid.SampledFrom(all).Draw(rt, "key"))
			lineWidths(t, s.seen(), w, h)
		}
	})
}

// TestRunsHostileNames: what a folder is called does nothing to the terminal.
func TestRunsHostileNames(t *testing.T) {
	r := someRuns()
	const hostile = "\x1b[2J\u202egnp\x9b31m\n"
	for i := range r.Runs {
		e := &r.Runs[i]
		e.ID, e.Path, e.Model, e.Campaign, e.State, e.Reason, e.Problems = hostile, hostile+string(rune('a'+i)), hostile, hostile, hostile, hostile, []string{hostile}
	}
	c := aComparison()
	c.A.Name, c.Differences[0].A = hostile, hostile
	c.Cells[0].Graph = hostile
	s := runsScreen(t, &runsSource{r: r, c: c}, 180, 50, Options{})
	s.keys("space", "j", "c")
	for _, got := range []string{s.seen(), s.m.clip()} {
		if strings.ContainsAny(got, "\x1b\u202e\u009b") {
			t.Errorf("%q", got)
		}
	}
	s.keys("esc")
	lineWidths(t, s.seen(), 180, 50)
	if strings.ContainsAny(s.seen(), "\u202e\u009b") || s.m.page().keys() != keys.ContextRuns {
		t.Error("a name reaches the terminal")
	}
}
