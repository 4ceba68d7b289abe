package store

import (
	"slices"

	"opprof/engine/record"
)

// overviewBuckets is the most roll-ups that a view of a whole run merges.
const overviewBuckets = 2048

// Overview is one engine's roll-ups over a whole run, ordered by time, as an index or probes give them. It is made once and serves many
// snapshots.
type Overview struct {
	levels []tierView // finest first
	run    Rollup
}

// NewOverview takes roll-ups [StartNS, EndNS) of any width. A roll-up that reaches across a column's edge is counted in the column that
// holds its middle, so columns are not narrower than nearly all roll-ups; the few that are wider, as over an idle stretch, count where
// they end.
func NewOverview(rollups []*Rollup) *Overview {
	o := &Overview{}
	list := slices.DeleteFunc(slices.Clone(rollups), func(r *Rollup) bool { return r == nil || r.Counts.Steps == 0 })
	slices.SortStableFunc(list, func(a, b *Rollup) int { return compare(a.StartNS, b.StartNS) })
	for _, r := range list {
		o.run.Merge(r)
	}
	for {
		o.levels = append(o.levels, tierView{sealed: list, typicalNS: typicalWidth(list)})
		if len(list) <= overviewBuckets {
			return o
		}
		list = grouped(list, 8)
	}
}

// typicalWidth is the width that one of twenty exceeds.
func typicalWidth(list []*Rollup) int64 {
	if len(list) == 0 {
		return 0
	}
	widths := make([]int64, len(list))
	for i, r := range list {
		widths[i] = r.EndNS - r.StartNS
	}
	slices.Sort(widths)
	return widths[nearestRank(int64(len(widths)), 95)-1]
}

// grouped merges every n neighbours.
func grouped(list []*Rollup, n int) []*Rollup {
	var out []*Rollup
	for part := range slices.Chunk(list, n) {
		sum := part[0].clone()
		for _, r := range part[1:] {
			sum.Merge(r)
		}
		out = append(out, sum)
	}
	return out
}

// Part is what is known of one engine of a run that is too large to be read whole.
type Part struct {
	Engine, Stream string
	Header         *record.Header   // nil when the file has none
	Footer         *record.Footer   // nil when the file has none
	Profiles       []record.Profile // every marker of the stream, in order
	Dummies        int64
	Loss           Loss
	Overview       *Overview // nil when the steps are the whole run

	// Steps are whole steps around a cursor, in the order of the stream, from at least RateSpanNS before it, and Before the sequence in
	// front of them. Before must be Aligned by the stream's first step for the times to agree with the overview's.
	Steps  []record.Step
	Before Sequence
}

// Assemble makes a snapshot of a run from an index or from probes (sampled), with whole steps around a cursor. The version tells it from
// other snapshots that the same reader shows.
func Assemble(version uint64, sampled bool, parts []Part) *Snapshot {
	sn := &Snapshot{version: version, sampled: sampled, scratch: newScratchPool()}
	for i := range parts {
		sn.engines = append(sn.engines, parts[i].view())
	}
	slices.SortStableFunc(sn.engines, func(a, b *engineView) int {
		switch {
		case a.row.ID < b.row.ID:
			return -1
		case a.row.ID > b.row.ID:
			return 1
		}
		return 0
	})
	sn.finish()
	return sn
}

func (p *Part) view() *engineView {
	e := newEngine(p.Engine, 0, max(len(p.Steps), 1))
	sequence := p.Before
	offset := sequence
	if !offset.Aligned && len(p.Steps) > 0 {
		offset.Next(&p.Steps[0])
	}
	var spans windows
	for i := range p.Profiles {
		m := &p.Profiles[i]
		if !offset.Aligned {
			offset.OffsetNS = m.WallNS - m.MonoNS
		}
		spans.mark(m, m.MonoNS+offset.OffsetNS)
	}
	for i := range p.Steps {
		at := sequence.Next(&p.Steps[i])
		e.add(&p.Steps[i], at)
		spans.addTo(&p.Steps[i], at)
	}
	e.sequence = sequence
	v := e.snapshot(p.Stream)
	v.windows = spans.view()
	if p.Overview != nil {
		v.overview(p.Overview)
	}
	v.row.Header, v.row.Footer, v.row.Dummies, v.row.Loss = p.Header, p.Footer, p.Dummies, p.Loss
	if p.Footer != nil {
		v.row.Loss.Dropped = max(v.row.Loss.Dropped, p.Footer.Dropped)
	}
	return v
}

// overview replaces the engine's own roll-ups, which hold the steps around the cursor, by those of the run.
func (v *engineView) overview(o *Overview) {
	v.coverFromNS, v.coverToNS = lastAxisNS, -1
	for i, b := range v.blocks {
		if i == 0 {
			v.coverFromNS = b.firstNS() - 1
		}
		v.coverFromNS, v.coverToNS = min(v.coverFromNS, b.firstNS()-1), max(v.coverToNS, b.lastNS())
	}
	v.tiers, v.run = o.levels, &o.run
	v.row.Steps, v.row.FirstStep, v.row.LastStep = o.run.Counts.Steps, o.run.FirstStep, o.run.LastStep
}
