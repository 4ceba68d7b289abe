package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"opprof/campaign/gate"
	"opprof/campaign/page"
)

func numbers(columns ...page.Column) []page.Column {
	for i := range columns {
		columns[i].Number = true
	}
	return columns
}

func named(name string, rest []page.Column) []page.Column {
	return append(page.TextColumns(name), rest...)
}

// overview is a line for each cell.
func (r *Report) overview() page.Table {
	t := page.Table{Columns: append(page.TextColumns("cell", "verdict"), numbers(page.Column{Name: "pairs that count"}, page.Column{Name: "void"},
		page.Column{Name: "largest upper end", Unit: "%"})...)}
	t.Columns = append(t.Columns, page.Column{Name: "of"})
	for i := range r.Cells {
		c := &r.Cells[i]
		counted, upper, of := 0, (*float64)(nil), "-"
		for _, p := range c.Pairs {
			if p.Void == "" {
				counted++
			}
		}
		for _, m := range c.Decision.Metrics {
			if m.UpperPct != nil && (upper == nil || *m.UpperPct > *upper) {
				upper, of = m.UpperPct, m.Name
			}
		}
		t.Rows = append(t.Rows, []string{c.Name, c.Decision.Verdict, number(counted), number(len(c.Pairs) - counted), digits(upper), of})
	}
	return t
}

// metricTable is what a verdict rests on.
func metricTable(d *gate.Decision) page.Table {
	t := page.Table{Title: "Metrics", Columns: append(page.TextColumns("metric", "better"), numbers(page.Column{Name: "pairs"}, page.Column{Name: "point", Unit: "%"},
		page.Column{Name: "upper end", Unit: "%"}, page.Column{Name: "t upper end", Unit: "%"}, page.Column{Name: "order effect", Unit: "%"},
		page.Column{Name: "sd of pairs", Unit: "%"}, page.Column{Name: "pairs needed"})...),
		Note: "Pairs needed: at this noise and this point, for a power of 80 % of one metric; - of a single pair, and where no number of pairs would do, as the point is too near the limit or above it."}
	t.Columns = append(t.Columns, page.Column{Name: "verdict"})
	for i := range d.Metrics {
		m := &d.Metrics[i]
		needed := "-"
		if m.PairsNeeded != nil {
			needed = number(*m.PairsNeeded)
		}
		t.Rows = append(t.Rows, []string{m.Name, m.Better, number(m.N), digits(m.PointPct), digits(m.UpperPct), digits(m.TUpperPct), digits(m.OrderEffectPct),
			digits(m.SDPct), needed, m.Verdict})
	}
	return t
}

// otherTable is what other ways to calculate say.
func (c *Cell) otherTable() page.Table {
	t := page.Table{Title: "Other ways to calculate", Columns: named("metric", numbers(page.Column{Name: "percentile upper end", Unit: "%"}, page.Column{Name: "BCa upper end", Unit: "%"},
		page.Column{Name: "sign-flip p"}, page.Column{Name: "crossover point", Unit: "%"}, page.Column{Name: "crossover upper end", Unit: "%"},
		page.Column{Name: "mean of pairs", Unit: "%"}, page.Column{Name: "ratio of means", Unit: "%"}, page.Column{Name: "upper end as a loss", Unit: "%"})),
		Note: "For information only: percentile and BCa intervals are too narrow at so few pairs. The crossover estimate takes the order of the arms out. Sign-flip: probability of pairs like these if the true regression were the limit or more. A loss is 1 - on/off of a throughput."}
	for i := range c.Decision.Metrics {
		m := &c.Decision.Metrics[i]
		p := "-"
		if m.SignFlipP != nil {
			p = fmt.Sprintf("%.4f", *m.SignFlipP)
		}
		t.Rows = append(t.Rows, []string{m.Name, digits(m.PercentileUpper), digits(m.BCaUpper), p, digits(m.CrossoverPct), digits(m.CrossoverUpper),
			digits(m.MeanOfPairsPct), digits(m.RatioOfMeansPct), digits(m.LossPct)})
	}
	return t
}

// pairTable is a line for each pair that began, with its regressions.
func (c *Cell) pairTable() page.Table {
	t := page.Table{Title: "Pairs", Columns: append(numbers(page.Column{Name: "pair"}), page.TextColumns("order", "counts", "same texts", "machine")...)}
	for _, m := range c.Decision.Metrics {
		t.Columns = append(t.Columns, page.Column{Name: m.Name, Unit: "%", Number: true})
	}
	for _, p := range c.Pairs {
		counts, same, machine := "yes", "-", "-"
		if p.Void != "" {
			counts = "no"
		}
		if p.Same != nil {
			same = fmt.Sprintf("%d of %d", *p.Same, p.Texts)
		}
		if p.Machine != "" {
			machine = p.Machine
		}
		row := []string{number(p.Number), map[string]string{"AB": "off, on", "BA": "on, off"}[p.Order], counts, same, machine}
		for _, m := range c.Decision.Metrics {
			pct := "-"
			for _, e := range m.Pairs {
				if e.Pair == number(p.Number) {
					pct = digits(&e.Pct)
				}
			}
			row = append(row, pct)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// void lists the pairs that do not count.
func (r *Report) void() page.Table {
	t := page.Table{Columns: append(append(page.TextColumns("cell"), numbers(page.Column{Name: "pair"})...), page.TextColumns("why it does not count")...)}
	for i := range r.Cells {
		for _, p := range r.Cells[i].Pairs {
			if p.Void != "" {
				t.Rows = append(t.Rows, []string{r.Cells[i].Name, number(p.Number), p.Void})
			}
		}
	}
	return t
}

func (c *Cell) machineTable() page.Table {
	t := page.Table{Title: "Means per machine", Columns: page.TextColumns("machine", "GPU", "driver", "clocks", "pairs")}
	for _, m := range c.Decision.Metrics {
		t.Columns = append(t.Columns, page.Column{Name: m.Name, Unit: "%", Number: true})
	}
	for _, m := range c.Machines {
		row := []string{dash(m.Machine.Name), dash(m.Machine.GPU), dash(m.Machine.Driver), dash(m.Machine.Clocks), strings.Trim(fmt.Sprint(m.Pairs), "[]")}
		for _, metric := range c.Decision.Metrics {
			pct := "-"
			if v, ok := m.Pct[metric.Name]; ok {
				pct = digits(&v)
			}
			row = append(row, pct)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (c *Cell) costTable() page.Table {
	t := page.Table{Title: "Cost of the recorder", Columns: append(page.TextColumns("quantity", "of the runs"), numbers(page.Column{Name: "off"}, page.Column{Name: "on"}, page.Column{Name: "on - off"})...),
		Note: "Of the pairs that count. Foreground is the recorder's time in the thread that serves; the queue is that to its writer."}
	for _, cost := range c.Cost {
		if cost.Off == nil && cost.On == nil {
			continue
		}
		difference := "-"
		if cost.Off != nil && cost.On != nil {
			difference = fmt.Sprintf("%+.3g", *cost.On-*cost.Off)
		}
		t.Rows = append(t.Rows, []string{cost.Name + ", " + cost.Unit, cost.How, short(cost.Off), short(cost.On), difference})
	}
	return t
}

func (c *Cell) runTable() page.Table {
	t := page.Table{Title: "Runs", Columns: named("run", numbers(page.Column{Name: "requests"}, page.Column{Name: "failed"}, page.Column{Name: "prefix hits", Unit: "%"}))}
	for _, m := range c.Decision.Metrics {
		t.Columns = append(t.Columns, page.Column{Name: m.Name, Unit: c.units[m.Name], Number: true})
	}
	for _, r := range c.Runs {
		row := []string{r.ID, whole(r.Requests), whole(r.Failed), r.Cache.hits()}
		for _, m := range c.Decision.Metrics {
			text := "-"
			if v, ok := r.Metrics[m.Name]; ok {
				text = fmt.Sprintf("%.5g", v)
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// sideTable is what the recorder and the processors did in each run.
func (c *Cell) sideTable() page.Table {
	t := page.Table{Title: "Recorder and processors of each run", Columns: named("run", numbers(page.Column{Name: "steps"}))}
	for _, s := range sides() {
		t.Columns = append(t.Columns, page.Column{Name: s.name, Unit: s.unit, Number: true})
	}
	for i := range c.Runs {
		r := &c.Runs[i]
		if r.Layer1 == nil && r.CPU == nil {
			continue
		}
		row := []string{r.ID, "-"}
		if r.Layer1 != nil {
			row[1] = fmt.Sprint(r.Layer1.Steps)
		}
		for _, s := range sides() {
			row = append(row, short(s.of(&Run{Layer1: r.Layer1, CPU: r.CPU})))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// checkTable is a line for each run and a column for each check.
func (c *Cell) checkTable() page.Table {
	t := page.Table{Title: "Checks of each run", Columns: page.TextColumns("run")}
	var names []string
	for _, r := range c.Runs {
		for _, check := range r.Checks {
			if !slices.Contains(names, check.Name) {
				names = append(names, check.Name)
			}
		}
	}
	t.Columns = append(t.Columns, page.TextColumns(names...)...)
	for _, r := range c.Runs {
		if len(r.Checks) == 0 {
			continue
		}
		row := append([]string{r.ID}, slices.Repeat([]string{"-"}, len(names))...)
		for _, check := range r.Checks {
			said := "holds"
			if !check.OK {
				said = "FAILS: " + check.Detail
			}
			row[1+slices.Index(names, check.Name)] = said
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// hits is the share of looked-up tokens that the prefix cache knew, in percent.
func (c *Cache) hits() string {
	if c == nil || c.Queries <= 0 {
		return "-"
	}
	share := 100 * c.Hits / c.Queries
	return digits(&share)
}

func number(n int) string { return fmt.Sprint(n) }

// digits prints a percentage whose unit stands elsewhere.
func digits(v *float64) string {
	if v == nil {
		return "-"
	}
	if math.Abs(*v) >= 1e6 { // the interval of two pairs may be that wide
		return fmt.Sprintf("%.2g", *v)
	}
	return fmt.Sprintf("%.2f", *v)
}

func short(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.4g", *v)
}

func whole(v *int64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
