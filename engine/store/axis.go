package store

import "math/bits"

// baseRungNS is the finest bucket of the time axis, 1/512 s. The ladder goes on by 2, 3, 4, 6, 8, 12 … times this, so that every rung
// of a second and more is a whole number of buckets of at least one tier.
const baseRungNS = second / 512

const (
	maxColumns = 4096
	maxSpanNS  = 1 << 61
)

// nextRung is the rung above n base rungs.
func nextRung(n int64) int64 {
	switch {
	case n < 2:
		return n + 1
	case n&(n-1) == 0:
		return n / 2 * 3
	}
	return n / 3 * 4
}

// axis is the time axis of a frame: n columns of bucketNS from fromNS.
type axis struct {
	bucketNS, fromNS int64
	n                int
	edgeNS           int64 // where Now and Rates are taken
	tiers            []*tierView
}

func (a *axis) toNS() int64 { return a.fromNS + int64(a.n)*a.bucketNS }

// column is the column of a time; it may lie outside of 0 <= i < n.
func (a *axis) column(timeNS int64) int {
	if timeNS < a.fromNS {
		return -1
	}
	return int((timeNS - a.fromNS) / a.bucketNS)
}

// axis places the columns: whole buckets of the finest rung that shows the span, and for which every engine has data fine enough.
func (sn *Snapshot) axis(q Query, sel []int) axis {
	firstNS, newestNS := sn.bounds(sel)
	a := axis{edgeNS: min(max(q.AtNS, 0), lastAxisNS)}
	if q.AtNS == 0 {
		a.edgeNS = newestNS
	}
	if newestNS < 0 {
		a.edgeNS = max(a.edgeNS, 0)
		return a
	}
	columns := int64(min(max(q.Columns, 1), maxColumns))
	span := min(max(q.SpanNS, 0), maxSpanNS)
	left, right := firstNS, newestNS
	if span > 0 {
		right = a.edgeNS
		if q.AtNS == 0 {
			right = sn.liveEdge(q.NowNS, span, newestNS, sel)
		}
	} else {
		span = newestNS - firstNS + 1
	}
	want := (span + columns - 1) / columns
	if q.SpanNS <= 0 && q.NowNS == 0 && sn.fit(&a, want, columns, left, right, sel) {
		return a
	}
	for rung := int64(1); ; rung = nextRung(rung) {
		a.bucketNS = rung * baseRungNS
		if a.bucketNS < want {
			continue
		}
		to := floorTo(right, a.bucketNS) + a.bucketNS
		a.n = int(min(columns, max(1, lastAxisNS/a.bucketNS))) // clocks that are damaged reach far
		a.fromNS = to - int64(a.n)*a.bucketNS
		if q.SpanNS <= 0 {
			a.fromNS = floorTo(left, a.bucketNS)
			if (to-a.fromNS)/a.bucketNS > columns {
				continue
			}
			a.n = int((to - a.fromNS) / a.bucketNS)
		}
		if a.tiers = sn.sources(&a, sel); a.tiers != nil || a.bucketNS > maxSpanNS {
			return a
		}
	}
}

// fit places the columns of a whole run that does not grow: there the width need not stand still, so that it is chosen to leave few of the
// columns empty. It is a multiple of a power of two of base rungs, of which blocks and tiers are made, and not true where they are coarser.
func (sn *Snapshot) fit(a *axis, want, columns, left, right int64, sel []int) bool {
	const parts = 5 // the width is 16 to 32 of these powers
	unit := int64(baseRungNS) << max(0, bits.Len64(uint64(want/baseRungNS))-parts)
	const tries = 4 // the ends take up to a column more than the run
	for a.bucketNS = (want + unit - 1) / unit * unit; a.bucketNS < want+tries*unit; a.bucketNS += unit {
		a.fromNS = floorTo(left, a.bucketNS)
		if n := (floorTo(right, a.bucketNS) + a.bucketNS - a.fromNS) / a.bucketNS; n <= columns {
			a.n = int(n)
			a.tiers = sn.sources(a, sel)
			return a.tiers != nil
		}
	}
	return false
}

// bounds are the first and newest completion of the selected engines; newest is -1 before the first step.
func (sn *Snapshot) bounds(sel []int) (firstNS, newestNS int64) {
	newestNS = -1
	for _, i := range sel {
		v := sn.engines[i]
		if v.empty() {
			continue
		}
		if newestNS < 0 || v.firstNS() < firstNS {
			firstNS = v.firstNS()
		}
		newestNS = max(newestNS, v.newestNS())
	}
	return firstNS, newestNS
}

// liveEdge is the right edge of a live view: the newest step, or the reader's clock while nothing completes, so that a stall is seen
// to grow; the newest step stays in the picture.
func (sn *Snapshot) liveEdge(nowNS, span, newestNS int64, sel []int) int64 {
	if nowNS == 0 {
		return newestNS
	}
	edge := newestNS
	for _, i := range sel {
		edge = max(edge, sn.engines[i].onAxis(nowNS))
	}
	return min(edge, newestNS+span/4)
}

// onAxis is the reader's clock on this engine's time axis.
func (v *engineView) onAxis(nowNS int64) int64 {
	return min(max(nowNS-v.skewNS, v.newestNS()), lastAxisNS)
}

// sources are where each selected engine's columns come from: nil entries mean steps alone. The result is nil when the columns are
// too narrow for what is known of that time.
func (sn *Snapshot) sources(a *axis, sel []int) []*tierView {
	list := make([]*tierView, len(sel))
	for k, i := range sel {
		v := sn.engines[i]
		if v.empty() || v.covers(a.fromNS, a.toNS()) {
			continue
		}
		if list[k] = v.tier(a); list[k] == nil {
			return nil
		}
	}
	return list
}

// tier is the coarsest tier that fills whole columns and reaches back to the left edge.
func (v *engineView) tier(a *axis) *tierView {
	for i := len(v.tiers) - 1; i >= 0; i-- {
		t := &v.tiers[i]
		fits := a.bucketNS >= t.typicalNS
		if t.widthNS > 0 {
			fits = a.bucketNS%t.widthNS == 0
		}
		if fits && max(a.fromNS, v.firstNS()) >= t.fromNS {
			return t
		}
	}
	return nil
}
