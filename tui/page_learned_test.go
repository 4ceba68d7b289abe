package tui

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"opprof/campaign/calibrate"
	"opprof/traces/experts"
	"opprof/tui/layout"
	"opprof/tui/panel"
)

// learnedSource is a run with routed experts and costs.
type learnedSource struct {
	*fakeSource
	experts *experts.List // nil has none
	cost    *calibrate.Learned
	err     error
	asked   int
}

func (s *learnedSource) HasExperts() bool { return s.experts != nil }
func (s *learnedSource) HasCost() bool    { return s.cost != nil }

func (s *learnedSource) Experts(context.Context) (*experts.List, error) {
	s.asked++
	return s.experts, s.err
}

func (s *learnedSource) Cost(context.Context) (*calibrate.Learned, error) {
	s.asked++
	return s.cost, s.err
}

// routed reads files of routed experts.
func routed(t testing.TB, paths ...string) *experts.List {
	t.Helper()
	w := experts.NewWatch(func() ([]string, error) { return paths, nil })
	if err := w.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w.List()
}

func recordedExperts(t testing.TB) *experts.List {
	return routed(t, filepath.Join("..", "testdata", "experts", "response0.json"), filepath.Join("..", "testdata", "experts", "response1.json"))
}

// uneven writes an array of a model whose layers are the less even the deeper they lie; its first layer routes nothing.
func uneven(t testing.TB, dir string, layers, n, k int) string {
	t.Helper()
	const tokens = 400
	random := rand.New(rand.NewPCG(1, 2))
	var data []byte
	for range tokens {
		for layer := range layers {
			row := make([]uint16, k)
			for i := range row {
				if layer > 0 {
					row[i] = uint16(float64(n) * pow(random.Float64(), layer))
				}
			}
			for _, id := range row {
				data = binary.LittleEndian.AppendUint16(data, id)
			}
		}
	}
	head := fmt.Sprintf("{'descr': '<u2', 'fortran_order': False, 'shape': (%d, %d, %d), }", tokens, layers, k)
	head += strings.Repeat(" ", 118-len(head)-1) + "\n"
	path := filepath.Join(dir, "uneven.npy")
	content := append([]byte("\x93NUMPY\x01\x00\x76\x00"+head), data...)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func pow(v float64, n int) float64 {
	out := v
	for range n - 1 {
		out *= v
	}
	return out
}

// broken are files that are no arrays of one model.
func broken(t testing.TB) *experts.List {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"a.json": "{", "b.npy": "\x93NUMPY\x01\x00\x10\x00{'descr': '<f4'", "c.jsonl": `{"choices":[{"index":0,"routed_experts":null}]}`, "hostile\x1b[2J\u202e.npy": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return routed(t, append(paths, uneven(t, dir, 5, 40, 4))...)
}

// learnedCosts are read once for all tests.
var learnedCosts sync.Map // by recording

func learnedFrom(t testing.TB, name string, most int) *calibrate.Learned {
	t.Helper()
	load, _ := learnedCosts.LoadOrStore(fmt.Sprint(name, most), sync.OnceValue(func() *calibrate.Learned {
		run := readRun(t, name)
		if err := run.catalog.Look(context.Background()); err != nil {
			t.Fatal(err)
		}
		l := run.catalog.List()
		var windows []calibrate.Named
		for i := range l.Windows[:min(most, len(l.Windows))] {
			if w := &l.Windows[i]; w.Detail != nil {
				windows = append(windows, calibrate.Named{Name: fmt.Sprintf("window %d", w.Number), Window: *w.Detail})
			}
		}
		out, err := calibrate.Learn(context.Background(), windows)
		if err != nil {
			t.Fatal(err)
		}
		out.Version, out.Done, out.Of = 1, l.Done, l.Of
		return out
	}))
	return load.(func() *calibrate.Learned)()
}

// learnedScreen shows a page by its name.
func learnedScreen(t testing.TB, src *learnedSource, kind, name string, w, h int, opt Options) *screen {
	t.Helper()
	lines := recording(t, "h200-tp1", 2000)
	src.fakeSource = &fakeSource{run: describe(kind), store: filled(lines)}
	s := newScreen(t, src, newestTime(lines), opt)
	s.size(w, h)
	s.tick(0)
	i := slices.IndexFunc(s.m.pages, func(p page) bool { return p.name() == name })
	if i < 0 {
		t.Fatalf("there is no page %s", name)
	}
	s.keys(fmt.Sprint(i + 1))
	s.tick(0)
	s.tick(0)
	return s
}

// presses presses keys, and draws in between as a terminal does.
func (s *screen) presses(list string) {
	for _, k := range strings.Fields(list) {
		s.content()
		s.keys(k)
	}
	s.tick(0)
	s.m.notice, s.m.fade = "", 0
}

// A page is there from when its source has something, at the end, and none is there without.
func TestPagesAppearWithTheirData(t *testing.T) {
	src := &learnedSource{}
	lines := recording(t, "h200-tp1", 100)
	src.fakeSource = &fakeSource{run: describe("live"), store: filled(lines)}
	s := newScreen(t, src, newestTime(lines), Options{})
	s.size(120, 40)
	names := func() string {
		var out []string
		for _, p := range s.m.pages {
			out = append(out, p.name())
		}
		return strings.Join(out, " ")
	}
	for _, step := range []struct {
		change func()
		want   string
	}{
		{func() {}, "live"},
		{func() { src.cost = &calibrate.Learned{} }, "live cost"},
		{func() { src.experts = &experts.List{} }, "live cost experts"},
		{func() {}, "live cost experts"},
	} {
		step.change()
		s.tick(time.Second)
		if got := names(); got != step.want {
			t.Errorf("pages %q, want %q", got, step.want)
		}
	}
	s.keys("3")
	if !strings.Contains(s.plain(), "experts") || s.m.page().name() != "experts" {
		t.Error(s.plain())
	}
}

// After these keys, the screen says this, and does not say that.
func TestLearnedKeys(t *testing.T) {
	for _, tt := range []struct{ name, page, keys, says, not string }{
		{"the first layer is selected", "experts", "", "layer 0  its busiest", ""},
		{"the last layer", "experts", "G", "layer 11  its busiest", ""},
		{"sorted", "experts", "s s", "by max/mean, largest first", ""},
		{"turned", "experts", "s s S", "by max/mean, smallest first", ""},
		{"in order again", "experts", strings.Repeat("s ", 7), "routed experts", "largest first"},
		{"ranks", "experts", "] ]", "4 ranks, contiguous", ""},
		{"dealt out", "experts", "] p", "2 ranks, round_robin", ""},
		{"no ranks again", "experts", "] ] [ [", "layer 0", "ranks, contiguous"},
		{"experts are given", "experts", "n 3 0 0 enter", "12 layers of 300 experts, 4 a token", "(largest id)"},
		{"too few experts", "experts", "n 3 enter", "3 experts: expected 256", ""},
		{"no number", "experts", "n x enter", "expected 0 to", ""},
		{"the question follows the windows", "cost", "", "newest of the windows", ""},
		{"more is one's own", "cost", "l", "your own", ""},
		{"back again", "cost", "l n", "newest of the windows", "your own"},
		{"a figure is typed", "cost", "enter 1 0 enter", "decode batch       10", ""},
		{"a figure with a comma", "cost", "j j j enter 1 , 0 0 0 enter", "mean context    1,000", ""},
		{"a figure that is none", "cost", "enter x enter", "expected a number from 0 to", ""},
		{"a question", "cost", "/ d e c o d e = 8 , c o n t e x t = 2 8 0 enter", "within what was seen", "OUTSIDE"},
		{"a question far off", "cost", "/ d e c o d e = 9 0 0 , c o n t e x t = 2 0 0 enter", "OUTSIDE of what was seen", "95 %:"},
		{"a question that is none", "cost", "/ d e c o d e = 9 enter", "expected context", ""},
		{"no tokens", "cost", "/ d e c o d e = 5 , c o n t e x t = 2 0 0 enter enter 0 enter", "no answer: expected decode requests", ""},
		{"a row is asked for", "cost", "tab enter", "measured at 256: 8.53 ms", ""},
		{"graph mode", "cost", "j j j j l l", "NONE", "your own  any"},
		{"one kind of server", "cost", "]", "same number of ranks", ""},
		{"the finished run is not armed", "cost", "w", "the run is finished", ""},
		{"copy", "cost", "y", "copied to the clipboard", ""},
	} {
		t.Run(tt.page+"/"+tt.name, func(t *testing.T) {
			src := &learnedSource{cost: learnedFrom(t, "h200-tp1", 9)}
			if tt.page == "experts" {
				src = &learnedSource{experts: routed(t, uneven(t, t.TempDir(), 12, 256, 4))}
			}
			s := learnedScreen(t, src, "finished", tt.page, 180, 50, Options{})
			for _, k := range strings.Fields(tt.keys) {
				s.content()
				s.keys(k)
			}
			got := s.plain()
			if !strings.Contains(got, tt.says) {
				t.Errorf("%q is not on the screen:\n%s", tt.says, got)
			}
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("%q is on the screen:\n%s", tt.not, got)
			}
		})
	}
}

// The question of a live run moves on with its steps, until the reader asks an own one.
func TestCostFollowsTheRun(t *testing.T) {
	src := &learnedSource{cost: learnedFrom(t, "h200-tp1", 9)}
	s := learnedScreen(t, src, "live", "cost", 180, 50, Options{})
	p := s.m.page().(*costPage)
	before := p.step
	if before == 0 || !strings.Contains(s.plain(), "as now, step") {
		t.Fatal(s.plain())
	}
	src.store = filled(recording(t, "h200-tp1", 2100))
	s.tick(time.Second)
	if p.step <= before {
		t.Errorf("step %d after %d", p.step, before)
	}
	s.keys("l")
	own := p.question
	src.store = filled(recording(t, "h200-tp1", 2200))
	s.tick(time.Second)
	if p.question != own || !strings.Contains(s.plain(), "your own") {
		t.Errorf("%+v became %+v", own, p.question)
	}
}

// Hostile names stay text, at every size, and what is not there does not panic.
func TestLearnedAtAnySize(t *testing.T) {
	const text = "\x1b]52;c;x\x07\u200b\u202e wide 世界"
	named := *learnedFrom(t, "h200-tp1", 9)
	named.Reports = slices.Clone(named.Reports)
	named.Reports[0].Busy.ByWindow = slices.Clone(named.Reports[0].Busy.ByWindow)
	named.Reports[0].Busy.ByWindow[0].Window = text
	list := broken(t)
	list.Problem = text
	src := &learnedSource{experts: list, cost: &named}
	known := []string{"g", "G", "j", "k", "enter", "esc", "tab", "shift+tab", "s", "S", "[", "]", "p", "n", "space", "+", "-", "left", "right", "pgdown", "pgup", "e", "y", "/", "1", "2", "3"}
	s := learnedScreen(t, src, "live", "cost", 180, 50, Options{})
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(0, 220).Draw(t, "w"), rapid.IntRange(0, 70).Draw(t, "h")
		s.size(w, h)
		src.err = rapid.SampledFrom([]error{nil, nil, nil, errors.New(text)}).Draw(t, "err")
		for range rapid.IntRange(1, 8).Draw(t, "n") {
			s.keys(rapid.SampledFrom(known).Draw(t, "key"))
			s.content()
			s.m.clip()
		}
		if !layout.Fits(w, h) {
			return
		}
		if err := strange(s.content(), w); err != nil {
			t.Fatalf("%v at %d x %d", err, w, h)
		}
	})
}

// A finished run that is known whole is not asked about again.
func TestLearnedPagesAreIdle(t *testing.T) {
	for _, page := range []string{"experts", "cost"} {
		src := &learnedSource{experts: recordedExperts(t), cost: learnedFrom(t, "h200-tp1", 9)}
		s := learnedScreen(t, src, "finished", page, 120, 40, Options{})
		for range settledAfter + 3 {
			s.tick(time.Second)
		}
		src.asked = 0
		s.tick(time.Second)
		if src.asked != 0 {
			t.Errorf("%s: asked %d times", page, src.asked)
		}
	}
}

// A click selects what lies under it.
func TestLearnedClicks(t *testing.T) {
	s := learnedScreen(t, &learnedSource{experts: recordedExperts(t)}, "finished", "experts", 120, 40, Options{})
	p := s.m.page().(*expertsPage)
	p.click(10, p.areas()[paneLayers].Y+5)
	if p.layer != 3 {
		t.Errorf("layer %d", p.layer)
	}
	p.wheel(0, 0, false)
	if p.layer != 6 {
		t.Errorf("layer %d after the wheel", p.layer)
	}
	s = learnedScreen(t, &learnedSource{cost: learnedFrom(t, "h200-tp1", 9)}, "finished", "cost", 120, 40, Options{})
	c := s.m.page().(*costPage)
	areas, _ := c.areas()
	c.click(3, areas[paneQuestion].Y+5)
	if c.field != panel.CostContext {
		t.Errorf("field %d", c.field)
	}
	c.click(3, areas[paneTable].Y+4)
	if c.pane != paneTable || c.row != 2 {
		t.Errorf("pane %d, row %d", c.pane, c.row)
	}
}

// Figures move up and down through the same values.
func TestNextFigure(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		by   int
		want float64
	}{{0, 1, 1}, {15, 1, 16}, {16, 1, 18}, {16, -1, 15}, {18, -1, 16}, {8192, 1, 9216}, {8192, -1, 7680}, {1, -1, 0}, {0, -1, 0}, {17, 1, 18}} {
		if got := max(0, nextFigure(tt.v, tt.by)); got != tt.want {
			t.Errorf("%v by %d: %v, want %v", tt.v, tt.by, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := nextFigure(float64(rapid.IntRange(0, 1<<20).Draw(t, "v")), 1)
		if back := nextFigure(nextFigure(v, 1), -1); back != v {
			t.Fatalf("%v, and back %v", v, back)
		}
	})
}

// TestExpertsOfNothing: where no id was seen, the number of experts is not known, which is no zero.
func TestExpertsOfNothing(t *testing.T) {
	for _, size := range windowSizes {
		s := learnedScreen(t, &learnedSource{experts: routed(t, uneven(t, t.TempDir(), 1, 8, 4))}, "finished", "experts", size[0], size[1], Options{})
		got := s.plain()
		lineWidths(t, got, size[0], size[1])
		if !strings.Contains(got, "1 layer") || strings.Contains(got, "0 experts") || strings.Contains(got, "x 0") {
			t.Errorf("%d columns:\n%s", size[0], got)
		}
	}
}
