package chart

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"opprof/tui/theme"
)

// TestWholeAxis: an axis of counts has whole numbers, whatever the values.
func TestWholeAxis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		high := rapid.Float64Range(0, 1e6).Draw(t, "high")
		a := Series{Lines: []Line{{Values: []Value{Of(high)}}}, Whole: true}.axis(10)
		if a.low != 0 || a.high < high || a.high != math.Trunc(a.high) {
			t.Fatalf("axis from %v to %v for %v", a.low, a.high, high)
		}
		for _, v := range wholeTicks(a.high, rapid.IntRange(1, 5).Draw(t, "ticks")) {
			if v != math.Trunc(v) {
				t.Fatalf("tick %v of %v", v, a.high)
			}
		}
	})
}

// TestLabelsSitAtColumns: a column as high as a label ends on the line of that label, also on a logarithmic axis.
func TestLabelsSitAtColumns(t *testing.T) {
	for _, log := range []bool{true, false} {
		for h := 3; h <= 30; h++ {
			values := []Value{Of(7), Of(10), Of(100), Of(1000), Of(5000)}
			g := NewGrid(6+8, h, theme.UnicodeGlyphs())
			s := Series{Lines: []Line{{Values: values}}, Style: StyleColumn, Log: log}
			p := s.Draw(g)
			for y, line := range strings.Split(g.Plain(), "\n") {
				label := strings.TrimSpace(string([]rune(line)[:p.X-1]))
				x := map[string]int{"10": 4, "100": 5, "1k": 6, "5k": 7}[label]
				if x == 0 {
					continue
				}
				above := ' '
				if y > 0 {
					above = g.Rune(p.X+x, y-1)
				}
				if g.Rune(p.X+x, y) == ' ' || above != ' ' {
					t.Errorf("log %v, %d lines: the column of %s does not end on its line:\n%s", log, h, label, g.Plain())
				}
			}
		}
	}
}

// TestScrubUnknown: parts of a run of which nothing is known are hatched.
func TestScrubUnknown(t *testing.T) {
	g := NewGrid(10, 2, theme.UnicodeGlyphs())
	Scrub{FromNS: 0, ToNS: 10, Values: make([]Value, 10), Unknown: []bool{4: true, 5: true, 9: false}}.Draw(g)
	if low := strings.Split(g.Plain(), "\n")[1]; low != "│   ··    " {
		t.Errorf("%q", low)
	}
}
