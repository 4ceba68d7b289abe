package unit_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"opprof/engine/unit"
)

// below is the largest float64 less than v.
func below(v float64) float64 { return math.Nextafter(v, math.Inf(-1)) }

func TestCounts(t *testing.T) {
	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check(unit.Count(0), "0")
	check(unit.Count(999), "999")
	check(unit.Count(1000), "1,000")
	check(unit.Count(-1000), "-1,000")
	check(unit.Count(-999), "-999")
	check(unit.Count(1234567), "1,234,567")
	check(unit.Count(math.MaxInt64), "9,223,372,036,854,775,807")
	check(unit.Count(math.MinInt64), "-9,223,372,036,854,775,808")
	check(unit.Short(9999), "9,999")
	check(unit.Short(10000), "10.0k")
	check(unit.Short(99949), "99.9k")
	check(unit.Short(99950), "100k") // 99.95 lies a little above the tie in binary
	check(unit.Short(999499), "999k")
	check(unit.Short(999500), "1.00M") // the tie goes to the even 1000, which no prefix shows
	check(unit.Known(nil, unit.Count), "-")
	n := int64(4096)
	check(unit.Known(&n, unit.Count), "4,096")
	check(unit.Right("84.6", 6), "  84.6")
	check(unit.Left("84.6", 6), "84.6  ")
	check(unit.Left("84.6", 2), "84.6")
}

func TestNumbersChangeFormWherePrintingRounds(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{
		{0, "0"},
		{0.0004, "0.000"},
		{0.25, "0.250"},
		{-0.25, "-0.250"},
		{below(0.9995), "0.999"},
		{0.99951, "1.00"},
		{1, "1.00"},
		{9.994, "9.99"},
		{9.996, "10.0"},
		{84.6, "84.6"},
		{99.94, "99.9"},
		{99.96, "100"},
		{below(999.5), "999"}, // 999.5 itself is exact in binary
		{999.5, "1.00k"},
		{-999.5, "-1.00k"},
		{2360, "2.36k"},
		{below(999500), "999k"},
		{999500, "1.00M"},
		{999.5e9, "1.00T"},
		{999.4e12, "999T"},
		{1e15, "1.0e+15"},
		{math.NaN(), "-"},
		{math.Inf(1), "-"},
		{math.Inf(-1), "-"},
	} {
		if got := unit.Number(c.v); got != c.want {
			t.Errorf("Number(%v) = %q, want %q", c.v, got, c.want)
		}
	}
}

func TestTicksAreAsShortAsTheyAreRound(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0, "0"}, {0.5, "0.5"}, {0.125, "0.125"}, {5, "5"}, {100, "100"}, {120, "120"}, {1000, "1k"}, {2500, "2.5k"}, {20000, "20k"}, {1e6, "1M"}, {1e-4, "1e-04"}, {-0.0004, "-4e-04"}, {math.NaN(), "-"}} {
		if got := unit.Tick(c.v); got != c.want {
			t.Errorf("Tick(%v) = %q, want %q", c.v, got, c.want)
		}
	}
}

func TestDurations(t *testing.T) {
	for _, c := range []struct {
		ns       int64
		want, ms string
	}{
		{0, "0 ns", "0"},
		{830, "830 ns", "0.001"},
		{999, "999 ns", "0.001"},
		{1000, "1.00 us", "0.001"},
		{60_000, "60.0 us", "0.060"},
		{999_499, "999 us", "0.999"},
		{999_500, "1.00 ms", "1.00"},
		{11_800_000, "11.8 ms", "11.8"},
		{60_000_000, "60.0 ms", "60.0"},
		{120_300_000, "120 ms", "120"},
		{999_499_999, "999 ms", "999"},
		{999_500_000, "1.00 s", "1,000"},
		{1_240_000_000, "1.24 s", "1,240"},
		{59_949_999_999, "59.9 s", "59,950"},
		{59_950_000_001, "1m00s", "59,950"},
		{123_000_000_000, "2m03s", "123,000"},
		{3_599_499_999_999, "59m59s", "3,599,500"},
		{3_599_500_000_000, "1h00m", "3,599,500"},
		{86_399_500_000_000, "1d00h", "86,399,500"},
		{273_600_000_000_000, "3d04h", "273,600,000"},
		{-11_800_000, "-11.8 ms", "-11.8"},
	} {
		if got := unit.Duration(c.ns); got != c.want {
			t.Errorf("Duration(%d) = %q, want %q", c.ns, got, c.want)
		}
		if got := unit.DurationMS(c.ns); got != c.ms {
			t.Errorf("DurationMS(%d) = %q, want %q", c.ns, got, c.ms)
		}
	}
	for _, ns := range []int64{math.MaxInt64, math.MinInt64} {
		if got := strings.TrimPrefix(unit.Duration(ns), "-"); got != "106751d23h" && got != "106751d24h" {
			t.Errorf("Duration(%d) = %q", ns, got)
		}
	}
}

func TestSharesAndSizes(t *testing.T) {
	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check(unit.Percent(0), "0 %")
	check(unit.Percent(0.0001), "0.0 %")
	check(unit.Percent(0.602), "60.2 %")
	check(unit.Percent(0.9994), "99.9 %")
	check(unit.Percent(0.9996), "100 %")
	check(unit.Percent(1), "100 %")
	check(unit.Percent(12.34), "1234 %")
	check(unit.Percent(math.NaN()), "-")
	check(unit.Share(1, 3), "33.3 %")
	check(unit.Share(0, 3), "0 %")
	check(unit.Share(0, 0), "-")
	check(unit.Bytes(0), "0 B")
	check(unit.Bytes(999), "999 B")
	check(unit.Bytes(1000), "1.00 kB")
	check(unit.Bytes(999_499), "999 kB")
	check(unit.Bytes(999_500), "1.00 MB")
	check(unit.Bytes(44e9), "44.0 GB")
	check(unit.Bytes(math.MaxInt64), "9.22 EB")
	check(unit.Bytes(math.MinInt64), "-9.22 EB")
	check(unit.Rate(2360, "tok/s"), "2.36k tok/s")
	check(unit.Rate(math.NaN(), "tok/s"), "-")
}

func TestEdgesKeepTheirNames(t *testing.T) {
	got := strings.Join(unit.Edges([]int64{128, 512, 1024, 16384, 32768, 65536, 131072}), " ")
	if want := "128 512 1k 16k 32k 65k 131k >131k"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := strings.Join(unit.Edges([]int64{1000, 1500, 2_000_000}), " "); got != "1k 1,500 2M >2M" {
		t.Errorf("edges of one name: got %q", got)
	}
	if got := unit.Edges(nil); len(got) != 0 {
		t.Errorf("no edges: got %q", got)
	}
}

func TestClockNamesTheZone(t *testing.T) {
	const ns = 1_783_761_000_123_456_789 // 2026-07-11 09:10:00.123 UTC
	east := time.FixedZone("east", 2*3600)
	for _, c := range []struct{ got, want string }{
		{unit.Clock(ns, nil), "09:10:00.123"},
		{unit.Clock(ns, east), "11:10:00.123"},
		{unit.ClockSeconds(ns, east), "11:10:00"},
		{unit.Date(ns, time.UTC), "2026-07-11 09:10:00"},
		{unit.Clock(0, nil), "-"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// Printed numbers are near their value, short, and never a mantissa of four digits.
func TestNumberProperty(t *testing.T) {
	prefixes := map[byte]float64{'k': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(-9e14, 9e14).Draw(t, "v")
		s := unit.Number(v)
		if n := len(strings.TrimPrefix(s, "-")); n > 5 {
			t.Fatalf("Number(%v) = %q has %d columns", v, s, n)
		}
		factor := 1.0
		if f, ok := prefixes[s[len(s)-1]]; ok {
			factor, s = f, s[:len(s)-1]
		}
		m, err := strconv.ParseFloat(s, 64)
		if err != nil || math.Abs(m) >= 1000 {
			t.Fatalf("Number(%v): mantissa %q", v, s)
		}
		if math.Abs(m*factor-v) > math.Max(0.00051, math.Abs(v)*0.0051) {
			t.Fatalf("Number(%v) = %q", v, s)
		}
	})
}

// A longer time never prints as a shorter one.
func TestDurationOrderProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(0, 100*86400*1e9).Draw(t, "ns")
		s := unit.Duration(ns)
		if len(s) > 7 {
			t.Fatalf("Duration(%d) = %q has %d columns", ns, s, len(s))
		}
		d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
		if strings.Contains(s, "d") {
			days, hours, _ := strings.Cut(s, "d")
			n, _ := strconv.Atoi(days)
			d, err = time.ParseDuration(hours)
			d += time.Duration(n) * 24 * time.Hour
		}
		if err != nil || math.Abs(float64(d)-float64(ns)) > math.Max(float64(ns)*0.042, 1) {
			t.Fatalf("Duration(%d) = %q: %v %v", ns, s, d, err)
		}
	})
}
