package store

// Frame computes what a query shows. It reads only the snapshot: the same query gives the same frame.
func (sn *Snapshot) Frame(q Query) *Frame {
	sel := sn.selected(q.Engine)
	a := sn.axis(q, sel)
	f := &Frame{
		Version: sn.version, Live: q.AtNS == 0, FromNS: a.fromNS, ToNS: a.toNS(), BucketNS: a.bucketNS, Sampled: sn.sampled, Loss: sn.loss,
	}
	w := sn.scratch.Get().(*scratch)
	values := make([]int64, 4*(a.n+2)) // of the quantiles of all columns, the span and the run
	w.begin(a.n)
	f.Columns = make([]Column, a.n)
	for i := range f.Columns {
		f.Columns[i].StartNS = a.fromNS + int64(i)*a.bucketNS
	}
	for k, i := range sel {
		sn.engines[i].fill(f.Columns, w, &a, k)
	}
	sn.summarise(f, w, sel, &values)
	w.end()
	sn.scratch.Put(w)
	sn.addWindows(f, sel)
	sn.present(f, q, &a, sel)
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
		add := func(r *Rollup) {
			i := a.column(r.middleNS())
			columns[i].Counts.Merge(&r.Counts)
			c := &w.columns[i]
			c.coarse = true
			c.sketch.Merge(&r.Period)
			c.unknown += r.Counts.Steps - r.Period.N()
		}
		t[k].each(a.fromNS, from, add)
		t[k].each(to, a.toNS(), add)
	}
	for _, b := range v.blocks {
		if from >= to || b.lastNS() < from || b.firstNS() >= to {
			continue
		}
		for _, c := range b.cells(a.bucketNS) {
			if c.startNS < from || c.startNS >= to {
				continue
			}
			i := a.column(c.startNS)
			columns[i].Counts.Merge(&c.counts)
			w.columns[i].steps = append(w.columns[i].steps, b.periods[c.from:c.to])
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
func (sn *Snapshot) summarise(f *Frame, w *scratch, sel []int, values *[]int64) {
	coarse := false
	for i := range w.columns {
		c := &w.columns[i]
		var found [4]int64
		p := &f.Columns[i].Period
		if c.coarse {
			coarse = true
			c.unknown += c.sketch.addAll(c.steps)
			*p, found = approximate(&c.sketch, c.unknown)
		} else {
			*p, found = w.exact(c.steps)
		}
		p.set(found, values)
		f.Span.Counts.Merge(&f.Columns[i].Counts)
	}
	var found [4]int64
	if coarse {
		f.Span.Period, found = w.spanSketch()
	} else {
		for i := range w.columns {
			w.all = append(w.all, w.columns[i].steps...)
		}
		f.Span.Period, found = w.exact(w.all)
	}
	f.Span.Period.set(found, values)
	sn.summariseRun(f, w, sel, values)
}

// spanSketch merges all columns, exact ones too.
func (w *scratch) spanSketch() (Quantiles, [4]int64) {
	var all Sketch
	var unknown int64
	for i := range w.columns {
		c := &w.columns[i]
		if c.coarse {
			all.Merge(&c.sketch)
			unknown += c.unknown
		} else {
			unknown += all.addAll(c.steps)
		}
	}
	return approximate(&all, unknown)
}

func (sn *Snapshot) summariseRun(f *Frame, w *scratch, sel []int, values *[]int64) {
	whole := true
	for _, i := range sel {
		f.Run.Counts.Merge(&sn.engines[i].run.Counts)
		whole = whole && (sn.engines[i].empty() || sn.engines[i].whole())
	}
	clear(w.all)
	w.all = w.all[:0]
	var found [4]int64
	if whole {
		for _, i := range sel {
			for _, b := range sn.engines[i].blocks {
				w.all = append(w.all, b.periods)
			}
		}
		f.Run.Period, found = w.exact(w.all)
	} else {
		var all Sketch
		for _, i := range sel {
			all.Merge(&sn.engines[i].run.Period)
		}
		f.Run.Period, found = approximate(&all, f.Run.Counts.Steps-all.N())
	}
	f.Run.Period.set(found, values)
}

// addWindows lists the windows and marks the columns that they disturb.
func (sn *Snapshot) addWindows(f *Frame, sel []int) {
	f.Windows = []Window{}
	for _, k := range sel {
		for i := range sn.engines[k].windows {
			w := &sn.engines[k].windows[i]
			f.Windows = append(f.Windows, w.Window)
			for c := range f.Columns {
				col := &f.Columns[c]
				if w.perturbs(col.StartNS, col.StartNS+f.BucketNS) {
					col.Perturbed = true
				}
			}
		}
	}
	sortWindows(f.Windows)
}
