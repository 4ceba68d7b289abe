package store

// Frame computes what a query shows. It reads only the snapshot: the same query gives the same frame.
func (sn *Snapshot) Frame(q Query) *Frame {
	sel := sn.selected(q.Engine)
	a := sn.axis(q, sel)
	f := &Frame{
		Version: sn.version, Live: q.AtNS == 0, FromNS: a.fromNS, ToNS: a.toNS(), BucketNS: a.bucketNS, Sampled: sn.sampled, Loss: sn.loss,
	}
	w := sn.scratch.Get().(*scratch)
	w.begin(a.n)
	f.Columns = make([]Column, a.n)
	for i := range f.Columns {
		f.Columns[i].StartNS = a.fromNS + int64(i)*a.bucketNS
	}
	for k, i := range sel {
		sn.engines[i].fill(f.Columns, w, &a, k)
	}
	sn.summarise(f, w, sel)
	w.end()
	sn.scratch.Put(w)
	sn.addWindows(f, &a, sel)
	sn.present(f, q, &a, sel)
	sn.explainSilence(f, q, sel)
	return f
}

// fill adds one engine's steps and buckets to the columns.
func (v *engineView) fill(columns []Column, w *scratch, a *axis, k int) {
	if v.empty() || a.n == 0 {
		return
	}
	from, to := a.fromNS, a.toNS()
	if t := a.tiers; t != nil && t[k] != nil {
		from, to = v.stepRange(a, t[k])
		add := func(r *Rollup, at int64) {
			i := a.column(at)
			columns[i].Counts.Merge(&r.Counts)
			w.columns[i].rollups = append(w.columns[i].rollups, r)
		}
		t[k].each(a.fromNS, from, a.bucketNS, add)
		t[k].each(to, a.toNS(), a.bucketNS, add)
	}
	for _, b := range v.blocks {
		if from >= to || b.lastNS() < from || b.firstNS() >= to {
			continue
		}
		list := b.cells(a.bucketNS)
		for n := range list {
			c := &list[n]
			if c.startNS < from || c.startNS >= to {
				continue
			}
			i := a.column(c.startNS)
			columns[i].Counts.Merge(&c.counts)
			w.columns[i].steps = append(w.columns[i].steps, periods{b.periods[c.from:c.to], &c.period})
		}
	}
}

// stepRange is the part of the axis whose columns are exact: all their steps are kept whole. Where buckets have any width, they may
// reach across a column's edge, so all columns come from them.
func (v *engineView) stepRange(a *axis, t *tierView) (from, to int64) {
	if t.widthNS == 0 {
		return a.toNS(), a.toNS()
	}
	from = a.fromNS
	if v.coverFromNS >= from {
		from = min(floorTo(v.coverFromNS, a.bucketNS)+a.bucketNS, a.toNS())
	}
	return from, a.toNS()
}

// summarise computes the quantiles of the columns, and the span and the run as a whole.
func (sn *Snapshot) summarise(f *Frame, w *scratch, sel []int) {
	values := make([]int64, (len(percentiles)+1)*(len(f.Columns)+2))
	for i := range w.columns {
		c := &w.columns[i]
		f.Span.Counts.Merge(&f.Columns[i].Counts)
		w.all.add(c)
		w.summary(&f.Columns[i].Period, c, &values)
	}
	w.summary(&f.Span.Period, &w.all, &values)
	w.all.clear()
	whole := true
	for _, i := range sel {
		v := sn.engines[i]
		f.Run.Counts.Merge(&v.run.Counts)
		whole = whole && (v.empty() || v.whole())
	}
	for _, i := range sel {
		w.all.addRun(sn.engines[i], whole)
	}
	w.summary(&f.Run.Period, &w.all, &values)
}

func (w *scratch) summary(q *Quantiles, c *columnPeriods, values *[]int64) {
	var found [len(percentiles) + 1]int64
	*q, found = w.quantiles(c)
	q.set(found, values)
}

// addRun gathers the periods of a whole run: of its steps if all are kept.
func (c *columnPeriods) addRun(v *engineView, whole bool) {
	if !whole {
		c.rollups = append(c.rollups, v.run)
		return
	}
	for _, b := range v.blocks {
		base := b.baseCells()
		for i := range base.list {
			c.steps = append(c.steps, periods{b.periods[base.list[i].from:base.list[i].to], &base.list[i].period})
		}
	}
}

// addWindows lists the windows and marks the columns that they disturb.
func (sn *Snapshot) addWindows(f *Frame, a *axis, sel []int) {
	f.Windows = []Window{}
	for _, k := range sel {
		v := sn.engines[k]
		for i := range v.windows {
			w := &v.windows[i]
			f.Windows = append(f.Windows, w.Window)
			end := w.endNS
			if w.StopNS == 0 {
				end = max(v.newestNS(), w.StartNS)
			}
			if a.n == 0 || end < a.fromNS || w.StartNS >= a.toNS() {
				continue
			}
			for c := max(a.column(w.StartNS), 0); c <= min(a.column(end), a.n-1); c++ {
				f.Columns[c].Perturbed = true
			}
		}
	}
	sortWindows(f.Windows)
}
