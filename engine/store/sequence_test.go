package store

import (
	"testing"

	"opprof/engine/record"
)

// line describes a step by what a Sequence looks at.
type pace struct{ index, submit, complete, dropped int64 }

func (p pace) step(wallMinusMonoNS int64) record.Step {
	return record.Step{
		StepIndex: p.index, SubmitMonoNS: p.submit, CompleteMonoNS: p.complete, SubmitWallNS: p.submit + wallMinusMonoNS, DroppedBefore: p.dropped,
	}
}

func TestPeriods(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []pace
		want  []int64 // periods
		gaps  []bool
	}{
		{"two in flight", []pace{{1, 0, 20, 0}, {2, 10, 30, 0}, {3, 21, 42, 0}}, []int64{-1, 10, 12}, []bool{false, false, false}},
		{"after idling a period begins at the submission", []pace{{1, 0, 20, 0}, {2, 100, 120, 0}}, []int64{-1, 20}, []bool{false, false}},
		{"a zero-token step completes at once", []pace{{1, 0, 20, 0}, {2, 15, 21, 0}}, []int64{-1, 1}, []bool{false, false}},
		{"a first step that is not 1 is no gap", []pace{{500, 0, 20, 0}, {501, 20, 30, 0}}, []int64{-1, 10}, []bool{false, false}},
		{"a jump of the index", []pace{{1, 0, 20, 0}, {5, 20, 30, 0}, {6, 30, 45, 0}}, []int64{-1, -1, 15}, []bool{false, true, false}},
		{"a drop", []pace{{1, 0, 20, 0}, {4, 20, 30, 2}, {5, 30, 45, 0}}, []int64{-1, -1, 15}, []bool{false, true, false}},
		{"a drop of another line", []pace{{1, 0, 20, 0}, {2, 20, 30, 1}}, []int64{-1, -1}, []bool{false, true}},
		{"a restart", []pace{{7, 0, 20, 0}, {1, 30, 40, 0}, {2, 40, 51, 0}}, []int64{-1, -1, 11}, []bool{false, true, false}},
		{"the same step twice", []pace{{7, 0, 20, 0}, {7, 0, 20, 0}}, []int64{-1, -1}, []bool{false, true}},
		{"completion before submission", []pace{{1, 0, 20, 0}, {2, 40, 30, 0}}, []int64{-1, -1}, []bool{false, false}},
		{"completion before the last completion", []pace{{1, 0, 20, 0}, {2, 10, 15, 0}}, []int64{-1, -1}, []bool{false, false}},
		{"completion together with the last", []pace{{1, 0, 20, 0}, {2, 10, 20, 0}}, []int64{-1, 0}, []bool{false, false}},
	} {
		var q Sequence
		for i, p := range c.steps {
			s := p.step(1000)
			got := q.Next(&s)
			if got.PeriodNS != c.want[i] || got.Gap != c.gaps[i] || got.TimeNS != p.complete+1000 {
				t.Errorf("%s: step %d: %+v, want period %d, gap %v", c.name, i, got, c.want[i], c.gaps[i])
			}
		}
	}
}

func TestLossesOfASequence(t *testing.T) {
	for _, c := range []struct {
		name              string
		next              pace
		missing, backward bool
	}{
		{"next", pace{11, 20, 30, 0}, false, false},
		{"jump", pace{13, 20, 30, 0}, true, false},
		{"jump explained by drops", pace{13, 20, 30, 2}, false, false},
		{"drops hold other lines too", pace{13, 20, 30, 5}, false, false},
		{"jump larger than the drops", pace{20, 20, 30, 2}, true, false},
		{"back", pace{3, 20, 30, 0}, false, true},
	} {
		var q Sequence
		first, next := pace{10, 0, 10, 0}.step(0), c.next.step(0)
		q.Next(&first)
		if p := q.Next(&next); p.Missing != c.missing || p.Backward != c.backward {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

func TestWallClockJumpsDoNotMoveTheAxis(t *testing.T) {
	var q Sequence
	first, second := pace{1, 0, 10, 0}.step(5000), pace{2, 10, 20, 0}.step(5000-3600e9)
	q.Next(&first)
	if p := q.Next(&second); p.TimeNS != 5020 || p.PeriodNS != 10 || q.SkewNS != -3600e9 {
		t.Errorf("%+v, skew %d", p, q.SkewNS)
	}
	// Another boot: index and monotonic clock both begin again.
	reboot := pace{1, 3, 8, 0}.step(90000)
	if p := q.Next(&reboot); p.TimeNS != 90008 || !p.Backward {
		t.Errorf("after a reboot %+v", p)
	}
	q.Break()
	after := pace{2, 8, 12, 0}.step(90000)
	if p := q.Next(&after); p.PeriodNS != UnknownNS || !p.Gap || p.Missing {
		t.Errorf("after a break %+v", p)
	}
}

// Behind a break, only a step index that begins again tells that the server does.
func TestRestartsBehindABreak(t *testing.T) {
	for _, c := range []struct {
		next     int64
		backward bool
	}{{1, true}, {9, true}, {10, false}, {500, false}} {
		var q Sequence
		first := pace{9, 0, 10, 0}.step(0)
		q.Next(&first)
		q.Break()
		q.Break()
		next := pace{c.next, 10, 20, 0}.step(0)
		if p := q.Next(&next); p.Backward != c.backward || p.Missing || !p.Gap || p.PeriodNS != UnknownNS {
			t.Errorf("step %d behind step 9: %+v", c.next, p)
		}
	}
}

func TestClocksOffTheAxis(t *testing.T) {
	for _, c := range []struct {
		offset, complete int64
		off              bool
	}{
		{0, 0, false}, {0, -1, true}, {0, lastAxisNS, false}, {0, lastAxisNS + 1, true}, {-100, 50, true}, {1 << 62, 1 << 62, true},
	} {
		var q Sequence
		s := record.Step{StepIndex: 1, CompleteMonoNS: c.complete, SubmitWallNS: c.offset}
		if p := q.Next(&s); p.OffAxis != c.off {
			t.Errorf("offset %d, completion %d: %+v", c.offset, c.complete, p)
		}
	}
}
