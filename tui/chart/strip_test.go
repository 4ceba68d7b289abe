package chart

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"opprof/engine/unit"
	"opprof/tui/theme"
)

func TestStripColumns(t *testing.T) {
	s := Strip{Low: -2, High: 4}
	for _, c := range []struct {
		v         float64
		x, beyond int
		ok        bool
	}{
		{-2, 0, 0, true}, {4, 60, 0, true}, {0, 20, 0, true}, {3, 50, 0, true}, {-2.1, 0, -1, true}, {99, 60, 1, true},
		{math.Inf(1), 60, 1, true}, {math.Inf(-1), 0, -1, true}, {math.NaN(), 0, 0, false},
	} {
		if x, beyond, ok := s.Column(c.v, 61); x != c.x || beyond != c.beyond || ok != c.ok {
			t.Errorf("%v stands at %d, %d, %t, want %d, %d, %t", c.v, x, beyond, ok, c.x, c.beyond, c.ok)
		}
	}
	for _, s := range []Strip{{}, {High: -1}, {Low: math.NaN(), High: 1}} {
		if _, _, ok := s.Column(0, 10); ok {
			t.Errorf("%v has a place for 0", s)
		}
	}
}

// A larger value never stands further left, and every place is one of the columns.
func TestStripKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1e6, 1e6).Draw(t, "low")
		s := Strip{Low: low, High: low + rapid.Float64Range(1e-6, 1e6).Draw(t, "range")}
		w := rapid.IntRange(1, 300).Draw(t, "w")
		a, b := rapid.Float64().Draw(t, "a"), rapid.Float64().Draw(t, "b")
		xa, _, _ := s.Column(min(a, b), w)
		xb, _, _ := s.Column(max(a, b), w)
		if xa > xb || xa < 0 || xb >= w {
			t.Fatalf("%v and %v stand at %d and %d of %d", min(a, b), max(a, b), xa, xb, w)
		}
	})
}

func TestStripAxis(t *testing.T) {
	limit := func(x int) bool { return x >= 46 && x < 54 }
	for _, c := range []struct {
		low, high float64
		w         int
		want      string
	}{
		{-2, 4, 61, "-2───────-1─────────0─────────1─────────2─────limit +3──────4"},
	} {
		g := NewGrid(c.w, 1, theme.UnicodeGlyphs())
		g.Text(46, 0, 8, "limit +3", theme.RoleWarn)
		Strip{Low: c.low, High: c.high}.DrawAxis(g, unit.Tick, limit)
		if got := g.Plain(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	for _, s := range []Strip{{}, {Low: 1, High: 1}, {Low: -math.MaxFloat64, High: math.MaxFloat64}, {Low: 0, High: math.Inf(1)}} {
		for w := range 12 {
			s.DrawAxis(NewGrid(w, 1, theme.UnicodeGlyphs()), unit.Tick, func(int) bool { return false })
		}
	}
}
