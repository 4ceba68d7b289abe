package panel

import (
	"unicode/utf8"

	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// field is a named figure of a line.
type field struct {
	name  string
	value string
	unit  string
	role  theme.Role // of the value
}

// line writes fields one after the other: name dim, value in its role, unit dim. A field that does not fit whole is left out with all
// after it.
func line(g *chart.Grid, y int, fields ...field) {
	x := 0
	for i, f := range fields {
		n := f.width()
		if i > 0 {
			n += 2
		}
		if x+n > g.W() {
			return
		}
		if i > 0 {
			x += 2
		}
		x += g.Spans(x, y, g.W()-x, f.spans()...)
	}
}

func (f field) spans() []chart.Span {
	var spans []chart.Span
	if f.name != "" {
		spans = append(spans, chart.Span{S: f.name + " ", Role: theme.RoleDim})
	}
	spans = append(spans, chart.Span{S: f.value, Role: f.role})
	if f.unit != "" {
		spans = append(spans, chart.Span{S: " " + f.unit, Role: theme.RoleDim})
	}
	return spans
}

func (f field) width() int {
	n := utf8.RuneCountInString(f.value)
	if f.name != "" {
		n += utf8.RuneCountInString(f.name) + 1
	}
	if f.unit != "" {
		n += utf8.RuneCountInString(f.unit) + 1
	}
	return n
}

// note writes a dim remark.
func note(g *chart.Grid, y int, text string) { g.Text(0, y, g.W(), text, theme.RoleDim) }

// trend is a figure with its history: a label, the value now, and a spark line.
type trend struct {
	label  string
	value  string // right-aligned
	suffix string // dim, after the value
	of     func(c *store.Counts) chart.Value
	max    float64 // value of a full column; 0 takes the largest
	role   theme.Role
}

// trends draws one band per trend, all with equal columns, and gives every band its part of the lines of g. Bands that do not fit are
// left out.
func trends(g *chart.Grid, in *Input, list ...trend) {
	n := min(len(list), g.H())
	if n == 0 {
		return
	}
	labelW, valueW, suffixW := 0, 0, 0
	for _, t := range list[:n] {
		labelW = max(labelW, utf8.RuneCountInString(t.label))
		valueW = max(valueW, utf8.RuneCountInString(t.value))
		suffixW = max(suffixW, utf8.RuneCountInString(t.suffix))
	}
	textW := labelW + 1 + valueW
	if suffixW > 0 {
		textW += 1 + suffixW
	}
	h := in.history(g.W() - textW - 1)
	y := 0
	for i, t := range list[:n] {
		height := (g.H() - y) / (n - i)
		band := g.Sub(chart.Rect{Y: y, W: g.W(), H: height})
		band.Text(0, 0, labelW, t.label, theme.RoleDim)
		band.TextRight(labelW+1, 0, valueW, t.value, t.role)
		band.Text(labelW+1+valueW+1, 0, suffixW, t.suffix, theme.RoleDim)
		if w := g.W() - textW - 1; w >= 6 {
			spark(band.Sub(chart.Rect{X: textW + 1, W: w, H: height}), h, t)
		}
		y += height
	}
}

// spark draws the history of a trend and the cursor over it.
func spark(g *chart.Grid, h history, t trend) {
	chart.Spark{Values: h.values(t.of), Max: t.max, Role: t.role}.Draw(g)
	if x := g.W() - h.cursor(); x < g.W() {
		g.Mark(chart.Rect{X: x, W: 1, H: g.H()}, theme.Reverse)
	}
}

// known prints p as an exact count, "-" when it is not known.
func known(p *int64) string { return unit.Known(p, unit.Count) }

// mean is sum per step as a chart value.
func mean(sum, steps int64) chart.Value {
	if steps == 0 {
		return chart.Value{}
	}
	return chart.Of(float64(sum) / float64(steps))
}
