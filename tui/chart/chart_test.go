package chart

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"opprof/tui/theme"
)

func TestDegenerateSizes(t *testing.T) {
	for name, d := range samples() {
		for _, gl := range []theme.Glyphs{theme.UnicodeGlyphs(), theme.ASCIIGlyphs()} {
			for w := range 14 {
				for h := range 5 {
					g := NewGrid(w, h, gl)
					d.Draw(g)
					checkWidth(t, g)
					d.Draw(g.Box(name, name, true))
					checkWidth(t, g)
				}
			}
		}
	}
}

func plain(d drawer, w, h int) []string {
	g := NewGrid(w, h, theme.UnicodeGlyphs())
	d.Draw(g)
	return strings.Split(g.Plain(), "\n")
}

// Whatever the height, the counts that a histogram shows add up to all of its counts.
func TestHistFoldsWithoutLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.Int64Range(0, 999), 12, 12).Draw(t, "counts")
		h := rapid.IntRange(1, 14).Draw(t, "h")
		var want, got int64
		for _, c := range counts {
			want += c
		}
		for _, l := range plain(Hist{Labels: contextLabels(), Counts: counts}, 16, h) {
			fields := strings.Fields(l)
			if len(fields) == 0 {
				continue
			}
			n := int64(0)
			for _, r := range strings.ReplaceAll(fields[len(fields)-1], ",", "") {
				n = n*10 + int64(r-'0')
			}
			got += n
		}
		if got != want {
			t.Fatalf("lines add up to %d of %d", got, want)
		}
	})
}

func TestFoldedLabels(t *testing.T) {
	check := func(rows int, want string) {
		t.Helper()
		got := foldLabels(contextLabels(), foldRanges(12, rows))
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%d rows: got %q, want %q", rows, s, want)
		}
	}
	check(12, "128 256 512 1k 2k 4k 8k 16k 32k 65k 131k >131k")
	check(20, "128 256 512 1k 2k 4k 8k 16k 32k 65k 131k >131k")
	check(6, "256 1k 4k 16k 65k >65k")
	check(5, "256 1k 8k 32k >32k")
	check(2, "4k >4k")
	check(1, ">131k") // everything: no edge before it
	check(0, "")
}

func TestBarsGrowByEighths(t *testing.T) {
	line := func(v, w float64) string {
		return strings.TrimRight(plain(Meter{Value: Of(v), Max: w * 8}, int(w), 1)[0], "░")
	}
	for eighths, want := range map[float64]string{0: "", 1: "▏", 4: "▌", 8: "█", 9: "█▏", 31: "███▉", 32: "████", 99: "████", 0.001: "▏", -5: ""} {
		if got := line(eighths, 4); got != want {
			t.Errorf("%v eighths: got %q, want %q", eighths, got, want)
		}
	}
}

// Segments fill their share of the line, are in proportion to within a cell, and none that is not zero is missing while there is room.
func TestStackWidths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1000), 1, 9).Draw(t, "values")
		w := rapid.IntRange(1, 200).Draw(t, "w")
		s := StackRow{}
		sum, positive := 0.0, 0
		for _, v := range values {
			s.Parts = append(s.Parts, Part{Value: v})
			sum += v
			if v > 0 {
				positive++
			}
		}
		widths := s.widths(w)
		total := 0
		for i, n := range widths {
			total += n
			if values[i] > 0 && n == 0 && positive <= w {
				t.Fatalf("%v in %d: %v: part %d is missing", values, w, widths, i)
			}
			if exact := values[i] / sum * float64(w); sum > 0 && math.Abs(float64(n)-exact) > 1+float64(len(values)) {
				t.Fatalf("%v in %d: %v: part %d should be near %.1f", values, w, widths, i, exact)
			}
		}
		if sum > 0 && total != w {
			t.Fatalf("%v in %d: %v fills %d", values, w, widths, total)
		}
	})
}

// In every style a known value shows in its own column and an unknown one leaves its column blank.
func TestGapsAreBlankAndZerosAreNot(t *testing.T) {
	values := []Value{Of(3), {}, Of(0), {}, Of(5), Of(4)}
	noBraille := theme.UnicodeGlyphs()
	noBraille.Braille = false
	for _, gl := range []theme.Glyphs{theme.UnicodeGlyphs(), noBraille, theme.ASCIIGlyphs()} {
		for name, d := range map[string]drawer{
			"line":   plotDrawer{Series{Lines: []Line{{Values: values}}}},
			"column": plotDrawer{Series{Lines: []Line{{Values: values}}, Style: StyleColumn}},
			"spark":  Spark{Values: values},
			"heat":   plotDrawer{Heat{Labels: []string{"a"}, Rows: [][]Value{values}}},
		} {
			g := NewGrid(12, 3, gl)
			d.Draw(g)
			first := 12 - len(values)
			for i, v := range values {
				drawn := false
				for y := range g.H() {
					drawn = drawn || g.Rune(first+i, y) != ' '
				}
				if drawn != v.Known {
					t.Errorf("%s, ASCII %t: value %d %+v drawn: %t\n%s", name, gl.ASCII, i, v, drawn, g.Plain())
				}
			}
		}
	}
}

func TestHeatLevels(t *testing.T) {
	for _, c := range []struct {
		v, top float64
		want   int
	}{{0, 10, 0}, {-1, 10, 0}, {1, 0, 0}, {1e-9, 10, 1}, {2, 10, 1}, {math.Nextafter(2, 3), 10, 2}, {4, 10, 2}, {8, 10, 4}, {math.Nextafter(8, 9), 10, 5}, {10, 10, 5}, {99, 10, 5}} {
		if got := heatLevel(c.v, c.top); got != c.want {
			t.Errorf("heatLevel(%v, %v) = %d, want %d", c.v, c.top, got, c.want)
		}
	}
}

// The middle of a column lies in that column.
func TestScrubColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.IntRange(1, 300).Draw(t, "w")
		s := Scrub{FromNS: rapid.Int64Range(0, 1.8e18).Draw(t, "from")}
		s.ToNS = s.FromNS + rapid.Int64Range(1e6, 1e15).Draw(t, "length")
		x := rapid.IntRange(0, w-1).Draw(t, "x")
		if got, ok := s.Column(s.At(x, w), w); !ok || got != x {
			t.Fatalf("column %d of %d is at %d, which is column %d", x, w, s.At(x, w), got)
		}
	})
}

// Spreading values over columns keeps the largest.
func TestSpreadKeepsPeaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := figures(t, rapid.IntRange(1, 80).Draw(t, "n"))
		for i := range values {
			values[i] = Of(values[i].V)
		}
		w := rapid.IntRange(1, 100).Draw(t, "w")
		a, ok1 := highest(values)
		b, ok2 := highest(spread(values, w))
		if a != b && ok1 || ok1 != ok2 {
			t.Fatalf("largest of %v is %v, of %d columns %v", values, a, w, b)
		}
	})
}

func TestValues(t *testing.T) {
	n := int64(7)
	for _, c := range []struct {
		got, want Value
	}{{Of(1), Value{1, true}}, {OfInt(&n), Value{7, true}}, {OfInt(nil), Value{}}, {Of(3).Scale(2), Value{6, true}}, {Value{}.Scale(2), Value{}}} {
		if c.got != c.want {
			t.Errorf("got %+v, want %+v", c.got, c.want)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if Of(v).Known {
			t.Errorf("%v is known", v)
		}
	}
	if columns("模x") != 2 || utf8.RuneCountInString(Sanitize("\x1b[1mx")) != 1 {
		t.Error("columns are counted before cleaning")
	}
}
