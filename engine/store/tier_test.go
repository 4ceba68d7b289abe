package store

import (
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"opprof/engine/record"
)

// smallTiers make forgetting and widening happen within a test.
func smallTiers(limit int) *tiers {
	t := newTiers()
	for i := range t.levels {
		t.levels[i].limit = limit
	}
	return t
}

type timed struct{ timeNS, periodNS, tokens int64 }

// within sums the steps of [from, to) one by one.
func within(steps []timed, from, to int64) (n, tokens int64, periods []int64) {
	for _, s := range steps {
		if s.timeNS < from || s.timeNS >= to {
			continue
		}
		n++
		tokens += s.tokens
		if s.periodNS >= 0 {
			periods = append(periods, s.periodNS)
		}
	}
	return n, tokens, periods
}

// Whatever the order of the steps, each bucket that a tier still holds is the sum of the steps in it, in snapshots of any moment too.
func TestTiersAreSumsOfSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{4, 16, tierBuckets}).Draw(t, "limit")
		tr := smallTiers(limit)
		var steps []timed
		type seen struct {
			views []tierView
			run   *Rollup
			n     int
		}
		var snapshots []seen
		now := rapid.Int64Range(0, 1e12).Draw(t, "start")
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			now += rapid.SampledFrom([]int64{0, 1e6, 3e8, second, 5 * second, 40 * second, 1000 * second}).Draw(t, "advance")
			at := now
			if rapid.IntRange(0, 9).Draw(t, "late") == 0 {
				at = max(0, now-rapid.SampledFrom([]int64{1e6, second, 17 * second, 300 * second, 5000 * second}).Draw(t, "by"))
			}
			s := timed{at, rapid.Int64Range(-1, 1e9).Draw(t, "period"), rapid.Int64Range(0, 9).Draw(t, "tokens")}
			tr.add(&record.Step{DecodeTokens: s.tokens}, Place{TimeNS: at, PeriodNS: s.periodNS})
			steps = append(steps, s)
			if rapid.IntRange(0, 9).Draw(t, "snapshot") == 0 {
				views, run := tr.view()
				snapshots = append(snapshots, seen{views, run, len(steps)})
			}
		}
		views, run := tr.view()
		snapshots = append(snapshots, seen{views, run, len(steps)})
		for _, sn := range snapshots {
			then := steps[:sn.n]
			if sn.run.Counts.Steps != int64(len(then)) {
				t.Fatalf("run has %d of %d steps", sn.run.Counts.Steps, len(then))
			}
			for i := range sn.views {
				checkTier(t, &sn.views[i], then, limit)
			}
			if last := &sn.views[len(sn.views)-1]; last.fromNS != 0 {
				t.Fatalf("the coarsest tier forgot what was before %d", last.fromNS)
			}
		}
	})
}

func checkTier(t *rapid.T, v *tierView, steps []timed, limit int) {
	var held int64
	end := int64(-1)
	buckets := 0
	for _, list := range [][]*Rollup{v.sealed, v.tail} {
		for _, r := range list {
			n, tokens, periods := within(steps, r.StartNS, r.EndNS)
			want := sketchOf(periods)
			if r.EndNS-r.StartNS != v.widthNS || r.StartNS%v.widthNS != 0 || r.StartNS < end {
				t.Fatalf("bucket [%d, %d) after %d in a tier of %d", r.StartNS, r.EndNS, end, v.widthNS)
			}
			if r.Counts.Steps != n || r.Counts.DecodeTokens != tokens || !sameSketch(&r.Period, &want) {
				t.Fatalf("width %d, bucket %d: %d steps, %d tokens, want %d, %d", v.widthNS, r.StartNS, r.Counts.Steps, r.Counts.DecodeTokens, n, tokens)
			}
			held += n
			end = r.EndNS
			buckets++
		}
	}
	if want, _, _ := within(steps, v.fromNS, lastAxisNS); held != want {
		t.Fatalf("width %d holds %d steps, %d are at or after %d", v.widthNS, held, want, v.fromNS)
	}
	if buckets > limit+3 {
		t.Fatalf("%d buckets", buckets)
	}
}

// heapBytes is what is still used after a collection.
func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Four weeks of steps, one every 16 s: after the tiers are full, memory stays where it is.
func TestMemoryIsFlatOverWeeks(t *testing.T) {
	s := New(Options{RingSteps: 4096})
	lines := synthetic(4096, 16*second)
	week := func() {
		for range 7 * 86400 / 16 / len(lines) {
			for i := range lines {
				s.Line(0, &lines[i])
			}
			again(lines)
			s.Snapshot()
		}
	}
	week()
	week()
	full := heapBytes()
	for range 2 {
		week()
	}
	if later := heapBytes(); later > full+full/10 {
		t.Errorf("heap grew from %d to %d bytes", full, later)
	}
	sn := s.Snapshot()
	f := sn.Frame(Query{Columns: 100})
	var steps int64
	for i := range f.Columns {
		steps += f.Columns[i].Counts.Steps
	}
	if want := int64(4 * (7 * 86400 / 16 / len(lines)) * len(lines)); steps != want || f.Run.Counts.Steps != want {
		t.Errorf("columns hold %d of %d steps", steps, want)
	}
}
