package store

import "opprof/engine/record"

// lastAxisNS is the end of the time axis: 2^62 ns after 1970, the year 2116. Clocks beyond it are damaged.
const lastAxisNS = 1 << 62

// Sequence places the steps of one engine, in the order of its stream, on the time axis and gives each its step period:
// complete[n] - max(complete[n-1], submit[n]). With async scheduling two batches are in flight, so the time from submit to completion
// spans about two periods. A zero-token step completes at once; its period is short, and known.
//
// Time on the axis is the monotonic completion plus the difference of the two clocks at the first step, so that a jump of the wall
// clock does not move it. The zero value is the state before the first step; the fields let an index save and resume it.
type Sequence struct {
	Started        bool  // a step was placed
	Aligned        bool  // OffsetNS is known
	OffsetNS       int64 // wall minus monotonic clock, at the first step
	SkewNS         int64 // how far the wall clock has jumped since
	LastStep       int64 // step_index of the newest step
	LastSubmitNS   int64 // monotonic
	LastCompleteNS int64 // monotonic
	Broken         bool  // the next step follows a restart
}

// Break says that what follows does not continue what came before: the file was cut or replaced, or another process writes it. Only the
// newest step index is kept: one that is not above it tells a server that was started again.
func (q *Sequence) Break() {
	*q = Sequence{Broken: q.Started || q.Broken, LastStep: q.LastStep}
}

// Next places the next step of the stream.
func (q *Sequence) Next(s *record.Step) Place {
	p := Place{PeriodNS: UnknownNS, Gap: q.Broken || s.DroppedBefore > 0, Backward: q.Broken && s.StepIndex <= q.LastStep}
	if q.Started {
		missing := s.StepIndex - q.LastStep - 1
		p.Backward = missing < 0
		p.Missing = missing > s.DroppedBefore
		p.Gap = p.Gap || missing != 0
		// A monotonic clock that goes back too is another boot or another machine.
		q.Aligned = q.Aligned && !(p.Backward && s.SubmitMonoNS < q.LastSubmitNS)
	}
	if !q.Aligned {
		q.OffsetNS, q.Aligned = s.SubmitWallNS-s.SubmitMonoNS, true
	}
	if q.Started && !p.Gap {
		if p.PeriodNS = period(q.LastCompleteNS, s); p.PeriodNS != UnknownNS && goesOn(s) {
			p.PauseNS = max(0, s.SubmitMonoNS-q.LastCompleteNS)
		}
	}
	p.TimeNS = s.CompleteMonoNS + q.OffsetNS
	p.OffAxis = p.TimeNS < 0 || p.TimeNS > lastAxisNS
	q.Started, q.Broken = true, false
	q.SkewNS = s.SubmitWallNS - s.SubmitMonoNS - q.OffsetNS
	q.LastStep, q.LastSubmitNS, q.LastCompleteNS = s.StepIndex, s.SubmitMonoNS, s.CompleteMonoNS
	return p
}

// Join is the state in which a further stream of the same engine begins, given its first step. A rotated file continues the one
// before it; an older file that is read later has the same clock, but follows nothing that was read.
func (q *Sequence) Join(first *record.Step) Sequence {
	if q.Started && first.StepIndex <= q.LastStep && first.SubmitMonoNS < q.LastSubmitNS {
		return Sequence{Aligned: true, OffsetNS: q.OffsetNS}
	}
	return *q
}

// goesOn reports whether the step works on requests that the engine worked on before: decodes, further chunks of a prompt, and requests that come
// back after a preemption. First and unsplit chunks are of requests that may have come just now: nothing tells whether the engine had work.
func goesOn(s *record.Step) bool {
	return s.DecodeBatchSize > 0 || s.Chunks.Middle > 0 || s.Chunks.Final > 0 || s.Known(record.HasResumed) && s.ResumedRequests > 0
}

// period is unknown where the clocks contradict each other.
func period(lastCompleteNS int64, s *record.Step) int64 {
	from := max(lastCompleteNS, s.SubmitMonoNS)
	if s.CompleteMonoNS < from || s.CompleteMonoNS < s.SubmitMonoNS || s.CompleteMonoNS-from < 0 {
		return UnknownNS
	}
	return s.CompleteMonoNS - from
}
