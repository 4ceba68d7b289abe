package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed page.html
var page string

// sheet is a table of a page.
type sheet struct {
	Head []string
	Rows [][]string
}

// figure is the plot of one metric.
type figure struct {
	Title string
	SVG   template.HTML
}

// part is one cell of the matrix on a page.
type part struct {
	Name, Verdict string
	Notes         []string
	Metrics       sheet
	Figures       []figure
	Pairs, Runs   sheet
}

// HTML writes the report as one page that holds its style and its plots and asks nothing of the network. It follows the reader's light or dark
// setting, and prints.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("page").Parse(page)
	if err != nil {
		return fmt.Errorf("cannot write report: %w", err)
	}
	view := struct {
		*Report
		Parts []part
		Note  string
	}{Report: r, Note: boundNote}
	for i := range r.Cells {
		p, err := r.Cells[i].part(r.LimitPct)
		if err != nil {
			return err
		}
		view.Parts = append(view.Parts, p)
	}
	if err := t.Execute(w, view); err != nil {
		return fmt.Errorf("cannot write report: %w", err)
	}
	return nil
}

func (c *Cell) part(limitPct float64) (part, error) {
	out := part{Name: c.Name, Verdict: c.Decision.Verdict, Notes: append(list(c.Decision.Reasons), c.Warnings...), Metrics: sheet{metricHead(), c.metricRows()},
		Pairs: sheet{[]string{"pair", "order", "counts", "same texts"}, c.pairRows()}, Runs: sheet{runHead(c.Decision.Metrics), c.runRows()}}
	for i := range c.Decision.Metrics {
		m := &c.Decision.Metrics[i]
		if len(m.Pairs) == 0 {
			continue
		}
		svg, err := pairPlot(m, limitPct)
		if err != nil {
			return part{}, err
		}
		out.Figures = append(out.Figures, figure{fmt.Sprintf("%s: upper end %s, %s", m.Name, percent(m.UpperPct), m.Verdict), svg})
	}
	return out, nil
}
