package chart

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"opprof/tui/theme"
)

// figures draws values a chart may be given, sane or not.
func figures(t *rapid.T, n int) []Value {
	out := make([]Value, n)
	for i := range out {
		out[i] = rapid.OneOf(
			rapid.Just(Value{}),
			rapid.Map(rapid.Float64Range(-10, 1000), Of),
			rapid.Map(rapid.Float64(), Of),
			rapid.SampledFrom([]Value{{V: math.NaN(), Known: true}, {V: math.Inf(1), Known: true}, {V: math.Inf(-1), Known: true}, Of(math.MaxFloat64), Of(math.SmallestNonzeroFloat64), Of(0)}),
		).Draw(t, "value")
	}
	return out
}

func number(t *rapid.T, name string) float64 {
	return rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(-100, 1e6), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.MaxFloat64, 1e-300})).Draw(t, name)
}

// anyChart draws a chart of any kind with any contents.
func anyChart(t *rapid.T) drawer {
	n := rapid.IntRange(0, 40).Draw(t, "n")
	label := rapid.SampledFrom([]string{"", "p50", "1k", "a label that is long", "模型", "\x1b[31m"})
	labels := rapid.SliceOfN(label, n, n).Draw(t, "labels")
	ns := rapid.OneOf(rapid.Int64Range(-100, 100), rapid.Int64Range(1.7e18, 1.8e18))
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return Hist{Labels: labels, Counts: rapid.SliceOfN(rapid.Int64Range(-5, 1e15), 0, 40).Draw(t, "counts"), Max: rapid.Int64Range(-1, 100).Draw(t, "max")}
	case 1:
		return Meter{Value: figures(t, 1)[0], Max: number(t, "max"), Text: label.Draw(t, "text"), Warn: number(t, "warn")}
	case 2:
		parts := make([]Part, n)
		for i, v := range figures(t, n) {
			parts[i] = Part{Label: labels[i], Value: v.V}
		}
		return StackRow{Parts: parts, Total: number(t, "total")}
	case 3:
		return VBars{Values: figures(t, n), Max: number(t, "max"), Gap: rapid.IntRange(-1, 3).Draw(t, "gap")}
	case 4:
		return Spark{Values: figures(t, n), Max: number(t, "max")}
	case 5, 6:
		s := Series{Style: Style(rapid.IntRange(0, 1).Draw(t, "style")), Log: rapid.Bool().Draw(t, "log"), Min: number(t, "min"), Max: number(t, "max"),
			Names: rapid.Bool().Draw(t, "names"), LabelW: rapid.IntRange(-1, 9).Draw(t, "labelW"), Cursor: rapid.IntRange(-1, 50).Draw(t, "cursor")}
		for i := range rapid.IntRange(0, 6).Draw(t, "lines") {
			s.Lines = append(s.Lines, Line{Name: label.Draw(t, "name"), Values: figures(t, n+i)})
		}
		if rapid.Bool().Draw(t, "band") {
			s.Band = &Band{Low: figures(t, n), High: figures(t, n/2)}
		}
		return plotDrawer{s}
	case 7:
		h := Heat{Labels: labels, Max: number(t, "max"), Cursor: rapid.IntRange(-1, 50).Draw(t, "cursor")}
		for i := range n {
			h.Rows = append(h.Rows, figures(t, i%5))
		}
		return plotDrawer{h}
	case 8:
		return TimeAxis{FromNS: ns.Draw(t, "from"), ToNS: ns.Draw(t, "to"), BucketNS: rapid.Int64Range(-1, 1e12).Draw(t, "bucket"), Live: rapid.Bool().Draw(t, "live"), Cursor: rapid.IntRange(-1, 50).Draw(t, "cursor")}
	default:
		return Scrub{FromNS: ns.Draw(t, "from"), ToNS: ns.Draw(t, "to"), ViewFromNS: ns.Draw(t, "viewFrom"), ViewToNS: ns.Draw(t, "viewTo"), CursorNS: ns.Draw(t, "cursor"),
			Values: figures(t, n), Events: []Event{{NS: ns.Draw(t, "event"), Rune: rapid.Rune().Draw(t, "rune")}}}
	}
}

// No chart of any contents panics or writes outside its grid, whatever the size, and the picture keeps its width.
func TestChartsStayInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gl := rapid.SampledFrom([]theme.Glyphs{theme.UnicodeGlyphs(), theme.ASCIIGlyphs()}).Draw(t, "glyphs")
		gl.Braille = rapid.Bool().Draw(t, "braille")
		whole := NewGrid(rapid.IntRange(0, 60).Draw(t, "w"), rapid.IntRange(0, 12).Draw(t, "h"), gl)
		whole.Fill(whole.Bounds(), '@', theme.RoleBad)
		rect := Rect{
			X: rapid.IntRange(-3, 20).Draw(t, "x"), Y: rapid.IntRange(-3, 6).Draw(t, "y"),
			W: rapid.IntRange(-1, 50).Draw(t, "rw"), H: rapid.IntRange(-1, 10).Draw(t, "rh"),
		}
		part := whole.Sub(rect)
		part.Clear()
		anyChart(t).Draw(part)
		seen := rect.Cut(whole.Bounds())
		for y := range whole.H() {
			for x := range whole.W() {
				if !seen.In(x, y) && (whole.Rune(x, y) != '@' || whole.Role(x, y) != theme.RoleBad) {
					t.Fatalf("%v: wrote %q at %d, %d", rect, whole.Rune(x, y), x, y)
				}
			}
		}
		checkWidth(t, whole)
		checkRender(t, whole, theme.Dark())
	})
}

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
			"vbars":  VBars{Values: values},
			"heat":   plotDrawer{Heat{Labels: []string{"a"}, Rows: [][]Value{values}}},
		} {
			g := NewGrid(12, 3, gl)
			d.Draw(g)
			first := 12 - len(values)
			if name == "vbars" {
				first = 0
			}
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

// A curve at the value of a tick is on the tick's line.
func TestTicksMatchCurves(t *testing.T) {
	for _, log := range []bool{false, true} {
		for h := 1; h < 20; h++ {
			s := Series{Lines: []Line{{Values: []Value{Of(100), Of(1)}}}, Log: log, Max: 100, Min: 1}
			a := s.axis(10)
			g := NewGrid(16, h, theme.UnicodeGlyphs())
			s.Draw(g)
			if got := g.Sub(Rect{Y: rowOf(a.at(100), h), W: 5, H: 1}).Plain(); strings.TrimSpace(got) != "100" {
				t.Errorf("log %t, %d lines: the line of 100 is labelled %q", log, h, got)
			}
			if got := g.Sub(Rect{Y: rowOf(a.at(1), h), W: 5, H: 1}).Plain(); log && h > 1 && strings.TrimSpace(got) != "1" {
				t.Errorf("log, %d lines: the line of 1 is labelled %q", h, got)
			}
		}
	}
}

func TestRoundEnds(t *testing.T) {
	for _, c := range []struct{ v, want float64 }{
		{0, 1}, {-3, 1}, {math.NaN(), 1}, {math.Inf(1), 1},
		{1, 1}, {math.Nextafter(1.2, 2), 1.2}, {1.21, 1.5}, {22.9, 25}, {100, 100}, {101, 120}, {999, 1000}, {0.07, 0.08}, {8.1e9, 1e10},
	} {
		if got := roundUp(c.v); math.Abs(got-c.want) > c.want*1e-9 {
			t.Errorf("roundUp(%v) = %v, want %v", c.v, got, c.want)
		}
	}
	for _, c := range []struct {
		low, high float64
		n         int
		want      []float64
	}{
		{0, 10, 1, []float64{0, 10}}, {0, 10, 2, []float64{0, 5, 10}}, {0, 10, 5, []float64{0, 2, 4, 6, 8, 10}}, {0, 25, 3, []float64{0, 12.5, 25}},
		{0, 25, 5, []float64{0, 5, 10, 15, 20, 25}}, {0, 12, 3, []float64{0, 4, 8, 12}}, {-5, 5, 2, []float64{-5, 0, 5}}, {-3, 7, 3, []float64{0, 5}}, {3, 3, 4, []float64{3}},
	} {
		if got := linearTicks(c.low, c.high, c.n); !slices.EqualFunc(got, c.want, near) {
			t.Errorf("linearTicks(%v, %v, %d) = %v, want %v", c.low, c.high, c.n, got, c.want)
		}
	}
	for _, c := range []struct {
		low, high float64
		want      []float64
	}{{1, 1000, []float64{1, 10, 100, 1000}}, {5, 50, []float64{5, 10, 20, 50}}, {2, 700, []float64{10, 100, 700}}} {
		if got := logTicks(c.low, c.high); !slices.EqualFunc(got, c.want, near) {
			t.Errorf("logTicks(%v, %v) = %v, want %v", c.low, c.high, got, c.want)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

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

func TestAges(t *testing.T) {
	for ns, want := range map[int64]string{5e8: "-0.5s", 40e9: "-40s", 60e9: "-60s", 120e9: "-2m", 150e9: "-2m30s", 3600e9: "-1h", 5400e9: "-1h30m", 172800e9: "-2d"} {
		if got := age(ns); got != want {
			t.Errorf("age(%d) = %q, want %q", ns, got, want)
		}
	}
}

// buckets are widths of columns, round or not: the store's are powers of two of a 512th of a second and three times those.
func buckets() *rapid.Generator[int64] {
	return rapid.SampledFrom([]int64{1953125, 5e7, 93750000, 1e8, 375e6, 5e8, 1e9, 15e8, 6e9, 16e9, 48e9, 96e9})
}

// A clock label begins in the column of the bucket that holds its time.
func TestClockLabelsStandInTheirBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.IntRange(20, 180).Draw(t, "w")
		loc := time.FixedZone("", rapid.SampledFrom([]int{0, 3600, 19800, -12600}).Draw(t, "offset"))
		a := TimeAxis{BucketNS: buckets().Draw(t, "bucket"), Loc: loc}
		midnight := time.Date(2026, 7, 11, 0, 0, 0, 0, loc).UnixNano()
		a.FromNS = midnight + rapid.Int64Range(1, 1e4).Draw(t, "from")*a.BucketNS
		a.ToNS = a.FromNS + int64(w)*a.BucketNS
		line := []rune(plain(a, w, 1)[0])
		labels := 0
		for x, r := range line {
			if r != '┴' {
				continue
			}
			var at time.Time
			for _, layout := range []string{"15:04:05.000", "15:04:05", "15:04"} {
				text, _, _ := strings.Cut(string(line[x+1:])+"─", "─")
				if p, err := time.ParseInLocation(layout, strings.TrimSuffix(text, "┴"), loc); err == nil {
					at = p
				}
			}
			ns := midnight + int64(at.Sub(time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, loc)))
			start := a.FromNS + int64(x)*a.BucketNS
			if start >= midnight+86400e9 || a.ToNS > midnight+86400e9 {
				return
			}
			if ns < start || ns >= start+a.BucketNS {
				t.Fatalf("%s: label in column %d, %v before its bucket", string(line), x, time.Duration(start-ns))
			}
			labels++
		}
		if labels == 0 && w > 60 && a.ToNS < midnight+86400e9 {
			t.Fatalf("no label in %q", string(line))
		}
	})
}

// The middle of an age label is within a column of the edge that many buckets before now, unless the left end pushes it.
func TestAgesStandAtTheirColumn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.IntRange(30, 180).Draw(t, "w")
		a := TimeAxis{FromNS: 1e18, BucketNS: buckets().Draw(t, "bucket"), Live: true}
		a.ToNS = a.FromNS + int64(w)*a.BucketNS
		line := plain(a, w, 1)[0]
		if !strings.HasSuffix(line, " now") {
			t.Fatalf("%q does not end now", line)
		}
		x := 0
		for _, field := range strings.Split(strings.TrimSuffix(line, " now"), " ") {
			n := utf8.RuneCountInString(field)
			if ago, err := time.ParseDuration(strings.TrimPrefix(field, "-")); err == nil && x > 1 {
				middle := float64(x) + float64(n)/2
				want := float64(w) - float64(ago)/float64(a.BucketNS)
				if math.Abs(middle-want) > 1.5 {
					t.Fatalf("%q: %s is at %.1f, want %.1f", line, field, middle, want)
				}
			}
			x += n + 1
		}
	})
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
