package report

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"opprof/campaign/figure"
	"opprof/campaign/gate"
	"opprof/campaign/page"
	"opprof/engine/unit"
)

// HTML writes the report as one file that holds its style and its plots and asks nothing of the network.
func (r *Report) HTML(w io.Writer) error { return page.Document(r.document).HTML(w) }

// Markdown writes the same without the plots.
func (r *Report) Markdown(w io.Writer) error { return page.Document(r.document).Markdown(w) }

const (
	boundNote = "A regression is on/off - 1 of a latency and off/on - 1 of a throughput, over pairs of runs on fresh servers. Upper ends are those of the two-sided 95 % interval (one-sided 2.5 %): the exact expanded-percentile bootstrap of the pairs' log ratios. A cell passes if the upper end of every metric is below the limit and the t interval agrees. Percentiles inside a run are interpolated (type 7)."
	plotNote  = "In the plots a circle is a pair that ran off first, a triangle one that ran on first. The solid line is their mean, the dotted one the upper end of the interval, the dashed one the limit. Point at a pair, or reach it with tab, for its value."
)

// document is the report as a page.
func (r *Report) document(plots bool) (*page.Page, error) {
	p := &page.Page{Title: r.Name, Mark: r.Verdict, Quote: r.Sentence, Intro: []string{
		fmt.Sprintf("Model %s, limit %.4g %%, %s planned for each cell.", r.Model, r.LimitPct, unit.Counted(r.Planned, "pair")), boundNote,
	}}
	if plots {
		p.Intro = append(p.Intro, plotNote)
	}
	add := func(title string, blocks ...page.Block) {
		p.Sections = append(p.Sections, page.Section{Title: title, Blocks: blocks})
	}
	if len(r.Warnings) > 0 {
		add("Warnings", page.List{Lines: r.Warnings})
	}
	if len(r.Cells) > 1 {
		add("Cells", r.overview())
	}
	for i := range r.Cells {
		s, err := r.Cells[i].section(r.LimitPct, plots)
		if err != nil {
			return nil, err
		}
		p.Sections = append(p.Sections, s)
	}
	if t := r.void(); len(t.Rows) > 0 {
		add("Void pairs", t)
	} else {
		add("Void pairs", page.Text("None: every pair that ran counts."))
	}
	if len(r.Environment) > 0 {
		var facts [][2]string
		for _, f := range r.Environment {
			facts = append(facts, [2]string{f.Name, f.Value})
		}
		add("Environment", page.Facts("", facts...))
	}
	if len(r.Backends) > 0 {
		add("Backends", page.List{Lines: r.Backends})
	}
	if len(r.Deviations) > 0 {
		add("Deviations", page.List{Lines: r.Deviations})
	} else {
		add("Deviations", page.Text("None from the plan are known."))
	}
	return p, nil
}

// section is one cell.
func (c *Cell) section(limitPct float64, plots bool) (page.Section, error) {
	s := page.Section{Title: c.Name, Mark: c.Decision.Verdict}
	s.Blocks = append(s.Blocks, page.List{Lines: c.remarks()}, metricTable(&c.Decision), c.otherTable(), c.selfTestTable())
	if plots {
		figures, err := c.plots(limitPct)
		if err != nil {
			return s, err
		}
		s.Blocks = append(s.Blocks, figures)
	}
	s.Blocks = append(s.Blocks, c.pairTable(), c.machineTable(), c.costTable(), c.runTable(), c.sideTable(), c.checkTable())
	return s, nil
}

// remarks are the reasons of the verdict and what else is to be known. What is said of several metrics is said once.
func (c *Cell) remarks() []string {
	var out, said []string
	of := map[string][]string{} // metrics by what is said of them
	say := func(metric, text string) {
		if of[text] == nil {
			said = append(said, text)
		}
		if !slices.Contains(of[text], metric) {
			of[text] = append(of[text], metric)
		}
	}
	for _, reason := range c.Decision.Reasons {
		metric, text, found := strings.Cut(reason, ": ")
		if found && slices.ContainsFunc(c.Decision.Metrics, func(m gate.Result) bool { return m.Name == metric }) {
			say(metric, text)
		} else {
			out = append(out, reason)
		}
	}
	for _, m := range c.Decision.Metrics {
		for _, w := range m.Warnings {
			say(m.Name, w)
		}
	}
	for _, text := range said {
		who := strings.Join(of[text], ", ")
		if n := len(c.Decision.Metrics); n > 1 && len(of[text]) == n {
			who = "every metric"
		}
		out = append(out, who+": "+text)
	}
	return append(append(out, c.Warnings...), c.Same.sentence())
}

func (s Same) sentence() string {
	switch {
	case s.Pairs == 0:
		return "identical outputs: not known, as the results have no texts"
	case s.Expected != "":
		return fmt.Sprintf("identical outputs: all texts are alike in both arms in %d of %d pairs; the trace is deterministic (%s)", s.Alike, s.Pairs, s.Expected)
	}
	return fmt.Sprintf("identical outputs: all texts are alike in both arms in %d of %d pairs; they need not be, as requests share batches", s.Alike, s.Pairs)
}

func (c *Cell) plots(limitPct float64) (page.Plots, error) {
	var out page.Plots
	for i := range c.Decision.Metrics {
		m := &c.Decision.Metrics[i]
		if len(m.Pairs) == 0 {
			continue
		}
		svg, err := pairPlot(m, limitPct)
		if err != nil {
			return nil, err
		}
		caption := "no interval, " + m.Verdict
		if m.UpperPct != nil {
			caption = fmt.Sprintf("upper end %s %%, %s", digits(m.UpperPct), m.Verdict)
		}
		out = append(out, page.Plot{Title: m.Name, Caption: caption, SVG: svg})
	}
	return out, nil
}

func pairPlot(m *gate.Result, limitPct float64) (template.HTML, error) {
	f := figure.Pairs{What: "regression of every pair: " + m.Name, Point: m.PointPct, Upper: m.UpperPct, LimitPct: limitPct}
	for _, e := range m.Pairs {
		f.Pairs = append(f.Pairs, figure.Pair{Name: e.Pair, SecondFirst: e.Order == "BA", Pct: e.Pct})
	}
	return f.SVG()
}
