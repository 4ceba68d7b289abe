package panel

import (
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
)

// AxisWidth is the number of columns that charts over time need for the labels of their y axis.
const AxisWidth = 6

// history is the visible time in as many columns as a chart has: whole groups of the frame's columns where the chart is narrower. Groups lie
// on multiples of the bucket width since 1970, so that they do not change while time moves on.
type history struct {
	in       *Input
	bucketNS int64
	toNS     int64
	groups   []store.Counts
	known    []bool // a step completed in the group
}

// leastShown is the share of the visible time that a narrower chart must show: its oldest part may be cut for the sake of finer columns.
const leastShown = 0.85

// history groups the columns of the frame to at most w.
func (in *Input) history(w int) history {
	f := in.Frame
	n := len(f.Columns)
	h := history{in: in, bucketNS: f.BucketNS, toNS: f.ToNS}
	if w <= 0 || n == 0 || f.BucketNS <= 0 {
		return h
	}
	per := int64(1)
	for n > w && float64(per)*float64(w) < leastShown*float64(n) {
		per++
	}
	h.bucketNS = per * f.BucketNS
	last := f.Columns[n-1].StartNS / h.bucketNS
	first := max(f.Columns[0].StartNS/h.bucketNS, last-int64(w)+1)
	h.toNS = (last + 1) * h.bucketNS
	h.groups, h.known = make([]store.Counts, last-first+1), make([]bool, last-first+1)
	for i := range f.Columns {
		if at := h.group(f.Columns[i].StartNS); at >= 0 && f.Columns[i].Counts.Steps > 0 {
			h.groups[at].Merge(&f.Columns[i].Counts)
			h.known[at] = true
		}
	}
	return h
}

// group is the group that a column belongs to, negative when it is older than the chart.
func (h history) group(startNS int64) int {
	return len(h.groups) - 1 - int((h.toNS-1-startNS)/h.bucketNS)
}

// values takes one figure from every group, unknown where no step completed.
func (h history) values(of func(c *store.Counts) chart.Value) []chart.Value {
	out := make([]chart.Value, len(h.groups))
	for i := range h.groups {
		if h.known[i] {
			out[i] = of(&h.groups[i])
		}
	}
	return out
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

// cursor counts the cursor's group from the right, 1 is the last; 0 when there is no cursor in the picture.
func (h history) cursor() int {
	n := h.in.CursorNS
	if n == 0 || h.bucketNS <= 0 || n >= h.toNS || n < h.toNS-int64(len(h.groups))*h.bucketNS {
		return 0
	}
	return int((h.toNS-1-n)/h.bucketNS) + 1
}

// drawAxis puts the time axis on line y below the curves of p.
func (h history) drawAxis(g *chart.Grid, y int, p chart.Plot) {
	if y >= g.H() || len(h.groups) == 0 {
		return
	}
	chart.TimeAxis{
		FromNS: h.toNS - int64(len(h.groups))*h.bucketNS, ToNS: h.toNS, BucketNS: h.bucketNS,
		Live: h.in.Live, Loc: h.in.Zone, Cursor: h.cursor(),
	}.Draw(g.Sub(chart.Rect{X: p.X, Y: y, W: p.W, H: 1}))
}

// spanLabel names the visible stretch of time.
func (in *Input) spanLabel() string {
	if in.Frame.ToNS <= in.Frame.FromNS {
		return unit.Unknown
	}
	return unit.Duration(in.Frame.ToNS - in.Frame.FromNS)
}
