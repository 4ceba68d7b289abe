package report

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"testing"

	"opprof/campaign/plan"
)

// hostile is a campaign whose every text tries to be more than text.
func hostile(t *testing.T) *Report {
	const evil = "<script>alert(1)</script>|\\|[x](http://evil.example)\x1b[2J"
	p := campaign(t, "tensor_parallel = [1, 2]\ngraph_modes = ['default', 'PIECEWISE']")
	p.Server.Model = evil
	p.Metrics = append(p.Metrics, plan.Metric{Name: evil, Field: "p50_ttft_ms"})
	in := measured(t, p, costs(1.01, 0.01, 4))
	in.Runs[0].Void = evil
	in.Environment, in.Backends, in.Deviations = []Fact{{evil, evil}}, []string{evil}, []string{evil}
	v, n := 1.5, int64(7)
	in.Runs[3].CPU, in.Runs[3].Layer1, in.Runs[3].Checks = &CPU{Engine: &v}, &Layer1{Steps: 9, BytesPerStep: &v, QueueHigh: &n}, []Check{{evil, true, evil}}
	return New(in)
}

func TestHTML(t *testing.T) {
	var b bytes.Buffer
	r := hostile(t)
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, never := range []string{"<script", "src=", "url(", "@import", "<link", "\x1b", "http://evil.example\""} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %s", never)
		}
	}
	if n := strings.Count(page, "<svg "); n != 4*6 {
		t.Errorf("%d plots, want one for each of 6 metrics of 4 cells", n)
	}
	for _, must := range []string{"default-src 'none'", "prefers-color-scheme: dark", "@media print", "&lt;script&gt;", r.Cells[3].Name, "viewport", "<h2 id="} {
		if !strings.Contains(page, must) {
			t.Errorf("the page has no %s", must)
		}
	}
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := hostile(t).Markdown(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, "<script") || strings.Contains(page, "\x1b") || strings.Contains(strings.ReplaceAll(page, `\[`, ""), "[x](") {
		t.Errorf("text from outside is more than text:\n%s", page)
	}
	want := 0
	for i, line := range strings.Split(page, "\n") {
		plain := unescaped(line)
		if strings.HasPrefix(line, "| run |") {
			want = strings.Count(plain, "|")
		}
		if strings.HasPrefix(line, "| tp1-default-a-p") && strings.Count(plain, "|") != want {
			t.Errorf("line %d has another number of cells: %s", i+1, line)
		}
	}
	if text(t, hostile(t)) == "" {
		t.Error("no JSON")
	}
}

// unescaped leaves out what a backslash takes its meaning from.
func unescaped(line string) string {
	return strings.NewReplacer(`\\`, "", `\|`, "").Replace(line)
}

// Everything that was measured is in both forms of the report.
func TestWhatAReportHolds(t *testing.T) {
	r := samples(t)["void"]
	var page, markdown bytes.Buffer
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := r.Markdown(&markdown); err != nil {
		t.Fatal(err)
	}
	c := &r.Cells[0]
	m := &c.Decision.Metrics[1]
	must := []string{r.Sentence, "compilation was cold: 41 s", "node-7", "570.86.15", "1965 MHz; 1980 MHz", "Using TRITON Unquantized MoE backend", "patch 3f9c2a1b77de",
		"FAILS: torch.compile took 41.2 s", digits(m.PointPct), digits(m.UpperPct), digits(m.TUpperPct), digits(m.PercentileUpper), digits(m.BCaUpper),
		digits(m.OrderEffectPct), digits(m.CrossoverPct), fmt.Sprintf("%.4f", *m.SignFlipP), fmt.Sprint(*m.PairsNeeded)}
	for _, cost := range c.Cost {
		must = append(must, cost.Name, short(cost.On))
	}
	for _, row := range c.Runs {
		must = append(must, row.ID, fmt.Sprintf("%.5g", row.Metrics[m.Name]))
	}
	plain := strings.ReplaceAll(markdown.String(), `\_`, "_")
	for _, s := range must {
		if !strings.Contains(html.UnescapeString(page.String()), s) {
			t.Errorf("the page has no %q", s)
		}
		if !strings.Contains(plain, s) {
			t.Errorf("the Markdown has no %q", s)
		}
	}
}
