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
// after it; the first one goes without its unit rather than not at all.
func line(g *chart.Grid, y int, fields ...field) {
	x := 0
	for i, f := range fields {
		if i == 0 && f.width() > g.W() {
			f.unit = ""
		}
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
	zero   bool                 // the value is zero: its figure is dim
	format func(float64) string // labels of a tall band's axis; nil prints plain numbers
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
	plot := g
	if g.H()/n >= tallBand && g.W()-textW-1-AxisWidth >= tallWidth {
		plot = g.Sub(chart.Rect{W: g.W(), H: g.H() - 1})
		h := in.history(g.W() - textW - 1 - AxisWidth)
		h.drawAxis(g, g.H()-1, chart.Plot{X: textW + 1 + AxisWidth, W: g.W() - textW - 1 - AxisWidth})
	}
	y := 0
	for i, t := range list[:n] {
		height := (plot.H() - y) / (n - i)
		band := plot.Sub(chart.Rect{Y: y, W: g.W(), H: height})
		base := height - 1 // beside the foot of the columns
		band.Text(0, base, labelW, t.label, theme.RoleDim)
		role := t.role
		if t.zero {
			role = theme.RoleDim
		}
		band.TextRight(labelW+1, base, valueW, t.value, role)
		band.Text(labelW+1+valueW+1, base, suffixW, t.suffix, theme.RoleDim)
		if w := g.W() - textW - 1; w >= 6 {
			t.draw(band.Sub(chart.Rect{X: textW + 1, W: w, H: height}), in, plot != g)
		}
		y += height
	}
}

// A band has an axis of its own from tallBand lines and tallWidth columns of history on.
const (
	tallBand  = 4
	tallWidth = 24
)

// draw fills the history part of a band.
func (t trend) draw(g *chart.Grid, in *Input, tall bool) {
	if !tall {
		spark(g, in.history(g.W()), t)
		return
	}
	h := in.history(g.W() - AxisWidth)
	chart.Series{
		Lines: []chart.Line{{Name: t.label, Values: h.values(t.of), Role: t.role}}, Style: chart.StyleColumn, Max: t.max,
		Format: t.format, LabelW: AxisWidth - 1, Cursor: h.cursor(), Whole: t.format == nil && t.max == 0,
	}.Draw(g.Sub(chart.Rect{Y: 1, W: g.W(), H: g.H() - 1}))
}

// spark draws the history of a trend and the cursor over it.
func spark(g *chart.Grid, h history, t trend) {
	chart.Spark{Values: h.values(t.of), Max: t.max, Role: t.role}.Draw(g)
	if x := g.W() - h.cursor(); x < g.W() {
		g.Mark(chart.Rect{X: x, W: 1, H: g.H()}, theme.Reverse)
	}
}

// inked is role for what is there, and dim for a zero.
func inked(n int64, role theme.Role) theme.Role {
	if n == 0 {
		return theme.RoleDim
	}
	return role
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
