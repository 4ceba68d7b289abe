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

// TestScrubUnknown: parts of a run of which nothing is known are hatched.
func TestScrubUnknown(t *testing.T) {
	g := NewGrid(10, 2, theme.UnicodeGlyphs())
	Scrub{FromNS: 0, ToNS: 10, Values: make([]Value, 10), Unknown: []bool{4: true, 5: true, 9: false}}.Draw(g)
	if low := strings.Split(g.Plain(), "\n")[1]; low != "│   ··    " {
		t.Errorf("%q", low)
	}
}
