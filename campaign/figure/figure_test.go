package figure

import (
	"encoding/xml"
	"errors"
	"html/template"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot"
	"pgregory.net/rapid"
)

// inspect reads an SVG as XML and gives its texts. It must hold no number that a browser does not take, and no colour of its own.
func inspect(t interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, svg template.HTML) (texts []string) {
	s := string(svg)
	if !strings.HasPrefix(s, "<svg ") || !strings.HasSuffix(s, "</svg>") {
		t.Fatalf("no SVG: %.80s", s)
	}
	if bad := regexp.MustCompile(`NaN|Inf|#[0-9A-Fa-f]{6}|rgb\(|%!`).FindString(s); bad != "" {
		t.Errorf("the SVG has %s", bad)
	}
	d := xml.NewDecoder(strings.NewReader(s))
	inText := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatalf("%v", err)
		}
		switch v := token.(type) {
		case xml.StartElement:
			inText = v.Name.Local == "text"
		case xml.EndElement:
			inText = false
		case xml.CharData:
			if inText {
				texts = append(texts, string(v))
			}
		}
	}
}

func TestAwkwardPairs(t *testing.T) {
	nan, far := math.NaN(), 1e9
	for name, f := range map[string]Pairs{
		"none":        {LimitPct: 3},
		"one":         {LimitPct: 3, Pairs: []Pair{{"1", false, 1}}},
		"all equal":   {LimitPct: 3, Pairs: []Pair{{"1", false, 0}, {"2", true, 0}}},
		"no limit":    {Pairs: []Pair{{"1", false, 0}}},
		"far off":     {LimitPct: 3, Point: &far, Pairs: []Pair{{"1", false, 1e9}, {"2", true, -1e9}}},
		"not a level": {LimitPct: 3, Upper: &nan, Pairs: []Pair{{"1", false, 1}, {"2", false, math.Inf(1)}}},
		"many":        {LimitPct: 3, Pairs: make([]Pair, 200)},
	} {
		svg, err := f.SVG()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		inspect(t, svg)
		if n := strings.Count(string(svg), `class="hot"`); n != len(f.Pairs) {
			t.Errorf("%s: %d parts react, want %d", name, n, len(f.Pairs))
		}
	}
	if n := len(Pairs{Pairs: make([]Pair, 200)}.ticks()); n > 13 || n < 6 {
		t.Errorf("%d ticks of 200 pairs", n)
	}
}

// Any values at all make a picture whose every column reacts with its own words.
func TestAnyTimeline(t *testing.T) {
	value := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 100), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), 1e-300, 1e300}))
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "columns")
		values := func(name string) []float64 { return rapid.SliceOfN(value, n, n).Draw(t, name) }
		f := Timeline{What: "<&>", Y: "ms", FromNS: rapid.Int64Range(0, 1<<60).Draw(t, "from"), Log: rapid.Bool().Draw(t, "log"), Zone: time.UTC,
			Lines: []Line{{"a", values("a")}, {"b", values("b")}}, Low: values("low"), High: values("high")}
		f.ToNS = f.FromNS + rapid.Int64Range(0, 1<<57).Draw(t, "span")
		for i := range n {
			f.Texts = append(f.Texts, "column <"+strconv.Itoa(i)+">")
		}
		f.Notes = []Note{{f.FromNS + 1, "w"}, {f.FromNS - 1, "never"}}
		svg, err := f.SVG()
		if err != nil {
			t.Fatalf("%v", err)
		}
		said := 0
		for _, text := range inspect(t, svg) {
			if strings.HasPrefix(text, "column <") {
				said++
			}
			if text == "never" {
				t.Fatalf("a note outside of the picture is drawn")
			}
		}
		if said != n && f.ToNS > f.FromNS+1000 {
			t.Fatalf("%d of %d columns react", said, n)
		}
	})
}

func TestBars(t *testing.T) {
	f := Bars{What: "h", X: "tokens", Y: "requests", Bars: []Bar{{"a", 3, "a: 3"}, {"b", 0, "b: 0"}, {"c", math.NaN(), "c: -"}, {"<d>", 1e12, "d & e"}}}
	texts := strings.Join(inspect(t, mustSVG(t, f)), "|")
	for _, want := range []string{"a: 3", "b: 0", "c: -", "d & e", "<d>", "requests"} {
		if !strings.Contains(texts, want) {
			t.Errorf("no %q in %s", want, texts)
		}
	}
	inspect(t, mustSVG(t, Bars{}))
}

func mustSVG(t testing.TB, f Bars) template.HTML {
	t.Helper()
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	return svg
}

// Ticks lie within the axis, in order, and are few but some.
func TestTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1e6, 1e6).Draw(t, "low")
		high := low + rapid.Float64Range(1e-3, 1e9).Draw(t, "width")
		ordered(t, numbers{}.Ticks(low, high), low, high, 2, 8)
		positive := rapid.Float64Range(1e-6, 1e6).Draw(t, "positive")
		top := positive * rapid.Float64Range(10, 1e6).Draw(t, "ratio")
		ordered(t, decades{}.Ticks(positive, top), positive, top, 2, 60)
		from := rapid.Int64Range(0, 4e18).Draw(t, "from")
		span := rapid.Float64Range(1e6, 1e17).Draw(t, "span")
		ordered(t, clock{from, time.UTC}.Ticks(0, span), 0, span, 0, 10)
	})
}

func ordered(t *rapid.T, ticks []plot.Tick, low, high float64, least, most int) {
	if len(ticks) < least || len(ticks) > most {
		t.Fatalf("%d ticks from %g to %g", len(ticks), low, high)
	}
	for i, k := range ticks {
		room := 1e-9 * (high - low)
		if k.Value < low-room || k.Value > high+room || i > 0 && k.Value <= ticks[i-1].Value {
			t.Fatalf("tick %d of %g to %g is at %g", i, low, high, k.Value)
		}
	}
}

func TestClockTicksAreRound(t *testing.T) {
	from := time.Date(2026, 11, 30, 10, 2, 41, 0, time.UTC).UnixNano()
	zone := time.FixedZone("east", 5*3600+1800)
	for span, want := range map[time.Duration]string{
		8 * time.Second:  "15:32:42 15:32:44 15:32:46 15:32:48",
		10 * time.Minute: "15:34 15:36 15:38 15:40 15:42",
		36 * time.Hour:   "00:00 12:00 00:00",
		72 * time.Hour:   "12-01 12-02 12-03",
	} {
		var got []string
		for _, k := range (clock{from, zone}).Ticks(0, float64(span)) {
			got = append(got, k.Label)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", span, s, want)
		}
	}
}
