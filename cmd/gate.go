package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"opprof/campaign/gate"
	"opprof/engine/regular"
	"opprof/tui/chart"
)

type gateOptions struct {
	json       bool
	limitPct   float64
	secondLook bool
}

func newGate(env *Env) *cobra.Command {
	o := &gateOptions{}
	c := &cobra.Command{
		Use:   "gate RESULTS.csv",
		Short: "Decide whether paired off/on results stay below the overhead limit",
		Long: `Reads paired results (columns pair,order,metric,off,on,better; order AB ran off first, BA on first; better is higher or lower; - is standard
input) and decides. PASS (exit 0): for every metric the upper bound of the 95 % confidence interval of the regression is below the limit.
FAIL (3): valid data, and a bound is not. UNDECIDED (4): fewer than 5 pairs, invalid data, an order effect over half the limit, or two
bounds that disagree about the limit.`,
		Example: `  opprof gate results.csv
  opprof gate --json results.csv | jq .verdict`,
		Args: exactly("RESULTS.csv"),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(env, args[0]) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	c.Flags().Float64Var(&o.limitPct, "limit", 100*gate.DefaultLimit, "largest regression that passes, in percent")
	c.Flags().BoolVar(&o.secondLook, "second-look", false, "the second of two declared looks: both use a stricter bound")
	return c
}

func (o *gateOptions) run(env *Env, path string) error {
	if o.limitPct <= 0 || o.limitPct > 100 {
		return usageErrorf("--limit is %v: expected a percentage above 0 and up to 100", o.limitPct)
	}
	in, name := env.Stdin, "standard input"
	if path != "-" {
		f, err := regular.Open(path)
		if err != nil {
			return WithHint(fmt.Errorf("cannot read results: %w", err), "name a file, or - for standard input")
		}
		defer f.Close()
		in, name = io.Reader(f), path
	}
	metrics, err := gate.ReadCSV(in, name)
	if err != nil {
		return err
	}
	d := gate.Decide(metrics, gate.Options{Limit: o.limitPct / 100, SecondLook: o.secondLook})
	if o.json {
		err = printJSON(env.Stdout, d)
	} else {
		err = writeGate(env.Stdout, d)
	}
	switch {
	case err != nil:
		return err
	case d.Verdict == gate.Fail:
		return WithCode(errSilent, ExitCheck)
	case d.Verdict == gate.Undecided:
		return WithCode(errSilent, ExitUndecided)
	}
	return nil
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
	for _, w := range m.Warnings {
		t.line("  %s", chart.Sanitize(w))
	}
}

func percentOf(p *float64) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", *p)
}
