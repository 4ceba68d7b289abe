package runner

import (
	"context"
	"time"

	"opprof/campaign/report"
)

// sampleEvery is how often processor time is looked at: the measured part of a load is found in the samples afterwards.
const sampleEvery = 500 * time.Millisecond

// sample looks at a server's processor time until ctx ends.
func sample(ctx context.Context, s Server) []CPUTime {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	var out []CPUTime
	for {
		if c, ok := s.CPU(); ok {
			out = append(out, c)
		}
		select {
		case <-ctx.Done():
			return out
		case <-ticker.C:
		}
	}
}

// cores is the mean use of processors between two moments, by the samples nearest to them; nil without two samples.
func cores(samples []CPUTime, from, to time.Time) *report.CPU {
	if len(samples) == 0 {
		return nil
	}
	first, last := samples[0], samples[len(samples)-1]
	for _, s := range samples {
		if s.At.Sub(from).Abs() < first.At.Sub(from).Abs() {
			first = s
		}
		if s.At.Sub(to).Abs() < last.At.Sub(to).Abs() {
			last = s
		}
	}
	took := last.At.Sub(first.At)
	if took <= 0 {
		return nil
	}
	share := func(from, to *time.Duration) *float64 {
		if from == nil || to == nil || *to < *from { // a process went between the samples
			return nil
		}
		v := float64(*to-*from) / float64(took)
		return &v
	}
	return &report.CPU{Engine: share(first.Engine, last.Engine), FrontEnd: share(first.FrontEnd, last.FrontEnd), Workers: share(first.Workers, last.Workers)}
}
