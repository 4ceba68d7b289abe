package panel

import (
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
)

// AxisWidth is the number of columns that charts over time need for the labels of their y axis.
const AxisWidth = 6

// history is the visible time in as many columns as a chart has. Where a chart is narrower than the frame has columns, whole groups of these
// are one value. Groups lie on multiples of their width since 1970, so that they do not change while time moves on. In a picture that moves
// on each group is a column; one that stands is spread over all columns of its chart, so that the charts of a page cover the same time.
type history struct {
	in       *Input
	w        int // columns that are drawn
	bucketNS int64
	fromNS   int64 // of the first group
	toNS     int64 // end of the last group
	groups   []store.Counts
	known    []bool // a step completed in the group
	marks    []groupMarks
}

// groupMarks are what is marked below the charts.
type groupMarks struct {
	perturbed bool // a profiler window was open
	gap       bool // steps are missing before one of its steps
	silence   store.Silence
	match     bool // a step that a search has found
	note      bool // a bookmark
}

// leastShown is the share of the visible time that a narrower chart of a moving picture must show: its oldest part may be cut for the sake of
// finer columns.
const leastShown = 0.85

// history groups the columns of the frame for a chart of w columns.
func (in *Input) history(w int) history {
	f := in.Frame
	n := len(f.Columns)
	h := history{in: in, bucketNS: f.BucketNS, fromNS: f.FromNS, toNS: f.ToNS}
	if w <= 0 || n == 0 || f.BucketNS <= 0 {
		return h
	}
	per := int64(1)
	for n > w && float64(per)*float64(w) < leastShown*float64(n) {
		per++
	}
	if !in.Live {
		for per = 1; (f.ToNS-1)/(per*f.BucketNS)-f.FromNS/(per*f.BucketNS) >= int64(w); {
			per++
		}
	}
	h.bucketNS = per * f.BucketNS
	last := f.Columns[n-1].StartNS / h.bucketNS
	first := f.Columns[0].StartNS / h.bucketNS
	if in.Live {
		first = max(first, last-int64(w)+1)
	}
	h.fromNS, h.toNS = first*h.bucketNS, (last+1)*h.bucketNS
	count := int(last - first + 1)
	h.w = w
	if in.Live {
		h.w = count
	}
	h.groups, h.known, h.marks = make([]store.Counts, count), make([]bool, count), make([]groupMarks, count)
	for i := range f.Columns {
		if at := h.group(f.Columns[i].StartNS); at >= 0 {
			h.add(at, &f.Columns[i])
			h.marks[at].match = h.marks[at].match || i < len(in.Matches) && in.Matches[i] > 0
		}
	}
	for _, ns := range in.Notes {
		if at := h.group(ns); ns < h.toNS && at >= 0 {
			h.marks[at].note = true
		}
	}
	return h
}

func (h *history) add(at int, c *store.Column) {
	m := &h.marks[at]
	m.perturbed = m.perturbed || c.Perturbed
	m.gap = m.gap || c.Counts.Gaps > 0
	if c.Counts.Steps == 0 {
		if m.silence != store.SilenceMissing {
			m.silence = c.Silence
		}
		return
	}
	h.groups[at].Merge(&c.Counts)
	h.known[at] = true
}

// group is the group that a time belongs to, negative when it is older than the chart.
func (h history) group(ns int64) int {
	return len(h.groups) - 1 - int((h.toNS-1-ns)/h.bucketNS)
}

// at is the group that is drawn in column x.
func (h history) at(x int) int {
	if h.in.Live {
		return x
	}
	f := h.in.Frame
	middle := f.FromNS + int64((float64(x)+0.5)/float64(h.w)*float64(f.ToNS-f.FromNS))
	return max(0, min(h.group(middle), len(h.groups)-1))
}

// spread gives every drawn column the value of its group.
func (h history) spread(groups []chart.Value) []chart.Value {
	out := make([]chart.Value, h.w)
	for x := range out {
		out[x] = groups[h.at(x)]
	}
	return out
}

// values takes one figure from every group, unknown where no step completed.
func (h history) values(of func(c *store.Counts) chart.Value) []chart.Value {
	out := make([]chart.Value, len(h.groups))
	for i := range h.groups {
		if h.known[i] {
			out[i] = of(&h.groups[i])
		}
	}
	return h.spread(out)
}

// ratio takes part of whole from every group, unknown where whole is 0.
func (h history) ratio(of func(c *store.Counts) (part, whole int64)) []chart.Value {
	return h.values(func(c *store.Counts) chart.Value {
		part, whole := of(c)
		if whole == 0 {
			return chart.Value{}
		}
		return chart.Of(float64(part) / float64(whole))
	})
}

// cursor counts the column of the cursor from the right, 1 is the last; 0 when there is no cursor in the picture.
func (h history) cursor() int {
	n := h.in.CursorNS
	if n == 0 || h.bucketNS <= 0 || n >= h.toNS || n < h.fromNS {
		return 0
	}
	group := h.group(n)
	if h.in.Live {
		return h.w - group
	}
	f := h.in.Frame
	x := max(0, min(h.w-1, int(float64(n-f.FromNS)/float64(f.ToNS-f.FromNS)*float64(h.w))))
	for x > 0 && h.at(x) > group {
		x--
	}
	for x < h.w-1 && h.at(x) < group {
		x++
	}
	return h.w - x
}

// drawAxis puts the time axis on line y below the curves of p.
func (h history) drawAxis(g *chart.Grid, y int, p chart.Plot) {
	if y >= g.H() || len(h.groups) == 0 {
		return
	}
	axis := chart.TimeAxis{FromNS: h.fromNS, ToNS: h.toNS, BucketNS: h.bucketNS, Live: h.in.Live, Loc: h.in.Zone, Cursor: h.cursor()}
	if !h.in.Live {
		axis.FromNS, axis.ToNS = h.in.Frame.FromNS, h.in.Frame.ToNS
		axis.BucketNS = max(1, (axis.ToNS-axis.FromNS)/int64(h.w))
	}
	axis.Draw(g.Sub(chart.Rect{X: p.X, Y: y, W: p.W, H: 1}))
}

// spanLabel names the visible stretch of time.
func (in *Input) spanLabel() string {
	if in.Frame.ToNS <= in.Frame.FromNS {
		return unit.Unknown
	}
	return unit.Duration(in.Frame.ToNS - in.Frame.FromNS)
}
