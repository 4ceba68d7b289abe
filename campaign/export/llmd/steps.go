package llmd

import (
	"opprof/campaign/export/feed"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/store"
)

// Steps is what the records of a run say in sum. Not for concurrent use.
type Steps struct {
	counts  store.Counts
	periods store.Sketch
	windows int64
	bad     int64
	header  *record.Header // the first one; nil before
}

// Add takes the next line.
func (s *Steps) Add(it *feed.Item) {
	switch l := it.Line; l.Kind {
	case record.KindStep:
		s.counts.Add(&l.Step, it.Place)
		if it.Place.PeriodNS != store.UnknownNS {
			s.periods.Add(it.Place.PeriodNS)
		}
	case record.KindHeader:
		if s.header == nil {
			h := l.Header
			s.header = &h
		}
	case record.KindProfile:
		if l.Profile.Action == record.ActionStart && (l.Profile.OK == nil || *l.Profile.OK) {
			s.windows++
		}
	case record.KindBad:
		s.bad++
	}
}

// describe takes what the server itself wrote about it, which wins over the manifest.
func (s *Steps) describe(d *rundir.Description) {
	if h := s.header; h != nil {
		d.Serves(h.Model)
		d.VLLMVersion = h.VLLMVersion
		d.TensorParallel, d.DataParallel, d.PipeParallel, d.ExpertParallel = h.TensorParallel, h.DataParallel, h.PipelineParallel, h.ExpertParallel
	}
}

// resources are averages over steps.
func (s *Steps) resources() Resources {
	c := &s.counts
	n := float64(c.Steps)
	most := func(v float64) *float64 { return &v }
	r := Resources{
		KVUsage:     &Statistics{Units: "percent", Mean: 100 * c.KVUsageSum / n, Max: most(100 * c.KVUsageMax)},
		Running:     &Statistics{Units: "count", Mean: float64(c.RunningSum) / n, Max: most(float64(c.RunningMax))},
		Waiting:     &Statistics{Units: "count", Mean: float64(c.WaitingSum) / n, Max: most(float64(c.WaitingMax))},
		Preemptions: &Statistics{Units: "count", Mean: float64(c.Preemptions)},
	}
	if c.LocalSteps > 0 && c.Local.Queries > 0 {
		r.HitRate = &Statistics{Units: "percent", Mean: 100 * float64(c.Local.Hits) / float64(c.Local.Queries)}
	}
	return r
}

func (s *Steps) profiling(path string) *Profiling {
	c := &s.counts
	p := &Profiling{Tool: "opprof", Run: path, Steps: c.Steps, PrefillTokens: c.PrefillTokens, DecodeTokens: c.DecodeTokens, GraphSteps: c.Graph, DroppedRecords: c.Dropped,
		Gaps: c.Gaps, Stalls: c.Stalls, BadLines: s.bad, ProfilerWindows: s.windows}
	if s.periods.N() > 0 {
		q := func(pct int64) int64 { v, _ := s.periods.Quantile(pct); return v }
		p.PeriodNS = &Periods{N: s.periods.N(), P50: q(50), P95: q(95), P99: q(99), Max: s.periods.MaxNS(), ErrorPct: store.SketchErrorPct}
	}
	return p
}
