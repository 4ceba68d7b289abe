package gate

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opprof/campaign/stat"

	"pgregory.net/rapid"
)

type set struct {
	Name   string
	Better string
	Order  []string
	Off    []float64
	On     []float64
	Point  float64 `json:"point_pct"`
	Loss   float64 `json:"point_loss_pct"`
	Gate   struct {
		T        bool `json:"by_t_two_sided95"`
		Expanded bool `json:"by_expanded_percentile"`
	}
	Expanded struct {
		Pct float64 `json:"upper975_pct"`
	} `json:"expanded_percentile"`
}

func sets(t *testing.T) map[string]set {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "stat", "gate-reference.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Sets map[string]set }
	if err := json.Unmarshal(text, &r); err != nil || len(r.Sets) == 0 {
		t.Fatal(err)
	}
	return r.Sets
}

func (s set) metric() Metric {
	m := Metric{Name: s.Name, Higher: s.Better == "higher"}
	for i := range s.Off {
		m.Pairs = append(m.Pairs, Pair{ID: fmt.Sprint(i + 1), Order: s.Order[i], Off: s.Off[i], On: s.On[i]})
	}
	return m
}

func TestReferenceSets(t *testing.T) {
	for name, s := range sets(t) {
		t.Run(name, func(t *testing.T) {
			d := Decide([]Metric{s.metric()}, Options{})
			r := d.Metrics[0]
			if math.Abs(*r.PointPct-s.Point) > 1e-9 || math.Abs(*r.UpperPct-s.Expanded.Pct) > 1e-9 {
				t.Errorf("point %v, upper %v, reference %v, %v", *r.PointPct, *r.UpperPct, s.Point, s.Expanded.Pct)
			}
			want := Fail
			switch {
			case s.Gate.T != s.Gate.Expanded:
				want = Undecided
			case s.Gate.Expanded:
				want = Pass
			}
			if math.Abs(value(r.OrderEffectPct)) > 1.5 {
				want = Undecided
			}
			if d.Verdict != want {
				t.Errorf("verdict %s, want %s: %v", d.Verdict, want, d.Reasons)
			}
		})
	}
}

func value(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

// pairs makes a metric from regressions in percent, in the order AB, BA, AB…
func pairs(name string, pct ...float64) Metric {
	m := Metric{Name: name}
	for i, p := range pct {
		m.Pairs = append(m.Pairs, Pair{ID: fmt.Sprint(i + 1), Order: []string{"AB", "BA"}[i%2], Off: 100, On: 100 + p})
	}
	return m
}

func TestVerdicts(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		metrics []Metric
		verdict string
		words   string
	}{
		"no cost":                    {[]Metric{pairs("a", 0.1, -0.1, 0.2, 0, 0.1, -0.2)}, Pass, ""},
		"a clear cost":               {[]Metric{pairs("a", 5, 5.2, 4.9, 5.1, 5, 5.3)}, Fail, "upper bound"},
		"one metric of two fails":    {[]Metric{pairs("a", 0, 0.1, 0, 0.1, 0, 0.1), pairs("b", 5, 5.2, 4.9, 5.1, 5, 5.3)}, Fail, "b:"},
		"four pairs":                 {[]Metric{pairs("a", 0, 0.1, 0, 0.1)}, Undecided, "4 of at least 5"},
		"four pairs of a clear cost": {[]Metric{pairs("a", 9, 9.1, 9, 9.1)}, Undecided, "4 of at least 5"},
		"a pair that is not one":     {[]Metric{pairs("a", 0, 0.1, 0, 0.1, 0, nan)}, Undecided, "pair 6"},
		"a zero":                     {[]Metric{pairs("a", 0, 0.1, 0, 0.1, 0, -100)}, Undecided, "pair 6"},
		"the order decides":          {[]Metric{pairs("a", 4, -4, 4, -4, 4, -4)}, Undecided, "running second"},
		"unequal pairs":              {[]Metric{pairs("a", 0, 0, 0, 0, 0, 0.1), pairs("b", 0, 0, 0, 0, 0.1)}, Undecided, "for all metrics or for none"},
		"nothing":                    {nil, Undecided, "no metric"},
		"no valid pair":              {[]Metric{{Name: "a"}}, Undecided, "no valid pair"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(c.metrics, Options{})
			if d.Verdict != c.verdict || !strings.Contains(strings.Join(d.Reasons, "|"), c.words) {
				t.Errorf("%s %q, want %s with %q", d.Verdict, d.Reasons, c.verdict, c.words)
			}
			if _, err := json.Marshal(d); err != nil {
				t.Errorf("not JSON: %v", err)
			}
		})
	}
}

func TestTheLimitItselfFails(t *testing.T) {
	m := pairs("a", 3, 3, 3, 3, 3, 3)
	if d := Decide([]Metric{m}, Options{}); d.Verdict != Fail || !strings.Contains(d.Reasons[0], "the limit 3.00 %, which it has to stay below") {
		t.Errorf("a regression of exactly the limit: %s %v", d.Verdict, d.Reasons)
	}
	for i := range m.Pairs {
		m.Pairs[i].On = math.Nextafter(103, 0) - 1e-9
	}
	if d := Decide([]Metric{m}, Options{}); d.Verdict != Pass {
		t.Errorf("a hair below the limit: %s %v", d.Verdict, d.Reasons)
	}
}

func TestThroughputIsTheOtherWayRound(t *testing.T) {
	m := Metric{Name: "throughput", Higher: true}
	for i := range 6 {
		m.Pairs = append(m.Pairs, Pair{ID: fmt.Sprint(i), Order: []string{"AB", "BA"}[i%2], Off: 103, On: 100 + float64(i%3)/100})
	}
	r := Decide([]Metric{m}, Options{}).Metrics[0]
	if *r.PointPct < 2.9 || *r.PointPct > 3 || *r.LossPct >= *r.UpperPct {
		t.Errorf("regression %v, loss %v", *r.PointPct, *r.LossPct)
	}
}

// TestCoverage: over seeded draws of A/A pairs the gate seldom fails, and a true regression of the limit seldom passes.
func TestCoverage(t *testing.T) {
	draws := noise(1)
	const campaigns = 500
	passedAtLimit, failedAtZero := 0, 0
	for range campaigns {
		zero, limit := Metric{Name: "a"}, Metric{Name: "a"}
		for i := range 6 {
			e := 0.005 * draws()
			p := Pair{ID: fmt.Sprint(i), Order: []string{"AB", "BA"}[i%2], Off: 100, On: 100 * math.Exp(e)}
			zero.Pairs = append(zero.Pairs, p)
			p.On *= 1.03
			limit.Pairs = append(limit.Pairs, p)
		}
		if Decide([]Metric{zero}, Options{}).Verdict == Fail {
			failedAtZero++
		}
		if Decide([]Metric{limit}, Options{}).Verdict == Pass {
			passedAtLimit++
		}
	}
	if share := float64(passedAtLimit) / campaigns; share > 0.05 {
		t.Errorf("a true regression of 3 %% passed in %.3f of campaigns, expected 0.025 and the bound's known 0.008 more, within the noise of these draws", share)
	}
	if failedAtZero > 0 {
		t.Errorf("no regression failed in %d of %d campaigns at 0.5 %% noise", failedAtZero, campaigns)
	}
}

// noise is a seeded stream of standard normal numbers, by the inverse of the distribution function over a simple generator.
func noise(seed uint64) func() float64 {
	return func() float64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return stat.NormalQuantile((float64(seed>>11) + 0.5) / (1 << 53))
	}
}

func TestOrderOfPairsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Metric
		for i := range rapid.IntRange(1, 8).Draw(t, "n") {
			m.Pairs = append(m.Pairs, Pair{ID: fmt.Sprint(i), Order: []string{"AB", "BA"}[i%2], Off: 100, On: rapid.Float64Range(95, 105).Draw(t, "on")})
		}
		a := Decide([]Metric{m}, Options{})
		b := Decide([]Metric{{Name: m.Name, Pairs: rapid.Permutation(m.Pairs).Draw(t, "order")}}, Options{})
		if a.Verdict != b.Verdict || math.Abs(value(a.Metrics[0].UpperPct)-value(b.Metrics[0].UpperPct)) > 1e-9 {
			t.Fatalf("%s %v, shuffled %s %v", a.Verdict, value(a.Metrics[0].UpperPct), b.Verdict, value(b.Metrics[0].UpperPct))
		}
	})
}

func TestReadCSV(t *testing.T) {
	text := "\ufeffmetric,pair,order,off,on,better,note\nttft_p50,1,AB,10,10.1,lower,x\nthroughput,1,ab,100,99,higher\nttft_p50,2,BA,10,oops,lower\n"
	got, err := ReadCSV(strings.NewReader(text), "r.csv")
	if err != nil || len(got) != 2 || len(got[0].Pairs) != 2 || !got[1].Higher || got[1].Pairs[0] != (Pair{ID: "1", Order: "AB", Off: 100, On: 99}) || !math.IsNaN(got[0].Pairs[1].On) {
		t.Fatalf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                                     "it is empty",
		"pair,order,metric,off,on\n1,AB,m,1,2": `line 1 has no column "better": expected pair,order,metric,off,on,better, found "pair,order,metric,off,on"`,
		"pair;order;metric;off;on;better\n":    `no column "pair": expected pair,order,metric,off,on,better, found "pair;order;metric;off;on;better"`,
		"pair,order,metric,off,On,better,on\n1,AB,m,1,2,lower,9":                           `line 1 has two columns "on"`,
		"pair,order,metric,off,on,better\n1,AB,m,1,2,lower\n2,BA,m":                        "line 3: it has 3 cells and none for off",
		"pair,order,metric,off,on,better\n1,XY,m,1,2,lower":                                "line 2: order",
		"pair,order,metric,off,on,better\n1,AB,m,1,2,faster":                               "line 2: better",
		"pair,order,metric,off,on,better\n1,AB,,1,2,lower":                                 "line 2: no metric",
		"pair,order,metric,off,on,better\n,AB,m,1,2,lower":                                 "line 2: no pair",
		"pair,order,metric,off,on,better\n1,AB,m,1,2,lower\n1,BA,m,1,2,lower":              "line 3: pair 1 of metric m stands twice",
		"pair,order,metric,off,on,better\n1,AB,m,1,2,lower\n2,BA,m,1,2,higher":             "line 3: metric m",
		"pair,order,metric,off,on,better\n1,AB,m,1,2,lower\n1,BA,k,1,2,lower":              "line 3: pair 1 has order BA here and AB in another row",
		"pair,order,metric,off,on,better\n1,AB," + strings.Repeat("m", 300) + ",1,2,lower": "line 2: metric and pair have names of 300 and 1 bytes",
		manyPairs(MaxPairs + 1):                               "line 10002: metric m has more than 10000 pairs",
		"pair,order,metric,off,on,better\n1,AB,\"m,1,2,lower": "quote",
	} {
		if _, err := ReadCSV(strings.NewReader(text), "r.csv"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadCSV(%q): %v, want %q", text, err, want)
		}
	}
}

// What is no number is shown as it stands, with its place.
func TestACellThatIsNoMeasurementIsNamed(t *testing.T) {
	for cell, want := range map[string]string{
		"12ms":  `r.csv:4 has off "12ms" and on "100": expected two positive numbers`,
		"":      `r.csv:4 has off "" and on "100"`,
		"NaN":   `r.csv:4 has off "NaN" and on "100"`,
		"-5":    `r.csv:4 has off "-5" and on "100"`,
		"0":     `r.csv:4 has off "0" and on "100"`,
		"1e999": `r.csv:4 has off "1e999" and on "100"`,
	} {
		text := "pair,order,metric,off,on,better\n1,AB,m,100,100,lower\n\n2,BA,m," + cell + ",100,lower\n"
		m, err := ReadCSV(strings.NewReader(text), "r.csv")
		if err != nil {
			t.Fatalf("%q: %v", cell, err)
		}
		r := Decide(m, Options{}).Metrics[0]
		if got := strings.Join(r.Warnings, "|"); r.N != 1 || r.Verdict != Undecided || !strings.Contains(got, want) {
			t.Errorf("%q: %d pairs, %s, %q, want %q", cell, r.N, r.Verdict, got, want)
		}
	}
}

// A table as a spreadsheet of Windows writes it: a byte order mark, and every cell in quotes.
func TestAMarkBeforeQuotes(t *testing.T) {
	text := "\ufeff\"pair\",\"order\",\"metric\",\"off\",\"on\",\"better\"\r\n\"1\",\"AB\",\"m\",\"1\",\"2\",\"lower\"\r\n"
	m, err := ReadCSV(strings.NewReader(text), "r.csv")
	if err != nil || len(m) != 1 || len(m[0].Pairs) != 1 || m[0].Pairs[0] != (Pair{ID: "1", Order: "AB", Off: 1, On: 2}) {
		t.Errorf("%+v, %v", m, err)
	}
}

// A reason is true of the metric itself: of a throughput that running second raises it says so, and gives the regression of the table beside it.
func TestTheOrderIsToldInTheMetricsOwnTerms(t *testing.T) {
	for better, want := range map[string]string{
		"higher": "changes the metric by 10.00 %, a regression of -9.09 %, more than half the limit",
		"lower":  "changes the metric by 10.00 %, more than half the limit",
	} {
		m := Metric{Name: "m", Higher: better == "higher"}
		for i := range 6 {
			p := Pair{ID: fmt.Sprint(i), Order: "AB", Off: 100, On: 110}
			if i%2 == 1 {
				p = Pair{ID: fmt.Sprint(i), Order: "BA", Off: 110, On: 100}
			}
			m.Pairs = append(m.Pairs, p)
		}
		d := Decide([]Metric{m}, Options{})
		if got := strings.Join(d.Reasons, "|"); d.Verdict != Undecided || !strings.Contains(got, want) {
			t.Errorf("%s: %s %q, want %q", better, d.Verdict, got, want)
		}
	}
}

// An order effect that chance explains is told from one that the pairs agree on: the remedy is another.
func TestAnOrderEffectByChanceIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		metric Metric
		chance bool
	}{
		"pairs that agree":   {pairs("a", 4, -4, 4.1, -4.1, 3.9, -3.9), false},
		"pairs that scatter": {pairs("a", 60, -40, -30, 50, 55, -20), true},
		"a small effect":     {pairs("a", 0.4, 0.1, 0.2, 0.3, -0.4, 0.2), false},
		"too few pairs":      {pairs("a", 60, -40, -30, 50), false},
	} {
		r := Decide([]Metric{c.metric}, Options{}).Metrics[0]
		if got := r.OrderByChance(); got != c.chance {
			t.Errorf("%s: %v, order effect %v", name, got, value(r.OrderEffectPct))
		}
		if c.chance && (r.Verdict != Undecided || !strings.HasPrefix(r.why(), "running second")) {
			t.Errorf("%s: %s because of %q", name, r.Verdict, r.why())
		}
	}
}

// However quiet the pairs are, fewer than the least that decide are not enough.
func TestPairsNeededAreEnoughToDecide(t *testing.T) {
	for _, m := range []Metric{pairs("quiet", 0.1, -0.1, 0.2, 0, 0.1, -0.2), pairs("alike", 1, 1, 1, 1, 1, 1)} {
		if n := Decide([]Metric{m}, Options{}).Metrics[0].PairsNeeded; n == nil || *n != MinPairs {
			t.Errorf("%s: %v pairs, want %d", m.Name, n, MinPairs)
		}
	}
	if n := Decide([]Metric{pairs("loud", 9, -9, 9, 9, -9, -9)}, Options{}).Metrics[0].PairsNeeded; n == nil || *n <= MinPairs {
		t.Errorf("loud: %v pairs", n)
	}
}

// manyPairs is a table of n pairs that vary.
func manyPairs(n int) string {
	var b strings.Builder
	b.WriteString("pair,order,metric,off,on,better\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,%s,m,100,%d,lower\n", i, []string{"AB", "BA"}[i%2], 95+i*7%13)
	}
	return b.String()
}

// A table as long as they may be is decided, and as the t bound would, which many pairs come close to.
func TestTenThousandPairs(t *testing.T) {
	metrics, err := ReadCSV(strings.NewReader(manyPairs(MaxPairs)), "r.csv")
	if err != nil {
		t.Fatal(err)
	}
	r := Decide(metrics, Options{}).Metrics[0]
	if r.N != MaxPairs || math.Abs(*r.UpperPct-*r.TUpperPct) > 0.01 || *r.UpperPct <= *r.PointPct {
		t.Errorf("%d pairs: point %v, bound %v, t bound %v", r.N, *r.PointPct, *r.UpperPct, *r.TUpperPct)
	}
}

// Two metrics with as many pairs rest on the same pairs only if those are the same ones.
func TestMetricsOfOtherPairsAreNotDecided(t *testing.T) {
	of := func(name string, without int) Metric {
		m := Metric{Name: name}
		for i := range 9 {
			if i != without {
				m.Pairs = append(m.Pairs, Pair{ID: fmt.Sprint(i), Order: []string{"AB", "BA"}[i%2], Off: 100, On: 100 + float64(i)/10})
			}
		}
		return m
	}
	d := Decide([]Metric{of("a", 3), of("b", 5)}, Options{})
	if d.Verdict != Undecided || !strings.Contains(strings.Join(d.Reasons, "\n"), "pair 5 has a and no b") {
		t.Errorf("%s: %q", d.Verdict, d.Reasons)
	}
	if d := Decide([]Metric{of("a", 3), of("b", 3)}, Options{}); d.Verdict != Pass {
		t.Errorf("the same pairs: %s: %q", d.Verdict, d.Reasons)
	}
}

// A ratio that no number holds is no measurement, and what is printed of the pairs stays finite.
func TestRatiosThatNoNumberHolds(t *testing.T) {
	for _, higher := range []bool{false, true} {
		m := Metric{Name: "a", Higher: higher}
		for i := range 6 {
			m.Pairs = append(m.Pairs, Pair{ID: fmt.Sprint(i), Order: "AB", Off: 5e-324, On: 1e308})
		}
		if higher {
			for i := range m.Pairs {
				m.Pairs[i].Off, m.Pairs[i].On = m.Pairs[i].On, m.Pairs[i].Off
			}
		}
		d := Decide([]Metric{m}, Options{})
		if _, err := json.Marshal(d); err != nil || d.Verdict != Undecided {
			t.Errorf("higher %v: %s, %v", higher, d.Verdict, err)
		}
	}
}

func FuzzReadCSV(f *testing.F) {
	f.Add("pair,order,metric,off,on,better\n1,AB,m,1,2,lower\n")
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := ReadCSV(strings.NewReader(text), "r.csv"); err == nil {
			if _, err := json.Marshal(Decide(m, Options{})); err != nil {
				t.Fatal(err)
			}
		}
	})
}
