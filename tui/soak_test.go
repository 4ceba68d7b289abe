package tui

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"opprof/engine/record"
	"opprof/engine/store"
)

// endless carries a recording on round after round: step indices and clocks go on.
type endless struct {
	lines []record.Line
	at    int
	round int64
	loop  int64 // ns of a round
	rest  int64 // ns that the server rests after each step, beside what was recorded
	pause int64 // ns that it has rested
}

func newEndless(lines []record.Line) *endless {
	only := steps(lines)
	first, last := &only[0].Step, &only[len(only)-1].Step
	return &endless{lines: only, loop: last.CompleteMonoNS - first.SubmitMonoNS + int64(12*time.Millisecond)}
}

// next is the next step, and when it completes on the wall clock.
func (e *endless) next() (record.Line, int64) {
	l := e.lines[e.at]
	s := &l.Step
	shift := e.round*e.loop + e.pause
	s.SubmitWallNS += shift
	s.SubmitMonoNS += shift
	s.CompleteMonoNS += shift
	s.StepIndex = e.lines[0].Step.StepIndex + e.round*int64(len(e.lines)) + int64(e.at)
	e.pause += e.rest
	if e.at++; e.at == len(e.lines) {
		e.at, e.round = 0, e.round+1
	}
	return l, s.SubmitWallNS + s.SubmitToCompleteNS()
}

// fill gives a store that remembers steps for long its steps of two weeks: one now and then, and of the last hours as many as follow. All its
// roll-ups are in use then. It returns the time of the last step.
func (e *endless) fill(s *store.Store, hours int64) time.Time {
	const (
		every = int64(15 * time.Second)
		busy  = int64(80 * time.Millisecond)
	)
	var done int64
	end := int64(-1)
	for {
		var l record.Line
		l, done = e.next()
		s.Line(0, &l)
		if end < 0 {
			end = done + 14*24*int64(time.Hour)
		}
		switch {
		case done >= end:
			e.rest = busy
			return time.Unix(0, done)
		case done >= end-hours*int64(time.Hour):
			e.rest = busy
		default:
			e.rest = every
		}
	}
}

// heap is what is reachable after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// flat fails when the second half of samples lies higher than the first. Both have the saw teeth of lists that are copied when they are full.
func flat(t *testing.T, heaps []uint64) {
	t.Helper()
	half := len(heaps) / 2
	if first, second := slices.Max(heaps[:half]), slices.Max(heaps[half:]); second > first+first/20 {
		t.Errorf("the heap grew from %d to %d bytes: %d", first, second, heaps)
	}
}

// TestDay: a server at some ten steps a second is watched for 24 hours of its time, with keys pressed now and then. Neither memory nor
// goroutines grow.
func TestDay(t *testing.T) {
	if testing.Short() {
		t.Skip("lives through a day")
	}
	lines := recording(t, "h200-tp1", 1200)
	feed := newEndless(lines)
	source := &fakeSource{run: describe("live"), store: store.New(store.Options{RingSteps: 4096})}
	source.store.Name(0, "layer1/a.jsonl")
	s := newScreen(t, source, feed.fill(source.store, 20), Options{})
	s.size(120, 40)
	begin := s.clock.at
	keys := [][]string{{"tab"}, {"t"}, {"left", "left", "end"}, {"space", "space"}, {"?", "esc"}, {"+", "-"}, {"enter", "enter"}, {"P", "end"}, {"v"}, {"d"}}
	var memory []uint64
	goroutines := runtime.NumGoroutine()
	hour := func(n int) {
		for minute := range 60 {
			edge := begin.Add(time.Duration(n)*time.Hour + time.Duration(minute+1)*time.Minute)
			for i := 0; ; i++ {
				l, done := feed.next()
				source.store.Line(0, &l)
				if done >= edge.UnixNano() {
					break
				}
			}
			s.tick(edge.Sub(s.clock.at))
			s.keys(keys[(60*n+minute)%len(keys)]...)
			s.content()
			s.source.asked()
		}
	}
	for n := range 24 {
		hour(n)
		memory = append(memory, heap())
	}
	t.Logf("%d steps, heap %d KiB after an hour, %d KiB after 24 h", source.store.Snapshot().Frame(store.Query{Columns: 1}).Run.Counts.Steps, memory[0]>>10, memory[len(memory)-1]>>10)
	flat(t, memory)
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d at first", n, goroutines)
	}
	if got := boardOf(s).shown.main.State.Name; got != "busy" {
		t.Errorf("state %s after a day", got)
	}
}

// TestHourOverStalledLink: the terminal takes nothing for an hour while the server goes on. What waits does not grow, nothing of the run is lost,
// and the first picture afterwards is the newest.
func TestHourOverStalledLink(t *testing.T) {
	if testing.Short() {
		t.Skip("an hour of steps")
	}
	lines := recording(t, "h200-tp1", 1200)
	feed := newEndless(lines)
	source := &fakeSource{run: describe("live"), store: store.New(store.Options{RingSteps: 4096})}
	source.store.Name(0, "layer1/a.jsonl")
	take := func(edge time.Time) {
		source.mu.Lock()
		defer source.mu.Unlock()
		for {
			l, done := feed.next()
			source.store.Line(0, &l)
			if done >= edge.UnixNano() {
				return
			}
		}
	}
	begin := feed.fill(source.store, 2)
	take(begin.Add(10 * time.Minute))
	p := startProgram(t, source, begin.Add(10*time.Minute), 120, 40)
	p.expect("first picture")
	release := p.hold()
	feed.rest = 0
	before, most := heap(), uint64(0)
	ticking := true
	for m := 10; m < 70; m++ {
		take(begin.Add(time.Duration(m+1) * time.Minute))
		p.pass(time.Minute)
		for ticking { // until the event loop waits for the link
			select {
			case p.ticks <- p.now():
			case <-p.waits:
				ticking = false
			}
		}
		most = max(most, heap())
	}
	t.Logf("heap %d KiB before the hour, at most %d KiB in it", before>>10, most>>10)
	// The records of such an hour are some 170 MB. What may come is a list of roll-ups on its way to being copied.
	if most > before+8<<20 {
		t.Errorf("the heap grew from %d to %d bytes while the link stood", before, most)
	}
	release()
	p.ticks <- p.now()
	p.ticks <- p.now()
	p.expect("after the hour")
	steps := source.store.Snapshot().Frame(store.Query{Columns: 1}).Run.Counts
	if steps.Gaps != 0 || steps.Dropped != 0 || steps.LastNS-steps.FirstNS < int64(69*time.Minute) {
		t.Errorf("the run has %+v", steps)
	}
	p.press("q")
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
}
