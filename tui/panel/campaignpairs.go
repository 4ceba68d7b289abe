package panel

import (
	"cmp"
	"slices"
	"strconv"
	"unicode/utf8"

	"opprof/campaign/gate"
	"opprof/campaign/progress"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// PairPlot shows the regression of each pair of a cell: for each metric a line of marks on one axis in percent, with the limit and the bound.
type PairPlot struct {
	Cell     *progress.Cell
	LimitPct float64
	Metric   string // the selected one
	Focus    bool   // the selection is this plot's
}

const (
	pairLabel = 15 // columns before the axis
	pairLeast = 40 // least width that has room for labels
	pairFoot  = 2  // the axis and the legend
)

// pairAxis is where the values of a plot stand.
type pairAxis struct {
	chart.Strip
	x0, w int
	limit float64
}

// Draw fills g.
func (p PairPlot) Draw(g *chart.Grid) {
	if p.Cell == nil || !slices.ContainsFunc(p.Cell.Decision.Metrics, func(m gate.Result) bool { return len(m.Pairs) > 0 }) {
		note(g, 0, p.need())
		return
	}
	metrics := p.Cell.Decision.Metrics
	a := p.axis(g.W())
	room, foot := g.H()-pairFoot, true
	if room < 2 {
		room, foot = g.H(), false
	}
	each := 2 // the figures, and the marks with the bound
	if room >= 3*len(metrics) {
		each = 3 // the bound has a line of its own
	}
	first := p.first(metrics, room/each)
	shown := metrics[first:min(len(metrics), first+max(1, room/each))]
	lists := p.lists(shown, room-each*len(shown), a)
	y := 0
	for i := range shown {
		m := &shown[i]
		p.head(g, y, m)
		p.marks(g, y+1, a, m)
		if each == 3 {
			a.grid(g, y+2)
			a.bound(g, y+2, m, p.verdict(m))
		} else {
			a.bound(g, y+1, m, p.verdict(m))
			a.pairs(g, y+1, m.Pairs)
		}
		y += each
		if lists[i] {
			p.list(g, y, a, m)
			y += len(m.Pairs)
		}
	}
	if foot {
		a.foot(g, y)
	}
}

// lists says which metrics have lines for their pairs one by one: those with room for all of them, the selected one before the others.
func (p PairPlot) lists(shown []gate.Result, spare int, a pairAxis) []bool {
	out := make([]bool, len(shown))
	for _, selected := range []bool{true, false} {
		for i := range shown {
			if n := len(shown[i].Pairs); (shown[i].Name == p.Metric) == selected && n <= spare && a.x0 > 0 {
				out[i] = true
				spare -= n
			}
		}
	}
	return out
}

func (p PairPlot) verdict(m *gate.Result) string { return metricVerdict(p.Cell, m) }

func (p PairPlot) need() string {
	planned := unit.Unknown
	if p.Cell != nil {
		planned = strconv.Itoa(p.Cell.Planned)
	}
	return "no pair yet: " + planned + " planned, a verdict needs " + strconv.Itoa(gate.MinPairs)
}

// first is the metric that the plot begins with, so that the selected one is seen.
func (p PairPlot) first(metrics []gate.Result, fit int) int {
	for i := range metrics {
		if metrics[i].Name == p.Metric {
			return max(0, min(i, len(metrics)-max(1, fit)))
		}
	}
	return 0
}

// axis covers zero, the limit and the pairs, as far as a metric can be doubled; a bound that lies far beyond them stands at the end.
func (p PairPlot) axis(w int) pairAxis {
	const (
		far  = 5   // times the limit
		most = 100 // percent
	)
	limit := p.LimitPct
	if !(limit > 0) {
		limit = 100 * gate.DefaultLimit
	}
	low, high := -limit/2, limit*1.3
	for i := range p.Cell.Decision.Metrics {
		m := &p.Cell.Decision.Metrics[i]
		for _, e := range m.Pairs {
			low, high = min(low, max(e.Pct, -most)), max(high, min(e.Pct, most))
		}
		if m.UpperPct != nil {
			high = max(high, min(*m.UpperPct, far*limit))
		}
	}
	a := pairAxis{Strip: chart.Strip{Low: low, High: high}, w: w, limit: limit}
	if w >= pairLeast {
		a.x0, a.w = pairLabel, w-pairLabel-1
	}
	return a
}

// head writes a metric's figures. Those of all metrics stand below each other.
func (p PairPlot) head(g *chart.Grid, y int, m *gate.Result) {
	w := p.headWidths(&g.Glyphs)
	w.name = min(w.name, g.W()/3)
	text, role := verdict(&g.Glyphs, p.verdict(m))
	name, attr, mark := theme.RoleTitle, theme.Attr(0), " "
	if m.Name == p.Metric {
		attr, mark = theme.Bold, string(g.Glyphs.Play)
		if p.Focus {
			name = theme.RoleSelected
		}
	}
	g.Spans(0, y, 1+w.name, chart.Span{S: mark, Role: theme.RoleAccent}, chart.Span{S: m.Name, Role: name, Attr: attr})
	x := 1 + w.name + 2
	g.TextAttr(x, y, g.W(), text, role, theme.Bold)
	x += w.verdict + 2
	figures := make([]field, 0, len(w.figures)+1)
	for i, f := range headFigures(m, role) {
		figures = append(figures, f.column(w.figures[i]))
	}
	if m.PairsNeeded != nil && m.Verdict != gate.Pass {
		figures = append(figures, field{"pairs needed", strconv.Itoa(*m.PairsNeeded), "", theme.RoleText})
	}
	line(g.Sub(chart.Rect{X: x, Y: y, W: g.W() - x, H: 1}), 0, figures...)
}

// headFigures are those that every metric has, in percent.
func headFigures(m *gate.Result, role theme.Role) [4]field {
	return [...]field{
		share("point", m.PointPct, theme.RoleText), share("bound", m.UpperPct, role),
		share("t bound", m.TUpperPct, theme.RoleText), share("order", m.OrderEffectPct, theme.RoleText),
	}
}

// headColumns are the widths of what stands in the heads of metrics.
type headColumns struct {
	name, verdict int
	figures       [4]int // of their values
}

func (p PairPlot) headWidths(gl *theme.Glyphs) (w headColumns) {
	for i := range p.Cell.Decision.Metrics {
		m := &p.Cell.Decision.Metrics[i]
		text, role := verdict(gl, p.verdict(m))
		w.name, w.verdict = max(w.name, utf8.RuneCountInString(chart.Sanitize(m.Name))), max(w.verdict, utf8.RuneCountInString(chart.Sanitize(text)))
		for k, f := range headFigures(m, role) {
			w.figures[k] = max(w.figures[k], len(f.value))
		}
	}
	return w
}

// column is a figure in percent whose value has w columns; where it is not known, blanks stand for its unit.
func (f field) column(w int) field {
	f.value = unit.Right(f.value, w)
	if f.unit == "" {
		f.value += "  "
	}
	return f
}

// share is a figure in percent; an unknown one has no unit.
func share(name string, pct *float64, role theme.Role) field {
	if pct == nil {
		return field{name, unit.Unknown, "", role}
	}
	return field{name, Signed(*pct), "%", role}
}

// marks draws the line of a metric's pairs.
func (p PairPlot) marks(g *chart.Grid, y int, a pairAxis, m *gate.Result) {
	a.grid(g, y)
	label := unit.Counted(m.N, "pair")
	if m.N == 1 {
		label = "1 pair"
	}
	if a.x0 > 0 {
		g.Text(2, y, a.x0-3, label, theme.RoleDim)
	}
	a.pairs(g, y, m.Pairs)
}

// list writes the pairs of a metric, one a line.
func (p PairPlot) list(g *chart.Grid, y int, a pairAxis, m *gate.Result) {
	for i, e := range m.Pairs {
		a.grid(g, y+i)
		order := cmp.Or(e.Order, unit.Unknown)
		g.Text(4, y+i, a.x0-5, unit.Left(e.Pair, 2)+" "+order, theme.RoleDim)
		a.pairs(g, y+i, []gate.Effect{e})
		value := Signed(e.Pct)
		if x, _, ok := a.Column(e.Pct, a.w); ok && x+2+utf8.RuneCountInString(value) < a.w {
			g.Text(a.x0+x+2, y+i, a.w, value, theme.RoleText)
		} else if ok {
			g.TextRight(a.x0, y+i, x-1, value, theme.RoleText)
		}
	}
}

// grid draws zero and the limit.
func (a pairAxis) grid(g *chart.Grid, y int) {
	if x, _, ok := a.Column(0, a.w); ok {
		g.Set(a.x0+x, y, ':', theme.RoleAxis)
	}
	if x, _, ok := a.Column(a.limit, a.w); ok {
		g.SetAttr(a.x0+x, y, g.Glyphs.Vertical, theme.RoleWarn, theme.Bold)
	}
}

// orderMark is the mark of a pair's order.
func orderMark(gl *theme.Glyphs, order string) (rune, theme.Role) {
	switch order {
	case "AB":
		return gl.Dot, theme.RoleDecode
	case "BA":
		return gl.Ring, theme.RolePrefill
	}
	return gl.Cross, theme.RoleText
}

func (a pairAxis) pairs(g *chart.Grid, y int, pairs []gate.Effect) {
	for _, e := range pairs {
		x, beyond, ok := a.Column(e.Pct, a.w)
		if !ok {
			continue
		}
		mark, role := orderMark(&g.Glyphs, e.Order)
		switch {
		case beyond < 0:
			mark = '<'
		case beyond > 0:
			mark = '>'
		}
		g.SetAttr(a.x0+x, y, mark, role, theme.Bold)
	}
}

// bound draws the way from the point to the upper bound.
func (a pairAxis) bound(g *chart.Grid, y int, m *gate.Result, verdict string) {
	if m.PointPct == nil || m.UpperPct == nil {
		return
	}
	from, _, ok := a.Column(*m.PointPct, a.w)
	to, beyond, known := a.Column(*m.UpperPct, a.w)
	if !ok || !known {
		return
	}
	_, role := GateMark(&g.Glyphs, verdict)
	limit, _, _ := a.Column(a.limit, a.w)
	for x := from; x < to; x++ {
		if x != limit { // it is what the bound is held against
			g.Set(a.x0+x, y, g.Glyphs.Extent, role)
		}
	}
	g.SetAttr(a.x0+from, y, g.Glyphs.Triangle, role, theme.Bold)
	end := g.Glyphs.ExtentRight
	if beyond > 0 {
		end = g.Glyphs.Play
	}
	g.SetAttr(a.x0+to, y, end, role, theme.Bold)
}

// foot draws the axis and says what the marks mean.
func (a pairAxis) foot(g *chart.Grid, y int) {
	axis := g.Sub(chart.Rect{X: a.x0, Y: y, W: a.w, H: 1})
	label := "limit " + Signed(a.limit)
	at, _, _ := a.Column(a.limit, a.w)
	n := utf8.RuneCountInString(label)
	from := max(0, min(at-n/2, a.w-n))
	axis.Text(from, 0, n, label, theme.RoleWarn)
	a.DrawAxis(axis, func(v float64) string { return unit.Tick(v) }, func(x int) bool { return x >= from && x < from+n })
	if a.x0 > 0 {
		g.Text(0, y, a.x0-1, "regression %", theme.RoleDim)
	}
	gl := &g.Glyphs
	line(g.Sub(chart.Rect{Y: y + 1, W: g.W(), H: 1}), 0,
		field{"", string(gl.Dot), "off first", theme.RoleDecode}, field{"", string(gl.Ring), "on first", theme.RolePrefill},
		field{"", string(gl.Triangle) + string(gl.Extent) + string(gl.ExtentRight), "point to bound", theme.RoleText}, field{"", string(gl.Vertical), "limit", theme.RoleWarn})
}
