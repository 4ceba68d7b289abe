package report

import (
	"fmt"
	"io"
	"strings"

	"opprof/campaign/gate"
)

// Markdown writes the report as Markdown.
func (r *Report) Markdown(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "# %s: %s\n\n> %s\n\n", escape(r.Name), r.Verdict, escape(r.Sentence))
	fmt.Fprintf(b, "Model %s, limit %.2f %%, %d pairs planned for each cell. %s\n", escape(r.Model), r.LimitPct, r.Planned, boundNote)
	bullets(b, "Warnings", r.Warnings)
	for i := range r.Cells {
		r.Cells[i].markdown(b)
	}
	var facts [][]string
	for _, f := range r.Environment {
		facts = append(facts, []string{f.Name, f.Value})
	}
	markdownTable(b, "\n## Environment\n\n", []string{"", ""}, facts)
	bullets(b, "Backends", r.Backends)
	bullets(b, "Deviations", r.Deviations)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("cannot write report: %w", err)
	}
	return nil
}

const boundNote = "A regression is on/off - 1 of a latency and off/on - 1 of a throughput. Upper ends are those of the 95 % interval (one-sided 2.5 %): the exact expanded-percentile bootstrap of the pairs' log ratios. Percentiles inside a run are interpolated (type 7)."

func (c *Cell) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s: %s\n", escape(c.Name), c.Decision.Verdict)
	bullets(b, "", c.Decision.Reasons)
	bullets(b, "", c.Warnings)
	markdownTable(b, "\n", metricHead(), c.metricRows())
	markdownTable(b, "\n", []string{"pair", "order", "counts", "same texts"}, c.pairRows())
	markdownTable(b, "\n", runHead(c.Decision.Metrics), c.runRows())
}

func metricHead() []string {
	return []string{"metric", "better", "pairs", "point", "upper", "t upper", "order effect", "sd", "pairs needed", "verdict"}
}

func (c *Cell) metricRows() [][]string {
	var out [][]string
	for i := range c.Decision.Metrics {
		m := &c.Decision.Metrics[i]
		needed := "-"
		if m.PairsNeeded != nil {
			needed = fmt.Sprint(*m.PairsNeeded)
		}
		out = append(out, []string{m.Name, m.Better, fmt.Sprint(m.N), percent(m.PointPct), percent(m.UpperPct), percent(m.TUpperPct), percent(m.OrderEffectPct),
			percent(m.SDPct), needed, m.Verdict})
	}
	return out
}

func (c *Cell) pairRows() [][]string {
	var out [][]string
	for _, p := range c.Pairs {
		counts, same := "yes", "-"
		if p.Void != "" {
			counts = "no: " + p.Void
		}
		if p.Same != nil {
			same = fmt.Sprintf("%d of %d", *p.Same, p.Texts)
		}
		out = append(out, []string{fmt.Sprint(p.Number), p.Order, counts, same})
	}
	return out
}

func runHead(metrics []gate.Result) []string {
	out := []string{"run", "requests", "failed"}
	for _, m := range metrics {
		out = append(out, m.Name)
	}
	return append(out, "engine cores", "front end cores", "bytes a step", "queue high", "dropped", "recorder us p50", "p99", "checks")
}

func (c *Cell) runRows() [][]string {
	var out [][]string
	for _, r := range c.Runs {
		row := []string{r.ID, whole(r.Requests), whole(r.Failed)}
		for _, m := range c.Decision.Metrics {
			v, ok := r.Metrics[m.Name]
			if !ok {
				row = append(row, "-")
				continue
			}
			row = append(row, fmt.Sprintf("%.5g", v))
		}
		var cpu CPU
		var l Layer1
		if r.CPU != nil {
			cpu = *r.CPU
		}
		if r.Layer1 != nil {
			l = *r.Layer1
		}
		row = append(row, number(cpu.Engine), number(cpu.FrontEnd), number(l.BytesPerStep), whole(l.QueueHigh), whole(l.Dropped), number(l.ForegroundP50US),
			number(l.ForegroundP99US), checks(r.Checks))
		out = append(out, row)
	}
	return out
}

func checks(list []Check) string {
	if len(list) == 0 {
		return "-"
	}
	var failed []string
	for _, c := range list {
		if !c.OK {
			failed = append(failed, c.Name)
		}
	}
	if len(failed) == 0 {
		return fmt.Sprintf("%d hold", len(list))
	}
	return "FAILED: " + strings.Join(failed, ", ")
}

func percent(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", *v)
}

func number(v *float64) string {
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

// bullets writes a list, with a heading if it has one; nothing for an empty list.
func bullets(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	if title != "" {
		fmt.Fprintf(b, "\n## %s\n", title)
	}
	b.WriteByte('\n')
	for _, l := range lines {
		fmt.Fprintf(b, "- %s\n", escape(l))
	}
}

func markdownTable(b *strings.Builder, before string, head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	b.WriteString(before)
	for i, row := range append([][]string{head}, rows...) {
		cells := make([]string, len(row))
		for k, text := range row {
			cells[k] = escape(text)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintf(b, "|%s\n", strings.Repeat("---|", len(head)))
		}
	}
}

// escape keeps text from outside from being Markdown, HTML or control characters of a terminal.
func escape(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`).Replace(s)
}
