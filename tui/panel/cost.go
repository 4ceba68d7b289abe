package panel

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"opprof/campaign/calibrate"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// floatMS prints ns as milliseconds, for columns and panels whose title says so.
func floatMS(ns float64) string { return unit.DurationMS(int64(math.Round(ns))) }

// tokens prints a quantity that is whole, or an average.
func tokens(v float64) string { return unit.Count(int64(math.Round(v))) }

// CostField is a line of the question.
type CostField int

// Fields of the question.
const (
	CostDecode CostField = iota
	CostPrefill
	CostPrefillRequests
	CostContext
	CostGraph
	CostBucket
	CostFields
)

// Name is a field as the question writes it.
func (f CostField) Name() string {
	return [...]string{"decode batch", "prefill", "  requests", "mean context", "graph mode", "bucket"}[f]
}

// costLine is a line of the question: what is asked, and what was seen of it.
type costLine struct {
	name, value string
	v           float64
	seen        *calibrate.Range // nil where it has no range
	says        string           // in its place
}

// CostQuestion is the table of the question, beside what was seen in the graph mode that the answer is of.
func CostQuestion(gl *theme.Glyphs, c *calibrate.Calibration, q calibrate.Question, a *calibrate.Answer) *Sheet {
	s := &Sheet{Cursor: -1, Sort: -1, Columns: []SheetColumn{{Head: "a step with"}, {Head: "", Right: true}, {Head: "  seen", Weight: 5}}}
	for _, l := range costLines(c, q, a) {
		says := Cell{Text: "  " + l.says, Role: theme.RoleDim}
		if l.seen != nil {
			says.Text = "  " + seenRange(*l.seen)
			if (a == nil || !a.Inside) && (l.v < l.seen.Min || l.v > l.seen.Max) { // near the edge is still within
				says = Cell{Text: string(gl.Triangle) + " " + seenRange(*l.seen), Role: theme.RoleWarn}
			}
		}
		s.Rows = append(s.Rows, []Cell{{Text: l.name, Role: theme.RoleDim}, {Text: l.value, Attr: theme.Bold}, says})
	}
	return s
}

func costLines(c *calibrate.Calibration, q calibrate.Question, a *calibrate.Answer) []costLine {
	mode, graph, bucket, size := q.Graph, cmp.Or(q.Graph, "any"), "any", q.Bucket
	if a != nil {
		mode = a.Graph
		if q.Graph == "" {
			graph = "(" + shortMode(a.Graph) + ")"
		}
		if q.Bucket == 0 {
			size = a.Bucket
			bucket = "(" + tokens(a.Bucket) + ")"
		}
	}
	if q.Bucket > 0 {
		bucket = tokens(q.Bucket)
	}
	seen, known := c.Seen[mode]
	of := func(r *calibrate.Range) *calibrate.Range {
		if known {
			return r
		}
		return nil
	}
	requests := q.Decode + q.PrefillRequests
	return []costLine{
		{CostDecode.Name(), tokens(q.Decode), q.Decode, of(&seen.Decode), ""},
		{CostPrefill.Name(), tokens(q.Prefill), q.Prefill, of(&seen.Prefill), ""},
		{CostPrefillRequests.Name(), tokens(q.PrefillRequests), 0, nil, ""},
		{CostContext.Name(), tokens(q.Context), 0, nil, ""},
		{CostGraph.Name(), graph, 0, nil, modesSeen(c)},
		{CostBucket.Name(), bucket, max(size, q.Decode+q.Prefill), of(&seen.Bucket), ""},
		{"all context", tokens(q.Context * requests), q.Context * requests, of(&seen.Context), ""},
		{"requests", tokens(requests), requests, of(&seen.Requests), ""},
	}
}

func modesSeen(c *calibrate.Calibration) string {
	if n := len(c.Modes()); n > 1 {
		return "of " + strconv.Itoa(n)
	}
	return "the only one"
}

func seenRange(r calibrate.Range) string {
	short := func(v float64) string { return unit.Short(int64(math.Round(v))) }
	if r.Min == r.Max {
		return short(r.Min)
	}
	return short(r.Min) + "-" + short(r.Max)
}

// CostAnswer is what a step would cost.
type CostAnswer struct {
	Answer  *calibrate.Answer
	Refusal string // why there is no answer
	Report  *calibrate.SetReport
}

// Draw fills g: the time and its interval, whether it was seen, what was measured, and the families below.
func (p CostAnswer) Draw(g *chart.Grid) {
	if p.Answer == nil {
		for y, l := range wrapped(cmp.Or(p.Refusal, "ask for a step"), g.W()) {
			g.Text(0, y, g.W(), l, theme.RoleWarn)
		}
		return
	}
	a := p.Answer
	g.Spans(0, 0, g.W(), p.busy(g.W())...)
	y := 1
	for _, l := range p.remarks(&g.Glyphs, g.W(), max(3, g.H()-5)) {
		g.Spans(0, y, g.W(), l...)
		y++
	}
	rest := g.Sub(chart.Rect{Y: y, W: g.W(), H: g.H() - y})
	if rest.H() >= 11 && rest.W() >= 30 {
		costStack(a).Draw(rest.Sub(chart.Rect{Y: 1, W: rest.W(), H: 1}))
		rest = rest.Sub(chart.Rect{Y: 2, W: rest.W(), H: rest.H() - 2})
	}
	costFamilies{a, g.W() < costWide}.sheet(SheetRows(rest.H(), true)).Draw(rest)
}

// costWide is from where the families have room for their whole names.
const costWide = 52

// busy is the answer in a line of w columns.
func (p CostAnswer) busy(w int) []chart.Span {
	const whole = 33
	b := p.Answer.Busy
	dim := func(text string) chart.Span {
		if w < whole {
			text = ""
		}
		return chart.Span{S: text, Role: theme.RoleDim}
	}
	out := []chart.Span{dim("busy "), {S: floatMS(b.NS) + " ms", Role: theme.RoleTitle, Attr: theme.Bold}}
	switch {
	case b.LowNS == nil && p.Answer.Inside:
		return append(out, dim("  95 %"), chart.Span{S: " needs " + unit.Counted(calibrate.MinWindows, "window"), Role: theme.RoleWarn})
	case b.LowNS == nil:
		return append(out, chart.Span{S: "  no interval", Role: theme.RoleWarn})
	}
	return append(out, dim("  95 %:"), chart.Span{S: " " + floatMS(*b.LowNS) + " to " + floatMS(*b.HighNS), Role: theme.RoleText})
}

// remarks are the lines below: inside or outside of what was seen, what was measured, what is assumed, and how far off the model is.
func (p CostAnswer) remarks(gl *theme.Glyphs, w, most int) [][]chart.Span {
	a := p.Answer
	var out [][]chart.Span
	say := func(text string, role theme.Role) {
		for i, l := range wrapped(text, w-2) {
			indent := "  "
			if i == 0 && role == theme.RoleWarn {
				indent = string(gl.Triangle) + " "
			} else if i == 0 && role == theme.RoleGood {
				indent = string(gl.Check) + " "
			}
			out = append(out, []chart.Span{{S: indent, Role: role}, {S: l, Role: role}})
		}
	}
	notes := func() {
		for _, n := range a.Notes {
			say(n, theme.RoleDim)
		}
	}
	if a.Inside {
		say("within what was seen", theme.RoleGood)
	} else {
		say("OUTSIDE of what was seen", theme.RoleWarn)
		notes()
	}
	if c := a.Cell; c != nil {
		say(fmt.Sprintf("measured at %s: %s ms, %s to %s, %s of %s", c.Context, floatMS(c.BusyNS), floatMS(c.BusyMin), floatMS(c.BusyMax), unit.Counted(c.Steps, "step"), unit.Counted(c.Windows, "window")), theme.RoleText)
	} else {
		say("no such step was measured", theme.RoleDim)
	}
	if e := p.Report.Busy; e.MeanPct != nil {
		say(fmt.Sprintf("held out: %.1f %% off, most %.1f %%", *e.MeanPct, *e.MaxPct), theme.RoleText)
	} else {
		say("one window: nothing was held out", theme.RoleWarn)
	}
	if a.Inside {
		notes()
	}
	if len(out) > most {
		out = out[:most]
		out[most-1] = append(out[most-1], chart.Span{S: " " + string(gl.Ellipsis), Role: theme.RoleDim})
	}
	return out
}

// wrapped breaks text at spaces into lines of at most w columns.
func wrapped(text string, w int) []string {
	var lines []string
	for word := range strings.FieldsSeq(chart.Sanitize(text)) {
		if n := len(lines); n > 0 && utf8.RuneCountInString(lines[n-1])+1+utf8.RuneCountInString(word) <= w {
			lines[n-1] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
