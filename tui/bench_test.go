package tui

import (
	"testing"
	"time"

	"opprof/engine/record"
)

// BenchmarkTick is one tick of a live page at 180 x 50: a question to a full store, the changed panels, the rendered screen.
func BenchmarkTick(b *testing.B) {
	lines := recording(b, "h200-tp1", 0)
	source := &fakeSource{run: describe("live"), store: filled(lines[:3000])}
	s := newScreen(b, source, newestTime(lines[:3000]), Options{})
	s.size(180, 50)
	steps := steps(lines[3000:4000])
	size := 0
	for i := 0; b.Loop(); i++ {
		for range 21 { // a quarter of a second at 84 steps/s
			l := steps[i%len(steps)]
			source.store.Line(0, &l)
		}
		s.tick(250 * time.Millisecond)
		size += len(s.content())
	}
	b.ReportMetric(float64(size)/float64(b.N), "bytes/view")
}

func steps(lines []record.Line) []record.Line {
	var out []record.Line
	for _, l := range lines {
		if l.Kind == record.KindStep {
			out = append(out, l)
		}
	}
	return out
}
