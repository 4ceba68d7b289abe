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
