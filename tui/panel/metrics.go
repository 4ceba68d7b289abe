package panel

import (
	"fmt"
	"strings"
	"time"

	"opprof/engine/meter"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/theme"
)

// PageMetrics is the page of a server that writes no records.
const PageMetrics layout.ID = "metrics"

// MetricsHeight is the number of lines that all parts of the page take.
const MetricsHeight = 30

// Metrics is what a server says itself.
type Metrics struct {
	Reading *meter.Reading // nil before the first
	Now     func() time.Time
	Zone    *time.Location
}

// MetricsPart is a part of the page. Where there is no room for all, the one that has the focus comes first.
type MetricsPart int

const (
	metricsFigures MetricsPart = iota
	metricsLatency
	metricsServer
	metricsParts
)

// Next is the part so many behind.
func (p MetricsPart) Next(by int) MetricsPart {
	return (p + MetricsPart(by) + metricsParts) % metricsParts
}

// Header draws the first line: the server, and whether it answers.
func (m *Metrics) Header(g *chart.Grid) {
	pieces := []piece{{weight: 50, spans: []chart.Span{{S: "opprof", Role: theme.RoleAccent, Attr: theme.Bold}}}}
	r := m.Reading
	if r == nil {
		drawPieces(g, append(pieces, piece{weight: 49, spans: []chart.Span{{S: "asking", Role: theme.RoleDim}}}))
		return
	}
	pieces = append(pieces, piece{weight: 49, spans: []chart.Span{{S: r.Addr, Role: theme.RoleText}}})
	if r.Version != nil {
		pieces = append(pieces, piece{weight: 20, spans: []chart.Span{{S: "vLLM " + *r.Version, Role: theme.RoleDim}}})
	}
	if len(r.Models) > 0 {
		pieces = append(pieces, piece{weight: 30, spans: []chart.Span{{S: r.Models[0].ID, Role: theme.RoleText}}})
	}
	mark, role := m.mark(&g.Glyphs)
	pieces = append(pieces, piece{weight: 48, right: true, spans: []chart.Span{{S: string(mark) + " " + r.State, Role: role}}},
		piece{weight: 40, right: true, spans: []chart.Span{{S: m.age(), Role: theme.RoleDim}}})
	drawPieces(g, pieces)
}

func (m *Metrics) mark(gl *theme.Glyphs) (rune, theme.Role) {
	switch m.Reading.State {
	case meter.Answers:
		return gl.Dot, theme.RoleGood
	case meter.Asking:
		return gl.Ring, theme.RoleDim
	}
	return gl.Cross, theme.RoleBad
}

// age says how old the figures are when that is worth saying, or that there are none.
func (m *Metrics) age() string {
	const fresh = 3 * time.Second
	if m.Reading.AtNS == 0 {
		return "no figures yet"
	}
	age := m.Now().Sub(time.Unix(0, m.Reading.AtNS))
	if age < fresh {
		return "now"
	}
	return "last answer " + unit.Duration(int64(age)) + " ago"
}

// Draw fills g with the parts, the one that has the focus first where not all fit.
func (m *Metrics) Draw(g *chart.Grid, focus MetricsPart) {
	if m.Reading == nil {
		return
	}
	heights := [metricsParts]int{len(m.Reading.Rows()) + 3, len(m.Reading.Latencies) + 3, RowsHeight(m.serverRows(), g.W()-4) + 2}
	first := MetricsPart(0)
	if heights[0]+heights[1]+heights[2] > g.H() {
		first = focus
	}
	y := 0
	for i := range metricsParts {
		part := first.Next(int(i))
		h := min(heights[part], g.H()-y)
		if i == metricsParts-1 {
			h = g.H() - y
		}
		const least = 3
		if h < least {
			return
		}
		m.drawPart(g.Sub(chart.Rect{Y: y, W: g.W(), H: h}), part, part == focus)
		y += h
	}
}

func (m *Metrics) drawPart(g *chart.Grid, part MetricsPart, focus bool) {
	title := [metricsParts]string{"what the server says", "latency", "server"}[part]
	right := ""
	switch {
	case part == metricsFigures && m.Reading.Problem != "":
		right = m.Reading.Problem
	case part == metricsFigures && m.Reading.RateNS > 0:
		right = "rates of " + unit.Duration(m.Reading.RateNS) + "; from /metrics, no per-step records"
	case part == metricsFigures:
		right = "from /metrics, no per-step records"
	case part == metricsLatency && m.Reading.RecentNS > 0:
		right = "histogram buckets, last " + unit.Duration(m.Reading.RecentNS)
	}
	inside := g.Box(title, right, focus)
	inside = inside.Sub(chart.Rect{X: 1, W: inside.W() - 2, H: inside.H()})
	switch part {
	case metricsFigures:
		m.drawFigures(inside)
	case metricsLatency:
		m.drawLatencies(inside)
	default:
		DrawRows(inside, m.serverRows(), 0)
	}
}

// Widths of the columns of figures.
const (
	metricsName  = 18
	metricsNow   = 12
	metricsTotal = 16
)

// drawFigures draws a line for each figure: its name, its value now, its count, and its last minutes.
func (m *Metrics) drawFigures(g *chart.Grid) {
	g.TextRight(metricsName, 0, metricsNow, "now", theme.RoleDim)
	g.TextRight(metricsName+metricsNow, 0, metricsTotal, "since start", theme.RoleDim)
	x := metricsName + metricsNow + metricsTotal + 2
	g.Text(x, 0, g.W()-x, "trend", theme.RoleDim)
	for i, row := range m.Reading.Rows() {
		g.Text(0, i+1, metricsName, row.Name, theme.RoleDim)
		g.TextRight(metricsName, i+1, metricsNow, row.Now, theme.RoleText)
		g.TextRight(metricsName+metricsNow, i+1, metricsTotal, row.Total, theme.RoleText)
		if row.Trend == nil || i+1 >= g.H() || x >= g.W() {
			continue
		}
		values := make([]chart.Value, len(m.Reading.History))
		for k := range m.Reading.History {
			if v := row.Trend(&m.Reading.History[k]); v != nil {
				values[k] = chart.Of(*v)
			}
		}
		chart.Spark{Values: values, Role: trendRole(row.Metric)}.Draw(g.Sub(chart.Rect{X: x, Y: i + 1, W: g.W() - x, H: 1}))
	}
}

// trendRole is the hue that a figure has on every page.
func trendRole(metric string) theme.Role {
	switch metric {
	case "vllm:num_requests_running", "vllm:generation_tokens_total":
		return theme.RoleDecode
	case "vllm:prompt_tokens_total":
		return theme.RolePrefill
	case "vllm:num_requests_waiting":
		return theme.RoleQueue
	case "vllm:kv_cache_usage_perc":
		return theme.RoleKV
	case "vllm:num_preemptions_total":
		return theme.RolePreempt
	}
	return theme.RolePeriod
}

func (m *Metrics) drawLatencies(g *chart.Grid) {
	columns := []tableColumn{{head: ""}, {head: "n", right: true}, {head: "p50", right: true}, {head: "p90", right: true}, {head: "p99", right: true},
		{head: "n since start", right: true}, {head: "p50", right: true}, {head: "p99", right: true}}
	var rows [][]cell
	for _, l := range m.Reading.LatencyRows() {
		row := []cell{{l.Name, theme.RoleDim}}
		for _, s := range l.Recent {
			row = append(row, cell{s, theme.RoleText})
		}
		rows = append(rows, append(row, cell{l.Whole[0], theme.RoleText}, cell{l.Whole[1], theme.RoleText}, cell{l.Whole[3], theme.RoleText}))
	}
	table(g, columns, rows, "")
}

// serverRows tell what is the matter, what the server is, and how more would be known.
func (m *Metrics) serverRows() []Row {
	r := m.Reading
	var rows []Row
	if r.Problem != "" {
		rows = append(rows, Row{Name: "problem", Value: r.Problem, Role: theme.RoleBad})
	}
	rows = append(rows, Row{Name: "steps", Value: meter.Source + "; " + meter.Remedy, Role: theme.RoleDim})
	for _, n := range r.Notes {
		rows = append(rows, Row{Name: "note", Value: n, Role: theme.RoleWarn})
	}
	return append(rows, Row{Name: "health", Value: yesNo(r.Healthy, "well, by /health", "not well, by /health")}, Row{Name: "vLLM", Value: unit.Known(r.Version, said)},
		Row{Name: "models", Value: modelNames(r)}, Row{Name: "engines", Value: unit.Known(r.Engines, unit.Count)},
		Row{Name: "profile endpoints", Value: yesNo(r.Profile, "mounted: with its records, windows could be armed", "not mounted")})
}

func yesNo(v *bool, yes, no string) string {
	switch {
	case v == nil:
		return unit.Unknown
	case *v:
		return yes
	}
	return no
}

func modelNames(r *meter.Reading) string {
	var names []string
	for _, m := range r.Models {
		text := m.ID
		if m.MaxModelLen != nil {
			text += fmt.Sprintf(" (at most %s tokens)", unit.Count(*m.MaxModelLen))
		}
		names = append(names, text)
	}
	return said(strings.Join(names, ", "))
}

// MetricsDefinitions say what the page of a server without records shows.
func MetricsDefinitions() []Definition {
	d := func(name, u, source, text string) Definition {
		return Definition{Panel: PageMetrics, Name: name, Unit: u, Source: source, Text: text}
	}
	return []Definition{
		d("running, waiting", "requests", "vllm:num_requests_running, vllm:num_requests_waiting", "As of the last step that gave figures, over all engines: an idle server keeps its last ones."),
		d("KV cache used", "share", "vllm:kv_cache_usage_perc", "Of the engine whose cache is fullest."),
		d("prompt tokens, generated tokens", "tok/s", "vllm:prompt_tokens_total, vllm:generation_tokens_total", "How fast the server's counters grew over at most the last ten seconds, and where they stand. Prompt tokens count cached ones too."),
		d("steps", "/s", "vllm:iteration_tokens_total_count", "Iterations that scheduled tokens. What was in each of them is not told: only records say."),
		d("finished requests", "/s", "vllm:request_success_total", "For whatever reason they ended."),
		d("preemptions", "/s", "vllm:num_preemptions_total", "Requests that lost their KV blocks."),
		d("prefix hits", "share", "vllm:prefix_cache_hits_total, vllm:prefix_cache_queries_total", "Tokens found in the prefix cache, of those looked for: in the time of the rates, and since the start."),
		d("latency", "bucket", "vllm:time_to_first_token_seconds, vllm:inter_token_latency_seconds, vllm:e2e_request_latency_seconds, vllm:request_queue_time_seconds", "The bucket of vLLM's histogram that holds the quantile by nearest rank: it lies somewhere between the two times, the histogram knows no more."),
		d("trend", "", "", "One column a second, the newest at the right. A gap is a time without an answer, or a restart."),
	}
}
