package tui

import (
	"strings"
	"testing"
	"time"

	"opprof/engine/rundir"
	"opprof/engine/serverlog"
	"opprof/engine/store"
	"opprof/engine/vllm"
)

// TestServerPageIsOfTheWholeRun: a frame that was drawn while the run was still being read is not the last, and no sum of it stays.
func TestServerPageIsOfTheWholeRun(t *testing.T) {
	p := newServerPage(false, Options{Now: time.Now, Zone: time.UTC})
	m, err := vllm.ReadMetrics(strings.NewReader("vllm:num_preemptions_total 9\n"))
	must(t, err)
	frame := func(preemptions int64) *store.Frame {
		return &store.Frame{Run: store.Summary{Counts: store.Counts{Steps: 100, Preemptions: preemptions}}}
	}
	run := func(read int64) rundir.Description {
		return rundir.Description{Streams: []rundir.Stream{{Bytes: 10, ReadBytes: read}}}
	}
	log, contents := &serverlog.View{State: &serverlog.State{}}, &rundir.Contents{}
	for i, c := range []struct {
		pic   picture
		more  bool  // it asks again
		shown int64 // preemptions
	}{
		{picture{main: frame(1), run: run(4), log: log, contents: contents, metrics: &m}, true, 1},
		{picture{main: frame(5), run: run(10), log: log}, true, 5}, // read to the end after the frame was made
		{picture{main: frame(9), run: run(10), log: log}, false, 9},
	} {
		w := p.want()
		if w.main == nil {
			t.Fatalf("picture %d is not asked for", i+1)
		}
		p.take(w, c.pic)
		if more := p.want().main != nil; more != c.more {
			t.Errorf("after picture %d it asks again: %t", i+1, more)
		}
		for _, r := range p.facts.Audit {
			if r.Name == "preemptions" && (r.Layer1 == nil || *r.Layer1 != float64(c.shown)) {
				t.Errorf("picture %d: %+v, want %d", i+1, r, c.shown)
			}
		}
		if len(p.facts.Audit) == 0 {
			t.Errorf("picture %d: nothing is compared", i+1)
		}
	}
}
