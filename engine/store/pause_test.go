package store

import (
	"testing"

	"pgregory.net/rapid"

	"opprof/engine/record"
)

// simulated is a request of a simulated engine.
type simulated struct {
	prompt, output int64 // tokens left to compute and to generate
	begun          bool  // in a step before
	preempted      bool
}

// A simulated engine runs, blocks and falls idle; its clients come and go. A pause is one exactly where the next step goes on with a request that
// was begun before and has been there all the time, and one is never told while the engine had no request at all.
func TestPausesOfASimulatedEngine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Sequence
		var all []*simulated
		now, index := int64(1000), int64(1)
		ahead := rapid.SampledFrom([]int64{0, 0, 3}).Draw(t, "ahead") // submitted before the step before it completes
		completed := int64(0)
		for range rapid.IntRange(2, 60).Draw(t, "steps") {
			submit := now - ahead
			blocked := len(all) > 0
			if rapid.IntRange(0, 3).Draw(t, "held") == 0 {
				submit = now + rapid.SampledFrom([]int64{1, StallNS - 1, StallNS, 26e9}).Draw(t, "held for")
				for range len(all) { // clients that go away meanwhile
					if k := rapid.IntRange(0, 2*len(all)).Draw(t, "leaves"); k < len(all) {
						all = append(all[:k], all[k+1:]...)
					}
				}
			}
			for range rapid.IntRange(0, 2).Draw(t, "come") {
				all = append(all, &simulated{prompt: rapid.Int64Range(1, 40).Draw(t, "prompt"), output: rapid.Int64Range(1, 4).Draw(t, "output")})
			}
			s, old := schedule(t, all)
			s.StepIndex, s.SubmitMonoNS, s.SubmitWallNS = index, submit, submit
			s.CompleteMonoNS = max(now, submit) + rapid.Int64Range(0, 50).Draw(t, "took")
			got := q.Next(&s)
			want := int64(0)
			if index > 1 && old && submit > completed {
				want = submit - completed
			}
			if got.PauseNS != want || want > 0 && !blocked {
				t.Fatalf("step %d: pause %d, want %d; the engine had requests: %v", index, got.PauseNS, want, blocked)
			}
			if got.Stalls() != (want >= StallNS) {
				t.Fatalf("step %d: %+v stalls: %v", index, got, got.Stalls())
			}
			now, completed, index = s.CompleteMonoNS, s.CompleteMonoNS, index+1
			all = finished(all)
		}
	})
}

// schedule makes a step of some of the requests, with at most 16 tokens of a prompt each, and says whether one of them was begun before.
func schedule(t *rapid.T, all []*simulated) (s record.Step, old bool) {
	s.Has = record.HasResumed
	for _, r := range all {
		switch rapid.IntRange(0, 5).Draw(t, "scheduled") {
		case 0: // not in this step
			continue
		case 1:
			if r.begun && !r.preempted {
				r.preempted = true
				s.Preemptions++
				continue
			}
		}
		old = old || r.begun
		s.ScheduledRequests++
		if r.prompt == 0 && !r.preempted {
			s.DecodeBatchSize++
			s.DecodeTokens++
			r.output--
			continue
		}
		s.PrefillRequests++
		chunk := min(r.prompt, 16)
		first, whole := !r.begun || r.preempted, chunk == r.prompt
		switch {
		case first && whole:
			s.Chunks.Unsplit++
		case first:
			s.Chunks.First++
		case whole:
			s.Chunks.Final++
		default:
			s.Chunks.Middle++
		}
		if r.preempted {
			s.ResumedRequests++
		}
		s.PrefillTokens += chunk
		r.prompt -= chunk
		r.begun, r.preempted = true, false
		if r.prompt == 0 {
			r.output--
		}
	}
	return s, old
}

func finished(all []*simulated) []*simulated {
	var left []*simulated
	for _, r := range all {
		if r.prompt > 0 || r.output > 0 {
			left = append(left, r)
		}
	}
	return left
}

// What a pause is, step by step: the second step is submitted 26 s behind the completion of the first.
func TestPauses(t *testing.T) {
	const held = 26 * second
	for _, c := range []struct {
		name   string
		change func(s *record.Step)
		want   int64
	}{
		{"decodes go on", func(s *record.Step) { s.DecodeBatchSize = 4 }, held},
		{"a prompt goes on", func(s *record.Step) { s.Chunks.Middle = 1 }, held},
		{"a prompt ends", func(s *record.Step) { s.Chunks.Final = 1 }, held},
		{"a preempted request comes back", func(s *record.Step) { s.Has, s.ResumedRequests = record.HasResumed, 1 }, held},
		{"that is not told", func(s *record.Step) { s.ResumedRequests = 1 }, 0},
		{"new requests only", func(s *record.Step) { s.Chunks.First, s.Chunks.Unsplit = 2, 3 }, 0},
		{"nothing is run", func(*record.Step) {}, 0},
		{"steps are missing", func(s *record.Step) { s.DecodeBatchSize, s.StepIndex = 4, 9 }, 0},
		{"lines were lost", func(s *record.Step) { s.DecodeBatchSize, s.DroppedBefore = 4, 1 }, 0},
		{"the clocks disagree", func(s *record.Step) { s.DecodeBatchSize, s.CompleteMonoNS = 4, 7 }, 0},
	} {
		var q Sequence
		first, next := pace{1, 0, 20, 0}.step(wallNS), pace{2, 20 + held, 40 + held, 0}.step(wallNS)
		c.change(&next)
		q.Next(&first)
		if p := q.Next(&next); p.PauseNS != c.want || p.Stalls() != (c.want > 0) {
			t.Errorf("%s: %+v, want a pause of %d", c.name, p, c.want)
		}
	}
}

// A pause is a stall of the run's counts, wherever they are kept, and s leads to the step behind it.
func TestPausesAreCounted(t *testing.T) {
	s := New(Options{})
	at := int64(0)
	for i := int64(1); i <= 10; i++ {
		took, held := int64(10e6), int64(0)
		if i == 6 {
			held = 3 * second
		}
		at += held + took
		l := step("dp0-pid1", i, at)
		l.Step.DecodeBatchSize = 2
		l.Step.SubmitMonoNS, l.Step.SubmitWallNS = l.Step.CompleteMonoNS-took, wallNS+at-took
		s.Line(0, l)
	}
	sn := s.Snapshot()
	for _, columns := range []int{1, 7, 400} {
		f := sn.Frame(Query{Columns: columns})
		var stalls int64
		for i := range f.Columns {
			stalls += f.Columns[i].Counts.Stalls
		}
		if f.Run.Counts.Stalls != 1 || f.Span.Counts.Stalls != 1 || stalls != 1 {
			t.Errorf("%d columns: %d stalls of the run, %d of the span, %d of columns", columns, f.Run.Counts.Stalls, f.Span.Counts.Stalls, stalls)
		}
	}
	want := int64(wallNS + 6*10e6 + 3*second)
	if got, ok := sn.Find(EventStall, "", 0, true); !ok || got != want {
		t.Errorf("the stall is at %d, %v, want %d", got, ok, want)
	}
	if _, ok := sn.Find(EventStall, "", want, true); ok {
		t.Error("there is another stall")
	}
}
