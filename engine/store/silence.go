package store

// Silence says why no step completed in a column.
type Silence string

const (
	SilenceNone    Silence = ""
	SilenceOutside Silence = "outside" // before the first step of the run, or after the newest one
	SilenceIdle    Silence = "idle"    // the last step left nothing to do
	SilenceStep    Silence = "step"    // a step went on, or requests that the next one goes on with waited for it
	SilenceMissing Silence = "missing" // steps completed of which there is no record
)

// weight orders the reasons: that of several engines is the heaviest.
func (s Silence) weight() int {
	switch s {
	case SilenceOutside:
		return 1
	case SilenceIdle:
		return 2
	case SilenceStep:
		return 3
	case SilenceMissing:
		return 4
	}
	return 0
}

// explainSilence says of every empty column why it is empty.
func (sn *Snapshot) explainSilence(f *Frame, q Query, sel []int) {
	for i := 0; i < len(f.Columns); i++ {
		if f.Columns[i].Counts.Steps > 0 {
			continue
		}
		end := i
		for end < len(f.Columns) && f.Columns[end].Counts.Steps == 0 {
			end++
		}
		empty := f.Columns[i:end]
		var after *Column
		if end < len(f.Columns) {
			after = &f.Columns[end]
		}
		for _, k := range sel {
			sn.engines[k].explain(empty, f.BucketNS, after, q.NowNS != 0)
		}
		i = end
	}
}

// explain adds what one engine has to say about neighbouring columns without a step, before column after; nil is the end of the picture.
func (v *engineView) explain(empty []Column, bucketNS int64, after *Column, live bool) {
	if v.empty() {
		return
	}
	fromNS, toNS := empty[0].StartNS, empty[len(empty)-1].StartNS+bucketNS
	next := v.next(toNS - 1)
	for i := range empty {
		c := &empty[i]
		middle := c.StartNS + bucketNS/2
		var why Silence
		switch {
		case middle < v.firstNS():
			why = SilenceOutside
		case middle > v.newestNS():
			why = v.newestLeft(live)
		case !v.covers(fromNS, toNS):
			why = coarseSilence(after)
		case next.Gap:
			why = SilenceMissing
		case next.PeriodNS >= 0 && next.TimeNS-next.PeriodNS-next.PauseNS <= middle:
			why = SilenceStep
		default:
			why = SilenceIdle
		}
		if why.weight() > c.Silence.weight() {
			c.Silence = why
		}
	}
}

// next is where the first step after t lies; without a period when there is none.
func (v *engineView) next(t int64) Place {
	found := Place{PeriodNS: UnknownNS}
	for _, b := range v.blocks {
		if i := b.after(t); i < b.len() && (found.TimeNS == 0 || b.times[i] < found.TimeNS) {
			found = b.place(i)
		}
	}
	return found
}

// newestLeft says what the time behind the newest step is: waiting only while the run goes on and requests exist.
func (v *engineView) newestLeft(live bool) Silence {
	if b, at := v.at(lastAxisNS); live && b != nil && v.row.Footer == nil {
		q := b.steps[at]
		if q.running > 0 || q.waiting > 0 || q.deferred > 0 {
			return SilenceStep
		}
		return SilenceIdle
	}
	return SilenceOutside
}

// coarseSilence judges by the column behind where the steps are not kept whole.
func coarseSilence(after *Column) Silence {
	switch {
	case after == nil:
		return SilenceIdle
	case after.Counts.Gaps > 0:
		return SilenceMissing
	case after.Counts.Stalls > 0:
		return SilenceStep
	}
	return SilenceIdle
}
