package alert

import "opprof/engine/store"

// Columns judges a stretch of a run that is known by time bucket only, such as the indexed part of a huge stream. Times are those of
// buckets. Conditions that only whole steps tell, such as a graph miss of a decode step, are not found. The engine is the frame's, when it
// has one only.
func Columns(f *store.Frame, t Thresholds) []Warning {
	engine := ""
	if len(f.Engines) == 1 {
		engine = f.Engines[0].ID
	}
	var out [Rules]*Warning
	note := func(r Rule, c *store.Column, count int64, worst float64) {
		if count <= 0 {
			return
		}
		if out[r] == nil {
			out[r] = &Warning{Rule: r, Engine: engine, Unit: r.Unit()}
		}
		out[r].join(Warning{FirstNS: c.Counts.FirstNS, LastNS: c.Counts.LastNS, Count: count, Worst: worst})
	}
	for i := range f.Columns {
		c := &f.Columns[i]
		n := &c.Counts
		if n.Steps == 0 {
			continue
		}
		note(Dropped, c, n.Dropped, 0)
		note(Gaps, c, n.Gaps, 0)
		switch p := c.Period.MaxNS; {
		case t.StallNS <= 0:
		case p != nil && *p >= t.StallNS:
			note(Stall, c, max(1, n.Stalls), float64(*p))
		case t.StallNS <= store.StallNS: // of pauses between steps, which are in no period, only the number is kept
			note(Stall, c, n.Stalls, 0)
		}
		if t.KVUsage > 0 && n.KVUsageMax >= t.KVUsage {
			note(KVFull, c, 1, n.KVUsageMax)
		}
		if most := t.Preemptions * max(f.BucketNS, WindowNS) / WindowNS; t.Preemptions > 0 && n.Preemptions >= most {
			note(Thrash, c, n.Preemptions, float64(n.Preemptions)*float64(WindowNS)/float64(max(f.BucketNS, WindowNS)))
		}
		if share := ratio(n.GraphPadding, n.GraphBucket); t.Padding > 0 && n.Steps >= leastSteps && share >= t.Padding {
			note(Padding, c, 1, share)
		}
	}
	var list []Warning
	for _, w := range out {
		if w != nil {
			list = append(list, *w)
		}
	}
	return list
}

// Standing is the warning of a server that stands still right now: requests exist and no step completes. It is nil otherwise.
func Standing(f *store.Frame, t Thresholds) []Warning {
	if t.StallNS <= 0 || f.State.StalledNS <= 0 {
		return nil
	}
	engine := ""
	if len(f.Engines) == 1 {
		engine = f.Engines[0].ID
	}
	return []Warning{{
		Rule: Stall, Engine: engine, FirstNS: f.State.SinceNS, LastNS: f.State.SinceNS + f.State.StalledNS, Count: 1, Unit: Stall.Unit(),
		Worst: float64(f.State.StalledNS), Active: true,
	}}
}
