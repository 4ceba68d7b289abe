package cmd

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"opprof/campaign/gate"
	"opprof/campaign/runner"
	"opprof/engine/regular"
	"opprof/engine/unit"
	"opprof/tui/chart"
)

type gateOptions struct {
	json       bool
	limitPct   float64
	secondLook bool
	flags      bool // that say how a file is judged
}

func newGate(env *Env) *cobra.Command {
	o := &gateOptions{}
	c := &cobra.Command{
		Use:   "gate RESULTS.csv|CAMPAIGN",
		Short: "Decide whether paired off/on results stay below the overhead limit",
		Long: `Reads paired results (columns pair,order,metric,off,on,better; order AB ran off first, BA on first; better is higher or lower; - is standard
input) and decides. PASS (exit 0): for every metric the upper bound of the 95 % confidence interval of the regression is below the limit.
FAIL (3): valid data, and a bound is not. UNDECIDED (4): fewer than 5 pairs, invalid data, an order effect over half the limit, or two
bounds that disagree about the limit. Of a campaign it gives the verdict of all its cells, by the campaign's own limit and looks; before every
declared pair was judged that is UNDECIDED.

` + campaignArgument,
		Example: `  opprof gate results.csv
  opprof gate latest           # of the newest campaign
  opprof gate --json results.csv | jq .verdict`,
		Args: exactly("RESULTS.csv|CAMPAIGN"),
		RunE: func(c *cobra.Command, args []string) error {
			o.flags = c.Flags().Changed("limit") || o.secondLook
			return o.run(env, args[0])
		},
	}
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	c.Flags().Float64Var(&o.limitPct, "limit", 100*gate.DefaultLimit, "largest regression that passes, in percent")
	c.Flags().BoolVar(&o.secondLook, "second-look", false, "the second of two declared looks: both use a stricter bound")
	return c
}

func (o *gateOptions) run(env *Env, path string) error {
	if !(o.limitPct > 0 && o.limitPct <= 100) { // NaN too
		return usageErrorf("--limit is %v: expected a percentage above 0 and up to 100", o.limitPct)
	}
	d, err := o.decide(env, path)
	if err != nil {
		return err
	}
	if o.json {
		err = printJSON(env.Stdout, d)
	} else {
		err = writeGate(env.Stdout, d)
	}
	if err != nil {
		return err
	}
	return verdictCode(d.Verdict)
}

// decide judges a file, or what a campaign has measured.
func (o *gateOptions) decide(env *Env, path string) (gate.Decision, error) {
	if st, err := os.Stat(path); path != "-" && (err != nil || st.IsDir()) {
		if dir, err := env.findCampaign([]string{path}); err == nil {
			return o.decideCampaign(dir)
		} else if st != nil {
			return gate.Decision{}, err
		}
	}
	in, name := env.Stdin, "standard input"
	if path != "-" {
		f, err := regular.Open(path)
		if err != nil {
			return gate.Decision{}, WithHint(fmt.Errorf("cannot read results: %w", err), "name a file, a campaign, or - for standard input")
		}
		defer f.Close()
		in, name = io.Reader(f), path
	}
	metrics, err := gate.ReadCSV(in, name)
	if err != nil {
		return gate.Decision{}, err
	}
	return gate.Decide(metrics, gate.Options{Limit: o.limitPct / 100, SecondLook: o.secondLook}), nil
}

// decideCampaign is the decision of all cells together: each metric of each cell must pass.
func (o *gateOptions) decideCampaign(dir string) (gate.Decision, error) {
	if o.flags {
		return gate.Decision{}, usageErrorf("--limit and --second-look: the limit and the looks of a campaign were declared before its first run")
	}
	r, err := runner.Report(dir)
	if err != nil {
		return gate.Decision{}, err
	}
	d := gate.Decision{Schema: 1, Verdict: r.Verdict, Reasons: []string{}, LimitPct: r.LimitPct, Alpha: gate.Alpha, Metrics: []gate.Result{}}
	for i := range r.Cells {
		c := &r.Cells[i]
		d.Alpha = c.Decision.Alpha
		prefix := ""
		if len(r.Cells) > 1 {
			prefix = c.Name + " "
		}
		for _, m := range c.Decision.Metrics {
			m.Name = prefix + m.Name
			d.Metrics = append(d.Metrics, m)
		}
		for _, reason := range c.Decision.Reasons {
			d.Reasons = append(d.Reasons, prefix+reason)
		}
	}
	d.Reasons = append(d.Reasons, r.Damage...)
	if r.Left > 0 {
		d.Reasons = append(d.Reasons, fmt.Sprintf("%s still to come: no verdict before", unit.Counted(r.Left, "pair")))
	}
	return d, nil
}

// writeGate prints the verdict and why, the metrics as a table, and each metric's pairs.
func writeGate(w io.Writer, d gate.Decision) error {
	head, metrics, plots := &table{}, &table{}, &table{}
	head.line("%s   limit %.2f %%, upper end of the 95 %% interval (one-sided %.2f %%)", d.Verdict, d.LimitPct, 100*d.Alpha)
	for _, r := range d.Reasons {
		head.line("  %s", chart.Sanitize(r))
	}
	head.row()
	metrics.row("metric", "better", "pairs", "point", "upper", "t upper", "order", "sd", "pairs needed", "verdict")
	for i := range d.Metrics {
		m := &d.Metrics[i]
		needed := "-"
		if m.PairsNeeded != nil {
			needed = fmt.Sprint(*m.PairsNeeded)
		}
		metrics.row(chart.Sanitize(m.Name), m.Better, fmt.Sprint(m.N), percentOf(m.PointPct), percentOf(m.UpperPct), percentOf(m.TUpperPct),
			percentOf(m.OrderEffectPct), percentOf(m.SDPct), needed, m.Verdict)
		gatePlot(plots, m, d.LimitPct)
	}
	plots.row()
	plots.line("Regression of latency: on/off - 1; of throughput: off/on - 1. %s", boundNote)
	plots.line("Other ways give upper ends too and decide nothing; sign-flip p: of pairs like these, were the regression the limit or more.")
	for _, t := range []*table{head, metrics, plots} {
		if err := t.write(w); err != nil {
			return err
		}
	}
	return nil
}

const boundNote = "Bound: exact expanded-percentile bootstrap of the pairs' log ratios."

// gatePlot draws each pair on one line of a common axis with the limit marked.
func gatePlot(t *table, m *gate.Result, limitPct float64) {
	const width = 61
	span := limitPct * 2
	for _, p := range m.Pairs {
		span = max(span, p.Pct, -p.Pct)
	}
	column := func(pct float64) int { return min(max(int((pct/span+1)/2*(width-1)+0.5), 0), width-1) }
	t.row()
	head := chart.Sanitize(m.Name)
	if m.LossPct != nil {
		head += fmt.Sprintf("   upper %s (a loss of %.2f %%)", percentOf(m.UpperPct), *m.LossPct)
	} else {
		head += "   upper " + percentOf(m.UpperPct)
	}
	t.line("%s   axis -%.1f to %.1f %%, | zero, L limit", head, span, span)
	for _, p := range m.Pairs {
		line := []rune(strings.Repeat(".", width))
		line[column(0)] = '|'
		line[column(limitPct)] = 'L'
		line[column(p.Pct)] = 'o'
		t.line("  %-8s %s  %s  %+.2f %%", chart.Sanitize(p.Pair), p.Order, string(line), p.Pct)
	}
	if m.N > 1 {
		t.line("  other ways: percentile %s, BCa %s (both too narrow at so few pairs), crossover %s, sign-flip p %s", percentOf(m.PercentileUpper), percentOf(m.BCaUpper),
			percentOf(m.CrossoverUpper), unit.Known(m.SignFlipP, func(p float64) string { return fmt.Sprintf("%.4f", p) }))
	}
	for _, w := range m.Warnings {
		t.line("  %s", chart.Sanitize(w))
	}
	if m.OrderByChance() {
		t.line("  %s", gate.ByChance)
	}
}

func percentOf(p *float64) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", *p)
}
