package panel

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// ms is a period in milliseconds.
func ms(n int64) *int64 {
	n *= 1_000_000
	return &n
}

// TestPeriodMarks: what perturbs, lacks or delays steps is seen without colour, in every set of glyphs, with what the marks mean.
func TestPeriodMarks(t *testing.T) {
	f := frameOf(60, func(i int, c *store.Counts) { c.Steps = 1 })
	for i := range f.Columns {
		c := &f.Columns[i]
		c.Period = store.Quantiles{N: 1, P50NS: ms(10), P95NS: ms(10), MaxNS: ms(10)}
		switch {
		case i < 4:
			c.Perturbed = true
		case i == 30:
			c.Counts.Gaps = 1
		case i >= 20 && i < 30:
			c.Counts, c.Period, c.Silence = store.Counts{}, store.Quantiles{}, store.SilenceMissing
		case i >= 40 && i < 50:
			c.Counts, c.Period, c.Silence = store.Counts{}, store.Quantiles{}, store.SilenceIdle
		case i >= 52 && i < 56:
			c.Counts, c.Period, c.Silence = store.Counts{}, store.Quantiles{}, store.SilenceStep
		}
	}
	in := &Input{Frame: f, Now: store.Instant{Known: true, StepIndex: 255, PeriodNS: ms(943)}}
	for name, gl := range map[string]theme.Glyphs{"unicode": theme.UnicodeGlyphs(), "ascii": theme.ASCIIGlyphs()} {
		g := chart.NewGrid(60+AxisWidth, 8, gl)
		periodPanel().Draw(g, in)
		lines := strings.Split(g.Plain(), "\n")
		marks := []rune(lines[6])[AxisWidth:]
		if string(marks[:4]) != "wwww" || marks[30] != 'x' || !strings.Contains(lines[6], "w profiler window  x gap") {
			t.Errorf("%s: marks %q", name, string(marks))
		}
		at := func(x, y int) rune { return []rune(lines[y])[AxisWidth+x] }
		if at(25, 2) != gl.Heat[0] || at(45, 2) != ' ' || at(45, 5) != ' ' || at(54, 2) != ' ' || at(54, 5) != gl.Horizontal {
			t.Errorf("%s: missing, idle and a step that goes on look alike:\n%s", name, g.Plain())
		}
	}
	if got := periodRight(in)[0]; !strings.HasPrefix(got, "now 943  ") {
		t.Errorf("title %q", got)
	}
}

// TestChartsCoverTheSameTime: in a picture that stands, every chart uses all its columns, from the first time to the last, whatever its width.
func TestChartsCoverTheSameTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, w := rapid.IntRange(1, 200).Draw(t, "columns"), rapid.IntRange(1, 200).Draw(t, "width")
		f := frameOf(n, func(_ int, c *store.Counts) { c.Steps = 1 })
		at := f.FromNS + rapid.Int64Range(0, f.ToNS-f.FromNS-1).Draw(t, "cursor")
		h := (&Input{Frame: f, CursorNS: at}).history(w)
		values := h.values(func(c *store.Counts) chart.Value { return chart.Of(float64(c.Steps)) })
		if len(values) != w || len(h.groups) > w {
			t.Fatalf("%d values of %d groups in %d columns", len(values), len(h.groups), w)
		}
		for x := range w - 1 {
			if a, b := h.at(x), h.at(x+1); b < a || b > a+1 {
				t.Fatalf("columns %d and %d show groups %d and %d", x, x+1, a, b)
			}
		}
		if c := h.cursor(); c < 1 || c > w || h.at(w-c) != h.group(at) && len(h.groups) <= w/2 {
			t.Fatalf("the cursor is in column %d, which shows group %d, not %d", w-c, h.at(w-c), h.group(at))
		}
	})
}

// TestHeaderRates is a table of facts about the rates in the first line.
func TestHeaderRates(t *testing.T) {
	rates := store.Rates{Known: true, StepsPerS: 50, PrefillTokPerS: 3000, DecodeTokPerS: 3200, RecomputeTokPerS: 2000, NewDecodeTokPerS: 1200, RecomputeKnown: true}
	for _, tt := range []struct {
		name  string
		w     int
		past  bool
		rates store.Rates
		says  []string
		not   string
	}{
		{"wide", 180, false, rates, []string{"prefill", "decode 1.20k tok/s", "recomp 2.00k"}, "newest step:"},
		{"narrow", 78, false, rates, []string{"pre ", "dec 1.20k"}, "decode"},
		{"in the past", 180, true, rates, []string{"newest step: ", "busy"}, "~"},
		{"not told apart", 180, false, store.Rates{Known: true, DecodeTokPerS: 3200}, []string{"decode 3.20k"}, "recomp"},
	} {
		f := frameOf(3, nil)
		f.Rates = tt.rates
		g := chart.NewGrid(tt.w, 1, theme.UnicodeGlyphs())
		Header(g, Status{Newest: f, Past: tt.past})
		for _, s := range tt.says {
			if !strings.Contains(g.Plain(), s) {
				t.Errorf("%s: %q is not in %q", tt.name, s, g.Plain())
			}
		}
		if strings.Contains(g.Plain(), tt.not) {
			t.Errorf("%s: %q is in %q", tt.name, tt.not, g.Plain())
		}
	}
}

// TestTabsStay: the visible page's name and the numbers of the others are the last to go, the step stays with them, and names give way to
// step and clock before these go.
func TestTabsStay(t *testing.T) {
	f := frameOf(60, nil)
	in := &Input{Frame: f, Now: store.Instant{Known: true, StepIndex: 1234567, TimeNS: f.ToNS - 1}}
	pages := []string{"review", "windows", "log", "server", "experts", "cost"}
	for w := 60; w <= 200; w += 10 {
		g := chart.NewGrid(w, 1, theme.UnicodeGlyphs())
		p := Position{Pages: pages, In: in, Mode: "review"}
		Tabs(g, p)
		line := g.Plain()
		for _, name := range []string{"1 review", " 2 ", " 3 ", " 4 ", " 5 ", " 6 ", "review"} {
			if !strings.Contains(line, name) {
				t.Errorf("%d columns: no %q in %q", w, name, line)
			}
		}
		if w >= 80 && (!strings.Contains(line, "step 1,234,567") || !strings.Contains(line, unit.Clock(in.Now.TimeNS, in.Zone))) {
			t.Errorf("%d columns: no step or no clock in %q", w, line)
		}
		if w >= 140 && !strings.Contains(line, "6 cost") {
			t.Errorf("%d columns: the names have room, and are not in %q", w, line)
		}
		for i := range pages {
			x := strings.Index(line, " "+strconv.Itoa(i+1)+" ")
			if at, ok := TabAt(w, g.Glyphs, p, len([]rune(line[:x+1]))); !ok || at != i {
				t.Errorf("%d columns: a click on %d goes to page %d", w, i+1, at+1)
			}
		}
	}
}

// TestBatchWithoutRecomputed: decode tokens are new ones.
func TestBatchWithoutRecomputed(t *testing.T) {
	recomputed := int64(700)
	in := &Input{Frame: frameOf(3, nil), Now: store.Instant{Known: true, DecodeBatchSize: 5, DecodeTokens: 705, RecomputeTokens: &recomputed}}
	lines := strings.Split(draw(batchPanel(), in, 46, 6), "\n")
	if !strings.Contains(lines[0], " 5 tok") || !strings.Contains(lines[2], unit.Count(700)+" tok recomputed") {
		t.Errorf("got\n%s", strings.Join(lines, "\n"))
	}
}
