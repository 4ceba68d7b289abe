// Package gate decides whether an off/on comparison costs less than a limit. The unit is a pair of runs; the verdict rests on the upper
// bound of the 95 % confidence interval of each metric's regression, one-sided 2.5 %, by the exact expanded-percentile bootstrap. A number
// never travels without its warnings, and "cannot decide" is a verdict.
package gate

import (
	"fmt"
	"math"
	"slices"

	"opprof/campaign/stat"
	"opprof/engine/unit"
)

// Verdicts.
const (
	Pass      = "PASS"
	Fail      = "FAIL"
	Undecided = "UNDECIDED"
)

const (
	// DefaultLimit is the largest regression that passes, as a ratio: 3 %.
	DefaultLimit = 0.03
	// Alpha is the tail of the bound: the upper end of a two-sided 95 % interval.
	Alpha = 0.025
	// SecondLookAlpha is the tail when a second look was declared before the first run (Pocock, two looks).
	SecondLookAlpha = 0.0147
	// MinPairs decide nothing below; WarnPairs is where the sign-flip test can reach the tail at all.
	MinPairs  = 5
	WarnPairs = 6
	// power is what PairsNeeded promises for one metric.
	power = 0.8
)

// Pair is one off run and one on run of a metric, side by side.
type Pair struct {
	ID      string
	Order   string // AB: off first; BA: on first; "" unknown
	Off, On float64
	Source  string // where a pair that is no measurement was read, and what stands there; "" otherwise
}

// Metric is a primary metric with its pairs.
type Metric struct {
	Name   string
	Higher bool // higher is better
	Pairs  []Pair
}

// Result is what the pairs of one metric say. Percentages are of the regression: latency on/off - 1, throughput off/on - 1.
type Result struct {
	Name            string   `json:"name"`
	Better          string   `json:"better"`               // higher or lower
	N               int      `json:"n"`                    // pairs
	Verdict         string   `json:"verdict"`              // PASS, FAIL or UNDECIDED
	PointPct        *float64 `json:"point_pct"`            // mean of the log ratios
	UpperPct        *float64 `json:"upper_pct"`            // upper end of the 95 % interval: expanded percentile; this decides
	TUpperPct       *float64 `json:"t_upper_pct"`          // the same end of the paired t interval
	LossPct         *float64 `json:"loss_pct"`             // throughput only: the upper bound as a loss, 1 - on/off
	OrderEffectPct  *float64 `json:"order_effect_pct"`     // what running second adds
	CrossoverPct    *float64 `json:"crossover_pct"`        // the point with the order taken out
	CrossoverUpper  *float64 `json:"crossover_upper_pct"`  // its upper end
	PercentileUpper *float64 `json:"percentile_upper_pct"` // under-covers at few pairs
	BCaUpper        *float64 `json:"bca_upper_pct"`        // under-covers at few pairs
	SignFlipP       *float64 `json:"sign_flip_p"`          // exact probability of pairs like these, were the regression the limit or more
	SDPct           *float64 `json:"sd_pct"`               // of the log ratios
	PairsNeeded     *int     `json:"pairs_needed"`         // that would pass with 80 % at this noise and this point; null where none would
	MeanOfPairsPct  *float64 `json:"mean_of_pairs_pct"`    // for comparison: mean of the percentages
	RatioOfMeansPct *float64 `json:"ratio_of_means_pct"`   // for comparison: ratio of the means
	Pairs           []Effect `json:"pairs"`
	Warnings        []string `json:"warnings"`
	logLimit, upper float64
	tUpper          float64
	orderByChance   bool
}

// Effect is one pair's regression.
type Effect struct {
	Pair  string  `json:"pair"`
	Order string  `json:"order"` // AB: off first, BA: on first, "" unknown
	Pct   float64 `json:"pct"`   // regression
}

// Decision is the verdict over all primary metrics.
type Decision struct {
	Schema   int      `json:"schema"`
	Verdict  string   `json:"verdict"` // PASS, FAIL or UNDECIDED
	Reasons  []string `json:"reasons"` // why it does not pass, in sentences
	LimitPct float64  `json:"limit_pct"`
	Alpha    float64  `json:"alpha"` // tail of the bound: 0.025, or less where two looks were declared
	Metrics  []Result `json:"metrics"`
}

// Options of a decision. The zero value is the approved gate.
type Options struct {
	Limit      float64 // ratio; 0 is DefaultLimit
	SecondLook bool    // the declared second look is taken
}

// Decide judges all metrics. PASS needs every metric below the limit (an intersection-union test: no correction for their number), FAIL is
// valid data with a metric that is not, everything else is UNDECIDED.
func Decide(metrics []Metric, o Options) Decision {
	limit, alpha := o.Limit, Alpha
	if limit == 0 {
		limit = DefaultLimit
	}
	if o.SecondLook {
		alpha = SecondLookAlpha
	}
	d := Decision{Schema: 1, LimitPct: 100 * limit, Alpha: alpha, Metrics: []Result{}, Reasons: []string{}}
	for _, m := range metrics {
		d.Metrics = append(d.Metrics, judge(m, math.Log1p(limit), alpha))
	}
	d.conclude()
	return d
}

func (d *Decision) conclude() {
	d.Verdict = Pass
	if len(d.Metrics) == 0 {
		d.Verdict = Undecided
		d.Reasons = append(d.Reasons, "no metric has pairs")
	}
	worst := map[string]int{Pass: 0, Undecided: 1, Fail: 2}
	for _, m := range d.Metrics {
		if worst[m.Verdict] > worst[d.Verdict] {
			d.Verdict = m.Verdict
		}
		if m.Verdict != Pass {
			d.Reasons = append(d.Reasons, m.Name+": "+m.why())
		}
	}
	if n := d.unequal(); n != "" {
		d.Verdict = Undecided
		d.Reasons = append(d.Reasons, n)
	}
}

// unequal says when the metrics do not rest on the same pairs: a run that lacks a metric voids the pair for all.
func (d *Decision) unequal() string {
	for _, m := range d.Metrics[min(1, len(d.Metrics)):] {
		first := &d.Metrics[0]
		if m.N != first.N {
			return fmt.Sprintf("%s has %s and %s %d: a pair counts for all metrics or for none", first.Name, unit.Counted(first.N, "pair"), m.Name, m.N)
		}
		if id := lacking(first.Pairs, m.Pairs); id != "" {
			return fmt.Sprintf("pair %s has %s and no %s: a pair counts for all metrics or for none", id, first.Name, m.Name)
		}
	}
	return ""
}

// lacking is the first pair of some that others have not, "" for none.
func lacking(some, others []Effect) string {
	have := make(map[string]bool, len(others))
	for _, e := range others {
		have[e.Pair] = true
	}
	for _, e := range some {
		if !have[e.Pair] {
			return e.Pair
		}
	}
	return ""
}

func (r *Result) why() string {
	if r.Verdict == Fail {
		upper, limit := fmt.Sprintf("%.2f %%", pct(r.upper)), fmt.Sprintf("%.2f %%", pct(r.logLimit))
		if upper == limit {
			limit += ", which it has to stay below"
		}
		return "the upper bound is " + upper + ", the limit " + limit
	}
	if len(r.Warnings) > 0 {
		return r.Warnings[0]
	}
	return "undecided"
}

// pct turns a log ratio into percent of regression.
func pct(x float64) float64 { return 100 * math.Expm1(x) }

func ptr(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func judge(m Metric, limit, alpha float64) Result {
	r := Result{Name: m.Name, Better: "lower", Warnings: []string{}, Pairs: []Effect{}, logLimit: limit}
	if m.Higher {
		r.Better = "higher"
	}
	d, ab, ba, invalid := effects(&r, m)
	r.N = len(d)
	if len(d) == 0 {
		r.Verdict = Undecided
		r.Warnings = append(r.Warnings, "no valid pair")
		return r
	}
	r.estimate(m, d, alpha)
	order := r.order(ab, ba, alpha)
	r.verdict(invalid, order)
	r.warn(d)
	return r
}

// effects turns pairs into log ratios, positive for a regression. What is not two positive finite numbers is no measurement.
func effects(r *Result, m Metric) (d, ab, ba []float64, invalid bool) {
	for _, p := range m.Pairs {
		if !positive(p.Off) || !positive(p.On) {
			invalid = true
			r.Warnings = append(r.Warnings, fmt.Sprintf("pair %s is not a measurement: %s: expected two positive numbers", p.ID, p.values()))
			continue
		}
		v := math.Log(p.On / p.Off)
		if m.Higher {
			v = -v
		}
		if math.IsInf(v, 0) || math.IsInf(pct(v), 0) {
			invalid = true
			r.Warnings = append(r.Warnings, fmt.Sprintf("pair %s is not a measurement: off %v, on %v are too far apart", p.ID, p.Off, p.On))
			continue
		}
		d = append(d, v)
		switch p.Order {
		case "AB":
			ab = append(ab, v)
		case "BA":
			ba = append(ba, v)
		}
		r.Pairs = append(r.Pairs, Effect{p.ID, p.Order, pct(v)})
	}
	return d, ab, ba, invalid
}

// values are what a pair holds, in the words of the file that it was read from.
func (p *Pair) values() string {
	if p.Source != "" {
		return p.Source
	}
	return fmt.Sprintf("off %v, on %v", p.Off, p.On)
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

func (r *Result) estimate(m Metric, d []float64, alpha float64) {
	mean, sd := stat.Mean(d), stat.SD(d)
	r.PointPct = ptr(pct(mean))
	r.SDPct = ptr(pct(sd))
	b := stat.NewResamples(d)
	r.upper, r.tUpper = b.UpperExpanded(alpha), stat.UpperT(d, alpha)
	r.UpperPct, r.TUpperPct = ptr(pct(r.upper)), ptr(pct(r.tUpper))
	if m.Higher {
		r.LossPct = ptr(-100 * math.Expm1(-r.upper))
	}
	if len(d) > 1 {
		r.PercentileUpper = ptr(pct(b.Quantile(1 - alpha)))
		if sd > 0 {
			r.BCaUpper = ptr(pct(b.BCa(1 - alpha)))
		}
	}
	r.SignFlipP = ptr(stat.SignFlip(d, r.logLimit))
	if n, ok := stat.PairsNeeded(max(mean, 0), sd, r.logLimit, alpha, power); ok {
		n = max(n, MinPairs)
		r.PairsNeeded = &n
	}
	var off, on, each float64
	for _, p := range m.Pairs {
		if positive(p.Off) && positive(p.On) {
			off += p.Off
			on += p.On
			ratio := p.On / p.Off
			if m.Higher {
				ratio = p.Off / p.On
			}
			each += ratio - 1
		}
	}
	r.MeanOfPairsPct = ptr(100 * each / float64(len(d)))
	if m.Higher {
		off, on = on, off
	}
	r.RatioOfMeansPct = ptr(100 * (on/off - 1))
}

// order estimates what running second adds; NaN when both orders did not occur.
func (r *Result) order(ab, ba []float64, alpha float64) float64 {
	c, ok := stat.NewCrossover(ab, ba)
	if !ok {
		return math.NaN()
	}
	r.OrderEffectPct = ptr(pct(c.Order))
	r.CrossoverPct = ptr(pct(c.Estimate))
	r.CrossoverUpper = ptr(pct(c.Upper(alpha)))
	// The order effect has the standard error of the estimate.
	r.orderByChance = r.N >= MinPairs && math.Abs(c.Order) > r.logLimit/2 && math.Abs(c.Order) < c.Upper(alpha)-c.Estimate
	return c.Order
}

func (r *Result) verdict(invalid bool, order float64) {
	under, tUnder := r.upper < r.logLimit, r.tUpper < r.logLimit
	refuse := func(format string, args ...any) {
		r.Verdict = Undecided
		r.Warnings = slices.Insert(r.Warnings, 0, fmt.Sprintf(format, args...))
	}
	switch {
	case r.N < MinPairs:
		refuse("%d of at least %d pairs", r.N, MinPairs)
	case invalid:
		r.Verdict = Undecided
	case math.Abs(order) > r.logLimit/2:
		refuse("running second %s, more than half the limit: order and effect cannot be told apart", r.second(order))
	case under != tUnder:
		refuse("borderline: the expanded bound is %.2f %%, the t bound %.2f %%, the limit %.2f %%: add declared pairs", pct(r.upper), pct(r.tUpper), pct(r.logLimit))
	case under:
		r.Verdict = Pass
	default:
		r.Verdict = Fail
	}
}

// ByChance is to be said of metrics with OrderByChance.
const ByChance = "pairs that scatter like these show such an order effect by chance alone: a quieter machine, longer runs or more pairs can tell"

// OrderByChance reports an order effect that forbids a verdict and is no greater than the scatter of the pairs explains: what to do about it is
// another matter than of one that all pairs agree on.
func (r *Result) OrderByChance() bool { return r.orderByChance }

// second says what running second does to the metric. A regression is the metric's own change only where less is better.
func (r *Result) second(order float64) string {
	if r.Better == "higher" {
		return fmt.Sprintf("changes the metric by %.2f %%, a regression of %.2f %%", pct(-order), pct(order))
	}
	return fmt.Sprintf("changes the metric by %.2f %%", pct(order))
}

func (r *Result) warn(d []float64) {
	if r.N >= MinPairs && r.N < WarnPairs {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s: the exact sign-flip test cannot reach %.1f %% below %d", unit.Counted(r.N, "pair"), 100*Alpha, WarnPairs))
	}
	if r.N > 1 && stat.SD(d) == 0 {
		r.Warnings = append(r.Warnings, "every pair has the same ratio: the data look copied")
	}
	if r.OrderEffectPct == nil && r.N > 1 {
		r.Warnings = append(r.Warnings, "both orders are needed to tell the order's effect")
	}
	if r.N%2 == 1 && r.OrderEffectPct != nil {
		r.Warnings = append(r.Warnings, "an odd number of pairs leaves a part of the order effect in the estimate")
	}
}
