package gate

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"opprof/campaign/stat"
)

// shapes are distributions of a pair's log ratio with mean 0 and standard deviation 1.
func shapes(seed uint64) map[string]func() float64 {
	z := noise(seed)
	skew := func() float64 { // a log-normal with sigma 1
		const sigma = 1.0
		mean := math.Exp(sigma * sigma / 2)
		return (math.Exp(sigma*z()) - mean) / (mean * math.Sqrt(math.Expm1(sigma*sigma)))
	}
	t3 := func() float64 {
		a, b, c := z(), z(), z()
		return z() / math.Sqrt((a*a+b*b+c*c)/3) / math.Sqrt(3)
	}
	return map[string]func() float64{"normal": z, "right skew": skew, "left skew": func() float64 { return -skew() }, "t3": t3}
}

// bounds are the upper bounds whose coverage is told: expanded percentile, t, percentile and BCa.
func bounds(x []float64) [4]float64 {
	b := stat.NewResamples(x)
	return [4]float64{b.Quantile(1 - stat.ExpandedAlpha(len(x), Alpha)), stat.UpperT(x, Alpha), b.Quantile(1 - Alpha), b.BCa(1 - Alpha)}
}

// TestCoverageOfTheBounds prints how often each bound lies above the true mean, which 97.5 % of the time it should, and holds the gate's own
// to what is known of it: it comes close for symmetric noise, and falls short where now and then a run is an outlier on the regression's side.
func TestCoverageOfTheBounds(t *testing.T) {
	const draws = 1000
	least := map[string]float64{"normal": 0.945, "left skew": 0.985, "t3": 0.94, "right skew": 0.78}
	t.Logf("share of %d draws in which the bound covers the mean; nominal 0.975", draws)
	t.Log(row("pairs", "noise", "expanded", "t", "percentile", "BCa"))
	for _, n := range []int{5, 6, 8} {
		for _, name := range []string{"normal", "t3", "left skew", "right skew"} {
			draw := shapes(uint64(n))[name]
			var covered [4]int
			for range draws {
				x := make([]float64, n)
				for i := range x {
					x[i] = draw()
				}
				for i, bound := range bounds(x) {
					if bound >= 0 {
						covered[i]++
					}
				}
			}
			cells := []string{fmt.Sprint(n), name}
			for _, c := range covered {
				cells = append(cells, fmt.Sprintf("%.3f", float64(c)/draws))
			}
			t.Log(row(cells...))
			expanded, plain := float64(covered[0])/draws, float64(covered[2])/draws
			if expanded < least[name] || expanded < plain {
				t.Errorf("%d pairs, %s: the gate's bound covers %.3f, at least %.3f is known; the plain percentile %.3f", n, name, expanded, least[name], plain)
			}
		}
	}
}

func row(cells ...string) string {
	var b strings.Builder
	for i, c := range cells {
		if i == 1 {
			fmt.Fprintf(&b, "  %-22s", c)
			continue
		}
		fmt.Fprintf(&b, "%11s", c)
	}
	return b.String()
}

// campaignOf is one simulated campaign: pairs in ABBA order with a true effect, noise, a drift from pair to pair that is the same for both
// arms but goes on between them, and what running second adds; all as log ratios.
type campaignOf struct {
	pairs                     int
	effect, sd, drift, second float64
	blocked                   bool // off always first
}

func (c campaignOf) metric(z func() float64) Metric {
	m := Metric{Name: "ttft_p95"}
	at := 0.0
	for i := range c.pairs {
		off, on := c.sd/math.Sqrt2*z(), c.effect+c.sd/math.Sqrt2*z()
		order := "AB"
		if i%2 == 1 && !c.blocked {
			order = "BA"
		}
		first, after := at, at+c.drift+c.second
		at += 2 * c.drift
		if order == "AB" {
			off, on = off+first, on+after
		} else {
			on, off = on+first, off+after
		}
		m.Pairs = append(m.Pairs, Pair{ID: fmt.Sprint(i), Order: order, Off: 100 * math.Exp(off), On: 100 * math.Exp(on)})
	}
	return m
}

// TestCoverageOfTheVerdict prints what campaigns with known effects end with: the gate's power, and what drift and order do to it.
func TestCoverageOfTheVerdict(t *testing.T) {
	const campaigns = 200
	type share struct{ least, most float64 }
	free := share{0, 1}
	t.Logf("share of %d campaigns of one metric by verdict", campaigns)
	t.Log(row("pairs", "what is true", "PASS", "FAIL", "UNDECIDED"))
	for _, c := range []struct {
		name             string
		sim              campaignOf
		pass, fail, open share
	}{
		{"no effect, sd 0.5 %", campaignOf{pairs: 6, sd: 0.005}, share{0.99, 1}, share{0, 0}, share{0, 0.01}},
		{"no effect, sd 1 %", campaignOf{pairs: 6, sd: 0.01}, share{0.95, 1}, share{0, 0.01}, free},
		{"no effect, sd 2 %", campaignOf{pairs: 6, sd: 0.02}, share{0.3, 0.9}, share{0, 0.5}, free},
		{"1 %, sd 0.5 %", campaignOf{pairs: 6, effect: 0.01, sd: 0.005}, share{0.98, 1}, share{0, 0.01}, free},
		{"1 %, sd 1 %", campaignOf{pairs: 6, effect: 0.01, sd: 0.01}, share{0.75, 1}, share{0, 0.2}, free},
		{"3 %, sd 0.5 %", campaignOf{pairs: 6, effect: math.Log(1.03), sd: 0.005}, share{0, 0.05}, share{0.9, 1}, free},
		{"3 %, sd 1 %", campaignOf{pairs: 6, effect: math.Log(1.03), sd: 0.01}, share{0, 0.05}, share{0.7, 1}, free},
		{"5 %, sd 0.5 %", campaignOf{pairs: 6, effect: math.Log(1.05), sd: 0.005}, share{0, 0}, share{0.99, 1}, free},
		{"drift 1 %/run, ABBA", campaignOf{pairs: 6, sd: 0.005, drift: 0.01}, share{0.85, 1}, share{0, 0.01}, free},
		{"drift 2.5 %/run, ABBA", campaignOf{pairs: 6, sd: 0.005, drift: 0.025}, share{0, 0.05}, share{0, 0.02}, share{0.9, 1}},
		{"2.5 %, off always first", campaignOf{pairs: 6, sd: 0.005, drift: 0.025, blocked: true}, share{0, 0.8}, share{0.2, 1}, free},
		{"second run +4 %", campaignOf{pairs: 6, sd: 0.005, second: 0.04}, share{0, 0.01}, share{0, 0.01}, share{0.99, 1}},
		{"second run +1 %", campaignOf{pairs: 6, sd: 0.005, second: 0.01}, share{0.85, 1}, share{0, 0.01}, free},
		{"four pairs, no effect", campaignOf{pairs: 4, sd: 0.005}, share{0, 0}, share{0, 0}, share{1, 1}},
	} {
		z := noise(11)
		got := map[string]float64{}
		for range campaigns {
			got[Decide([]Metric{c.sim.metric(z)}, Options{}).Verdict] += 1.0 / campaigns
		}
		t.Log(row(fmt.Sprint(c.sim.pairs), c.name, fmt.Sprintf("%.3f", got[Pass]), fmt.Sprintf("%.3f", got[Fail]), fmt.Sprintf("%.3f", got[Undecided])))
		for verdict, want := range map[string]share{Pass: c.pass, Fail: c.fail, Undecided: c.open} {
			if v := got[verdict]; v < want.least-1e-9 || v > want.most+1e-9 {
				t.Errorf("%s: %s in %.3f of campaigns, expected %.3f to %.3f", c.name, verdict, v, want.least, want.most)
			}
		}
	}
}
